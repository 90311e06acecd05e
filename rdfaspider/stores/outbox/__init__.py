"""The outbox: pages on their way to a store, safe on disk until the store has taken them.

`Outbox` acknowledges a page when it is in its database (`database.py`, opened by `file.py`). One thread sends
what waits there, in batches, for as long as it takes: the store may be down for hours. A batch that the
store refuses is halved until the page at fault is alone; that page is kept as refused, with the store's
words. Some servers answer 500 to a page that they cannot take. Such a batch is halved too, if the store takes
a test update after it; a page alone must fail three times. A batch leaves the database when the store has
taken it. If the process dies in between, it is sent again, which changes nothing, because a page replaces
its graph as a whole.

This holds as long as the store itself survives. A disk store of RDF4J does not when its server is killed
during a write: statements of an old version remain, or every request fails from then on (docs/results.md
has the runs), and nothing that is sent can mend that. So an outbox that may rebuild its store keeps what it
sends (`tables.py`). If a store that it created itself dies during a write, the outbox drops it, creates
it again and fills it, unless the store holds more than was sent. `tables.py` also deletes removed pages.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rdfaspider.stores import Backlog, Refused, Sink, Store, StoreDown, StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.outbox.database import OutboxDatabase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.stores.outbox.database import Entry

logger = logging.getLogger(__name__)

# Seconds before the first retry after a failure; they double, up to the longest.
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0

# Labels of failures in which the server, or the one behind a gateway, died during a write.
_DEATHS = ("interrupted", "502")

# A status that blames the server or the data, and how often a page may cause it.
_ERROR = 500
_MAX_ERRORS = 3


@runtime_checkable
class Rebuildable(Store, Protocol):
    """A store that the outbox may drop and fill again."""

    def is_own(self) -> bool:
        """Tell whether this crawl created the store, as far as is known."""

    def drop(self) -> None:
        """Remove the store with all its content, if it exists."""


@dataclass(eq=False, repr=False)
class Outbox(Sink):
    """A sink that sends changes to `store`.

    A batch is sent when `batch_quads` wait, or `batch_seconds` after the first of them came. `close`
    sends what waits, but gives up on a store that has settled nothing for `drain_seconds`: the rest is
    sent when the outbox is opened the next time. `rebuilt` is the store, if the outbox may rebuild it.
    """

    store: Store
    directory: str
    _: KW_ONLY
    target: str = ""
    batch_quads: int = 5_000
    batch_seconds: float = 5.0
    limit_bytes: int = 1 << 30
    drain_seconds: float = 30.0
    rebuilt: Rebuildable | None = None
    pause: float = _FIRST_PAUSE

    def __post_init__(self) -> None:
        keep = self.rebuilt is not None
        self.database = OutboxDatabase(self.directory, target=self.target, keep=keep)
        self.counters = Counter()
        self._failures = 0
        self._suspects = 0
        self._errors: dict[int, int] = {}  # of the page that failed last, by its number
        self._is_ready = False
        self._arrived = threading.Condition()
        self._closing = threading.Event()
        self._given_up = threading.Event()
        self._prepare()
        self._sender = threading.Thread(target=self._run, name="outbox", daemon=True)
        self._sender.start()

    def _prepare(self) -> None:
        """Create the store if it is missing; it may be down, but may not deny access."""
        try:
            self._make_ready()
        except StoreDown as error:
            if error.label in ("401", "403"):
                self.database.close()
                raise
            logger.warning("%s Pages wait in the outbox.", error)
        except BaseException:
            self.database.close()
            raise

    def _make_ready(self) -> None:
        """Create the store if it is missing, and rebuild it if it died during a write."""
        is_rebuilt = self.rebuilt is not None and self._drop_if_dead(self.rebuilt)
        if self.store.create() or is_rebuilt:
            self.database.start_over()
        self._is_ready = True

    def _drop_if_dead(self, store: Rebuildable) -> bool:
        """Drop the store if it died during a write; tell whether that was done."""
        if not self.database.is_suspect:
            return False
        if not self._is_own(store):
            self.database.disown()
            logger.warning(
                "The store died in the midst of a write, but is not of this crawl alone: it is not rebuilt."
                " If it is damaged, remove it: what this crawl has sent is then sent again."
            )
            return False
        store.drop()
        self.counters["rebuilt"] += 1
        logger.warning("The store died in the midst of a write: it is rebuilt and filled.")
        return True

    def _is_own(self, store: Rebuildable) -> bool:
        """Tell whether this crawl created the store and sent everything in it.

        Old statements may be left beside new ones, but no more than both together. A store so damaged
        that counting fails is taken for the crawl's own; one that is merely too slow to count is not.
        """
        if not store.is_own():
            return False
        try:
            return store.count() <= self.database.known_quads
        except StoreDown as error:
            if error.label == "timeout":
                return False
            if error.label in ("404", "500"):
                return True
            raise

    @property
    def is_full(self) -> bool:
        return bool(self.database.size >= self.limit_bytes)

    @property
    def backlog(self) -> Backlog:
        waiting = self.database
        return Backlog(waiting.pages, waiting.size, waiting.quads, waiting.held)

    @property
    def _settled(self) -> int:
        return self.counters["batches"] + self.counters["refused"]

    def put(self, changes: Sequence[Change]) -> list[bool]:
        given = [change.unnamed() for change in changes]
        answers = self.database.put(
            [(change, change.digest() if change.replaces else b"") for change in given]
        )
        self._notify()
        return answers

    def send_refused(self) -> None:
        """Send once more what the store refused."""
        self.database.retry_refused()
        self._notify()

    def close(self) -> None:
        self._closing.set()
        self._notify()
        settled = -1
        while self._sender.is_alive() and settled != self._settled:
            settled = self._settled
            self._sender.join(self.drain_seconds)
        self._given_up.set()
        self._sender.join()
        if self.database.pages:
            logger.warning(
                "%d pages wait in the outbox %s: they are sent by the next run.",
                self.database.pages,
                self.database.path.parent,
            )
        self.database.close()
        self.store.close()

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
                    self.database.suspect()
                self._back_off(error, error.label)
            except StoreUnavailable as error:  # the outbox itself cannot be read or written
                self._back_off(error, "outbox")
            except Exception as error:
                logger.exception("The outbox cannot send")
                self._back_off(error, "error")

    def _wait_for_batch(self) -> bool:
        """Wait until there is something to send; return False when all is done."""
        with self._arrived:
            self._arrived.wait_for(lambda: self.database.pages or self._closing.is_set())
            self._arrived.wait_for(self._is_due, self.batch_seconds)
        return bool(self.database.pages) and not self._given_up.is_set()

    def _is_due(self) -> bool:
        enough = self.database.quads >= self.batch_quads or self.is_full
        return enough or self._failures > 0 or self._suspects > 0 or self._closing.is_set()

    def _batch(self) -> list[Entry]:
        """Return the next batch: if one of the first pages is at fault, half of them."""
        entries = self.database.batch(self.batch_quads)
        return entries[: max(1, self._suspects // 2)] if self._suspects else entries

    def _send(self, entries: list[Entry]) -> None:
        started = time.perf_counter()
        try:
            self.store.write([entry.change for entry in entries])
        except Refused as refusal:
            self._refused(entries, refusal)
            return
        except StoreDown as error:
            if error.label != str(_ERROR) or not self._takes_test():
                self._errors.clear()
                raise
            self._failed(entries, error)
            return
        self.database.remove(entries)
        self._suspects = max(0, self._suspects - len(entries))
        if self._failures:
            logger.info("The store takes pages again.")
            self._failures = 0
        self.counters["batches"] += 1
        self.counters["quads"] += sum(entry.change.quads for entry in entries)
        self.counters["milliseconds"] += round((time.perf_counter() - started) * 1000)

    def _refused(self, entries: list[Entry], refusal: Refused) -> None:
        """Halve the next batch, until the page at fault is alone."""
        self.counters[f"failed/{refusal.status}"] += 1
        if len(entries) > 1:
            self._suspects = len(entries)
            return
        self._suspects = self._failures = 0
        (entry,) = entries
        self.database.refuse(entry, refusal)
        self.counters["refused"] += 1
        logger.warning("The store refuses %s: %s", entry.change.graph, refusal)

    def _failed(self, entries: list[Entry], error: StoreDown) -> None:
        """Take the error of a store that works otherwise for a refusal; try a page alone again first."""
        number = entries[0].number
        if len(entries) == 1:
            self._errors = {number: self._errors.get(number, 0) + 1}
            if self._errors[number] < _MAX_ERRORS:
                self._back_off(error, error.label)
                return
        self._refused(entries, Refused(_ERROR, error.words))

    def _takes_test(self) -> bool:
        """Tell whether the store takes a test update."""
        try:
            self.store.test()
        except (Refused, StoreDown):
            return False
        return True

    def _back_off(self, error: Exception, label: str) -> None:
        self.counters[f"failed/{label}"] += 1
        pause = min(self.pause * 2**self._failures, _LONGEST_PAUSE)
        if not self._failures:
            logger.warning("%s Pages wait in the outbox.", error)
        self._failures = min(self._failures + 1, 16)
        if self._closing.is_set():
            self._given_up.wait(min(pause, _FIRST_PAUSE))
        else:
            self._closing.wait(pause)
