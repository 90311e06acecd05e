"""The embedded store: Oxigraph in a directory of the crawl, filled through a journal.

Oxigraph keeps every quad six times, each time in another order. Written page by page, all of them pass
through RocksDB's log and memtables; many thousand at a time become sorted files directly, for half the CPU
and a fifth of the memory (docs/results.md). So `Embedded` acknowledges a page when it is in the journal
(`journal.py`), and a thread loads the journal into `OxigraphStore` (`oxigraph.py`, opened by `opening.py`) in
batches. Two more threads load what is left at the end. What the journal holds when the process dies is loaded
the next time the store is opened. As a page replaces its graph as a whole, it does not matter if some of it
was loaded already.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.stores import Backlog, Sink, StoreUnavailable
from rdfaspider.stores.embedded.journal import REFUSED, Journal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rdfaspider.stores.changes import Change
    from rdfaspider.stores.embedded.oxigraph import OxigraphStore

logger = logging.getLogger(__name__)

# Threads for what is left when the crawl ends, or when it died: nothing else is to be done then.
_THREADS = 2


class _Load(NamedTuple):
    """Changes that are being loaded."""

    graphs: dict[str, list[Change]]
    files: list[Path]  # of the journal
    size: int  # of the last one, to which the changes of this run went
    quads: int


@dataclass(eq=False, repr=False)
class Embedded(Sink):
    """A sink that passes changes on to an Oxigraph store.

    Layout: the waiting changes by graph, and the loads under way, at most two; all are in the journal too.
    Invariant: the changes of a graph are at most one replacement, and additions after it. The loads under way
    have no graph and no file of the journal in common.
    """

    store: OxigraphStore
    _: KW_ONLY
    # A load has about this many quads or bytes: enough that sorting pays off, few enough to fit in memory.
    load_quads: int = 40_000
    load_bytes: int = 24 << 20
    # Later loads grow to this many. After every other load RocksDB merges all that is stored, so the fewer
    # loads, the less CPU. At 114,688 quads the table that Oxigraph makes of a load doubles its size.
    most_quads: int = 100_000
    # The journal may grow to this size while the load before it takes its time. The next load has all of it,
    # and takes several times as much memory.
    limit_bytes: int = 32 << 20

    def __post_init__(self) -> None:
        self.counters = Counter()
        self._waiting: dict[str, list[Change]] = {}
        self._loads: tuple[_Load, ...] = ()
        self._quads = 0
        self._copies = 0  # of the store, that are being made
        self._failure = ""
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # held for the moment in which a load begins, ends or fails
        self._loader = ThreadPoolExecutor(1, "load")
        try:
            self._journal = Journal(self.store.path / "journal")
            for change in self._journal.read():
                self._accept(change)
            if self._journal.held is None:
                self._journal.held = self.store.count_of_pages()
            self.load()
            self._journal.remove(self._journal.seal())  # files without a whole change
        except BaseException:
            self._loader.shutdown()
            with suppress(OSError):
                self.store.close()
            raise

    @property
    def backlog(self) -> Backlog:
        loads, journal = self._loads, self._journal
        return Backlog(
            len(self._waiting) + sum(len(load.graphs) for load in loads),
            journal.size + sum(load.size for load in loads),
            self._quads + sum(load.quads for load in loads),
            journal.held or 0,
        )

    @property
    def is_full(self) -> bool:
        # If nothing is being loaded, the next page begins a load, so it must be let in.
        return bool(self._loads) and not self._failure and self._journal.size >= self.limit_bytes

    def copy_store(self, path: Path) -> bool:
        with self._lock:
            self._copies += 1
        try:
            for _ in range(2):  # after the load under way, the one of what waits
                with self._lock:
                    is_free = self._waiting and not self._loads and not self._failure
                    call = (self._load, self._next()) if is_free else (int,)
                    load = self._loader.submit(*call)
                load.result()
            # In the thread of loads: while one is under way, graphs may be gone that it brings back.
            with self._lock:
                copy = self._loader.submit(self.store.copy_to, path)
            copy.result()
        finally:
            with self._lock:
                self._copies -= 1
        return True

    def put(self, changes: Sequence[Change]) -> list[bool]:
        with self._lock:
            self._check()
            answers, new, growths = [], [], []
            try:
                for change in changes:
                    answers.append(is_new := self._is_new(change))
                    if is_new:
                        growths.append(self._growth(change))
                        self._accept(change)
                        new.append(change)
            finally:  # later changes are compared with these, even if one cannot be read
                self._append(new, growths)
            if self._is_due() and not self._loads:
                self._loader.submit(self._load, self._next())
            return answers

    def _is_new(self, change: Change) -> bool:
        if not change.replaces:
            return bool(change.quads)
        before = self._waiting.get(change.graph) or self._loading(change.graph)
        if before:
            return len(before) > 1 or not before[0].has_content_of(change)
        return not self.store.holds(change)

    def _growth(self, change: Change) -> int:
        """Return by how many quads a change makes the pages grow."""
        if not change.replaces:
            return 0
        before = self._waiting.get(change.graph) or self._loading(change.graph)
        size = sum(each.quads for each in before) if before else self.store.size(change.graph)
        return change.quads - size

    def _loading(self, graph: str) -> list[Change]:
        return next((load.graphs[graph] for load in self._loads if graph in load.graphs), [])

    def _accept(self, change: Change) -> None:
        before = self._waiting.setdefault(change.graph, [])
        if change.replaces:
            self._quads -= sum(old.quads for old in before)
            before.clear()
        before.append(change)
        self._quads += change.quads

    def _append(self, changes: list[Change], growths: list[int]) -> None:
        try:
            self._journal.append(changes, growths)
        except OSError as error:
            self._fail(error)
            self._check()

    def _fail(self, error: BaseException) -> None:
        """Accept nothing from now on, and say why."""
        with self._turn:
            self.counters["failed/load"] += 1
            self._failure = self._failure or (
                f"The store {self.store.path} cannot be written: {error}. The pages that wait for it are in"
                f" {self._journal.directory}, and are loaded when it is opened the next time."
            )

    def _check(self) -> None:
        if self._failure:  # a new exception each time, because each collects tracebacks
            raise StoreUnavailable(self._failure)

    def load(self) -> None:
        """Load the waiting changes now."""
        with self._lock:
            under_way = self._loader.submit(int)  # done after the load under way
            if self._copies or any(map(self._loading, self._waiting)):
                under_way.result()
            if self._waiting and not self._failure:
                self._load(self._next(), _THREADS)
            under_way.result()
            self._check()

    def _is_due(self) -> bool:
        """Tell whether enough waits: half of what this run has loaded, up to `most_quads`. So loads become
        fewer as there is more to merge, and a short crawl does not load everything at its end."""
        enough = min(self.most_quads, max(self.load_quads, self.counters["quads"] // 2))
        return self._quads >= enough or self._journal.size >= self.load_bytes

    def _next(self) -> _Load:
        """Return the waiting changes, which are being loaded from now on."""
        with self._turn:
            size = self._journal.size
            others = {path for load in self._loads for path in load.files}
            files = [path for path in self._journal.seal() if path not in others]
            load = _Load(self._waiting, files, size, self._quads)
            self._loads += (load,)
            self._waiting, self._quads = {}, 0
        return load

    def _load(self, load: _Load, threads: int = 1) -> None:
        """Load changes and delete their files."""
        started = time.perf_counter()
        try:
            quads = self._load_all(list(chain.from_iterable(load.graphs.values())), threads)
            with self._turn:
                self._journal.remove(load.files)
                self.counters["batches"] += 1
                self.counters["quads"] += quads
                self.counters["milliseconds"] += round((time.perf_counter() - started) * 1000)
                self._loads = tuple(other for other in self._loads if other is not load)
        except BaseException as error:  # Oxigraph's panics are not Exceptions
            self._fail(error)  # `_loads` stay as they are, so that nothing is loaded after these

    def _load_all(self, changes: list[Change], threads: int = 1) -> int:
        """Load changes together or, if one of them is at fault, one by one; return the number of quads."""
        try:
            self.store.load(changes, threads)
            return sum(change.quads for change in changes)
        except (SyntaxError, ValueError) as error:
            if len(changes) > 1:
                return sum(self._load_all([change]) for change in changes)
            with self._turn:
                self.counters["refused"] += 1
                self._journal.refuse(changes[0], error)
            place = self._journal.directory / REFUSED
            logger.error("%s is refused and kept in %s: %s", changes[0].graph, place, error)
            return 0

    def close(self) -> None:
        try:
            try:
                self.load()
            finally:
                self._loader.shutdown()
                self._journal.close()
                self.store.close()
        except (OSError, RuntimeError) as error:
            if not self._failure:
                self._fail(error)
            logger.error("%s", self._failure)
