"""The counters of a frontier, packed and written with every change of state."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from typing import TYPE_CHECKING

from rdfaspider.frontier import Counts

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.frontier.tables.database import Database

# done, failed, denied, next number, next host; then the unfinished ones by depth
_NUMBERS = 5


class Counters:
    """URLs by state, the next free numbers, and unfinished URLs by depth.

    `floor` is the smallest depth of an unfinished URL: no page can be found at a smaller depth any more,
    unless new seeds come.
    """

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        stored = array("Q")
        stored.frombytes(database.meta.get(b"counters") or bytes(8 * _NUMBERS))
        self.done, self.failed, self.denied, self.next_number, self.next_host = stored[:_NUMBERS]
        self.unfinished = list(stored[_NUMBERS:])
        self._news = False  # whether there are rejections that are not on disk
        self.rejected = Counter(json.loads(database.meta.get(b"rejected") or b"{}"))
        self.copies = int(database.meta.get(b"copies") or b"0")
        self._saved_copies = self.copies
        self._topics = Counter(json.loads(database.meta.get(b"topics of pages") or b"{}"))
        self._new_topics = False  # whether their counts are not on disk
        self.pages = int(database.meta.get(b"pages read") or b"0")
        self._saved_pages = self.pages
        # Every number is a URL, so those in no other state are kept (G7).
        ended = self.done + self.failed + self.denied
        self.kept = self.next_number - ended - sum(self.unfinished)

    def save(self, batch: WriteBatch) -> None:
        numbers = (self.done, self.failed, self.denied, self.next_number, self.next_host)
        stored = array("Q", (*numbers, *self.unfinished)).tobytes()
        batch.put(b"counters", stored, self._meta.handle)
        if self._news:
            batch.put(b"rejected", json.dumps(self.rejected).encode(), self._meta.handle)
            self._news = False
        if self.copies != self._saved_copies:
            batch.put(b"copies", b"%d" % self.copies, self._meta.handle)
            self._saved_copies = self.copies
        if self.pages != self._saved_pages:
            batch.put(b"pages read", b"%d" % self.pages, self._meta.handle)
            self._saved_pages = self.pages
        if self._new_topics:
            batch.put(b"topics of pages", json.dumps(self._topics).encode(), self._meta.handle)
            self._new_topics = False

    def count_topic(self, name: str, change: int) -> None:
        """Count a page more or less of a topic; "" is none."""
        if name:
            self._topics[name] += change
            self._new_topics = True

    def reject(self, reason: str, count: int) -> None:
        """Count URLs that were not taken in."""
        if count:
            self.rejected[reason] += count
            self._news = True

    def begin(self, depth: int, count: int = 1) -> None:
        """Count URLs that became unfinished at a depth."""
        missing = depth + 1 - len(self.unfinished)
        if missing > 0:
            self.unfinished += [0] * missing
        self.unfinished[depth] += count

    def end(self, depth: int) -> None:
        self.unfinished[depth] -= 1

    def counts(self, *, in_flight: int = 0, revisiting: int = 0, arriving: int = 0) -> Counts:
        """Return the counts, given the URLs in flight, those of them that are kept pages, and those that are
        only in the inbox."""
        return Counts(
            waiting=sum(self.unfinished) - (in_flight - revisiting) + arriving,
            in_flight=in_flight,
            done=self.done,
            failed=self.failed,
            denied=self.denied,
            rejected=dict(self.rejected),
            copies=self.copies,
            kept=self.kept - revisiting,
            topics=dict(self._topics),
            pages=self.pages,
        )

    @property
    def floor(self) -> int:
        """Return the smallest depth of an unfinished URL, 256 if there is none."""
        for depth, count in enumerate(self.unfinished):
            if count:
                return depth
        return 256
