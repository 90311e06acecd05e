"""Settings of the resolver and its guard."""

from rdfaspider.settings.setting import Setting, number, whole

SETTINGS = (
    Setting(
        "RESOLVER_ALLOW",
        [],
        "Addresses that are not public but may be crawled: an address, a network, a name or `host:port`.",
        syntax="rdfaspider.resolver.guard.Guard",
    ),
    Setting(
        "RESOLVER_ALLOW_UNGUARDED",
        False,
        "Let in download handlers that bypass the address guard"
        " ([resolver.md](resolver.md#other-download-handlers)).",
    ),
    # 50,000 take some 27 MB.
    whole(
        "RESOLVER_CACHE_NAMES",
        "names",
        50_000,
        "Keep the addresses of at most this many names.",
        least=1,
    ),
    # The system does not tell how long an answer is valid.
    number("RESOLVER_HIT_SECONDS", "seconds", 300.0, "Keep the addresses of a name this long."),
    number(
        "RESOLVER_MISS_SECONDS", "seconds", 60.0, "Remember this long that a name has no address."
    ),
    # A name server that is down for an hour stops no host that was known.
    number(
        "RESOLVER_STALE_SECONDS",
        "seconds",
        3600.0,
        "Use addresses for this much longer while the name is looked up again.",
    ),
    whole(
        "RESOLVER_THREADS",
        "threads",
        32,
        "Names looked up at the same time, at most a quarter of them in one registered domain. A look-up that"
        " takes longer than half a second no longer counts, up to 16 times this number.",
        least=1,
        most=1024,
    ),
)
