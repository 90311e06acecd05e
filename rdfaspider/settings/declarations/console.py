"""Settings of the console: a crawl in a browser."""

from rdfaspider.settings.setting import Setting, number

SETTINGS = (
    # Nothing listens unless asked: whoever reaches the port can try the token.
    Setting(
        "CONSOLE_PORT",
        None,
        "Serve the console at this port of the loopback interface while the crawl runs"
        " ([console.md](console.md)); 0 takes any free port. None serves nothing.",
        least=0,
        most=65_535,
        optional=True,
        given_kind="int",
    ),
    Setting(
        "CONSOLE_TOKEN",
        "",
        "The token that opens the console, in one line; a random one if empty.",
        secret=True,
        syntax="rdfaspider.settings.syntax.token",
    ),
    # Longer than anybody waits for a page.
    number(
        "CONSOLE_QUERY_TIMEOUT",
        "seconds",
        30.0,
        "End a query of the console that takes longer.",
        above=0,
    ),
    Setting(
        "CONSOLE_OPEN_METRICS",
        False,
        "Serve `/metrics` of the console without the token, for a Prometheus on the same machine.",
    ),
)
