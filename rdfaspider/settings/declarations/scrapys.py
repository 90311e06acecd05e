"""Settings of Scrapy that a crawl often sets, with the values they have here."""

from rdfaspider import __version__
from rdfaspider.items import MAX_DEPTH
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
    # Many hosts at once; how many are used is decided by the frontier. A fetch takes 0.1 MB, and its page.
    Setting(
        "CONCURRENT_REQUESTS",
        "int",
        256,
        "Fetches at the same time. A fetch that has waited for its host for 2 seconds no longer counts, up to"
        " four times this number. At most a quarter of the files that may be open (`ulimit -n`).",
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
        "The longer of this and `POLITENESS_DELAY` applies.",
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
        "Give up on a download that announces more bytes, or unpacks to more; 0 sets no limit. No more of a"
        " page is downloaded than `EXTRACT_MAX_BYTES`.",
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
    # Half of the web's bad certificates are only too old; and what is fetched is public.
    Setting(
        "DOWNLOAD_VERIFY_CERTIFICATES",
        "bool",
        False,
        "Fetch over https only from hosts with a valid certificate; pages of others fail as"
        " `CertificateError`. Off, as in Scrapy, accepts any certificate.",
    ),
    Setting("COOKIES_ENABLED", "bool", False, "Keep cookies; a crawler has no session."),
    Setting(
        "DEPTH_LIMIT",
        "int",
        0,
        "Scrapy's name for `FRONTIER_DEPTH`, which it sets; 0 does not.",
        unit="links",
        least=0,
        most=MAX_DEPTH,
    ),
    Setting("RETRY_ENABLED", "bool", True, "Off sets `FRONTIER_RETRIES` to 0."),
    Setting(
        "RETRY_TIMES",
        "int",
        2,
        "Scrapy's name for `FRONTIER_RETRIES`, which it sets.",
        unit="retries",
        least=0,
        most=100,
    ),
    Setting("AUTOTHROTTLE_ENABLED", "bool", False, "Sets `POLITENESS_LATENCY_FACTOR`."),
    Setting(
        "AUTOTHROTTLE_TARGET_CONCURRENCY",
        "float",
        1.0,
        "The inverse of that factor.",
        unit="requests",
        above=0,
    ),
    Setting("HTTPCACHE_ENABLED", "bool", False, "Keep answers in `.scrapy/` and use them again."),
)
