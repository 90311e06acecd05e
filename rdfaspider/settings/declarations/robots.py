"""Settings of robots.txt."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
    Setting("ROBOTS_OBEY", "bool", True, "Fetch robots.txt and obey it ([robots.md](robots.md))."),
    Setting(
        "ROBOTS_RETRIES",
        "int",
        3,
        "Ask again this many times for a robots.txt that cannot be fetched, then deny the pages of its host.",
        unit="retries",
        least=0,
    ),
    Setting(
        "ROBOTS_MAX_CRAWL_DELAY",
        "float",
        120.0,
        "Treat a longer Crawl-delay as this one.",
        unit="seconds",
        least=0,
    ),
    Setting(
        "ROBOTS_SITEMAPS",
        "bool",
        False,
        "Read the sitemaps that robots.txt names ([robots.md](robots.md)).",
    ),
    Setting(
        "ROBOTS_SITEMAP_URLS",
        "int",
        50_000,
        "Read at most this many entries of a sitemap.",
        unit="entries",
        least=0,
    ),
)
