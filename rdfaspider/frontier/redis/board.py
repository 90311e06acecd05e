"""The board: what Redis said last of each partition, and what follows from all together."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rdfaspider.frontier import Counts

_NO_COUNTERS = (b"epoch", b"buckets", b"pruned", b"tokens")


class Board:
    """`next` is when each partition has something to hand out, None if never; `floor` is the smallest
    depth of anything unfinished; `loads` has how many hosts are at work in each; `is_over` says that nothing
    is left anywhere; `stranded` are the partitions that have unfinished URLs and no time at which any of
    them is ready."""

    def __init__(self, partitions: int) -> None:
        self.next: list[float | None] = [0.0] * partitions
        self.unplaced = [0] * partitions
        self.loads = [0] * partitions
        self.floor = 0
        self.is_over = False
        self.lost = 0
        self.stranded: set[int] = set()
        self._counters: list[dict[str, int]] = [{} for _ in range(partitions)]
        self._quiet: list[dict[str, int]] | None = None

    def looked(self, partition: int, reply: list[Any]) -> list[bytes]:
        """Take in a look at a partition; return the links that are to be passed on."""
        pairs = zip(reply[0][::2], reply[0][1::2], strict=True)
        self._counters[partition] = {
            name.decode(): int(count) for name, count in pairs if name not in _NO_COUNTERS
        }
        self.note_next(partition, reply[1])
        counters = self._counters[partition]
        if reply[1] is None and counters.get("waiting", 0) + counters.get("in_flight", 0) > 0:
            self.stranded.add(partition)
        self.unplaced[partition], self.loads[partition] = reply[3], reply[4]
        return list(reply[2])

    def note_next(self, partition: int, time: bytes | None) -> None:
        self.next[partition] = None if time is None else float(time)

    @property
    def first(self) -> float | None:
        return min((time for time in self.next if time is not None), default=None)

    def conclude(self) -> None:
        """See what follows from looks at all partitions.

        The crawl is over when two looks in a row found nothing and nothing has changed between them:
        one alone may see a link neither where it comes from nor where it goes to.
        """
        depths = [
            int(name[1:])
            for counters in self._counters
            for name, count in counters.items()
            if count > 0 and name[0] == "u" and name[1:].isdecimal()
        ]
        self.floor = min(depths, default=255)
        is_empty = self.first is None
        self.is_over = is_empty and self._quiet == self._counters
        self._quiet = list(self._counters) if is_empty else None
        self.lost = sum(counters.get("lost", 0) for counters in self._counters)

    def counts(self) -> Counts:
        total: Counter[str] = Counter()
        for counters in self._counters:
            total.update(counters)
        rejected = {
            name.removeprefix("rejected "): count
            for name, count in total.items()
            if name.startswith("rejected ") and count
        }
        return Counts(
            waiting=total["waiting"],
            in_flight=total["in_flight"],
            done=total["done"],
            failed=total["failed"],
            denied=total["denied"],
            rejected=rejected,
        )

    def backlog(self) -> list[tuple[int, int]]:
        """Return of each partition how many URLs wait and are in flight."""
        return [(c.get("waiting", 0), c.get("in_flight", 0)) for c in self._counters]
