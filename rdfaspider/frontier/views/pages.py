"""The ended URLs of a frontier with the rows of their pages, in the order of their keys."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.frontier.tables.copies import Copies
from rdfaspider.frontier.tables.failures import Failures
from rdfaspider.frontier.tables.pages import Pages
from rdfaspider.frontier.tables.trie import DENIED, DONE, FAILED, KEPT, Trie, number_of, state_of
from rdfaspider.pages import own, sites
from rdfaspider.pages.table import Ended, PageRecord, join
from rdfaspider.urls.keys import to_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rdfaspider.frontier.sharding import Shard
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.views.reader import FrontierReader
    from rdfaspider.pages.analysis import AnalysisTable
    from rdfaspider.pages.table import Columns, Rows

_ENDED = {DONE: "done", FAILED: "failed", DENIED: "denied", KEPT: "done"}
_HOST_ENDS = b",):@"
# URLs whose rows are read at a time.
_BATCH = 1_000


class Outcome(NamedTuple):
    """How a URL ended: its key, the packed row of its page, and the reason if it failed or was denied."""

    key: bytes
    state: str
    row: bytes | None
    reason: str


class PageViews:
    """Reads rows from a database. Numbers are unique over all shards of a crawl."""

    def __init__(self, database: Database, shard: Shard) -> None:
        self._urls = database.urls
        self._failures = Failures(database)
        self._trie = Trie(database)
        self._pages = Pages(database)
        self._copies = Copies(database)
        self._shard = shard

    def ended(self, prefix: bytes = b"") -> Iterator[Ended]:
        """Yield the ended URLs of a host, or of all hosts of a domain, by the beginning of their keys."""
        size = len(prefix)
        found = (
            (key, record)
            for key, record in self._trie.subtree(prefix)
            # A host `org,example2` does not belong to `org,example`.
            if record.state in _ENDED and (not size or key[size : size + 1] in _HOST_ENDS)
        )
        while batch := list(islice(found, _BATCH)):
            numbers = [record.number for _, record in batch]
            rows, firsts = self._pages.rows(numbers), self._copies.first_of(numbers)
            for (key, record), row, first in zip(batch, rows, firsts, strict=True):
                yield Ended(
                    to_url(key),
                    _ENDED[record.state],
                    record.depth,
                    self._number(record.number),
                    row,
                    None if first is None else self._number(first),
                )

    def outcomes(self) -> Iterator[Outcome]:
        """Yield how every URL has ended that has."""
        found = (pair for pair in self._urls.pairs() if state_of(pair[1]) in _ENDED)
        while batch := list(islice(found, _BATCH)):
            rows = self._pages.rows([number_of(record) for _, record in batch])
            for (key, record), row in zip(batch, rows, strict=True):
                state, reason = _ENDED[state_of(record)], ""
                if state != "done" and (failure := self._failures.get(number_of(record))):
                    reason = failure.reason
                yield Outcome(key, state, row, reason)

    def first_with(self, digests: Sequence[bytes]) -> list[int | None]:
        """Return the number of the first page with each body, None if no page of this shard has it."""
        found = self._copies.having(digests) if digests else []
        return [None if number is None else self._number(number) for number in found]

    def _number(self, number: int) -> int:
        return number * self._shard.total + self._shard.number


def records_of(
    views: Sequence[PageViews], analysis: AnalysisTable | None, prefix: bytes = b""
) -> Iterator[PageRecord]:
    """Yield the records of all shards of a crawl, those of a host together."""

    def first_with(digests: Sequence[bytes]) -> list[int | None]:
        """Look in all shards: copies of a text may be on hosts of several."""
        found = [view.first_with(digests) for view in views]
        return [
            next((number for number in each if number is not None), None)
            for each in zip(*found, strict=True)
        ]

    return chain.from_iterable(join(view.ended(prefix), analysis, first_with) for view in views)


def table_of(
    readers: Iterable[FrontierReader], records: Iterable[PageRecord], by_site: bool
) -> tuple[Columns, Rows]:
    """Return the columns and rows of the table of pages, with the user's columns, or of their sites."""
    if by_site:
        return sites.COLUMNS, sites.rows_of(records)
    return own.extended(records, own.kinds_in(reader.note(own.NOTE) for reader in readers))
