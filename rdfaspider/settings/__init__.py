"""Scrapy's settings module: the declared settings with their defaults, and all the wiring.

The settings of this project are declared in `declarations/`, each with its type, range, default and
text; `check.py` checks a crawl against them, and docs/settings.md is made from them. Here are the settings
of Scrapy that only wire the parts together, each with its reason.

declarations/   every setting of this project
setting         what a declaration consists of
syntax          what values must look like beyond their type
check           wrong values and misspelt names; `addon` runs the check at the start
defaults        defaults for other projects
secrets         secrets that come from a file or the environment
places          the directories and URLs that the settings name
identity        the User-Agent
command         the frame of our commands
"""

import typing
from importlib.util import find_spec

from scrapy.settings import default_settings as scrapys

from rdfaspider.settings import declarations

# Scrapy takes every name in capitals for a setting, so nothing else here may have one.
globals().update({name: setting.default for name, setting in declarations.DECLARED.items()})

if typing.TYPE_CHECKING:

    def __getattr__(name: str) -> typing.Any: ...


# --- the project ---

BOT_NAME = "rdfaspider"
SPIDER_MODULES = ["rdfaspider.spiders"]
COMMANDS_MODULE = "rdfaspider.commands"
# The first checks all settings before anything else happens. The second gives spiders other than ours the
# wiring of Scrapy, and reads Scrapy's settings into ours.
ADDONS = {"rdfaspider.settings.addon.SettingsCheck": 0, "rdfaspider.wiring.Wiring": 100}

# --- identity and politeness ---

# Our own middleware does that.
ROBOTSTXT_OBEY = False
# The frontier is polite: it hands out a URL when its host may be asked.
DOWNLOADER = "rdfaspider.downloader.Downloader"
# HTML where there is some, else RDF.
DEFAULT_REQUEST_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,text/turtle;q=0.9,application/rdf+xml;q=0.8,"
    "application/ld+json;q=0.8,application/n-triples;q=0.8,application/trig;q=0.8,*/*;q=0.5",
    "Accept-Language": "en,*;q=0.5",
}

# --- connections ---

# Only through the address guard; a handler that is not behind it is refused at the start.
TWISTED_DNS_RESOLVER = "rdfaspider.resolver.Resolver"
if not hasattr(scrapys, "TWISTED_DNS_RESOLVER"):  # before Scrapy 2.15
    DNS_RESOLVER = TWISTED_DNS_RESOLVER
DOWNLOAD_HANDLERS_BASE = {
    "http": "rdfaspider.downloader.handler.GuardedHttpDownloadHandler",
    "https": "rdfaspider.downloader.handler.GuardedHttpDownloadHandler",
    "file": None,
    "ftp": None,
    "s3": None,
}

# --- what is downloaded ---

# Nothing is fetched while more bytes of pages wait to be parsed. This is twice FETCH_MEMORY_MB, so that large
# pages alone do not stop the crawl.
SCRAPER_SLOT_MAX_ACTIVE_SIZE = 64 * 1024 * 1024

# The tables end in _BASE, as Scrapy's do, so that a user's tables add to them and replace nothing.
# Scrapy's middlewares with their own switch (HTTPCACHE_ENABLED, COOKIES_ENABLED, …) stay as they are.
DOWNLOADER_MIDDLEWARES_BASE = {
    **scrapys.DOWNLOADER_MIDDLEWARES_BASE,
    "rdfaspider.middlewares.archive.ArchiveMiddleware": 80,
    "rdfaspider.middlewares.sitemaps.SitemapsMiddleware": 90,
    "rdfaspider.middlewares.robots.RobotsMiddleware": 100,
    "rdfaspider.middlewares.reservations.ReservationsMiddleware": 110,
    "rdfaspider.middlewares.defaultheaders.DefaultHeadersMiddleware": 400,
    "rdfaspider.middlewares.compression.CompressionMiddleware": 590,
    "rdfaspider.middlewares.politeness.PolitenessMiddleware": 840,
    "rdfaspider.middlewares.contenttype.ContentTypeMiddleware": 860,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    # Each of these costs time per page. The frontier retries and redirects pages, our middlewares obey
    # robots.txt and set headers. The add-on switches on what a spider's own requests need.
    "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware": None,
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
}

