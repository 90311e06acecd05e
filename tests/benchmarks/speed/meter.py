"""What a crawl costs, measured from inside the crawling process, and where its time goes."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import perf_counter, process_time, sleep, thread_time
from typing import TYPE_CHECKING, Self

from scrapy import signals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from scrapy.crawler import Crawler

# CPU seconds between two samples of what runs.
TICK = 0.001
# Seconds between two looks at the memory of child processes.
GLANCE = 0.1

# The innermost frame of a stack that is of one of these files names the component; the first match
# counts. Time in C is its Python caller's.
COMPONENTS = (
    ("resolver and guard", ("rdfaspider/resolver/", "rdfaspider/urls/hosts")),
    ("robots", ("rdfaspider/middlewares/robots", "rdfaspider/robots/")),
    ("middlewares", ("rdfaspider/middlewares/", "scrapy/downloadermiddlewares/")),
    ("middlewares", ("scrapy/spidermiddlewares/", "scrapy/core/downloader/middleware")),
    ("extraction hand-over", ("rdfaspider/extract/", "rdfaspider/pipelines/extract")),
    ("extraction hand-over", ("asyncio/subprocess", "asyncio/streams", "asyncio/unix_events")),
    ("filter", ("rdfaspider/pipelines/filter",)),
    ("store", ("rdfaspider/pipelines/store", "rdfaspider/stores/")),
    ("links", ("rdfaspider/urls/", "rdfaspider/spiders/scope")),
    ("frontier", ("rdfaspider/frontier/",)),
    ("spider and scheduler", ("rdfaspider/scheduler", "rdfaspider/spiders/", "rdfaspider/items")),
    ("stats", ("scrapy/statscollectors", "scrapy/extensions/", "rdfaspider/extensions/")),
    ("signals", ("scrapy/signalmanager", "scrapy/utils/signal", "pydispatch/")),
    ("requests, responses", ("scrapy/http/", "scrapy/responsetypes", "w3lib/")),
    (
        "download",
        (
            "rdfaspider/downloader/",
            "scrapy/core/downloader/handlers",
            "twisted/web/",
            "aiohttp/",
            "yarl/",
        ),
    ),
    ("download", ("scrapy/core/downloader/contextfactory", "scrapy/utils/url", "hyperlink/")),
    ("download", ("twisted/internet/tcp", "twisted/internet/abstract", "twisted/protocols/")),
    ("download", ("twisted/internet/endpoints", "twisted/internet/_newtls", "multidict/")),
    ("engine", ("scrapy/", "twisted/", "asyncio/", "logging/", "rdfaspider/scraper")),
)


class Meter:
    """Writes a crawl's seconds, CPU, peak memory and answers to the file SPEED_RESULT.

    They count from the opening of the spider to its end, when everything is stored: what Python and
    Scrapy take to start is nobody's merit or fault. `others` is the share of a core that went to
    anybody else, the servers included. With SPEED_SAMPLES the stack is looked at each
    millisecond of CPU time, which gives the share of each component.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.samples: Counter[str] = Counter()
        self._offspring = Offspring(os.getpid())
        self._known: dict[str, str] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        meter = cls(crawler)
        crawler.signals.connect(meter.spider_opened, signals.spider_opened)
        crawler.signals.connect(meter.spider_closed, signals.spider_closed)
        return meter

    def spider_opened(self) -> None:
        self._offspring.start()
        self._wall, self._own, self._children = perf_counter(), process_time(), children_seconds()
        self._core, self._thread = core_seconds(), thread_time()
        if self.crawler.settings.getbool("SPEED_SAMPLES"):
            signal.signal(signal.SIGPROF, self._sample)
            signal.siginterrupt(signal.SIGPROF, False)
            signal.setitimer(signal.ITIMER_PROF, TICK, TICK)

    def spider_closed(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = perf_counter() - self._wall
        own, children = process_time() - self._own, children_seconds() - self._children
        result = {
            "seconds": seconds,
            "own": own,
            "children": children,
            "others": max(0.0, core_seconds() - self._core - own - children) / seconds,
            "memory": most_memory(os.getpid()),
            "children_memory": self._offspring.most_memory,
            "answers": self.crawler.stats.get_value("response_received_count", 0),
            "samples": dict(self.samples),
        }
        Path(self.crawler.settings["SPEED_RESULT"]).write_text(json.dumps(result))

    def _sample(self, number: int, frame: FrameType | None) -> None:
        # The timer counts all threads. Where this one has not moved on, it was another's tick.
        before, self._thread = self._thread, thread_time()
        if self._thread - before < TICK / 2:
            self.samples["threads (RocksDB, look-ups)"] += 1
            return
        while frame is not None:
            file = frame.f_code.co_filename
            component = self._known.get(file)
            if component is None:
                component = self._known[file] = component_of(file)
            if component:
                self.samples[component] += 1
                return
            frame = frame.f_back
        self.samples["other"] += 1


def component_of(file: str) -> str:
    """Return the component that a file belongs to, "" if its callers tell."""
    # This project may be in a folder of any name, others are among the installed packages.
    path = file.replace(os.sep, "/").rpartition("site-packages/")[2]
    for name, parts in COMPONENTS:
        if any(part in path for part in parts):
            return name
    return ""


def core_seconds() -> float:
    """Return how long the cores have been busy, whoever they were busy for."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    # All but idle and waiting for a disk; guests are part of user.
    return sum(map(int, [*fields[:3], *fields[5:8]])) / os.sysconf("SC_CLK_TCK")


def most_memory(process: int) -> int:
    """Return the most memory that a process has had, in MB; ru_maxrss has that of its parent in it."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0) >> 10


class Offspring(Thread):
    """Looks now and then how much memory the largest process below another one has had, in MB."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.most_memory = 0
        self._process = process

    def run(self) -> None:
        before: set[int] = set()
        while True:
            now = set(offspring(self._process))
            # One that has just been forked may still have the memory of its parent.
            for child in now & before:
                with suppress(OSError):  # it has ended
                    self.most_memory = max(self.most_memory, most_memory(child))
            before = now
            sleep(GLANCE)


def offspring(process: int) -> Iterator[int]:
    """Yield the children of a process and theirs, whichever of its threads has started them."""
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # it has ended
            for child in map(int, children.read_text().split()):
                yield child
                yield from offspring(child)


def children_seconds() -> float:
    """Return the CPU time of the child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
