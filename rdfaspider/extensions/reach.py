"""Warns at once of seeds that cannot be fetched, and ends a crawl if no server answers."""

from __future__ import annotations

import shutil
from logging import getLogger
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from rdfaspider.clock import now
from rdfaspider.compat import create_looping_call, scheduler_of
from rdfaspider.frontier import is_shared
from rdfaspider.settings.places import frontier_url, has_pushed_seeds
from rdfaspider.signals import seed_failed
from rdfaspider.urls import without_userinfo

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from rdfaspider.frontier import Frontier

logger = getLogger(__name__)

# Seeds that are named; the others are counted at the end.
_NAMED = 20
# Seconds after which a crawl without any answer is given up, if nothing more can be tried before.
_PATIENCE = 10.0
# Stats that count answers of any kind; a known robots.txt means that its host has answered before.
_ANSWERS = ("frontier/done/", "frontier/failed/", "robots/fetched/", "frontier/denied/robots")

NO_ANSWER = "no_answer"


class Reach:
    """Watches whether anything answers.

    A crawl without any answer ends as soon as no host can be asked within its first seconds, so a user does
    not have to wait for retries of a mistyped seed. If it was new, its frontier is deleted, which has nothing
    but these seeds: a later crawl in this directory would try them again.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        url = frontier_url(crawler.settings)
        is_new = not (is_shared(url) or Path(url).exists() or has_pushed_seeds(crawler.settings))
        self._new_frontier = Path(url) if is_new else None
        self._seeds: frozenset[int] = frozenset()
        self._failed: set[int] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        reach = cls(crawler)
        crawler.signals.connect(reach.seed_failed, seed_failed)
        crawler.signals.connect(reach.spider_opened, signals.spider_opened)
        crawler.signals.connect(reach.spider_closed, signals.spider_closed)
        return reach

    def seed_failed(self, url: str, problem: str) -> None:
        seed, shown = hash(url), without_userinfo(url)
        if seed in self._failed or self._frontier.note(f"sitemap {url}") is not None:
            return
        self._failed.add(seed)
        if len(self._failed) <= _NAMED:
            what = f"The seed {shown}" if seed in self._seeds else f"{shown}, where a seed leads,"
            logger.warning("%s cannot be fetched: %s.", what, problem)

    def spider_opened(self, spider: Spider) -> None:
        self._started = monotonic()
        self._task = create_looping_call(self._look)
        seeds = getattr(spider, "seeds", None)
        self._seeds = frozenset(map(hash, getattr(seeds, "urls", ())))
        # A crawl that is resumed without seeds stays patient. Workers that wait for seeds also wait for
        # servers.
        if self._seeds and not self.crawler.settings.getbool("FRONTIER_WAIT"):
            self._task.start(1.0, now=False)

    def spider_closed(self, reason: str) -> None:
        if reason == NO_ANSWER and self._new_frontier is not None:
            shutil.rmtree(self._new_frontier, ignore_errors=True)
        if self._task.running:
            self._task.stop()
        if len(self._failed) > _NAMED:
            count = f"{len(self._failed):,}"
            logger.warning("%s seeds could not be fetched at the first try.", count)
        if self._failed and not self._has_answer():
            self.crawler.stats.set_value("reach/no_answer", 1)

    def _look(self) -> None:
        if self._has_answer():
            self._task.stop()
        elif self._failed and self._is_hopeless():
            self._task.stop()
            logger.error(
                "No server has answered, so the crawl stops. Check the seeds and the network, then %s",
                "run the same command to resume." if self._new_frontier is None else "start again.",
            )
            engine = self.crawler.engine
            assert engine is not None
            deferred_from_coro(engine.close_spider_async(reason=NO_ANSWER))

    def _has_answer(self) -> bool:
        return any(
            name.startswith(_ANSWERS) and _is_answer(name.rpartition("/")[2])
            for name in self.crawler.stats.get_stats()
        )

    @property
    def _scheduler(self) -> Any:
        return scheduler_of(self.crawler)

    @property
    def _frontier(self) -> Frontier:
        frontier: Frontier = self._scheduler.frontier
        return frontier

    def _is_hopeless(self) -> bool:
        """Tell whether nothing is in flight and no host can be asked within the first seconds."""
        if not self._scheduler.is_waiting:
            return False
        seconds = self._frontier.wait(now())
        return seconds is None or seconds > _PATIENCE - (monotonic() - self._started)


def _is_answer(label: str) -> bool:
    """Tell whether a counter counts answers: by their status, or pages, redirects and the like."""
    return label.isdecimal() or label.islower()
