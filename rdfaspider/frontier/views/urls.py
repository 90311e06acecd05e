"""URLs of a frontier on disk as people see them: one, or all that ended in a state."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rdfaspider.focus.topics import topic_of
from rdfaspider.focus.topics.names import NOTE, read_names
from rdfaspider.frontier import BranchView, State, UrlView
from rdfaspider.frontier.engine.admission import smallest_depths
from rdfaspider.frontier.tables.failures import Failures
from rdfaspider.frontier.tables.links.inbox import Inbox
from rdfaspider.frontier.tables.links.referrers import Referrers
from rdfaspider.frontier.tables.pages import Pages
from rdfaspider.frontier.tables.ranks import Ranks
from rdfaspider.frontier.tables.trie import (
    DENIED,
    DONE,
    FAILED,
    KEPT,
    POSTPONED,
    WAITING,
    Record,
    Trie,
    cut,
    state_of,
    unpack,
)
from rdfaspider.pages.row import unpack as unpack_row
from rdfaspider.urls.expressions import linear
from rdfaspider.urls.keys import host_name, host_of, to_key, to_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfaspider.frontier.tables.database import Database

STATES = {
    WAITING: "waiting",
    DONE: "done",
    FAILED: "failed",
    DENIED: "denied",
    POSTPONED: "waiting to be tried again",
    KEPT: "kept",
}
# Pages whose rows are read to know how much a branch yields: of one, and of all that are listed together.
_OF_A_BRANCH, _WEIGHED = 16, 4_000
COUNTED = {state: name.split()[0] for state, name in STATES.items()}
ENDS: dict[State, int] = {"done": DONE, "failed": FAILED, "denied": DENIED}


class UrlViews:
    """Reads URLs from a database. What is in flight counts as waiting."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._trie = Trie(database)
        self._failures = Failures(database)
        self._referrers = Referrers(database)
        self._pages = Pages(database)
        self._topics = read_names(database.notes.get(NOTE.encode()))

    def of(self, url: str) -> UrlView | None:
        """Return what is known of a normalised URL, None if nothing is."""
        record = self._trie.record(url)
        if record is not None:
            view = self._view(url, record)
            with closing(Ranks(self._database.path)) as ranks:
                view.rank = ranks.of(record.number)
            return view
        depth = smallest_depths(Inbox(self._database).entries).get(to_key(url))
        return None if depth is None else UrlView(url, "found, not looked up yet", depth)

    def ranks(self, urls: Iterable[str]) -> dict[str, float]:
        """Return the PageRank of those URLs that have one, 1 for the mean."""
        found: dict[str, float] = {}
        with closing(Ranks(self._database.path)) as ranks:
            for url in urls if ranks.urls else ():
                record = self._trie.record(url) if url.startswith("http") else None
                if record is not None and (rank := ranks.of(record.number)) is not None:
                    found[url] = rank
        return found

    def scan(
        self, state: State, pattern: str, reason: str = "", after: int = 0
    ) -> Iterator[UrlView | None]:
        """Yield each URL that ended in a state, for a reason if one is given, and matches a regular
        expression; and None for each other one, so that the caller can pause anywhere. With a reason, they
        come by number, from a number on."""
        wanted = linear(pattern)
        code = ENDS[state]
        for key, value in self._failed(reason, after) if reason else self._database.urls.pairs():
            is_wanted = key and state_of(value) == code and wanted.search(url := to_url(key))
            yield self._view(url, unpack(value)) if is_wanted else None

    def below(self, prefix: bytes, state: State) -> Iterator[UrlView | None]:
        """Yield each URL below a prefix of keys that ended in a state, and None for each other one."""
        code = ENDS[state]
        for key, record in self._trie.subtree(prefix):
            yield self._view(to_url(key), record) if record.state == code else None

    def _failed(self, reason: str, after: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and records of the URLs that failed, were denied or are postponed for a reason, the
        first found first; b"" for those with another reason."""
        for number, failure in self._failures.all(after):
            if failure.reason != reason:
                yield b"", b""
                continue
            key = self._trie.keys([number])[0]
            yield key, self._trie.records([key])[0] or b""

    def branches(self, prefix: bytes) -> Iterator[BranchView | None]:
        """Yield the branches one step below a prefix of keys, and None for each key on the way.

        A step is a label of the host, the host's end, a segment of the path or a part of the query.
        """
        is_host = b")" not in prefix
        ends = b",):@" if is_host else b"/?&"
        start = len(prefix) + (prefix[-1] not in ends)
        branch, name = BranchView(""), b""
        pages: list[int] = []  # of the branch, to be weighed
        room = _WEIGHED
        for key, record in self._trie.subtree(prefix):
            yield None
            if start > len(prefix) and len(key) > len(prefix) and key[len(prefix)] not in ends:
                continue  # /ab is not below /a
            if (child := cut(key, start)) != name:
                if name:
                    yield self._weigh(branch, pages)
                branch, name, pages = BranchView(_shown(child)), child, []
            field = COUNTED[record.state]
            setattr(branch, field, getattr(branch, field) + 1)
            if record.state in (DONE, KEPT) and room and len(pages) < _OF_A_BRANCH:
                pages.append(record.number)
                room -= 1
        if name:
            yield self._weigh(branch, pages)

    def _weigh(self, branch: BranchView, numbers: list[int]) -> BranchView:
        """Add how many triples some pages of a branch have, as far as rows are kept."""
        for row in self._pages.rows(sorted(numbers)) if numbers else ():
            try:
                page, _ = unpack_row(row or b"")
            except ValueError:  # there is none, or it is of another version
                continue
            if page.reason == "page":
                branch.weighed += 1
                branch.triples += page.triples
        return branch

    def _view(self, url: str, record: Record) -> UrlView:
        failure = self._failures.get(record.number)
        referrer = self._referrers.of(record.number)
        was_asked = record.state in (DONE, FAILED, KEPT)
        attempts = record.attempts + was_asked
        view = UrlView(url, STATES[record.state], record.depth, record.number, attempts)
        if failure is not None:
            view.time, view.reason = failure.time, failure.reason or None
            view.status = failure.status or None
        if referrer is not None:
            view.referrer = self._trie.url(referrer)
        if self._topics:
            topic = topic_of(record.hint)
            view.topic = self._topics[topic] if 0 < topic < len(self._topics) else "none"
        return view


def _shown(prefix: bytes) -> str:
    """Return a prefix of keys as people write it: a URL, a service, or all hosts of a domain."""
    if b")" in prefix:
        return to_url(prefix if b"/" in prefix else prefix + b"/")
    return f"*.{host_name(host_of(prefix.rstrip(b',')))}"
