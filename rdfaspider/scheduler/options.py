"""The options of the frontier, from the settings: where it is, how polite, how far it goes."""

from __future__ import annotations

import resource
import time
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfaspider import clock
from rdfaspider.focus.visits.planner import RevisitRules
from rdfaspider.frontier import is_begun, is_replicated, is_shared, open_frontier
from rdfaspider.frontier.engine.terms import WITH_WINDOW
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.plugins import is_path
from rdfaspider.scheduler.lanes import Lanes
from rdfaspider.secrets import without_secrets
from rdfaspider.service.address import Security
from rdfaspider.service.server.partitions import Division
from rdfaspider.settings.check import check
from rdfaspider.settings.check import is_asked as _is_asked
from rdfaspider.settings.places import frontier_url
from rdfaspider.urls.own import OwnServers

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from rdfaspider.frontier.views.reader import FrontierReader


# Slow fetches allowed for each slot.
_SLOW_PER_SLOT = 4
# If the number of open files is unlimited.
_MANY_FILES = 100_000

logger = getLogger(__name__)


def frontier_order(settings: BaseSettings) -> str:
    """Return the order that was asked for, or else the one that the crawl was begun with."""
    order = _begun_order(settings)
    may_import(order, settings)
    return order


def may_import(order: str, settings: BaseSettings) -> None:
    """Raise ValueError if a crawl's order is code of another package that the settings do not name.

    What a service or a directory names is not imported.
    """
    if is_path(order) and order != settings["FRONTIER_ORDER"]:
        raise ValueError(
            f"This crawl was begun with the order {order}, which is code of its own: set"
            f" FRONTIER_ORDER={order} to go on."
        )


def as_begun(reader: FrontierReader, settings: BaseSettings) -> dict[str, Any]:
    """Return the options to open a local frontier as its crawl was begun, for a command that changes it."""
    order = reader.order or settings["FRONTIER_ORDER"]
    may_import(order, settings)
    begun = {"order": order, "limits": reader.limits, "shard": reader.shard}
    return begun | {"politeness": politeness_of(settings), "now": time.time()}


def _begun_order(settings: BaseSettings) -> str:
    url, order = frontier_url(settings), str(settings["FRONTIER_ORDER"])
    is_asked = _is_asked(settings, "FRONTIER_ORDER")
    if is_replicated(url):
        from rdfaspider.service.replica.registry import begun_order

        begun = begun_order(url) or order
        return _same_order(url, begun, order if is_asked else "")
    if is_shared(url):
        return _served_order(settings, order if is_asked else "")
    if is_asked or not is_begun(url):
        return order
    from rdfaspider.frontier.views.reader import FrontierReader  # a new crawl has nothing to read

    with FrontierReader(url, delay=0.0) as reader:
        return reader.order or order


def _served_order(settings: BaseSettings, asked: str) -> str:
    """Return the order of a service; ValueError if another one was asked for."""
    url = frontier_url(settings)
    service: Any = open_frontier(url, security=security_of(settings), onlooks=True, read_ahead=0)
    with service:
        order = service.order
    return _same_order(url, order, asked)


def _same_order(url: str, order: str, asked: str) -> str:
    if asked not in ("", order):
        raise ValueError(
            f"The service at {without_secrets(url)} hands out URLs in the order {order}, not {asked}: set"
            " the order where the service is started, or where the crawl begins."
        )
    return order


def security_of(settings: BaseSettings) -> Security:
    """Return how a frontier service and its workers trust each other."""
    names = ("FRONTIER_SECRET", "FRONTIER_CERTIFICATE", "FRONTIER_KEY")
    return Security(*(str(settings[name] or "") for name in names))


