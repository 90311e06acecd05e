"""In front of a store that is elsewhere: pages are safe on disk at once and sent when it can be.

A page is acknowledged when it is in the spool. One thread sends what waits there, in batches, for as
long as it takes: the store may be down for hours. What the store refuses is halved until the page at
fault is alone, which is then kept aside with the store's words.
A batch is removed from the spool when the store has taken it; when the process dies in between it is
sent again, and as a page replaces its graph as a whole, that changes nothing.

That holds as long as the store itself survives. A disk store of RDF4J does not when its server is
killed in the midst of a write: statements of an old version remain, or every request is answered by an
error from then on (docs/stores.md has the runs). Nothing that is sent can mend this. So with `rebuild`
the outbox keeps what it sends, and a store that it made itself and that died in the midst of a write is
dropped, made anew and filled, unless there is more in it than was sent.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

from rdfaspider.stores import Refused, StoreDown, StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.spool import Entry, Spool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyoxigraph import Quad

    from rdfaspider.stores import Store

logger = logging.getLogger(__name__)

# Seconds before the first try after a failure; they double, up to the longest.
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0

# What a failure is called when the server, or the one behind a gateway, ended in the midst of a write.
_DEATHS = ("interrupted", "502")


class Outbox:
    """A Store that hands everything on to `store`, later.

    A batch is sent when `batch_quads` wait, or `batch_seconds` after the first of them came. When
    `is_full`, writers should wait until it is not; nothing is refused. `close` sends what waits,
    but gives up a store that has taken nothing for `drain_seconds`: the rest is sent when the
    outbox is opened the next time. `counters` counts batches, quads and milliseconds of what was
    sent, failed/LABEL, pages kept aside, and how often the store was rebuilt.
    """

    def __init__(
        self,
        store: Store,
        directory: str,
        *,
        target: str = "",
        batch_quads: int = 5_000,
        batch_seconds: float = 5.0,
        limit_bytes: int = 1 << 30,
        drain_seconds: float = 30.0,
        rebuild: bool = False,
        pause: float = _FIRST_PAUSE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.store = store
        self.spool = Spool(directory, target=target, keep=rebuild)
        self.counters: Counter[str] = Counter()
        self._batch_quads = batch_quads
        self._batch_seconds = batch_seconds
        self._limit_bytes = limit_bytes
        self._drain_seconds = drain_seconds
        self._pause = pause
        self._clock = clock
        self._failures = 0
        self._suspects = 0
        self._is_ready = False
        self._arrived = threading.Condition()
        self._closing = threading.Event()
        self._given_up = threading.Event()
        self._prepare()
        self._sender = threading.Thread(target=self._run, name="outbox", daemon=True)
        self._sender.start()

    def _prepare(self) -> None:
        """Make the store if it is missing; one that is down may be so, one that says no may not."""
        try:
            self._make_ready()
        except StoreDown as error:
            if error.label in ("401", "403"):
                self.spool.close()
                raise
            logger.warning("%s Pages wait in the outbox.", error)
        except BaseException:
            self.spool.close()
            raise

    def _make_ready(self) -> None:
        """Make the store if it is missing, and anew if it died in the midst of a write."""
        is_suspect = self.spool.is_suspect
        if is_suspect and not self._is_own():
            self.spool.disown()
            is_suspect = False
            logger.warning(
                "The store died in the midst of a write, but is not of this crawl alone: it is not made"
                " anew. If it is damaged, remove it: what this crawl has sent is then sent again."
            )
        if is_suspect:
            self.store.drop()  # type: ignore[attr-defined]  # nothing else can be suspect
            self.counters["rebuilt"] += 1
            logger.warning("The store died in the midst of a write: it is made anew and filled.")
        if self.create() or is_suspect:
            self.spool.start_over()
        self._is_ready = True

    def _is_own(self) -> bool:
        """Tell whether this crawl has made the store and sent all that is there.

        Old statements may be there beside new ones, but no more than both together. One that is so
        damaged that counting is an error of the server is taken for what it was; one that merely takes
        too long is not.
        """
        if not self.store.is_own():  # type: ignore[attr-defined]
            return False
        try:
            return self.store.count() <= self.spool.known_quads
        except StoreDown as error:
            if error.label == "timeout":
                return False
            if error.label in ("404", "500"):
                return True
            raise

    @property
    def is_full(self) -> bool:
        return bool(self.spool.size >= self._limit_bytes)

    def create(self) -> bool:
        return self.store.create()

    @property
    def backlog(self) -> tuple[int, int]:
        """How many pages wait, and how many bytes are kept."""
        return self.spool.pages, self.spool.size

    @property
    def backlog_quads(self) -> int:
        """How many quads are safe here, but not sent yet."""
        return self.spool.quads

    def put(self, changes: Sequence[Change]) -> list[bool]:
        """Take changes in, in one transaction; False for each that changes nothing."""
        answers = self.spool.put_all(
            [(change, change.digest() if change.replaces else b"") for change in changes]
        )
        self._notify()
        return answers

    def replace(self, graph: str, quads: Iterable[Quad]) -> bool:
        return self.put([Change.replacing(graph, quads)])[0]

    def add(self, quads: Iterable[Quad]) -> None:
        self.put(Change.adding(quads))

    def write(self, changes: Sequence[Change]) -> None:
        self.put(changes)

    def replay(self) -> int:
        """Send once more what was kept aside; return how many changes that are."""
        count = self.spool.replay()
        self._notify()
        return count

    def query(self, sparql: str) -> Any:
        return self.store.query(sparql)

    def quads(self) -> Iterator[Quad]:
        return self.store.quads()

    def count(self) -> int:
        return self.store.count()

    def close(self) -> None:
        self._closing.set()
        self._notify()
        taken = -1
        while self._sender.is_alive() and taken != self.counters["batches"]:
            taken = self.counters["batches"]
            self._sender.join(self._drain_seconds)
        self._given_up.set()
        self._sender.join()
        if self.spool.pages:
            logger.warning(
                "%d pages wait in the outbox %s: they are sent by the next run, or by"
                " scrapy export --send.",
                self.spool.pages,
                self.spool.path.parent,
            )
        self.spool.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _notify(self) -> None:
        with self._arrived:
            self._arrived.notify()

    # --- the sender's thread ---

    def _run(self) -> None:
        while self._wait_for_batch():
            try:
                if not self._is_ready:
                    self._make_ready()
                self._send(self._batch())
            except StoreDown as error:
                self._is_ready = False
                if error.label in _DEATHS:
                    self.spool.suspect()
                self._back_off(error, error.label)
            except StoreUnavailable as error:  # the outbox itself cannot be read or written
                self._back_off(error, "outbox")
            except Exception as error:
                logger.exception("The outbox cannot send")
                self._back_off(error, "error")
        self.store.close()

    def _wait_for_batch(self) -> bool:
        """Wait until there is something to send; False when all is done."""
        with self._arrived:
            self._arrived.wait_for(lambda: self.spool.pages or self._closing.is_set())
            self._arrived.wait_for(self._is_due, self._batch_seconds)
        return bool(self.spool.pages) and not self._given_up.is_set()

    def _is_due(self) -> bool:
        enough = self.spool.quads >= self._batch_quads or self.is_full
        return enough or self._failures > 0 or self._suspects > 0 or self._closing.is_set()

    def _batch(self) -> list[Entry]:
        """Return what is sent next: if one of the first is at fault, half of them."""
        entries = self.spool.batch(self._batch_quads)
        return entries[: max(1, self._suspects // 2)] if self._suspects else entries

    def _send(self, entries: list[Entry]) -> None:
        started = self._clock()
        try:
            self.store.write([entry.change for entry in entries])
        except Refused as refusal:
            self._refused(entries, refusal)
            return
        self.spool.remove(entries)
        self._suspects = max(0, self._suspects - len(entries))
        if self._failures:
            logger.info("The store takes pages again.")
            self._failures = 0
        self.counters["batches"] += 1
        self.counters["quads"] += sum(entry.change.quads for entry in entries)
        self.counters["milliseconds"] += round((self._clock() - started) * 1000)

    def _refused(self, entries: list[Entry], refusal: Refused) -> None:
        """Let the next batch be half of this one, until the page at fault is alone."""
        self.counters[f"failed/{refusal.status}"] += 1
        if len(entries) > 1:
            self._suspects = len(entries)
            return
        self._suspects = 0
        (entry,) = entries
        self.spool.set_aside(entry, refusal.status, refusal.words)
        self.counters["aside"] += 1
        logger.warning("The store refuses %s: %s", entry.change.graph, refusal)

    def _back_off(self, error: Exception, label: str) -> None:
        self.counters[f"failed/{label}"] += 1
        pause = min(self._pause * 2**self._failures, _LONGEST_PAUSE)
        if not self._failures:
            logger.warning("%s Pages wait in the outbox.", error)
        self._failures = min(self._failures + 1, 16)
        if self._closing.is_set():
            self._given_up.wait(min(pause, _FIRST_PAUSE))
        else:
            self._closing.wait(pause)
