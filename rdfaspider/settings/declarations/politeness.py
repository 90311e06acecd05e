"""Settings of politeness."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
    Setting(
        "POLITENESS_DELAY",
        "float",
        1.0,
        "Pause between the end of one fetch from a host and the start of the next.",
        unit="seconds",
        least=0,
    ),
    # A thousand names on one server are one server.
    Setting(
        "POLITENESS_SERVER_DELAY",
        "float",
        None,
        "The same for all hosts at one address together; `None` means `POLITENESS_DELAY`, and 0 treats"
        " each host as a separate server.",
        unit="seconds",
        least=0,
        optional=True,
    ),
    Setting(
        "POLITENESS_AT_ONCE",
        "int",
        1,
        "Fetches from one host, or server, at the same time.",
        unit="fetches",
        least=1,
        most=1024,
    ),
    Setting(
        "POLITENESS_LARGE_DELAY",
        "float",
        0.0,
        "The pause for hosts with many pages, in place of `POLITENESS_DELAY`; 0 makes no difference."
        " WIRE's preset is `POLITENESS_DELAY=15`, `POLITENESS_LARGE_DELAY=5`.",
        unit="seconds",
        least=0,
    ),
    Setting(
        "POLITENESS_LARGE_PAGES",
        "int",
        100,
        "A host has many pages once this many were fetched.",
        unit="pages",
        least=1,
    ),
    Setting(
        "POLITENESS_LATENCY_FACTOR",
        "float",
        0.0,
        "Pause at least this many times as long as the host takes to answer, 60 seconds at most.",
        least=0,
    ),
    Setting(
        "POLITENESS_BACKOFF",
        "float",
        60.0,
        "Leave a host alone for this long after a 429 or 503 without Retry-After, or more than three"
        " failures in a row; twice as long each further time, up to a day. Forgiven after half an hour."
        " The same after a page that takes down an extraction worker, forgiven after ten good pages"
        " ([extraction.md](extraction.md)).",
        unit="seconds",
        least=0,
    ),
    Setting(
        "POLITENESS_CONTACT",
        "text",
        "",
        "A web page or an e-mail address where people can reach you. It becomes part of the User-Agent,"
        " and is required to crawl servers other than your own.",
        syntax="rdfaspider.settings.syntax.line",
    ),
    Setting(
        "POLITENESS_OFF_FOR_OWN_SERVERS",
        "bool",
        False,
        "For your own servers: no pauses, many fetches at once, no back-off, no Crawl-delay. Your own are the"
        " hosts at loopback and private addresses, and those that `RESOLVER_ALLOW` names; all others keep"
        " their pauses. Behind a proxy addresses are unknown, so only addresses in URLs, `localhost` and"
        " names in `RESOLVER_ALLOW` count. No effect on a crawl that workers share.",
    ),
)
