"""The scheduler of a crawl with a crew: it hands out no URLs itself, but serves them to its workers."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, signals
from scrapy.utils.defer import deferred_from_coro

from rdfaspider import clock
from rdfaspider.crew.processes import Processes
from rdfaspider.crew.settings import settings_of, size_of
from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.scheduler import Scheduler
from rdfaspider.scheduler.memory import Memory
from rdfaspider.scheduler.options import division_of
from rdfaspider.service.address import Address, Security
from rdfaspider.service.messages import StoreChanges
from rdfaspider.service.server.handler import Handler
from rdfaspider.service.server.network import Service
from rdfaspider.settings.places import frontier_url
from rdfaspider.signals import seed_failed, store_closing, store_opened

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from rdfaspider.service.notes import SharedNotes

logger = logging.getLogger(__name__)

# Workers give up pages in flight by themselves (extensions/stopping.py). One that takes longer is killed.
_WORKER_END_TIMEOUT_S = 10.0


class CrewScheduler(Scheduler):
    """Serves frontier and store to worker processes, which it starts and ends."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        scheduler = super().from_crawler(crawler)
        connect = crawler.signals.connect
        connect(scheduler._serve_store, store_opened)
        connect(scheduler._spider_opened, signals.spider_opened)
        connect(scheduler._end_workers, store_closing)
        return scheduler

    def _make_memory(self) -> Memory:
        assert isinstance(self.frontier, LocalFrontier)
        self.handler = Handler(
            self.frontier, clock.now, division=division_of(self.crawler.settings)
        )
        return Memory(self.handler.notes, is_shared=True)

    @property
    def _notes(self) -> SharedNotes:
        return self.handler.notes

    @property
    def told(self) -> dict[str, str]:
        return self.handler.notes.told

    @property
    def state(self) -> str:
        return self.handler.notes.state

    def tell(self, name: str, value: str) -> None:
        self.handler.tell(name, value)

    def open(self, spider: Spider) -> Deferred[None] | None:
        super().open(spider)
        self.handler.page_limit = self.page_limit
        self.handler.heard = self._count
        self.handler.happened = self._happened
        self.handler.stopped = self._stopped
        address = Address(path=_short(Path(f"{frontier_url(self.crawler.settings)}.sock")))
        self._service = Service(self.handler, address, Security())
        self._service.failed = partial(self._stop, "frontier_error")
        self._processes = Processes(
            self._task, self._count, self.handler.remove_worker, self._workers_failed
        )
        return None

    def _serve_store(self, pipeline: Any) -> None:
        async def put(said: StoreChanges) -> list[bool]:
            are_new: list[bool] = await pipeline.put(said.changes)
            return are_new

        self._service.others[StoreChanges] = put

    async def _spider_opened(self) -> None:
        try:
            await self._service.start()
        except FrontierUnavailable as error:
            self._stop("frontier_error", error)
            return
        size = size_of(self.crawler.settings)
        logger.info("%d workers crawl.", size)
        self._processes.start(size)

    def _task(self, name: str) -> dict[str, Any]:
        """Return the task of a worker; the frontier already has the seeds."""
        kind = type(self.spider)
        settings = settings_of(name, self.crawler.settings, str(self._service.address))
        Path(settings["JOBDIR"]).mkdir(parents=True, exist_ok=True)
        given = {k: v for k, v in self.spider.given.items() if k not in ("seeds", "depth")}
        return {
            "spider": f"{kind.__module__}:{kind.__qualname__}",
            "arguments": given,
            "settings": settings,
        }

    # --- for the engine ---

    def next_request(self) -> Request | None:
        if self.handler.has_enough_pages and not self._is_stopping:
            self._is_stopping = True
            self._close_spider("closespider_pagecount")
        return self._own.next_request()

    @property
    def is_waiting(self) -> bool:
        return super().is_waiting and not self.handler.frontier.in_flight

    # --- from the workers ---

    def _count(self, growth: dict[str, int]) -> None:
        count = self.crawler.stats.inc_value
        for name, number in growth.items():
            count(str(name), int(number))

    def _happened(self, name: str, words: dict[str, Any]) -> None:
        if name == "seed_failed":
            self.crawler.signals.send_catch_log(seed_failed, **words)

    def _stopped(self) -> None:
        """End the crawl, because all workers were told to stop."""
        self._processes.expect_ends()
        self._told_to_stop()

    def _workers_failed(self, sentence: str) -> None:
        self._stop("worker_error", ChildProcessError(sentence))

    def _report_fetches(self) -> None:
        """Do nothing: the workers have the lanes."""

    # --- the end ---

    async def _end_workers(self) -> None:
        await self._processes.end(_WORKER_END_TIMEOUT_S)

    def close(self, reason: str) -> Deferred[None] | None:
        return deferred_from_coro(self._close(reason))

    async def _close(self, reason: str) -> None:
        await self._end_workers()
        await self._service.close()
        super().close(reason)


def _short(path: Path) -> str:
    """Return a path, relative if it is below this directory: the path of a socket must be short."""
    absolute, here = path.absolute(), Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)
