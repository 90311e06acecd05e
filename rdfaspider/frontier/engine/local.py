"""The frontier of one process, in a directory: trie, paged queue and host heap on RocksDB.

Each public method writes its changes as one batch, which survives a kill whole or not at all. What is only
in memory can be restored: URLs in flight are stored as waiting, queue pages are made again, and host heaps
are filled from the hosts' records.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import Counts, FrontierUnavailable
from rdfaspider.frontier.engine.taking import Taking
from rdfaspider.frontier.schedule.queue import INBOX_PAGE
from rdfaspider.frontier.tables.database import guarded
from rdfaspider.frontier.tables.failures import Failure
from rdfaspider.frontier.tables.trie import KEPT
from rdfaspider.frontier.views.urls import UrlViews
from rdfaspider.pages.row import topic_in
from rdfaspider.urls import to_iri
from rdfaspider.urls.expressions import linear
from rdfaspider.urls.keys import to_key, to_keys, to_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.frontier import Beside, Hooks, HostView, Keep, State, Taken
    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.frontier.tables.links.outbox import Owed
    from rdfaspider.frontier.tables.ranks import Ranks
    from rdfaspider.frontier.tables.trie import Record


# The status of an answer without a page, because the page is what it was.
_NOT_MODIFIED = 304
# Why a page has ended that somebody has removed from the store.
REMOVED = "removed"


class LocalFrontier(Taking):
    """A Frontier (see the package) for one process at a time.

    politeness  how long hosts are left alone
    lease       seconds after which a URL in flight counts as lost and is handed out again
    order       name of an order (orders/) or its dotted path; a crawl keeps the one it began with
    limits      how much is taken in; a crawl cannot go deeper than it began
    window      width of the order's window, if it has one; None keeps that of the crawl
    ranking     what comes first in that window; None keeps that of the crawl
    shard       its number in the crawl, and the number of shards (sharding.py)
    linkgraph   whether the links of pages are kept (tables/links/edges.py)
    follows_copies  whether links of pages are followed whose body another page had before
    rank_every  seconds between two computations of PageRank, at least, for what uses it; 0 for none
    revisits    when pages are visited again; None to visit each once
    now         the time of opening
    """

    # --- not shared ---

    is_shared = False
    state = "run"
    is_settled = True

    def attach(self, hooks: Hooks) -> None:
        """Ask nothing: there is one worker."""

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Do nothing: no other worker changes a note."""

    def say(self, name: str, **words: Any) -> None:
        """Do nothing: there is no service."""

    # --- in ---

    @guarded
    def put(
        self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = (), hops: int = 0
    ) -> None:
        remaining, start = iter(urls), 0
        while keys := to_keys(islice(remaining, INBOX_PAGE)):
            self._sieve.inbox.write(depth, keys, contexts[start : start + INBOX_PAGE], hops)
            start += len(keys)
            if self._sieve.is_due:
                self._sieve.run()
            if len(keys) < INBOX_PAGE:
                break

    @guarded
    def knows(self, url: str) -> bool:
        return url in self.trie

    # --- back ---

    @guarded
    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        *,
        depth_step: int = 1,
        hops: int = 0,
        gain: float = 0.0,
        contexts: Sequence[int] = (),
        reason: str = "",
        status: int = 0,
        abroad: Sequence[str] = (),
        told: int | None = None,
        beside: Beside | None = None,
        row: bytes = b"",
        keep: Keep | None = None,
    ) -> None:
        if not self._leases.holds(taken):
            return
        own, others = to_keys(links), to_keys(abroad)
        batch = self._database.batch()
        host = self._land(taken, now, asked=state != "denied")
        hint = taken.hint if state == "denied" else self._order.requested(taken.hint)
        if state == "done":
            hint = self._order.done(hint, gain)
        revisits, discoveries = self._revisits, self._sieve.discoveries
        found_by = discoveries.end(taken.number)
        if revisits is not None and keep is not None:
            key = revisits.keep(batch, host, taken, hint, now, keep)
            if found_by is not None and keep.weight:
                revisits.learn_new(batch, found_by, taken.number, keep.weight)
            if state != "done":
                self._urls.keep_failure(batch, taken.number, Failure(now, status, reason))
        else:
            failure = Failure(now, status, reason)
            key = self._urls.end(batch, host, taken, state, hint, failure)
            if revisits is not None and taken.visit is not None:
                revisits.end(batch, host, taken, now)
        if row:
            counters = self._urls.counters
            if taken.visit is not None:  # it may have been a copy
                counters.copies -= self._sieve.copies.forget(batch, taken.number)
                counters.count_topic(self._pages.topic_of(taken.number), -1)
            counters.count_topic(topic_in(row), 1)
            self._pages.keep(batch, taken.number, row)
            self._sieve.copies.add(batch, taken.number, row)
        self._urls.counters.pages += (state, reason) == ("done", "page")
        if state == "done" and taken.visit is None:
            self._order.learn(host, key, taken.hint, gain)
        if state == "done" and status != _NOT_MODIFIED:
            page = taken.number if taken.visit is not None else found_by if hops else None
            if page is not None:
                discoveries.follow(taken.number, page)
            self._sieve.take_in(batch, taken, own, others, depth_step, contexts, hops, beside or {})
            is_news = told is None or told > taken.depth
            depth = taken.depth + depth_step
            if is_news and self._sieve.is_within(depth, others):
                rest = contexts[len(own) :]
                self._sieve.outbox.add(batch, key, depth, others, rest, hops)
        self._write(batch, host)

    @guarded
    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        if self._leases.holds(taken):
            batch = self._database.batch()
            host = self._land(taken, now)
            hint, failure = self._order.requested(taken.hint), Failure(now, status, reason)
            if taken.visit is not None and self._revisits is not None:
                self._revisits.postpone(batch, host, taken, hint, now, after)
                self._urls.keep_failure(batch, taken.number, failure)
            else:
                self._urls.postpone(batch, host, taken, hint, now + after, failure)
            self._write(batch, host)

    @guarded
    def release(self, taken: Taken, now: float) -> None:
        if self._leases.holds(taken):
            self._put_back(taken, now)

    @guarded
    def expect(self, changes: Iterable[tuple[str, float]]) -> None:
        if self._revisits is not None:
            self._revisits.signals.expect(changes, self._now)

    @guarded
    def requeue(self, pattern: str, reason: str = "") -> int:
        """Make the failed URLs that match a regular expression wait again; return how many."""
        return sum(self.requeuing(pattern, reason))

    def requeuing(self, pattern: str, reason: str = "") -> Iterator[bool]:
        """Do the same URL by URL, of those that failed for a reason if one is given; yield for each that is
        looked at whether it waits again."""
        for view in self.views.scan("failed", pattern, reason):
            record = view and self.trie.record(view.url)
            if view and record:
                self._reopen(to_key(view.url), record)
            yield bool(record)

    @guarded
    def retire(self, pattern: str) -> int:
        """End the kept pages that match a regular expression as denied; return how many. One that is being
        fetched, or is about to be, stays kept."""
        return sum(self.retiring(pattern))

    def retiring(self, pattern: str) -> Iterator[bool]:
        """Do the same URL by URL; yield for each that is looked at whether it has ended."""
        wanted = linear(pattern)
        for key, record in self.trie.subtree():
            is_wanted = record.state == KEPT and bool(wanted.search(to_iri(to_url(key))))
            is_wanted = is_wanted and not self._is_at_hand(record.number)
            if is_wanted:
                self._retire(key, record)
            yield is_wanted

    def _retire(self, key: bytes, record: Record) -> None:
        batch, host = self._database.batch(), self._hosts.known(key)
        if self._revisits is not None and record.past is not None:
            self._revisits.retire(record.past, self._now)
        self._urls.retire(batch, host, key, record, Failure(self._now, 0, REMOVED))
        self._write(batch, host)

    def _is_at_hand(self, number: int) -> bool:
        return self._revisits is not None and self._revisits.is_at_hand(number)

    def _reopen(self, key: bytes, record: Record) -> None:
        batch = self._database.batch()
        host = self._sieve.reopen(batch, key, record._replace(attempts=0))
        self._write(batch, host)

    # --- what can be seen of it ---

    @guarded
    def counts(self) -> Counts:
        self._sieve_to_look()
        if self._database.is_broken:
            return self._counts_on_disk
        revisiting = 0 if self._revisits is None else self._revisits.in_flight
        return self._urls.counters.counts(in_flight=len(self._leases), revisiting=revisiting)

    @property
    def ranks(self) -> Ranks:
        """Return the PageRank of URLs, as it was last computed."""
        return self._steering.ranks

    @guarded
    def rank_now(self) -> None:
        """Compute the PageRank of all URLs, and wait for it; ValueError with a sentence if that fails."""
        self._sieve.run()
        self._steering.rank_now()

    @property
    def is_broken(self) -> bool:
        """Return whether a write failed, after which nothing more is accepted."""
        return self._database.is_broken

    @property
    def in_flight(self) -> int:
        return len(self._leases)

    @property
    def politeness(self) -> Politeness:
        """Return the rules of politeness; they may be replaced at any time."""
        return self._hosts.politeness

    @politeness.setter
    def politeness(self, rules: Politeness) -> None:
        self._schedule.set_politeness(rules, self._now)

    @property
    def views(self) -> UrlViews:
        return UrlViews(self._database)

    def hosts(self, now: float) -> Iterator[HostView]:
        self._sieve_to_look()
        view, total = self._hosts.view, self._urls.counters.next_host
        yield from (view(host, now) for host in self._hosts.all(total))

    def _sieve_to_look(self) -> None:
        """Look up the inbox, because only that shows how many of its links are new."""
        if self._sieve.has_work and not self._database.is_broken:
            with suppress(FrontierUnavailable):  # the next change raises it, and ends the crawl
                self._run_sieve()

    @guarded
    def _run_sieve(self) -> None:
        self._sieve.run()

    def host_key(self, number: int) -> str | None:
        """Return the key of a host with work; numbers differ between copies, keys do not."""
        host = self._hosts.by_id(number)
        return None if host is None else host.key.decode("ascii")

    def host_number(self, key: str) -> int | None:
        """Return the number of a host with work; links in the inbox are looked up first."""
        host = self._hosts.in_memory(key.encode("ascii"))
        if host is None:
            self._sieve_to_look()
            host = self._hosts.in_memory(key.encode("ascii"))
        return None if host is None else host.id

    @guarded
    def note(self, name: str) -> bytes | None:
        return self._database.notes.get(name.encode())

    @guarded
    def set_note(self, name: str, value: bytes) -> None:
        self._database.notes[name.encode()] = value

    # --- what it tells and owes the other shards (sharding.py) ---

    def address_of(self, host: int) -> str:
        """Return the server address of a host with work, "" if it has a server to itself."""
        known = self._hosts.by_id(host)
        server = None if known is None else known.server
        return "" if server is None else server.address or ""

    @property
    def floor(self) -> int:
        """Return the smallest depth at which anything is unfinished, 256 if nothing is."""
        return 0 if self._sieve.outbox.size else self._sieve.floor

    @property
    def floor_elsewhere(self) -> int:
        """Return the smallest unfinished depth of the other shards, as far as is known."""
        return self._sieve.floor_elsewhere

    def set_floor_elsewhere(self, depth: int) -> None:
        """Set the smallest unfinished depth of the other shards."""
        self._sieve.floor_elsewhere = depth

    @property
    def is_owing(self) -> bool:
        """Return whether some links have yet to be forwarded to other shards."""
        return self._sieve.outbox.size > 0

    @guarded
    def owed(self, most: int, now: float) -> list[Owed]:
        """Return links to forward to other shards; the caller confirms them with `forwarded`."""
        return list(self._sieve.outbox.hand_out(most, now))

    @guarded
    def owe(
        self, page: str, depth: int, links: Sequence[str], contexts: Sequence[int], hops: int
    ) -> None:
        """Store links of a page that have yet to be forwarded to other shards."""
        batch = self._database.batch()
        self._sieve.outbox.add(batch, to_key(page), depth, to_keys(links), contexts, hops)
        self._database.write(batch)

    @guarded
    def forwarded(self, page: str, depth: int) -> None:
        """Record that other shards have the links of a page, at a depth of the links."""
        batch = self._database.batch()
        self._sieve.outbox.remove(batch, to_key(page), depth)
        self._database.write(batch)
