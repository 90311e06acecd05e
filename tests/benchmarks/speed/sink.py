"""(e), (f) once more, with what the sink takes of the CPU: in the main thread, in its own, in Oxigraph's.

Everything between a page's arrival at the store and its triples on disk, or on their way to a server, is
timed by the CPU clock of the thread it runs in, so that a share needs one crawl and no comparison with
another. RocksDB's threads are those that are there after the store was opened and were not before, and
those that have come and gone while pages were loaded.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from pathlib import Path
from time import process_time, thread_time
from typing import Any

from rdfaspider.pipelines.store import StorePipeline
from rdfaspider.pipelines.writer import Writer
from rdfaspider.stores.embedded import Embedded
from rdfaspider.stores.embedded.oxigraph import OxigraphStore
from rdfaspider.stores.outbox import Outbox
from tests.benchmarks.speed.contender import read_arguments
from tests.benchmarks.speed.rdfaspider import main

seconds: defaultdict[str, float] = defaultdict(float)
database_threads: set[str] = set()
_here = threading.local()


def timed(owner: type, name: str, part: str) -> None:
    """Add what a method takes, in whatever thread, to a part; what it calls is not counted twice."""
    method: Callable[..., Any] = getattr(owner, name)

    @wraps(method)
    def measured(*arguments: Any) -> Any:
        if getattr(_here, "is_measured", False):
            return method(*arguments)
        _here.is_measured, start = True, thread_time()
        try:
            return method(*arguments)
        finally:
            seconds[part] += thread_time() - start
            _here.is_measured = False

    setattr(owner, name, measured)


class Steps:
    """A coroutine whose steps are timed, but not its pauses."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        while True:
            start = thread_time()
            try:
                pause = self.coroutine.send(None)
            except StopIteration as end:
                return end.value
            finally:
                seconds["main thread"] += thread_time() - start
            yield pause


def time_the_pipeline() -> None:
    process = StorePipeline.process_item

    async def process_item(self: StorePipeline, page: Any) -> Any:
        return await Steps(process(self, page))

    StorePipeline.process_item = process_item  # type: ignore[method-assign]
    for name in ("_written", "close"):
        timed(Writer, name, "main thread")
    timed(StorePipeline, "_report", "main thread")
    timed(Writer, "_write", "writing down")
    timed(Embedded, "_load", "loading")
    timed(Embedded, "close", "loading")
    timed(Outbox, "_run", "sending")
    timed(Outbox, "close", "sending")


def time_the_loading() -> None:
    """Loading has threads of its own, which end with it."""
    load = OxigraphStore.load

    def measured(*arguments: Any, **named: Any) -> None:
        before = process_time() - sum(threads().values())
        load(*arguments, **named)
        seconds["RocksDB's threads"] += process_time() - sum(threads().values()) - before

    OxigraphStore.load = measured  # type: ignore[method-assign]


def notice_database_threads() -> None:
    """Remember which threads came with the store."""
    create = OxigraphStore.__init__

    def open_store(self: OxigraphStore, *arguments: Any, **options: Any) -> None:
        before = set(threads())
        create(self, *arguments, **options)
        database_threads.update(set(threads()) - before)

    OxigraphStore.__init__ = open_store  # type: ignore[method-assign]
    close = OxigraphStore.close

    def measure_and_close(self: OxigraphStore) -> None:
        self._store.flush()
        now = threads()
        seconds["RocksDB's threads"] += sum(now.get(thread, 0.0) for thread in database_threads)
        close(self)

    OxigraphStore.close = measure_and_close  # type: ignore[method-assign]


def threads() -> dict[str, float]:
    """Return the CPU seconds of each thread of this process."""
    return {
        path.name: int((path / "schedstat").read_text().split()[0]) / 1e9
        for path in Path("/proc/self/task").iterdir()
    }


if __name__ == "__main__":
    notice_database_threads()
    time_the_loading()
    time_the_pipeline()
    main()
    result = Path(read_arguments().result)
    result.write_text(json.dumps(json.loads(result.read_text()) | {"sink": seconds}))
