"""Lets Scrapy's own spiders, commands and settings work in this project.

Scrapy calls an add-on before it builds a crawler. This one does four things:

* A spider that does not know the frontier, such as the default one of `scrapy shell`, gets Scrapy's
  scheduler, downloader, middlewares and pipelines, and no JOBDIR: it works as in any Scrapy project.
  It stays polite and behind the address guard.
* A spider that extends ours may yield its own requests, to log in for example. The middlewares for
  these are switched on. They cost some time for each page, so our own spider does without.
* Settings of Scrapy that have another name here are copied to ours, or a warning says what to use.
* Components whose switch is off are taken out, so that they are not even imported: a crawl starts sooner.
"""

from __future__ import annotations

from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import UsageError
from scrapy.settings import default_settings
from scrapy.utils.conf import closest_scrapy_cfg

import rdfaspider.feeds  # noqa: F401  # shows Pages as items
from rdfaspider import settings as ours
from rdfaspider.crew import settings as crew
from rdfaspider.frontier.limits import MAX_REDIRECTS
from rdfaspider.scheduler import uses_frontier
from rdfaspider.scheduler.options import frontier_order, politeness_of
from rdfaspider.settings.check import is_asked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = getLogger(__name__)

# The methods of a spider that the scheduler calls.
_FRONTIER_METHODS = ("failed", "follow", "recall")

# Settings that get Scrapy's default for spiders that do not know the frontier.
_WIRING = (
    "SCHEDULER",
    "DOWNLOADER",
    "JOBDIR",
    "DOWNLOADER_MIDDLEWARES_BASE",
    "SPIDER_MIDDLEWARES_BASE",
    "ITEM_PIPELINES_BASE",
    "EXTENSIONS_BASE",
    "CONCURRENT_ITEMS",
    "CONCURRENT_REQUESTS",
    "COOKIES_ENABLED",
    "DEFAULT_REQUEST_HEADERS",
    "LOG_FORMATTER",
    "LOGSTATS_INTERVAL",
    "STATS_CLASS",
    "STATS_DUMP",
    "WARN_ON_GENERATOR_RETURN_VALUE",
)

_KEPT = {
    "rdfaspider.extensions.redaction.Redaction": 0,
    "rdfaspider.resolver.extension.ResolverExtension": 100,
    "scrapy.extensions.feedexport.FeedExporter": None,
    "rdfaspider.feeds.FeedExporter": 0,
}
_START_REQUESTS = {"rdfaspider.resolver.typed.StartRequests": 10}

_HTTP_AUTH = "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware"
# For a spider's own requests; those of the frontier are marked so that these ignore them.
_DOWNLOADER_MIDDLEWARES = (
    _HTTP_AUTH,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware",
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware",
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware",
)
_SPIDER_MIDDLEWARES = (
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware",
    "scrapy.spidermiddlewares.referer.RefererMiddleware",
)

# Settings of Scrapy without effect on a crawl of the frontier, and what to use instead.
_WITHOUT_EFFECT = {
    "CONCURRENT_REQUESTS_PER_DOMAIN": "POLITENESS_AT_ONCE limits the requests to a host",
    "DEPTH_PRIORITY": "FRONTIER_ORDER says which pages come first",
    "DOWNLOAD_SLOTS": "POLITENESS_DELAY and POLITENESS_AT_ONCE hold for all hosts",
    "DUPEFILTER_CLASS": "the frontier knows each URL once",
    "METAREFRESH_ENABLED": "the target of a refresh is a link of its page",
    "REDIRECT_ENABLED": "the target of a redirect is fetched as a URL of its own",
    "REDIRECT_MAX_TIMES": f"a chain of more than {MAX_REDIRECTS} redirects fails",
    "ROBOTSTXT_OBEY": "robots.txt is obeyed unless ROBOTS_OBEY is off",
    "SCHEDULER_PRIORITY_QUEUE": "FRONTIER_ORDER says which pages come first",
}

