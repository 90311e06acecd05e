"""Kept pages that were read from disk to be handed out, with what is known of their visits.

In memory only: after a crash they are due still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier import Taken, Visit
from rdfaspider.frontier.tables.trie import Record, unpack
from rdfaspider.frontier.tables.visits import Said
from rdfaspider.urls.keys import to_url

if TYPE_CHECKING:
    from rdfaspider.focus.visits.planner import Past
    from rdfaspider.frontier.engine.urls import Urls
    from rdfaspider.frontier.schedule.hosts import Host

# Of a page that was not visited before.
_UNKNOWN: tuple[None, Said] = None, Said()


class AtHand:
    """The past of each page, and what its server said, until the visit ends."""

    def __init__(self, urls: Urls) -> None:
        self._urls = urls
        self._pasts: dict[int, tuple[Past, Said]] = {}

    def __len__(self) -> int:
        return len(self._pasts)

    def __contains__(self, number: int) -> bool:
        return number in self._pasts

    def read(self, host: Host, numbers: list[int]) -> list[Taken]:
        """Bring pages of a host to hand by their numbers; return them in this order."""
        ordered = sorted(numbers)
        keys = self._urls.trie.keys(ordered)
        pages = {}
        records = self._urls.trie.records(keys)
        words = self._urls.server_words.get_all(ordered)
        for key, data, said in zip(keys, records, words, strict=True):
            assert data is not None
            record = unpack(data)
            pages[record.number] = self._bring(host, to_url(key), record, said)
        return [pages[number] for number in numbers]

    def adopt(self, host: Host, url: str, record: Record) -> Taken:
        """Bring one page to hand, whose record was read."""
        return self._bring(host, url, record, self._urls.server_words.get_all([record.number])[0])

    def _bring(self, host: Host, url: str, record: Record, said: Said) -> Taken:
        past = record.past
        assert past is not None
        self._pasts[record.number] = past, said
        visit = Visit(
            float(past.last),
            said.etag,
            said.last_modified,
            said.misses,
            float(said.since),
            past.triples,
        )
        return Taken(
            url,
            record.depth,
            record.attempts,
            record.number,
            host.id,
            record.hint,
            record.hops,
            visit,
        )

    def learn(self, number: int, past: Past) -> None:
        """Note another past of a page at hand."""
        _, said = self._pasts[number]
        self._pasts[number] = past, said

    def past(self, number: int) -> Past:
        return self._pasts[number][0]

    def pop(self, number: int) -> tuple[Past, Said]:
        """Take a page off; KeyError if it is not at hand."""
        return self._pasts.pop(number)

    def end(self, number: int) -> tuple[Past | None, Said]:
        """Take a page off, which may be one that was not visited before."""
        return self._pasts.pop(number, _UNKNOWN)