# The spider checks status and depth itself.
SPIDER_MIDDLEWARES_BASE: dict[str, int | None] = dict.fromkeys(scrapys.SPIDER_MIDDLEWARES_BASE)

# --- what becomes of a page ---

ITEM_PIPELINES_BASE = {
    "rdfaspider.pipelines.extract.ExtractPipeline": 100,
    "rdfaspider.pipelines.topics.TopicsPipeline": 200,
    "rdfaspider.pipelines.filter.FilterPipeline": 500,
    "rdfaspider.pipelines.quota.QuotaPipeline": 800,
    "rdfaspider.pipelines.archive.ArchivePipeline": 850,
    "rdfaspider.pipelines.ends.EndsPipeline": 880,
    "rdfaspider.pipelines.store.StorePipeline": 900,
}
FEED_EXPORT_ENCODING = "utf-8"
FEED_EXPORTERS = {"csv": "rdfaspider.feeds.CsvExporter"}
# The spider yields one item per response; Scrapy would start a pool of tasks for it.
CONCURRENT_ITEMS = 1
# Scrapy would parse the source of the spider again and again to look for a mistake that is not there.
WARN_ON_GENERATOR_RETURN_VALUE = False
# A tenth faster than Python's own loop.
ASYNCIO_EVENT_LOOP = "uvloop.Loop" if find_spec("uvloop") else None

# --- order ---

SCHEDULER = "rdfaspider.scheduler.Scheduler"

# --- what the user sees ---

EXTENSIONS_BASE = {
    **scrapys.EXTENSIONS_BASE,
    # It reads a pickle in JOBDIR, and so would run code that somebody else has put there.
    "scrapy.extensions.spiderstate.SpiderState": None,
    # Ours know which Pages count as items.
    "scrapy.extensions.closespider.CloseSpider": None,
    "scrapy.extensions.corestats.CoreStats": None,
    "scrapy.extensions.feedexport.FeedExporter": None,
    "rdfaspider.extensions.closespider.CloseSpider": 0,
    "rdfaspider.extensions.corestats.CoreStats": -1,
    "rdfaspider.feeds.FeedExporter": 0,
    "rdfaspider.extensions.diskguard.DiskGuard": 100,
    "rdfaspider.extensions.garbage.Garbage": 100,
    "rdfaspider.extensions.history.extension.History": 100,
    "rdfaspider.extensions.leftout.LeftOut": 100,
    "rdfaspider.extensions.progress.Progress": 100,
    "rdfaspider.extensions.pushedseeds.PushedSeeds": 100,
    "rdfaspider.extensions.reach.Reach": 100,
    "rdfaspider.extensions.redaction.Redaction": 0,
    "rdfaspider.extensions.stopping.Stopping": 100,
    "rdfaspider.extensions.watchdog.Watchdog": 100,
    "rdfaspider.scraper.FastPath": 100,
    "rdfaspider.console.extension.ConsoleExtension": 200,  # after the history and what was left out
    # After the others have counted.
    "rdfaspider.extensions.summary.Summary": 900,
    "rdfaspider.resolver.extension.ResolverExtension": 100,
}
LOGSTATS_INTERVAL = 0  # Progress does it
# No line for each page unless LOG_LEVEL=DEBUG.
LOG_FORMATTER = "rdfaspider.extensions.quiet.QuietLogFormatter"
LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"
LOG_DATEFORMAT = "%H:%M:%S"
LOG_VERSIONS: list[str] = []
STATS_CLASS = "rdfaspider.extensions.stats.Stats"
STATS_DUMP = False  # the summary says it in words
# Nothing listens unless asked.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