def frontier_options(settings: BaseSettings, spider: Spider | None) -> dict[str, Any]:
    """Return the options of the frontier that the settings and the spider's depth ask for.

    The settings are checked here too: another project may use the scheduler without the add-on.
    """
    check(settings)
    url, shards = frontier_url(settings), shards_wanted(settings)
    if shards not in (None, 1) and not is_replicated(url):
        raise ValueError(
            "FRONTIER_SHARDS is for a crawl shared through Redis: with services, name those of all shards"
            " in FRONTIER_URL, separated by commas."
        )
    if not is_shared(url):
        return {**_engine(settings, spider), "now": clock.now()}
    if settings.getbool("POLITENESS_OFF_FOR_OWN_SERVERS"):
        logger.warning(
            "POLITENESS_OFF_FOR_OWN_SERVERS has no effect on a crawl that workers share: if all its servers"
            " are your own, set POLITENESS_DELAY=0 and POLITENESS_AT_ONCE."
        )
    node: dict[str, Any] = {}
    if is_replicated(url):
        node = {**node_options(settings, spider), "shards": shards}
    return {**node, **_worker(settings), "security": security_of(settings), "now": clock.now()}


def _engine(settings: BaseSettings, spider: Spider | None) -> dict[str, Any]:
    """Return the options of the frontier itself, wherever it is."""
    return {
        **_window(settings),
        "order": settings["FRONTIER_ORDER"],
        "politeness": politeness_of(settings),
        "lease": settings.getfloat("FRONTIER_LEASE"),
        "limits": frontier_limits(settings, spider),
        "linkgraph": settings.getbool("LINKGRAPH"),
        "follows_copies": settings.getbool("FRONTIER_FOLLOW_COPIES"),
        "rank_every": settings.getfloat("FRONTIER_RANK_EVERY"),
        "revisits": revisit_rules(settings),
    }


def revisit_rules(settings: BaseSettings) -> RevisitRules | None:
    """Return when pages are visited again, None to visit each once."""
    if not settings.getbool("FRONTIER_REVISIT"):
        return None
    number = settings.getfloat
    return RevisitRules(
        mean=number("FRONTIER_REVISIT_MEAN"),
        share=number("FRONTIER_REVISIT_SHARE"),
        shortest=number("FRONTIER_REVISIT_SHORTEST"),
        longest=number("FRONTIER_REVISIT_LONGEST"),
        every=number("FRONTIER_REVISIT_EVERY"),
        missed=number("FRONTIER_REVISIT_MISSED"),
        rank=number("FRONTIER_REVISIT_RANK"),
        policy=settings["FRONTIER_REVISIT_POLICY"],
        cycle=settings.getint("FRONTIER_REVISIT_CYCLE"),
        until=clock.now() if settings.getbool("FRONTIER_REVISIT_DUE") else 0.0,
    )


def shards_wanted(settings: BaseSettings) -> int | None:
    """Return how many shards were asked for; None keeps the crawl's number."""
    return settings.getint("FRONTIER_SHARDS") if _is_asked(settings, "FRONTIER_SHARDS") else None


def _window(settings: BaseSettings) -> dict[str, Any]:
    """Return the window that was asked for; otherwise the crawl keeps its own."""
    options = {
        "window": settings.getint("FRONTIER_WINDOW"),
        "ranking": settings["FRONTIER_RANKING"],
    }
    if settings["FRONTIER_ORDER"] in WITH_WINDOW and not is_begun(frontier_url(settings)):
        return options
    asked = [name for name in options if _is_asked(settings, f"FRONTIER_{name.upper()}")]
    return {name: options[name] for name in asked}


def node_options(settings: BaseSettings, spider: Spider | None) -> dict[str, Any]:
    """Return the options of the nodes of a replicated frontier."""
    return {
        **_engine(settings, spider),
        "path": str(Path(settings["JOBDIR"] or ".") / "frontier"),
        "nodes": settings.getint("FRONTIER_NODES"),
        "division": division_of(settings),
    }


def division_of(settings: BaseSettings) -> Division:
    """Return how hosts are assigned to workers."""
    return Division(
        settings.getint("FRONTIER_PARTITIONS"),
        settings["FRONTIER_PARTITIONING"],
        settings["FRONTIER_ASSIGNMENT"],
    )


