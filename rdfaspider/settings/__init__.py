"""Every setting of the crawler with its default and its reason, and all the wiring.

To add one: put it under its component, prefix it by the component's name, give the unit in the name
where it is not seconds, say why the default is what it is, and describe it in docs/settings.md.
Settings of Scrapy that are changed here are in the second half.
"""

import os
from importlib.util import find_spec

from rdfaspider import __version__
from rdfaspider.urls import defaults as urls

# --- extract ---

# What is looked for in a page.
EXTRACT_FORMATS = ["rdfa", "jsonld", "microdata", "rdf"]
# Processes that read pages beside the one that fetches them; 0 reads them there. At least two, so that one
# reads while what the other has found waits to be taken: a fifth more pages a second on two cores.
EXTRACT_PROCESSES = max(2, (os.cpu_count() or 2) - 1)
# What a page may cost a process before it is given up: seconds, and memory of the process.
EXTRACT_TIMEOUT = 30.0
EXTRACT_MEMORY_MB = 2048
# The first so many links of a page are followed (row R6): pages with more are mostly link farms.
EXTRACT_MAX_LINKS = 100
# The rest of a page, and further quads, are left out.
EXTRACT_MAX_BYTES = 5_000_000
EXTRACT_MAX_QUADS = 100_000
# ARIA roles as triples: half of all RDFa on real pages, and of little use.
EXTRACT_ROLE = False
# RDFa's vocabulary expansion, by the vocabularies that are bundled.
EXTRACT_EXPAND = False

# --- filter ---

# Triples that pages imply without meaning them, as "label: SUBJECT PREDICATE OBJECT"; * is anything.
FILTER_DROP = [
    f"{term}: * <http://www.w3.org/1999/xhtml/vocab#{term}> *"
    for term in ("stylesheet", "icon", "shortcut", "apple-touch-icon", "role", "p3pv1")
]
# Literals with more characters are dropped.
FILTER_LITERAL_LENGTH = 100_000

# --- frontier ---

# Where the frontier is. {jobdir} is the crawl's directory; a path is a local one on RocksDB. Many workers
# share redis://HOST:PORT/0?crawl=NAME (docs/shared.md).
FRONTIER_URL = "{jobdir}/frontier"
# Which of the waiting URLs come next: breadth, roundrobin, topwindow, leafwindow, profit, topics, harvest
# (docs/orders.md). A crawl keeps the one it began with.
FRONTIER_ORDER = "breadth"
# What the order harvest looks for: any, new, vocabulary:IRI or type:IRI.
FRONTIER_OBJECTIVE = "any"
# The file of topics for the order topics.
FRONTIER_TOPICS = ""
# Fetches of a host that may be lost on guesses: the folders of its pages, and the pages whose number is next
# (rows T2, T3). Guesses that hit pay for more; 0 makes none.
FRONTIER_GUESSES = 0
# Seconds after which a URL in flight is taken for lost: well above any download.
FRONTIER_LEASE = 600.0
# Links from a seed to a page, and to one with a query, which can be made without end (row W8).
FRONTIER_DEPTH = 15
FRONTIER_DYNAMIC_DEPTH = 5
# URLs taken in of one host over the whole crawl, and waiting at a time (row W8).
FRONTIER_HOST_URLS = 25_000
FRONTIER_HOST_WAITING = 25_000
# How often a URL is tried again that failed in a way that may pass, and the seconds before the first
# time; they double each time.
FRONTIER_RETRIES = 2
FRONTIER_RETRY_DELAY = 30.0
# Longer than this the crawl does not wait for a host that is left alone; it ends, and can be resumed.
FRONTIER_PATIENCE = 3600.0
# Of a shared crawl: into how many parts it is cut, which can be looked after by as many workers, and by
# which function of the host (digest, characters, even, odd). A crawl keeps what it began with.
FRONTIER_PARTITIONS = 32
FRONTIER_PARTITIONING = "digest"
# Which parts a worker asks first: rendezvous, or phases, in which all move on by the clock.
FRONTIER_ASSIGNMENT = "rendezvous"
# The worker's name, unique in the crawl; empty makes one up of machine and process.
FRONTIER_WORKER = ""
# URLs that a worker has at hand: enough for the next tenths of a second.
FRONTIER_READ_AHEAD = 64
# Whether workers wait for seeds when nothing is left, or stop.
FRONTIER_WAIT = False
# The crawl stops cleanly when the disk has less than this left.
FRONTIER_MIN_FREE_MB = 500

