"""Scrapy's settings module: the declared settings with their defaults, and all the wiring.

The settings of this project are declared in `declarations/`, each with its type, range, default and
text; `check.py` holds a crawl to them, and docs/settings.md is made of them. Here are the settings of
Scrapy that only wire the parts together, each with its reason.
"""

import typing
from importlib.util import find_spec

from rdfaspider.settings import declarations

# Scrapy takes every name in capitals for a setting, so nothing else here may have one.
globals().update({name: setting.default for name, setting in declarations.DECLARED.items()})

if typing.TYPE_CHECKING:

    def __getattr__(name: str) -> typing.Any: ...


# --- the project ---

BOT_NAME = "rdfaspider"
SPIDER_MODULES = ["rdfaspider.spiders"]
COMMANDS_MODULE = "rdfaspider.commands"
# Checks all settings before anything else is done.
ADDONS = {"rdfaspider.settings.addon.SettingsCheck": 0}

# --- identity and politeness ---

# Our own middleware obeys.
ROBOTSTXT_OBEY = False
# Politeness is the frontier's: it hands out a URL when its host may be asked.
DOWNLOADER = "rdfaspider.downloader.Downloader"
# A page where there is one, else RDF.
DEFAULT_REQUEST_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,text/turtle;q=0.9,application/rdf+xml;q=0.8,"
    "application/ld+json;q=0.8,application/n-triples;q=0.8,application/trig;q=0.8,*/*;q=0.5",
    "Accept-Language": "en,*;q=0.5",
}

# --- whom we connect to ---

# Only through the guard of addresses; another handler is refused at the start.
TWISTED_DNS_RESOLVER = "rdfaspider.resolver.Resolver"
DOWNLOAD_HANDLERS = {
    "http": "rdfaspider.resolver.aiohttp.GuardedAiohttpDownloadHandler",
    "https": "rdfaspider.resolver.aiohttp.GuardedAiohttpDownloadHandler",
    "file": None,
    "ftp": None,
    "s3": None,
}

# --- what is downloaded ---

DOWNLOADER_MIDDLEWARES = {
    "rdfaspider.middlewares.sitemaps.SitemapsMiddleware": 90,
    "rdfaspider.middlewares.robots.RobotsMiddleware": 100,
    "rdfaspider.middlewares.politeness.PolitenessMiddleware": 840,
    "rdfaspider.middlewares.contenttype.ContentTypeMiddleware": 860,
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
    # Pages are retried and redirected by the frontier, and robots.txt by its middleware.
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    # These do nothing here but cost time for each page.
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
    "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware": None,
}

# The spider itself looks at status and depth.
SPIDER_MIDDLEWARES = {
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
}

# --- what becomes of a page ---

ITEM_PIPELINES = {
    "rdfaspider.pipelines.extract.ExtractPipeline": 100,
    "rdfaspider.pipelines.filter.FilterPipeline": 500,
    "rdfaspider.pipelines.store.StorePipeline": 900,
}
# The spider yields one item a response; a pool of workers for it costs more than the item.
CONCURRENT_ITEMS = 1
# Scrapy would read the source of the spider again and again to look for a mistake that it has not.
WARN_ON_GENERATOR_RETURN_VALUE = False
# Faster than Python's own loop by a tenth.
ASYNCIO_EVENT_LOOP = "uvloop.Loop" if find_spec("uvloop") else None

# --- order ---

SCHEDULER = "rdfaspider.scheduler.Scheduler"

# --- what the user sees ---

EXTENSIONS = {
    "rdfaspider.extensions.diskguard.DiskGuard": 100,
    "rdfaspider.extensions.closespider.CloseSpider": 0,
    "scrapy.extensions.closespider.CloseSpider": None,
    "rdfaspider.extensions.garbage.Garbage": 100,
    "rdfaspider.extensions.history.extension.History": 100,
    "rdfaspider.extensions.leftout.LeftOut": 100,
    "rdfaspider.extensions.progress.Progress": 100,
    "rdfaspider.extensions.reach.Reach": 100,
    "rdfaspider.extensions.redaction.Redaction": 0,
    # After the others have counted.
    "rdfaspider.extensions.summary.Summary": 900,
    "rdfaspider.resolver.extension.ResolverExtension": 100,
}
LOGSTATS_INTERVAL = 0  # Progress does it
# No lines for each page but with LOG_LEVEL=DEBUG.
LOG_FORMATTER = "rdfaspider.extensions.quiet.QuietLogFormatter"
LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"
LOG_DATEFORMAT = "%H:%M:%S"
LOG_VERSIONS: list[str] = []
STATS_DUMP = False  # the summary says it in words
# Nothing listens unless asked.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
