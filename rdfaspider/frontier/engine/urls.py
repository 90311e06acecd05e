"""The states of URLs: trie, waiting and postponed URLs, failures and counters, which change together.

Each method adds its changes to a batch and to the counts of the host. The caller writes both.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rdfaspider.frontier.engine.counters import Counters
from rdfaspider.frontier.tables.failures import Failure, Failures
from rdfaspider.frontier.tables.postponed import Postponed
from rdfaspider.frontier.tables.trie import (
    DENIED,
    DEPTH,
    DONE,
    FAILED,
    KEPT,
    POSTPONED,
    WAITING,
    Record,
    Trie,
    parts,
    unpack,
)
from rdfaspider.frontier.tables.visits import Due, ServerWords
from rdfaspider.frontier.tables.waiting import WaitingUrls
from rdfaspider.urls.keys import to_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocksdict import WriteBatch

    from rdfaspider.focus.visits.planner import Fields, Past
    from rdfaspider.frontier import State, Taken
    from rdfaspider.frontier.orders.order import Order
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database

_STATES = {"done": DONE, "failed": FAILED, "denied": DENIED}


class Urls:
    """Moves URLs from state to state. The order decides the rank and the hint of each."""

    def __init__(self, database: Database, order: Order) -> None:
        self.trie = Trie(database)
        self.counters = Counters(database)
        self.postponed = Postponed(database)
        self.due_pages = Due(database)
        self.server_words = ServerWords(database)
        self._waiting = WaitingUrls(database, order)
        self._failures = Failures(database)
        self._order = order

    # --- new ones ---

    def add(
        self, batch: WriteBatch, host: Host, keys: list[bytes], findings: dict[bytes, int]
    ) -> int:
        """Make new URLs of a host wait; return the number of the first."""
        first = self.counters.next_number
        self._waiting.add_all(batch, host, keys, findings, first)
        host.taken_in += len(keys)
        self.counters.next_number += len(keys)
        return first

    def add_records(
        self, batch: WriteBatch, keys: list[bytes], findings: dict[bytes, int], first: int
    ) -> None:
        """Write the records of all URLs added since a number, sorted."""
        own = [findings[key] for key in keys]
        self.trie.add(batch, keys, own, first)
        for found, count in Counter(own).items():
            self.counters.begin(found & DEPTH, count)

    def mark_target(
        self, batch: WriteBatch, host: Host, key: bytes, found: int, number: int, hops: int
    ) -> None:
        """Write a new URL again, now as the target of redirects."""
        depth, hint = parts(found)
        record = Record(WAITING, depth, 0, number, hint, hops)
        self._waiting.write(batch, host, key, record)
        self.trie.update(batch, key, record)

    # --- those in flight ---

    def end(
        self, batch: WriteBatch, host: Host, taken: Taken, state: State, hint: int, failure: Failure
    ) -> bytes:
        """End a URL with the hint that the order gives it; return its key."""
        key = self._remove(batch, host, taken, _STATES[state], hint)
        counters = self.counters
        if taken.visit is None:
            counters.end(taken.depth)
        else:
            counters.kept -= 1
            host.kept -= 1
        if state == "done":
            counters.done += 1
            host.done += 1
            if taken.attempts:
                self._failures.forget(batch, taken.number)
            return key
        if state == "failed":
            counters.failed += 1
            host.failed += 1
        else:
            counters.denied += 1
        self._failures.keep(batch, taken.number, failure)
        return key

    def postpone(
        self, batch: WriteBatch, host: Host, taken: Taken, hint: int, until: float, failure: Failure
    ) -> None:
        """Postpone a URL until a time."""
        self._failures.keep(batch, taken.number, failure)
        taken.attempts = min(taken.attempts + 1, 255)
        self._remove(batch, host, taken, POSTPONED, hint)
        self.postponed.add(batch, host, taken.number, until)

    def keep(
        self,
        batch: WriteBatch,
        host: Host,
        key: bytes,
        taken: Taken,
        hint: int,
        attempts: int,
        past: Fields,
        due: int,
        before: Past | None,
    ) -> None:
        """Keep a page until its next visit is due, at the time that its past says."""
        number, depth = taken.number, taken.depth
        if taken.attempts and not attempts:
            self._failures.forget(batch, number)
        taken.attempts = attempts
        if taken.visit is None:
            self._waiting.remove(batch, host, key, depth, taken.hint, number)
            self.counters.end(depth)
            self.counters.kept += 1
            host.kept += 1
        if before is not None:
            self.due_pages.remove(batch, host, before.due, number)
        self.trie.keep(batch, key, depth, attempts, number, hint, taken.hops, past)
        self.due_pages.add(batch, host, due, number)

    def keep_failure(self, batch: WriteBatch, number: int, failure: Failure) -> None:
        """Keep for people why the last visit of a kept page has failed."""
        self._failures.keep(batch, number, failure)

    def keep_done(
        self, batch: WriteBatch, host: Host, key: bytes, record: Record, past: Past
    ) -> None:
        """Keep a page that was done."""
        self.counters.done -= 1
        self.counters.kept += 1
        host.done -= 1
        host.kept += 1
        self.trie.update(batch, key, record._replace(state=KEPT, attempts=0, past=past))
        self.due_pages.add(batch, host, past.due, record.number)
        self.counters.save(batch)

    def _remove(self, batch: WriteBatch, host: Host, taken: Taken, state: int, hint: int) -> bytes:
        key = to_key(taken.url)
        depth, number = taken.depth, taken.number
        if taken.visit is None:
            self._waiting.remove(batch, host, key, depth, taken.hint, number)
        record = Record(state, depth, taken.attempts, number, hint, taken.hops)
        self.trie.update(batch, key, record)
        return key

    # --- known ones ---

    def due(self, batch: WriteBatch, now: float, most: int) -> Iterator[tuple[bytes, Record]]:
        """Yield postponed URLs whose time has come; the caller passes each to `wake`."""
        keys = self.trie.keys(self.postponed.pop(batch, now, most))
        for key, data in zip(keys, self.trie.records(keys), strict=True):
            assert data is not None
            yield key, unpack(data)

    def wake(self, batch: WriteBatch, host: Host, key: bytes, record: Record) -> None:
        """Make a postponed URL wait for its host only."""
        record = record._replace(state=WAITING)
        host.postponed -= 1
        self._waiting.add(batch, host, key, record)
        self.trie.update(batch, key, record)

    def reopen(self, batch: WriteBatch, host: Host, key: bytes, record: Record) -> None:
        """Make a done, kept or failed URL wait again, with the depth and attempts of its record."""
        if record.state == DONE:
            host.done -= 1
            self.counters.done -= 1
        elif record.state == KEPT:
            self._forget_visits(batch, host, record)
            record = record._replace(past=None)
        else:
            host.failed -= 1
            self.counters.failed -= 1
            self._failures.forget(batch, record.number)
        self._waiting.add(batch, host, key, record)
        self.trie.update(batch, key, record._replace(state=WAITING))
        self.counters.begin(record.depth)

    def retire(
        self, batch: WriteBatch, host: Host, key: bytes, record: Record, failure: Failure
    ) -> None:
        """End a kept page as denied."""
        self._forget_visits(batch, host, record)
        self.trie.update(batch, key, record._replace(state=DENIED, past=None))
        self.counters.denied += 1
        self._failures.keep(batch, record.number, failure)

    def _forget_visits(self, batch: WriteBatch, host: Host, record: Record) -> None:
        assert record.past is not None
        host.kept -= 1
        self.counters.kept -= 1
        self.due_pages.remove(batch, host, record.past.due, record.number)
        self.server_words.forget(batch, record.number)

    def move(
        self, batch: WriteBatch, host: Host, key: bytes, record: Record, better: Record
    ) -> None:
        """Make a waiting URL wait at another depth, or with another hint."""
        self._waiting.remove(batch, host, key, record.depth, record.hint, record.number)
        self._waiting.add(batch, host, key, better)
