"""Settings of the resolver and its guard."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
    Setting(
        "RESOLVER_ALLOW",
        "list",
        [],
        "Addresses that are not public but may be crawled: an address, a network, a name or `host:port`.",
        syntax="rdfaspider.resolver.guard.Guard",
    ),
    # 50,000 take some 27 MB.
    Setting(
        "RESOLVER_CACHE_NAMES",
        "int",
        50_000,
        "Keep the addresses of at most this many names.",
        unit="names",
        least=1,
    ),
    # The system does not tell how long an answer is valid.
    Setting(
        "RESOLVER_HIT_SECONDS",
        "float",
        300.0,
        "Keep the addresses of a name this long.",
        unit="seconds",
        least=0,
    ),
    Setting(
        "RESOLVER_MISS_SECONDS",
        "float",
        60.0,
        "Remember this long that a name has no address.",
        unit="seconds",
        least=0,
    ),
    # A name server that is down for an hour stops no host that was known.
    Setting(
        "RESOLVER_STALE_SECONDS",
        "float",
        3600.0,
        "Use addresses for this much longer while the name is looked up again.",
        unit="seconds",
        least=0,
    ),
    Setting(
        "RESOLVER_THREADS",
        "int",
        32,
        "Names looked up at the same time, at most a quarter of them in one registered domain. A look-up that"
        " takes longer than half a second no longer counts, up to 16 times this number.",
        unit="threads",
        least=1,
        most=1024,
    ),
)
