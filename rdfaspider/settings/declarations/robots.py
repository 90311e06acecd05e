"""Settings of robots.txt."""

from rdfaspider.settings.setting import Setting, number, whole

SETTINGS = (
    Setting("ROBOTS_OBEY", True, "Fetch robots.txt and obey it ([robots.md](robots.md))."),
    whole(
        "ROBOTS_RETRIES",
        "retries",
        3,
        "Ask again this many times for a robots.txt that cannot be fetched, then deny the pages of its host.",
    ),
    number("ROBOTS_MAX_CRAWL_DELAY", "seconds", 120.0, "Treat a longer Crawl-delay as this one."),
    Setting(
        "ROBOTS_SITEMAPS",
        False,
        "Read the sitemaps that robots.txt names ([robots.md](robots.md)).",
    ),
    Setting(
        "ROBOTS_TDMREP",
        False,
        "Ask each service once a day for `/.well-known/tdmrep.json`, and keep with its pages what it reserves"
        " ([pages.md](pages.md#what-pages-reserve)).",
    ),
    whole("ROBOTS_SITEMAP_URLS", "entries", 50_000, "Read at most this many entries of a sitemap."),
)
