"""The links that a frontier keeps (tables/links/edges.py), as the link graph reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider import rocksdb
from rdfaspider.frontier.engine.counters import Counters
from rdfaspider.frontier.tables.links.edges import Edges
from rdfaspider.frontier.tables.links.inbox import Inbox
from rdfaspider.frontier.tables.trie import depth_of, number_of, state_of
from rdfaspider.frontier.views.reader import DatabaseReader
from rdfaspider.urls.keys import to_key, to_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.linkgraph.edges import Links


class LinkReader(DatabaseReader):
    """Reads the links of a local frontier, running or not, without changing it.

    `size` is greater than all numbers. `stamp` has the name of its `shard`, and changes with each write.
    `is_running` says whether a crawl may write meanwhile.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._edges = Edges(self._database)
        self.size = Counters(self._database).next_number
        self.stamp = [str(self.shard), self._database.sequence]
        self.is_running = not rocksdb.is_sealed(self._path) and rocksdb.is_in_use(self._path)

    def has_arriving(self) -> bool:
        """Return whether links for the graph are still in the inbox."""
        return any(entry.beside is not None for entry in Inbox(self._database).entries)

    def urls(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield key, number, state and depth of all URLs, in the order of keys."""
        for key, data in self._database.urls.pairs():
            yield key, number_of(data), state_of(data), depth_of(data)

    def pages(self) -> Iterator[tuple[int, bytes]]:
        """Yield numbers of pages with their links as stored."""
        return self._edges.all()

    def numbers(self, keys: list[bytes]) -> list[int | None]:
        """Return the numbers of sorted keys, None for an unknown one."""
        return [None if data is None else number_of(data) for data in self.trie.records(keys)]

    def number(self, url: str) -> int | None:
        """Return the number of a normalised URL, None if it is unknown."""
        return self.numbers([to_key(url)])[0]

    def links(self, number: int) -> Links | None:
        """Return the links of a page, None if none are on record."""
        return self._edges.of(number)

    def urls_of(self, numbers: list[int]) -> list[str]:
        """Return the URLs of numbers; sorted ones are the fastest."""
        return [to_url(key) for key in self.trie.keys(numbers)]
