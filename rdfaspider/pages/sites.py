"""The table of sites: the sums of the pages of each host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from rdfaspider.pages.counts import PageCounts
from rdfaspider.pages.table import Columns, PageRecord

_DAY = 86_400
# Names written of the statuses or languages of a site.
_MAX_NAMED = 10

COLUMNS: Columns = {
    "host": "text",
    **dict.fromkeys(("ended", "pages", "failed", "denied"), "whole"),
    "statuses": "text",
    **dict.fromkeys(("bytes", "rich", "triples", "problems", "copies", "near_copies"), "whole"),
    **dict.fromkeys(("declared", "detected"), "text"),
    **dict.fromkeys(("first", "last"), "time"),
    **dict.fromkeys(("pause", "mean_age"), "real"),
    **dict.fromkeys(("least_age", "most_age"), "whole"),
}


@dataclass(slots=True)
class Host:
    """The sums of a host; `first` and `last` are the times of its fetches.

    `ages` are the days since the last change of those of its pages that say when it was: how many these are,
    the sum, the least and the most.
    """

    pages: int = 0
    ended: int = 0
    failed: int = 0
    denied: int = 0
    rich: int = 0
    bytes: int = 0
    triples: int = 0
    copies: int = 0
    problems: int = 0
    first: int = 0
    last: int = 0
    fetched: int = 0
    ages: tuple[int, int, int, int] = (0, 0, 0, 0)

    def add(self, record: PageRecord) -> None:
        self.ended += 1
        self.failed += record.state == "failed"
        self.denied += record.state == "denied"
        if record.status and record.fetched:
            self.fetched += 1
            self.first = min(self.first or record.fetched, record.fetched)
            self.last = max(self.last, record.fetched)
        if record.reason == "page":
            self.pages += 1
            self.rich += bool(record.triples)
            self.bytes += record.size or 0
            self.triples += record.triples or 0
            self.copies += record.copy_of is not None
            self.problems += record.problems or 0
            if (age := age_of(record)) is not None:
                count, days, least, most = self.ages
                least = min(least, age) if count else age
                self.ages = (count + 1, days + age, least, max(most, age))

    def numbers(self) -> dict[str, Any]:
        """Return the sums by name, with ages in days and the mean seconds between two fetches."""
        numbers = {name: getattr(self, name) for name in self.__slots__ if name != "ages"}
        count, days, least, most = self.ages
        ages = (days / count, least, most) if count else (None, None, None)
        numbers |= dict(zip(("mean_age", "least_age", "most_age"), ages, strict=True))
        gaps = self.fetched - 1
        return {**numbers, "pause": (self.last - self.first) / gaps if gaps > 0 else None}


def rows_of(records: Iterable[PageRecord]) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each host; its records must follow each other, as those of the table do."""
    for name, group in groupby(records, attrgetter("host")):
        host, counts, statuses = Host(), PageCounts(), Counter[str]()
        for record in group:
            host.add(record)
            counts.add(record)
            statuses[str(record.status or record.reason)] += 1
        known = host.numbers() | {"host": name, "near_copies": counts.near_copies}
        known |= {"statuses": _ranked(statuses), "declared": _ranked(counts.declared)}
        known |= {"detected": _ranked(counts.detected)}
        known |= {"first": host.first or None, "last": host.last or None}
        yield tuple(known[column] for column in COLUMNS)


def _ranked(counter: Counter[str]) -> str | None:
    """Return the names of a counter with their counts, the most frequent first."""
    return " ".join(f"{name}:{count}" for name, count in counter.most_common(_MAX_NAMED)) or None


def age_of(record: PageRecord) -> int | None:
    """Return the days from the last change of a page to its fetch, None if it does not say."""
    if record.modified and record.fetched:
        return max(0, record.fetched - record.modified) // _DAY
    return None