# Fetches for the scripts of pages that are rendered.
_RENDERING = {"rdfaspider.middlewares.subresources.SubresourcesMiddleware": 95}

# Components that would be imported only to say that they are switched off, by their switches.
_SWITCHES = {
    "EXTENSIONS_BASE": {
        "scrapy.extensions.remote_control.RemoteControl": "REMOTE_CONTROL_ENABLED",
        "scrapy.extensions.telnet.TelnetConsole": "TELNETCONSOLE_ENABLED",
    },
    "DOWNLOADER_MIDDLEWARES_BASE": {
        "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": "COOKIES_ENABLED",
        "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware": "HTTPCACHE_ENABLED",
        "rdfaspider.middlewares.archive.ArchiveMiddleware": "ARCHIVE",
        "rdfaspider.middlewares.reservations.ReservationsMiddleware": "ROBOTS_TDMREP",
    },
    "ITEM_PIPELINES_BASE": {"rdfaspider.pipelines.archive.ArchivePipeline": "ARCHIVE"},
}


class Wiring:
    """Chooses the wiring for the spider of a crawler."""

    def __init__(self, spider: Spider | type[Spider]) -> None:
        self.spider = spider

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.spider or crawler.spidercls)

    def update_settings(self, settings: BaseSettings) -> None:
        spider_class = self.spider if isinstance(self.spider, type) else type(self.spider)
        knows_frontier = _knows_frontier(spider_class)
        if knows_frontier and str(scheduler := settings["SCHEDULER"]).startswith("scrapy_redis."):
            raise UsageError(
                f"SCHEDULER={scheduler} does not know the frontier, which has the URLs of the spider"
                f" {spider_class.name}: leave SCHEDULER out. To share the crawl among machines, set"
                " FRONTIER_URL=redis://HOST:PORT/0."
            )
        if not (knows_frontier and uses_frontier(settings)):
            _wire_as_scrapy_does(settings)
            return
        _read_scrapys_settings(settings)
        if crew.size_of(settings) > 1:
            crew.prepare(settings)
        # A crawl keeps the order that it began with.
        if (order := frontier_order(settings)) != settings["FRONTIER_ORDER"]:
            settings.set("FRONTIER_ORDER", order, "project")
        if settings["HTTPAUTH_USER"] or settings["HTTPAUTH_PASS"]:
            _switch_on(settings, "DOWNLOADER_MIDDLEWARES_BASE", [_HTTP_AUTH])
        if not spider_class.__module__.startswith("rdfaspider."):
            _switch_on(settings, "DOWNLOADER_MIDDLEWARES_BASE", _DOWNLOADER_MIDDLEWARES)
            _switch_on(settings, "SPIDER_MIDDLEWARES_BASE", _SPIDER_MIDDLEWARES)
            settings["SPIDER_MIDDLEWARES_BASE"].update(_START_REQUESTS, "project")
        else:
            _warn_of_statuses(settings)
        _take_out_what_is_off(settings)
        if settings["RENDER"] != "never":
            settings["DOWNLOADER_MIDDLEWARES_BASE"].update(_RENDERING, "project")
        if getattr(self.spider, "allowed_domains", None):
            logger.warning(
                "allowed_domains has no effect: -a scope=host|domain|all and URLS_ACCEPT, for example"
                " suffix:example.org, say which links are followed."
            )


def _knows_frontier(spider_class: type[Spider]) -> bool:
    return all(hasattr(spider_class, name) for name in _FRONTIER_METHODS)


def _wire_as_scrapy_does(settings: BaseSettings) -> None:
    """Undo what this project changed, except politeness and the guard."""
    for name in _WIRING:
        _replace(settings, name, getattr(default_settings, name, None))
    settings["EXTENSIONS_BASE"].update(_KEPT, "project")
    settings["SPIDER_MIDDLEWARES_BASE"].update(_START_REQUESTS, "project")
    _replace(settings, "ROBOTSTXT_OBEY", settings.getbool("ROBOTS_OBEY"))
    politeness = politeness_of(settings)
    _replace(settings, "DOWNLOAD_DELAY", politeness.delay)
    _replace(settings, "CONCURRENT_REQUESTS_PER_DOMAIN", politeness.at_once)
    if politeness.own is not None:
        _replace(settings, "DOWNLOAD_SLOTS", politeness.own.slots)