# --- history ---

# Seconds between two samples of the counters in JOBDIR/history.jsonl, for scrapy report (row T10); a long
# crawl takes them less often. 0 keeps no history.
HISTORY_INTERVAL = 5.0

# --- politeness ---

# Seconds from the end of one fetch of a host to the start of the next.
POLITENESS_DELAY = 1.0
# The same for all hosts at one address together, so that a thousand names on one server are one server;
# None is POLITENESS_DELAY, 0 lets each name have a clock of its own.
POLITENESS_SERVER_DELAY: float | None = None
# Fetches of one host, or server, at a time.
POLITENESS_AT_ONCE = 1
# Another delay for hosts of which so many pages were fetched; 0 makes no difference. WIRE's preset
# (row W2): POLITENESS_DELAY=15, POLITENESS_LARGE_DELAY=5.
POLITENESS_LARGE_DELAY = 0.0
POLITENESS_LARGE_PAGES = 100
# The delay is at least so many times what the host takes to answer.
POLITENESS_LATENCY_FACTOR = 0.0
# A host that says 429 or 503 without Retry-After, or does not answer three times in a row, is left
# alone for this long, and twice as long each time.
POLITENESS_BACKOFF = 60.0
# A page or an address of mail where people can reach you; part of the User-Agent, and needed to crawl
# anybody else.
POLITENESS_CONTACT = ""
# For servers of your own: no delays, many fetches at once, no back-off, no Crawl-delay.
POLITENESS_OFF_FOR_OWN_SERVERS = False

# --- progress ---

# Seconds between two lines of progress in a log; a terminal has a line that renews itself.
PROGRESS_INTERVAL = 60.0

# --- resolver ---

# What is not public and may be crawled all the same: an address, a network, a name, or host:port.
RESOLVER_ALLOW: list[str] = []
# Names that are remembered; 50,000 take some 27 MB.
RESOLVER_CACHE_NAMES = 50_000
# For how long, and for how long that they have no address; the system does not tell how long they hold.
RESOLVER_HIT_SECONDS = 300.0
RESOLVER_MISS_SECONDS = 60.0
# Look-ups at a time.
RESOLVER_THREADS = 32

# --- robots ---

ROBOTS_OBEY = True
# So often a robots.txt is asked for that cannot be had, before the pages of its host are denied.
ROBOTS_RETRIES = 3
# A longer Crawl-delay is taken for this one.
ROBOTS_MAX_CRAWL_DELAY = 120.0
# Whether the sitemaps that robots.txt names are read too, and how many entries of each.
ROBOTS_SITEMAPS = False
ROBOTS_SITEMAP_URLS = 50_000

# --- store ---

# Where the triples go. {jobdir} is the crawl's directory; a path is an embedded Oxigraph store. Others:
# rdf4j+http://HOST/rdf4j-server/repositories/ID, gsp+http://…, update+http://…, nquads:DIRECTORY.
STORE_URL = "{jobdir}/store"
# How to identify to the server of a store; never logged.
STORE_USER = ""
STORE_PASSWORD = ""
STORE_TOKEN = ""
STORE_HEADERS: dict[str, str] = {}
# A file of certificates to trust beside the system's, and whether to check them at all.
STORE_CERTIFICATES = ""
STORE_VERIFY = True
# Seconds that the server may take for a batch.
STORE_TIMEOUT = 60.0
# A batch is sent when it has so many quads (RDF4J spills larger ones to disk) or is so old.
STORE_BATCH_QUADS = 5_000
STORE_BATCH_SECONDS = 5.0
# What may wait for the server, compressed; then the crawl waits too.
STORE_OUTBOX_MB = 1024
# How long the end of a crawl waits for the server to take the rest; what it does not take is kept.
STORE_DRAIN_SECONDS = 30.0
# Remove and refill a repository whose server died in a write; only for one that belongs to this crawl alone.
STORE_REBUILD = False
# Facts about each fetch (PROV-O, Dublin Core) in a graph of the crawl.
STORE_PROVENANCE = False

