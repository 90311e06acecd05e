"""The frontier of one process, in a directory: trie, paged queue and host heap on RocksDB.

Each public method writes its changes as one batch, which survives a kill whole or not at all. What is only
in memory can be restored: URLs in flight are stored as waiting, queue pages are made again, and host heaps
are filled from the hosts' records.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rdfaspider.frontier import Counts, FrontierUnavailable, Taken
from rdfaspider.frontier.engine.repricing import forget_upgrade
from rdfaspider.frontier.engine.revisits import Revisits
from rdfaspider.frontier.engine.sieve import Sieve
from rdfaspider.frontier.engine.steering import Steering
from rdfaspider.frontier.engine.terms import keep_shard, keep_terms, keep_window
from rdfaspider.frontier.engine.urls import Urls
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.schedule.borrowing import Borrowing
from rdfaspider.frontier.schedule.hosts import STRANGER, Hosts
from rdfaspider.frontier.schedule.leases import Leases
from rdfaspider.frontier.schedule.lending import Lending
from rdfaspider.frontier.schedule.queue import INBOX_PAGE, QUEUE_PAGE, Queue
from rdfaspider.frontier.schedule.schedule import Schedule
from rdfaspider.frontier.sharding import Shard
from rdfaspider.frontier.tables.database import Database, guarded
from rdfaspider.frontier.tables.failures import Failure
from rdfaspider.frontier.tables.pages import Pages
from rdfaspider.frontier.tables.trie import FAILED, KEPT, WAITING
from rdfaspider.frontier.views.urls import UrlViews
from rdfaspider.urls.keys import host_of, to_key, to_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.focus.visits.planner import RevisitRules
    from rdfaspider.frontier import Beside, Hooks, HostView, Keep, State
    from rdfaspider.frontier.politeness import Experience
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.links.outbox import Owed
    from rdfaspider.frontier.tables.ranks import Ranks
    from rdfaspider.frontier.tables.trie import Record


# The status of an answer without a page, because the page is what it was.
_NOT_MODIFIED = 304


class LocalFrontier:
    """A Frontier (see the package) for one process at a time.

    politeness  how long hosts are left alone
    lease       seconds after which a URL in flight counts as lost and is handed out again
    order       name of an order (orders/); a crawl keeps the one it began with
    limits      how much is taken in; a crawl cannot go deeper than it began
    window      width of the order's window, if it has one; None keeps that of the crawl
    ranking     what comes first in that window; None keeps that of the crawl
    shard       its number in the crawl, and the number of shards (sharding.py)
    linkgraph   whether the links of pages are kept (tables/edges.py)
    follows_copies  whether links of pages are followed whose body another page had before
    rank_every  seconds between two computations of PageRank, at least, for orders that use it; 0 for none
    revisits    when pages are visited again; None to visit each once
    now         the time of opening
    """

    def __init__(
        self,
        path: str,
        *,
        politeness: Politeness | None = None,
        lease: float = 600.0,
        order: str = "breadth",
        limits: FrontierLimits | None = None,
        window: int | None = None,
        ranking: str | None = None,
        shard: Sequence[int] = (0, 1),
        linkgraph: bool = True,
        follows_copies: bool = True,
        rank_every: float = 0.0,
        revisits: RevisitRules | None = None,
        now: float = 0.0,
    ) -> None:
        if order not in ORDERS:
            raise ValueError(f"There is no order {order}: choose {', '.join(ORDERS)}.")
        self._database = Database(Path(path))
        self.path = path
        self.order = order
        self.shard = Shard(*shard)
        self._lease = lease
        self._keeps_graph = linkgraph
        self._follows_copies = follows_copies
        self._rank_every = rank_every
        self._revisit_rules = revisits
        self._now = now
        try:
            self._load(politeness or Politeness(), limits or FrontierLimits(), window, ranking)
        except (OSError, ValueError):  # it was begun on other terms, or is damaged
            self._database.close()
            raise

    @guarded
    def _load(
        self,
        politeness: Politeness,
        limits: FrontierLimits,
        window: int | None,
        ranking: str | None,
    ) -> None:
        keep_shard(self._database, self.shard)
        keep_window(self._database, self.order, window, ranking)
        self.limits = keep_terms(self._database, self.order, limits)
        self._order = ORDERS[self.order](self._database)
        self._hosts = Hosts(self._database, politeness)
        self._schedule = Schedule(self._hosts, self._order)
        self._queue = Queue(self._database.waiting, self._order)
        self._leases = Leases(self._lease)
        self._urls = Urls(self._database, self._order)
        self.trie = self._urls.trie
        self._sieve = Sieve(
            self._database,
            self._urls,
            self._schedule,
            self._queue,
            self._order,
            self.limits,
            self.shard,
            keeps_graph=self._keeps_graph,
            follows_copies=self._follows_copies,
        )
        self._steering = Steering(
            self._database,
            Path(self.path),
            self._urls,
            self._schedule,
            self._queue,
            self._order,
            every=self._rank_every,
            keeps_graph=self._keeps_graph,
            now=self._now,
        )
        self._pages = Pages(self._database)
        self._revisits: Revisits | None = None
        if self._revisit_rules is None:
            forget_upgrade(self._database)
        else:
            parts = (self._urls, self._schedule, self._queue, self._sieve.inbox)
            self._revisits = Revisits(self._database, self._revisit_rules, *parts)
        is_new = self._database.meta.get(b"clean") is None
        # Lends turns of servers to pages of other shards.
        self.lending = Lending(self._schedule, self._lease, -math.inf if is_new else self._now)
        self._borrowing = Borrowing(self._hosts, self._schedule, self.lending, self._lease)
        self._restore()

    def _restore(self) -> None:
        """Bring back the hosts with work. Their rest after a kill is written, so that a second restart does
        not forget it."""
        batch = self._database.batch()
        killed = self._database.meta.get(b"clean") == b"no"
        for host in self._schedule.restore(self._now, killed=killed):
            self._hosts.save(batch, host)
        self._database.write(batch)
        self._database.meta[b"clean"] = b"no"

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
        while keys := [to_key(url) for url in islice(remaining, INBOX_PAGE)]:
            batch = self._database.batch()
            some = contexts[start : start + INBOX_PAGE]
            self._sieve.inbox.add(batch, depth, keys, some, hops=hops)
            self._database.write(batch)
            start += len(keys)
            if self._sieve.is_due:
                self._sieve.run()

    @guarded
    def knows(self, url: str) -> bool:
        return url in self.trie

    # --- out ---

    @guarded
    def take(self, now: float) -> Taken | None:
        self._now = now
        self._put_back_overdue(now)
        if self._sieve.is_due:
            self._sieve.run()
        self._steering.step(now)
        revisits = self._revisits
        if revisits is not None:
            revisits.step(now)
        while True:
            host = self._schedule.next_ready(now)
            if host is not None and host.recalled:
                return self._revisit(host, now)
            if host is not None and host.queue:
                return self._take_from(host, now)
            if self._sieve.inbox.size:  # what comes next may be in it
                self._sieve.run()
                if host is not None and host.engaged:  # else the sieve has put it to sleep
                    self._schedule.make_ready(host)
            elif host is not None:
                self._feed([host, *self._schedule.hungry(self._order.fed_at_once - 1, now)], now)
            elif revisits is None or not revisits.recall(now, is_free=True):
                return None

    def _take_from(self, host: Host, now: float) -> Taken:
        taken = self._queue.pop(host)
        self._leases.grant(taken, now)
        self._order.taken(host, taken)
        self._schedule.depart(host, taken.number, now)
        self._queue.tidy(host)
        if self._revisits is not None:
            self._revisits.new_taken()
        return taken

    def _revisit(self, host: Host, now: float) -> Taken:
        assert self._revisits is not None
        taken = self._revisits.take(host, now)
        self._leases.grant(taken, now)
        self._schedule.depart(host, taken.number, now)
        return taken

    def _feed(self, hosts: list[Host], now: float) -> None:
        """Give ready hosts their next URLs."""
        if not self._queue.fill(hosts, now):
            raise self._database.fail("Corruption: URLs that should wait are missing")
        for host in hosts:
            self._schedule.make_ready(host)
        batch = self._database.batch()
        self._order.save(batch)
        if len(batch):
            self._database.write(batch)

    @guarded
    def wait(self, now: float) -> float | None:
        self._now = now
        if self._sieve.inbox.size:
            self._sieve.run()
        times = (
            self._schedule.next_time(now),
            self._urls.postponed.first,
            self._leases.first,
            None if self._revisits is None else self._revisits.alarms.first,
            now + self._lease if self._schedule.unresolved else None,
            self.lending.first,
        )
        return min((max(time - now, 0.0) for time in times if time is not None), default=None)

    @guarded
    def adopt(self, url: str, now: float) -> Taken | None:
        """Put a URL back into flight that a worker has held since before a restart; return None if it has
        ended or is in flight already."""
        record = self.trie.record(url)
        if record is None or self._leases.has(record.number):
            return None
        if record.state == KEPT and self._revisits is not None:
            host = self._hosts.known(to_key(url))
            taken = self._revisits.adopt(host, url, record)
        elif record.state == WAITING:
            host = self._hosts.known(to_key(url))
            taken = Taken(
                url, record.depth, record.attempts, record.number, host.id, record.hint, record.hops
            )
        else:
            return None
        self._queue.adopt(host, taken)
        self._order.forgotten(host)  # it may have read this one ahead
        self._leases.grant(taken, now)
        self._schedule.adopt(host, record.number, now)
        return taken

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
        own, others = [to_key(link) for link in links], [to_key(link) for link in abroad]
        batch = self._database.batch()
        host = self._land(taken, now, asked=state != "denied")
        hint = taken.hint if state == "denied" else self._order.requested(taken.hint)
        if state == "done":
            hint = self._order.done(hint, gain)
        failure = Failure(now, status, reason)
        if self._revisits is None:
            key = self._urls.end(batch, host, taken, state, hint, failure)
        else:
            key = self._end(batch, host, taken, state, hint, failure, keep)
        if row:
            if taken.visit is not None:  # it may have been a copy
                self._urls.counters.copies -= self._sieve.copies.forget(batch, taken.number)
            self._pages.keep(batch, taken.number, row)
            self._sieve.copies.add(batch, taken.number, row)
        if state == "done" and taken.visit is None:
            self._order.learn(host, key, taken.hint, gain)
        if state == "done" and status != _NOT_MODIFIED:
            self._sieve.take_in(batch, taken, own, others, depth_step, contexts, hops, beside or {})
            is_news = told is None or told > taken.depth
            depth = taken.depth + depth_step
            if is_news and self._sieve.is_within(depth, others):
                rest = contexts[len(own) :]
                self._sieve.outbox.add(batch, key, depth, others, rest, hops)
        self._write(batch, host)

    def _end(
        self,
        batch: WriteBatch,
        host: Host,
        taken: Taken,
        state: State,
        hint: int,
        failure: Failure,
        keep: Keep | None,
    ) -> bytes:
        """End a URL, or keep it to be visited again."""
        revisits = self._revisits
        assert revisits is not None
        if keep is not None:
            key = revisits.keep(batch, host, taken, hint, failure.time, keep)
            if state != "done":
                self._urls.keep_failure(batch, taken.number, failure)
        else:
            key = self._urls.end(batch, host, taken, state, hint, failure)
            if taken.visit is not None:
                revisits.end(batch, host, taken, failure.time)
        revisits.save(batch)
        return key

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

    def _put_back(self, taken: Taken, now: float) -> None:
        batch = self._database.batch()
        host = self._land(taken, now)
        if taken.visit is not None and self._revisits is not None:
            self._revisits.give_back(batch, host, taken, now)
        self._write(batch, host)

    @guarded
    def expect(self, changes: Iterable[tuple[str, float]]) -> None:
        if self._revisits is not None:
            self._revisits.expect(changes, self._now)

    @guarded
    def requeue(self, pattern: str, reason: str = "") -> int:
        """Make the failed URLs that match a regular expression wait again; return how many."""
        return sum(self.requeuing(pattern, reason))

    def requeuing(self, pattern: str, reason: str = "") -> Iterator[bool]:
        """Do the same URL by URL, of those that failed for a reason if one is given; yield for each that is
        looked at whether it waits again."""
        wanted = re.compile(pattern)
        if reason:
            for view in self.views.scan("failed", pattern, reason):
                record = view and self.trie.record(view.url)
                if view and record:
                    self._reopen(to_key(view.url), record)
                yield bool(record)
            return
        for key, record in self.trie.subtree():
            is_wanted = record.state == FAILED and bool(wanted.search(to_url(key)))
            if is_wanted:
                self._reopen(key, record)
            yield is_wanted

    def _reopen(self, key: bytes, record: Record) -> None:
        batch = self._database.batch()
        host = self._sieve.reopen(batch, key, record._replace(attempts=0))
        self._write(batch, host)

    def _land(self, taken: Taken, now: float, *, asked: bool = True) -> Host:
        """Take a URL out of flight; its host rests if it was asked."""
        self._leases.end(taken)
        host = self._hosts[taken.host]
        self._schedule.land(host, taken.number, now, asked=asked)
        self._queue.drop(taken)
        if taken.visit is not None and self._revisits is not None:
            self._revisits.land(host)
        return host

    def _write(self, batch: WriteBatch, host: Host) -> None:
        self._hosts.save(batch, host)
        self._urls.counters.save(batch)
        self._database.write(batch)
        self._schedule.update(host)

    # --- politeness ---

    def report(self, host: int, now: float, fetch: Experience) -> None:
        if (known := self._hosts.by_id(host)) is not None:
            self._hosts.politeness.learn(known, now, fetch)

    @guarded
    def slow_down(
        self, host: int, *, crawl_delay: float | None = None, until: float | None = None
    ) -> None:
        known = self._hosts.by_id(host)
        if known is None:
            return
        if crawl_delay == known.crawl_delay and until is None:
            return
        if crawl_delay is not None:
            known.crawl_delay = crawl_delay
        if until is not None:
            known.blocked = max(known.blocked, until)
        self._write(self._database.batch(), known)

    def hosts_to_resolve(self, most: int) -> list[tuple[int, str]]:
        numbers = self._schedule.unresolved.take(most, self._now, self._lease)
        return [(number, self._hosts[number].name) for number in numbers]

    @guarded
    def borrow(
        self, host: int | None, url: str, address: str, now: float, *, alone: bool = False
    ) -> float:
        own = None if host is None else self._hosts.by_id(host)
        key = host_of(to_key(url))
        seconds, lent = self._borrowing.borrow(own, key, address, now, alone=alone)
        if lent is not None:
            self._save_lent(lent)
        return seconds

    @guarded
    def repay(self, url: str, now: float) -> None:
        if (lent := self._borrowing.repay(host_of(to_key(url)), now)) is not None:
            self._save_lent(lent)

    def _save_lent(self, host: Host) -> None:
        if self._hosts.by_id(host.id) is host:
            self._write(self._database.batch(), host)
        elif host.id != STRANGER:
            batch = self._database.batch()
            self._hosts.save(batch, host)
            self._database.write(batch)

    @guarded
    def set_address(self, host: int, address: str) -> None:
        known = self._hosts.by_id(host)
        if known is not None and known.address != address and self._schedule.by_address:
            self._schedule.set_address(known, address)
            self._write(self._database.batch(), known)

    # --- other shards ---

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
        self._sieve.outbox.add(batch, to_key(page), depth, list(map(to_key, links)), contexts, hops)
        self._database.write(batch)

    @guarded
    def forwarded(self, page: str, depth: int) -> None:
        """Record that other shards have the links of a page, at a depth of the links."""
        batch = self._database.batch()
        self._sieve.outbox.remove(batch, to_key(page), depth)
        self._database.write(batch)

    # --- time ---

    def _put_back_overdue(self, now: float) -> None:
        """Put back URLs whose lease has expired, and postponed URLs whose time has come."""
        self.lending.expire(now)
        while (lost := self._leases.expired(now)) is not None:
            self._put_back(lost, now)
        while (first := self._urls.postponed.first) is not None and first <= now:
            self._wake_postponed(now)

    def _wake_postponed(self, now: float) -> None:
        batch = self._database.batch()
        hosts: dict[int, Host] = {}
        for key, record in self._urls.due(batch, now, QUEUE_PAGE):
            host = self._hosts.known(key)
            self._urls.wake(batch, host, key, record)
            self._hosts.save(batch, host)
            hosts[host.id] = host
        self._database.write(batch)
        for host in hosts.values():
            self._schedule.update(host)

    @guarded
    def advance(self, now: float) -> None:
        """Put back overdue and postponed URLs while no worker takes any."""
        self._now = now
        self._put_back_overdue(now)

    # --- looking ---

    @guarded
    def counts(self) -> Counts:
        self._sieve_to_look()
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
        self._hosts.politeness = rules

    @property
    def views(self) -> UrlViews:
        return UrlViews(self._database)

    def hosts(self, now: float) -> Iterator[HostView]:
        self._sieve_to_look()
        for host in self._hosts.all():
            yield self._hosts.view(host, now)

    def _sieve_to_look(self) -> None:
        """Look up the inbox, because only that shows how many of its links are new."""
        if self._sieve.has_work and not self._database.is_broken:
            with suppress(
                FrontierUnavailable
            ):  # the next change raises it where the crawl can stop
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

    @guarded
    def copy_to(self, path: Path) -> None:
        """Copy the written state to a new directory on the same disk, while writing goes on."""
        self._database.copy_to(path)

    def abandon(self) -> None:
        """Close the directory as a kill would: the next opener does not know what was in flight."""
        self._steering.close()
        self._database.close()

    @guarded
    def close(self) -> None:
        try:
            if not self._database.is_broken:
                self._sieve.run()  # so that the numbers on disk are those of `counts`
                batch = self._database.batch()
                self._order.close(batch)
                if self._revisits is not None:
                    self._revisits.save(batch, is_last=True)
                self._database.write(batch)
                self._database.meta[b"clean"] = b"no" if len(self._leases) else b"yes"
        finally:
            self._steering.close()
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
