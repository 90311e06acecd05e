"""Sums over the table of pages: copies, near copies, languages and topics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfaspider.pages.language import primary
from rdfaspider.pages.table import PageRecord, is_copy, is_near_copy
from rdfaspider.terminal import escaped, plural

if TYPE_CHECKING:
    from pathlib import Path

# The file of the counts, in the directory of what was found out after the crawl.
NAME = "counts.json"

# Languages or topics that a line names.
_NAMED = 5


@dataclass(slots=True)
class PageCounts:
    """Counts of pages that were read.

    `same` and `other` are pages whose language was declared and detected, and whether both agree.
    """

    pages: int = 0
    copies: int = 0
    near_copies: int = 0
    analysed: int = 0
    declared: Counter[str] = field(default_factory=Counter)
    detected: Counter[str] = field(default_factory=Counter)
    same: int = 0
    other: int = 0
    topics: Counter[str] = field(default_factory=Counter)

    def add(self, record: PageRecord) -> None:
        if record.reason != "page":
            return
        self.pages += 1
        self.copies += is_copy(record)
        self.near_copies += is_near_copy(record)
        self.analysed += record.words is not None
        if record.topic:
            self.topics[record.topic] += 1
        declared = primary(record.language or "")
        if declared:
            self.declared[declared] += 1
        if record.detected:
            self.detected[record.detected] += 1
            if declared:
                self.same += declared == record.detected
                self.other += declared != record.detected

    def lines(self) -> Iterator[str]:
        """Yield a sentence for each subject of which something is known."""
        if self.copies:
            yield f"{plural(self.copies, 'page')} {_are(self.copies)} copies of others, byte for byte"
        if self.near_copies:
            yield f"{plural(self.near_copies, 'page')} {_are(self.near_copies)} near copies of others"
        if self.declared:
            yield f"Languages declared: {ranked(self.declared)}"
        if self.detected:
            yield f"Languages detected: {ranked(self.detected)}"
        if self.topics:
            yield f"Topics: {ranked(self.topics)}"
        if self.same or self.other:
            yield f"{self.other:,} of {plural(self.same + self.other, 'page')} declare another language"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def ranked(counts: Counter[str]) -> str:
    """Return the names with the highest counts, and the sum of the others."""
    counts = +counts
    named = counts.most_common(_NAMED)
    rest = counts.total() - sum(count for _, count in named)
    words = [f"{escaped(name[:35])} {count:,}" for name, count in named]
    return ", ".join(words + [f"others {rest:,}"] * bool(rest))


def count(records: Iterable[PageRecord]) -> PageCounts:
    """Return the counts of all pages."""
    counts = PageCounts()
    for record in records:
        counts.add(record)
    return counts


def save(counts: PageCounts, path: Path) -> None:
    """Write counts to a file, which is replaced as a whole."""
    new = path.with_suffix(".new")
    known = {name: getattr(counts, name) for name in PageCounts.__slots__}
    new.write_text(json.dumps(known), encoding="utf-8")
    new.replace(path)


def read(path: Path) -> PageCounts | None:
    """Return the counts in a file, None if there are none."""
    try:
        known = json.loads(path.read_bytes())
        known |= {name: Counter(known[name]) for name in ("declared", "detected", "topics")}
        return PageCounts(**known)
    except (OSError, ValueError, KeyError, TypeError):
        return None