def _replace(settings: BaseSettings, name: str, value: Any) -> None:
    """Set a setting unless the command line, the spider or a user's project has changed it."""
    if settings[name] == getattr(ours, name, settings[name]) and not _is_users(settings, name):
        settings.set(name, value, "project")


def _is_users(settings: BaseSettings, name: str) -> bool:
    """Tell whether a user has set something: directly, in a spider or in another project."""
    usual = getattr(ours, name, getattr(default_settings, name, None))
    return is_asked(settings, name) or bool(settings[name] != usual)


def _switch_on(settings: BaseSettings, table: str, names: Iterable[str]) -> None:
    """Enable components with the priorities that they have in Scrapy."""
    places = getattr(default_settings, table)
    settings[table].update({name: places[name] for name in names}, "project")


def _take_out_what_is_off(settings: BaseSettings) -> None:
    for table, switches in _SWITCHES.items():
        off = [name for name, switch in switches.items() if not settings.getbool(switch)]
        settings[table].update(dict.fromkeys(off), "project")


def _read_scrapys_settings(settings: BaseSettings) -> None:
    """Copy settings of Scrapy to ours, and warn of those without effect."""
    if settings.getbool("AUTOTHROTTLE_ENABLED"):
        # Scrapy's delay is the latency divided by the number of concurrent requests.
        factor = 1 / (settings.getfloat("AUTOTHROTTLE_TARGET_CONCURRENCY") or 1.0)
        _translate(settings, "AUTOTHROTTLE_ENABLED", "POLITENESS_LATENCY_FACTOR", factor)
    if settings.getint("DEPTH_LIMIT"):
        _translate(settings, "DEPTH_LIMIT", "FRONTIER_DEPTH", settings.getint("DEPTH_LIMIT"))
    if _is_users(settings, "RETRY_TIMES") or not settings.getbool("RETRY_ENABLED"):
        times = settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0
        _translate(settings, "RETRY_TIMES", "FRONTIER_RETRIES", times)
    if settings.getbool("HTTPCACHE_ENABLED") and not closest_scrapy_cfg():
        # Outside of a project directory Scrapy would have no cache.
        cache = Path(".scrapy", settings["HTTPCACHE_DIR"]).resolve()
        settings.set("HTTPCACHE_DIR", str(cache), "cmdline")
    for name, instead in _WITHOUT_EFFECT.items():
        if _is_users(settings, name):
            logger.warning("%s has no effect on a crawl of the frontier: %s.", name, instead)
    delay, least = settings.getfloat("DOWNLOAD_DELAY"), settings.getfloat("POLITENESS_DELAY")
    if delay < least and _is_users(settings, "DOWNLOAD_DELAY"):
        logger.warning(
            "DOWNLOAD_DELAY=%g has no effect: POLITENESS_DELAY=%g is longer; set that one.",
            delay,
            least,
        )
    if delay < least:  # Scrapy's queues hold a spider's own requests back by it
        settings.set("DOWNLOAD_DELAY", least, "cmdline")


def _warn_of_statuses(settings: BaseSettings) -> None:
    for name in ("HTTPERROR_ALLOWED_CODES", "HTTPERROR_ALLOW_ALL"):
        if _is_users(settings, name):
            logger.warning(
                "%s has no effect on this spider: the parse of a spider that extends it gets these"
                " answers.",
                name,
            )


def _translate(settings: BaseSettings, name: str, to: str, value: float) -> None:
    if not _is_users(settings, to):
        settings.set(to, value, "project")
        logger.info("%s sets %s to %g.", name, to, value)