# --- urls: which of the links found are followed, and in which form ---

# Rules of which one must match; none accepts all: "suffix:example.org", "extension:html",
# "keyword:article", "regex:^https://…".
URLS_ACCEPT: list[str] = []
# Rules of which none may match. By default what is never a page, by its extension.
URLS_REJECT = list(urls.NO_PAGES)
# Pairs of a regular expression and what replaces it.
URLS_TRANSFORMS: list[tuple[str, str]] = []
# Query parameters that never choose a page; a * at the end is any rest.
URLS_DROP_PARAMETERS = list(urls.TRACKING)
# A session id makes one page many (row W6).
URLS_DROP_SESSIONS = True
# Off: the order of a query may matter to a server.
URLS_SORT_QUERY = False
# Limits beyond which a URL is taken for a trap, where they differ from those of
# rdfaspider.urls.Traps; 0 switches a rule off: {"repeats": 0}.
URLS_TRAPS: dict[str, int] = {}

# --- Scrapy: the project ---

BOT_NAME = "rdfaspider"
SPIDER_MODULES = ["rdfaspider.spiders"]
COMMANDS_MODULE = "rdfaspider.commands"

# All local data of a crawl; the same directory again resumes it.
JOBDIR = "crawl"

# --- Scrapy: identity and politeness ---

# With POLITENESS_CONTACT, a way to reach you is added.
USER_AGENT = f"rdfaspider/{__version__}"
# Our own middleware obeys.
ROBOTSTXT_OBEY = False
# Politeness is the frontier's: it hands out a URL when its host may be asked. POLITENESS_DELAY is in force if
# it is longer than this.
DOWNLOAD_DELAY = 0
DOWNLOADER = "rdfaspider.downloader.Downloader"
CONCURRENT_REQUESTS_PER_DOMAIN = 64
CONCURRENT_REQUESTS = 64
COOKIES_ENABLED = False
# A page where there is one, else RDF.
DEFAULT_REQUEST_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,text/turtle;q=0.9,application/rdf+xml;q=0.8,"
    "application/ld+json;q=0.8,application/n-triples;q=0.8,application/trig;q=0.8,*/*;q=0.5",
    "Accept-Language": "en,*;q=0.5",
}

# --- Scrapy: whom we connect to ---

# Only through the guard of addresses; another handler is refused at the start.
TWISTED_DNS_RESOLVER = "rdfaspider.resolver.Resolver"
DOWNLOAD_HANDLERS = {
    "http": "rdfaspider.resolver.aiohttp.GuardedAiohttpDownloadHandler",
    "https": "rdfaspider.resolver.aiohttp.GuardedAiohttpDownloadHandler",
    "file": None,
    "ftp": None,
    "s3": None,
}

# --- Scrapy: what is downloaded ---

# As the RDFa Web Spider did (row R5).
DOWNLOAD_TIMEOUT = 30
# The largest HTML pages of the web have a few megabytes.
DOWNLOAD_MAXSIZE = 16 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0

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

# --- Scrapy: what becomes of a page ---

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

# --- Scrapy: order ---

SCHEDULER = "rdfaspider.scheduler.Scheduler"

# --- Scrapy: what the user sees ---

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
LOG_LEVEL = "INFO"
# No lines for each page but with LOG_LEVEL=DEBUG.
LOG_FORMATTER = "rdfaspider.extensions.quiet.QuietLogFormatter"
LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"
LOG_DATEFORMAT = "%H:%M:%S"
LOG_VERSIONS: list[str] = []
STATS_DUMP = False  # the summary says it in words
# Nothing listens unless asked.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
