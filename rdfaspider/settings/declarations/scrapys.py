"""Settings of Scrapy that a crawl often sets, with the values they have here."""

from rdfaspider import __version__
from rdfaspider.fetchmeta import MAX_DEPTH
from rdfaspider.settings.setting import Setting, number, whole

SETTINGS = (
    Setting(
        "JOBDIR",
        "crawl",
        "The directory of all data of a crawl; the same directory again resumes it.",
        optional=True,
    ),
    Setting(
        "USER_AGENT",
        f"rdfaspider/{__version__}",
        "What servers see; `POLITENESS_CONTACT` is added.",
        shown_default="`rdfaspider/VERSION (+CONTACT)`",
        syntax="rdfaspider.settings.syntax.line",
    ),
    Setting(
        "LOG_LEVEL",
        "INFO",
        "The least important messages to show.",
        choices=("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG"),
    ),
    Setting("LOG_ENABLED", True, "Log at all."),
    whole("CLOSESPIDER_PAGECOUNT", "pages", 0, "Stop after this many pages; 0 sets no limit."),
    whole(
        "CLOSESPIDER_ITEMCOUNT",
        "items",
        0,
        "Stop after this many items, which are pages that were read; 0 sets no limit.",
    ),
    whole(
        "CLOSESPIDER_ERRORCOUNT",
        "errors",
        0,
        "Stop after this many errors in the spider itself; 0 sets no limit.",
    ),
    number("CLOSESPIDER_TIMEOUT", "seconds", 0.0, "Stop after this long; 0 sets no limit."),
    whole(
        "CLOSESPIDER_PAGECOUNT_NO_ITEM",
        "responses",
        0,
        "Stop after this many responses in a row without an item; 0 sets no limit.",
    ),
    number(
        "CLOSESPIDER_TIMEOUT_NO_ITEM",
        "seconds",
        0,
        "Stop after this long without an item; 0 sets no limit.",
    ),
    # Many hosts at once; how many are used is decided by the frontier. A fetch takes 0.1 MB, and its page.
    whole(
        "CONCURRENT_REQUESTS",
        "fetches",
        256,
        "Fetches at the same time. A fetch that has waited for its host for 2 seconds no longer counts, up to"
        " four times this number. At most a quarter of the files that may be open (`ulimit -n`).",
        least=1,
    ),
    whole(
        "CONCURRENT_REQUESTS_PER_DOMAIN",
        "connections",
        64,
        "Connections to one host; `POLITENESS_AT_ONCE` decides how many are used.",
        least=1,
    ),
    # Politeness is the frontier's: it hands out a URL when its host may be asked.
    number("DOWNLOAD_DELAY", "seconds", 0, "The longer of this and `POLITENESS_DELAY` applies."),
    # As the RDFa Web Spider did (row R5).
    number("DOWNLOAD_TIMEOUT", "seconds", 30, "Time that a whole page may take.", above=0),
    # The largest HTML pages of the web have a few megabytes.
    whole(
        "DOWNLOAD_MAXSIZE",
        "bytes",
        16 * 1024 * 1024,
        "Give up on a download that announces more bytes, or unpacks to more; 0 sets no limit. No more of a"
        " page is downloaded than `EXTRACT_MAX_BYTES`.",
        shown_default="16 MiB",
    ),
    whole("DOWNLOAD_WARNSIZE", "bytes", 0, "Warn about a download that is larger; 0 never warns."),
    # Half of the web's bad certificates are only too old; and what is fetched is public.
    Setting(
        "DOWNLOAD_VERIFY_CERTIFICATES",
        False,
        "Fetch over https only from hosts with a valid certificate; pages of others fail as"
        " `CertificateError`. Off, as in Scrapy, accepts any certificate.",
    ),
    Setting("COOKIES_ENABLED", False, "Keep cookies; a crawler has no session."),
    whole(
        "DEPTH_LIMIT",
        "links",
        0,
        "Scrapy's name for `FRONTIER_DEPTH`, which it sets; 0 does not.",
        most=MAX_DEPTH,
    ),
    Setting("RETRY_ENABLED", True, "Off sets `FRONTIER_RETRIES` to 0."),
    whole(
        "RETRY_TIMES",
        "retries",
        2,
        "Scrapy's name for `FRONTIER_RETRIES`, which it sets.",
        most=100,
    ),
    Setting(
        "RETRY_HTTP_CODES",
        [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524],
        "The statuses after which a URL is tried again.",
        syntax="rdfaspider.settings.syntax.statuses",
    ),
    Setting("AUTOTHROTTLE_ENABLED", False, "Sets `POLITENESS_LATENCY_FACTOR`."),
    number(
        "AUTOTHROTTLE_TARGET_CONCURRENCY", "requests", 1.0, "The inverse of that factor.", above=0
    ),
    Setting("HTTPCACHE_ENABLED", False, "Keep answers in `.scrapy/` and use them again."),
)
