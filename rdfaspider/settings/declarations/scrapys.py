"""Settings of Scrapy that a crawl often sets, with the values they have here."""

from rdfaspider import __version__
from rdfaspider.settings.setting import Setting

SETTINGS = (
    Setting(
        "JOBDIR",
        "text",
        "crawl",
        "The directory of all data of a crawl; the same directory again resumes it.",
        optional=True,
    ),
    Setting(
        "USER_AGENT",
        "text",
        f"rdfaspider/{__version__}",
        "What servers see; `POLITENESS_CONTACT` is added.",
        shown_default="`rdfaspider/VERSION (+CONTACT)`",
        syntax="rdfaspider.settings.syntax.line",
    ),
    Setting(
        "LOG_LEVEL",
        "choice",
        "INFO",
        "The least important messages to show.",
        choices=("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG"),
    ),
    Setting("LOG_ENABLED", "bool", True, "Log at all."),
    Setting(
        "CLOSESPIDER_PAGECOUNT",
        "int",
        0,
        "Stop after this many pages; 0 sets no limit.",
        unit="pages",
        least=0,
    ),
    Setting(
        "CLOSESPIDER_ITEMCOUNT",
        "int",
        0,
        "Stop after this many items, which are pages that were read; 0 sets no limit.",
        unit="items",
        least=0,
    ),
    Setting(
        "CLOSESPIDER_ERRORCOUNT",
        "int",
        0,
        "Stop after this many errors in the spider itself; 0 sets no limit.",
        unit="errors",
        least=0,
    ),
    Setting(
        "CLOSESPIDER_TIMEOUT",
        "float",
        0.0,
        "Stop after this long; 0 sets no limit.",
        unit="seconds",
        least=0,
    ),
    Setting(
        "CLOSESPIDER_PAGECOUNT_NO_ITEM",
        "int",
        0,
        "Stop after this many responses in a row without an item; 0 sets no limit.",
        unit="responses",
        least=0,
    ),
    Setting(
        "CLOSESPIDER_TIMEOUT_NO_ITEM",
        "float",
        0,
        "Stop after this long without an item; 0 sets no limit.",
        unit="seconds",
        least=0,
    ),
    # Many hosts at once; how many are used is decided by the frontier.
    Setting(
        "CONCURRENT_REQUESTS",
        "int",
        64,
        "Fetches at the same time.",
        unit="fetches",
        least=1,
    ),
    Setting(
        "CONCURRENT_REQUESTS_PER_DOMAIN",
        "int",
        64,
        "Connections to one host; `POLITENESS_AT_ONCE` decides how many are used.",
        unit="connections",
        least=1,
    ),
    # Politeness is the frontier's: it hands out a URL when its host may be asked.
    Setting(
        "DOWNLOAD_DELAY",
        "float",
        0,
        "The longer of this and `POLITENESS_DELAY` applies, unless `POLITENESS_OFF_FOR_OWN_SERVERS`.",
        unit="seconds",
        least=0,
    ),
    # As the RDFa Web Spider did (row R5).
    Setting(
        "DOWNLOAD_TIMEOUT",
        "float",
        30,
        "Time that a whole page may take.",
        unit="seconds",
        above=0,
    ),
    # The largest HTML pages of the web have a few megabytes.
    Setting(
        "DOWNLOAD_MAXSIZE",
        "int",
        16 * 1024 * 1024,
        "Give up on a download that is larger; 0 sets no limit.",
        unit="bytes",
        least=0,
        shown_default="16 MiB",
    ),
    Setting(
        "DOWNLOAD_WARNSIZE",
        "int",
        0,
        "Warn about a download that is larger; 0 never warns.",
        unit="bytes",
        least=0,
    ),
    Setting("COOKIES_ENABLED", "bool", False, "Keep cookies; a crawler has no session."),
)
