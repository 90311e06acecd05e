"""Settings of politeness."""

from rdfaspider.settings.setting import Setting, number, whole

SETTINGS = (
    number(
        "POLITENESS_DELAY",
        "seconds",
        1.0,
        "Pause between the end of one fetch from a host and the start of the next.",
    ),
    # A thousand names on one server are one server.
    number(
        "POLITENESS_SERVER_DELAY",
        "seconds",
        None,
        "The same for all hosts at one address together. `None` means an eighth of `POLITENESS_DELAY`, and"
        " less for more than eight names (`POLITENESS_SERVER_PACE`); a host that is alone at its address has"
        " only its own pause. A number always holds, and 0 treats each host as a separate server.",
        optional=True,
    ),
    whole(
        "POLITENESS_SERVER_PACE",
        "times",
        64,
        "Without `POLITENESS_SERVER_DELAY`, the hosts at one address are asked at most this many times as"
        " often as one host: eight times with up to eight names, 16 times with 32, 64 times with 512. Each"
        " 429 or 503 halves the pace, down to that of one host, and 35 answers double it again.",
        least=1,
    ),
    whole(
        "POLITENESS_AT_ONCE",
        "fetches",
        1,
        "Fetches from one host, or server, at the same time.",
        least=1,
        most=1024,
    ),
    number(
        "POLITENESS_LARGE_DELAY",
        "seconds",
        0.0,
        "The pause for hosts with many pages, in place of `POLITENESS_DELAY`; 0 makes no difference."
        " WIRE's preset is `POLITENESS_DELAY=15`, `POLITENESS_LARGE_DELAY=5`.",
    ),
    whole(
        "POLITENESS_LARGE_PAGES",
        "pages",
        100,
        "A host has many pages once this many were fetched.",
        least=1,
    ),
    number(
        "POLITENESS_LATENCY_FACTOR",
        "",
        0.0,
        "Pause at least this many times as long as the host takes to answer, 60 seconds at most.",
    ),
    number(
        "POLITENESS_BACKOFF",
        "seconds",
        60.0,
        "Leave a host alone for this long after a 429 or 503 without Retry-After, or more than three"
        " failures in a row; twice as long each further time, up to a day. Forgiven after half an hour."
        " The same after a page that takes down an extraction worker, forgiven after ten good pages"
        " ([extraction.md](extraction.md)).",
    ),
    Setting(
        "POLITENESS_CONTACT",
        "",
        "A web page or an e-mail address where people can reach you. It becomes part of the User-Agent,"
        " and is required to crawl servers other than your own.",
        syntax="rdfaspider.settings.syntax.line",
    ),
    Setting(
        "POLITENESS_OFF_FOR_OWN_SERVERS",
        False,
        "For your own servers: no pauses, many fetches at once, no back-off, no Crawl-delay. Your own are the"
        " hosts at loopback and private addresses, and those that `RESOLVER_ALLOW` names; all others keep"
        " their pauses. Behind a proxy addresses are unknown, so only addresses in URLs, `localhost` and"
        " names in `RESOLVER_ALLOW` count. No effect on a crawl that workers share.",
    ),
)
