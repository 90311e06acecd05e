"""The embedded store as a crawl fills it: pages are safe in a journal at once and loaded many at a time.

Oxigraph keeps every quad six times, each time in another order. Page by page these go through RocksDB's
log and its sorted lists in memory; many thousand at a time they become sorted files at once, for half of
the CPU and a fifth of the memory (docs/stores.md). A page is acknowledged when it is in the journal. What
is there when the process dies is loaded when the store is opened the next time, and as a page replaces its
graph as a whole, it does not matter if some of it was loaded already.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pyoxigraph import Quad

    from rdfaspider.stores.oxigraph import OxigraphStore

logger = logging.getLogger(__name__)

# What is loaded at once: enough that sorting pays, little enough to stay in memory.
_LOAD_QUADS = 40_000
_LOAD_BYTES = 16 << 20
# More than this may not come to the journal while the load before takes its time.
_LIMIT_BYTES = 64 << 20


class Embedded:
    """A Store that hands what it takes on to an Oxigraph store, later.

    Layout: the changes that wait, by graph, and those being loaded; both are in the journal too.
    Invariant: a graph's changes are one replacement at most, and additions after it.
    When `is_full`, writers should wait until it is not; nothing is refused. `counters` counts batches,
    quads and milliseconds of what was loaded, and pages kept aside.
    """

    def __init__(
        self,
        store: OxigraphStore,
        *,
        load_quads: int = _LOAD_QUADS,
        load_bytes: int = _LOAD_BYTES,
        limit_bytes: int = _LIMIT_BYTES,
    ) -> None:
        self.store = store
        self.counters: Counter[str] = Counter()
        self._load_quads = load_quads
        self._load_bytes = load_bytes
        self._limit_bytes = limit_bytes
        self._waiting: dict[str, list[Change]] = {}
        self._loading: dict[str, list[Change]] = {}
        self._quads, self._loading_size = 0, 0
        self._failure = ""
        self._lock = threading.Lock()
        self._loader = ThreadPoolExecutor(1, "load")
        try:
            self._journal = Journal(store.path / "journal")
            for change in self._journal.read():
                self._take(change)
            self.load()
            self._journal.remove(self._journal.seal())  # those in which nothing was whole
        except BaseException:
            self._loader.shutdown()
            with suppress(OSError):
                store.close()
            raise

    @property
    def backlog(self) -> tuple[int, int]:
        """How many graphs wait, and how many bytes they are in the journal."""
        return len(self._waiting) + len(self._loading), self._journal.size + self._loading_size

    @property
    def backlog_quads(self) -> int:
        """How many quads are safe in the journal, but not in the store yet."""
        loading = sum(change.quads for changes in self._loading.values() for change in changes)
        return self._quads + loading

    @property
    def is_full(self) -> bool:
        # If nothing is being loaded the next page begins a load, so it must be let in.
        return bool(self._loading) and not self._failure and self._journal.size >= self._limit_bytes

    def create(self) -> bool:
        return self.store.create()

    # --- taking in ---

    def put(self, changes: Sequence[Change]) -> list[bool]:
        """Take changes in and write them down together; False for each that changes nothing."""
        with self._lock:
            self._check()
            answers, new = [], []
            try:
                for change in changes:
                    answers.append(is_new := self._is_new(change))
                    if is_new:
                        self._take(change)
                        new.append(change)
            finally:  # whoever comes next is told that these are there, even if one cannot be read
                self._write_down(new)
            if self._is_due() and not self._loading:
                self._loader.submit(self._load, *self._next())
            return answers

    def _is_new(self, change: Change) -> bool:
        if not change.replaces:
            return bool(change.quads)
        before = self._waiting.get(change.graph) or self._loading.get(change.graph)
        return before != [change] if before else not self.store.holds(change)

    def _take(self, change: Change) -> None:
        before = self._waiting.setdefault(change.graph, [])
        if change.replaces:
            self._quads -= sum(old.quads for old in before)
            before.clear()
        before.append(change)
        self._quads += change.quads

    def _write_down(self, changes: list[Change]) -> None:
        try:
            self._journal.append(changes)
        except OSError as error:
            # What was half written must not be followed by anything.
            self._fail(error)
            self._check()

    def _fail(self, error: BaseException) -> None:
        """Take nothing more, and say why to whoever comes."""
        self.counters["failed/load"] += 1
        self._failure = (
            f"The store {self.store.path} cannot be written: {error}. The pages that wait for it are in"
            f" {self._journal.directory}, and are loaded when it is opened the next time."
        )

    def _check(self) -> None:
        if self._failure:  # a new one each time, for it gathers the tracebacks of all who raise it
            raise StoreUnavailable(self._failure)

    # --- loading ---

    def load(self) -> None:
        """Load what waits, now."""
        with self._lock:
            self._loader.submit(int).result()  # whatever is being loaded comes first
            if self._waiting and not self._failure:
                self._load(*self._next())
            self._check()

    def _is_due(self) -> bool:
        return self._quads >= self._load_quads or self._journal.size >= self._load_bytes

    def _next(self) -> tuple[list[Change], list[Path]]:
        """Let what waits be what is being loaded; return it, and the files that it is in."""
        self._loading, self._waiting = self._waiting, {}
        self._quads, self._loading_size = 0, self._journal.size
        return list(chain.from_iterable(self._loading.values())), self._journal.seal()

    def _load(self, changes: list[Change], files: list[Path]) -> None:
        """Load changes and forget the files that they are in."""
        started = time.perf_counter()
        try:
            quads = self._load_all(changes)
            self._journal.remove(files)
        except BaseException as error:  # Oxigraph's panics are no Exceptions
            self._fail(error)
            return  # they remain what is being loaded, so that nothing is loaded after them
        self.counters["batches"] += 1
        self.counters["quads"] += quads
        self.counters["milliseconds"] += round((time.perf_counter() - started) * 1000)
        self._loading_size = 0
        self._loading = {}  # last: then the next may begin

    def _load_all(self, changes: list[Change]) -> int:
        """Load all, or, if one of them is at fault, each alone, so that none is lost for another.

        Return how many quads were loaded.
        """
        try:
            self.store.load(changes)
            return sum(change.quads for change in changes)
        except (SyntaxError, ValueError) as error:
            if len(changes) > 1:
                return sum(self._load_all([change]) for change in changes)
            self.counters["aside"] += 1
            self._journal.refuse(changes[0], error)
            logger.error(
                "%s is kept aside in %s: %s", changes[0].graph, self._journal.refused, error
            )
            return 0

    # --- the rest of a Store ---

    def replace(self, graph: str, quads: Iterable[Quad]) -> bool:
        return self.put([Change.replacing(graph, quads)])[0]

    def add(self, quads: Iterable[Quad]) -> None:
        self.put(Change.adding(quads))

    def write(self, changes: Sequence[Change]) -> None:
        self.put(changes)

    def query(self, sparql: str) -> Any:
        self.load()
        return self.store.query(sparql)

    def quads(self) -> Iterator[Quad]:
        self.load()
        return self.store.quads()

    def count(self) -> int:
        self.load()
        return self.store.count()

    def close(self) -> None:
        try:
            try:
                self.load()
            finally:
                self._let_go()
        except (OSError, RuntimeError) as error:
            if not self._failure:
                self._fail(error)
            logger.error("%s", self._failure)

    def _let_go(self) -> None:
        self._loader.shutdown()
        self._journal.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