def frontier_limits(settings: BaseSettings, spider: Spider | None) -> FrontierLimits:
    """Return the limits of the crawl; the spider's depth takes precedence."""
    wanted = getattr(spider, "depth", None)
    depth = settings.getint("FRONTIER_DEPTH") if wanted is None else wanted
    is_asked = wanted is not None or _is_asked(settings, "FRONTIER_DEPTH")
    return FrontierLimits(
        depth=depth,
        dynamic_depth=min(depth, settings.getint("FRONTIER_DYNAMIC_DEPTH")),
        host_depth=settings.getint("FRONTIER_HOST_DEPTH"),
        host_urls=settings.getint("FRONTIER_HOST_URLS"),
        host_waiting=settings.getint("FRONTIER_HOST_WAITING"),
        as_begun=not is_asked,
    )


def _worker(settings: BaseSettings) -> dict[str, Any]:
    """Return the options of a worker."""
    return {
        "worker": settings["FRONTIER_WORKER"],
        "read_ahead": settings.getint("FRONTIER_READ_AHEAD"),
        "waits": settings.getbool("FRONTIER_WAIT"),
    }


def politeness_of(settings: BaseSettings) -> Politeness:
    """Return the politeness that the settings ask for."""
    large = settings.getfloat("POLITENESS_LARGE_DELAY")
    return Politeness(
        delay=_delay(settings),
        at_once=settings.getint("POLITENESS_AT_ONCE"),
        large_delay=large or None,
        large_pages=settings.getint("POLITENESS_LARGE_PAGES"),
        latency_factor=settings.getfloat("POLITENESS_LATENCY_FACTOR"),
        server_pace=_server_pace(settings),
        server_delay=_server_delay(settings),
        first_backoff=settings.getfloat("POLITENESS_BACKOFF"),
        own=_own_servers(settings),
    )


def _own_servers(settings: BaseSettings) -> OwnServers | None:
    """Return the servers that need no politeness, None if there are none."""
    if not settings.getbool("POLITENESS_OFF_FOR_OWN_SERVERS") or is_shared(frontier_url(settings)):
        return None
    return OwnServers(settings.getlist("RESOLVER_ALLOW"))


def _delay(settings: BaseSettings) -> float:
    return max(settings.getfloat("POLITENESS_DELAY"), settings.getfloat("DOWNLOAD_DELAY"))


def _server_pace(settings: BaseSettings) -> float:
    """Return how many times as often as one host an address is asked, 0 if its pause is fixed or none."""
    is_fixed = settings["POLITENESS_SERVER_DELAY"] not in (None, "", "None")
    return 0.0 if is_fixed or not _delay(settings) else settings.getfloat("POLITENESS_SERVER_PACE")


def _server_delay(settings: BaseSettings) -> float | None:
    """Return the fixed pause of an address, None if there is none."""
    wanted = settings["POLITENESS_SERVER_DELAY"]
    return None if wanted in (None, "", "None") else float(wanted) or None


def lanes_of(settings: BaseSettings) -> Lanes:
    """Return the lanes for the settings, within the limit of open files.

    Half of the files are for fetches. The rest is for idle connections, look-ups and the disk.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MANY_FILES if limit == resource.RLIM_INFINITY else limit // 2
    wanted = settings.getint("CONCURRENT_REQUESTS")
    slots = max(1, min(wanted, files // 2))
    if slots < wanted:
        logger.warning(
            "%d fetches are made at the same time rather than %d (CONCURRENT_REQUESTS), as no more than"
            " %d files may be open: raise the limit (ulimit -n).",
            slots,
            wanted,
            limit,
        )
    most_slow = min(_SLOW_PER_SLOT * slots, files - slots)
    return Lanes(slots, settings.getfloat("FETCH_UNPROVEN_SHARE"), most_slow)
