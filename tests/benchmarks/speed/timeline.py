"""A crawl that writes down, each second, how far it is and what it has used, until so many pages."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import TYPE_CHECKING, Any, Self, TextIO

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.project import get_project_settings

from tests.benchmarks.speed.contender import read_arguments, run

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Timeline:
    """Writes a line of JSON a second to SPEED_TIMELINE and stops the crawl after SPEED_PAGES."""

    def __init__(self, crawler: Crawler, file: TextIO, pages: int) -> None:
        self.crawler = crawler
        self.file = file
        self.pages = pages

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        file = Path(settings["SPEED_TIMELINE"]).open("w", buffering=1)  # noqa: SIM115
        timeline = cls(crawler, file, settings.getint("SPEED_PAGES"))
        crawler.signals.connect(timeline.spider_opened, signals.spider_opened)
        crawler.signals.connect(timeline.spider_closed, signals.spider_closed)
        return timeline

    def spider_opened(self) -> None:
        self._start, self._cpu = perf_counter(), process_time()
        self._task = create_looping_call(self._look)
        self._task.start(1.0)

    def spider_closed(self) -> None:
        if self._task.running:
            self._task.stop()
        self.file.close()

    def _look(self) -> None:
        stats = self.crawler.stats
        pages = stats.get_value("frontier/done/page", 0)
        line = {
            "seconds": perf_counter() - self._start,
            "cpu": process_time() - self._cpu,
            "pages": pages,
            "answers": pages + _total(stats.get_stats(), "robots/fetched/"),
            "pace": pace(),
            "seen": stats.get_value("frontier/seen", 0),
            "memory": resident(),
        }
        self.file.write(json.dumps(line) + "\n")
        if pages >= self.pages:
            self._task.stop()
            deferred_from_coro(self.crawler.engine.close_spider_async(reason="enough"))


def pace() -> float:
    """Return the CPU seconds of a fixed piece of work: what the machine is worth at this moment."""
    start = thread_time()
    sum(number * number for number in range(20_000))
    return thread_time() - start


def _total(stats: dict[str, Any], prefix: str) -> int:
    return sum(value for name, value in stats.items() if name.startswith(prefix))


def resident() -> float:
    """Return the memory of this process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


if __name__ == "__main__":
    os.environ["SCRAPY_SETTINGS_MODULE"] = "rdfaspider.settings"
    arguments = read_arguments()
    settings = get_project_settings()
    own = {
        "JOBDIR": arguments.directory,
        # They are reached by a proxy, so nobody knows that they are our own.
        "POLITENESS_DELAY": 0,
        "POLITENESS_AT_ONCE": 256,
        "FRONTIER_DOMAIN_HOSTS": 0,
        "LOG_LEVEL": "ERROR",
        "SPEED_TIMELINE": f"{arguments.directory}/timeline.jsonl",
        "SPEED_PAGES": os.environ["SPEED_PAGES"],
        "EXTENSIONS": {**settings["EXTENSIONS"], "tests.benchmarks.speed.timeline.Timeline": 0},
    }
    for name, value in own.items():
        settings.set(name, value, "cmdline")
    run("rdfa", settings, arguments, seeds=arguments.seeds, scope="all")
