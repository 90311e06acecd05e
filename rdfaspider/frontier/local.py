"""The frontier of one process, in a directory: trie, paged queue and host heap on RocksDB.

Each public method that changes anything writes one batch, so that the change is there after a kill or
is not. What is only in memory can be found again: URLs in flight are stored as waiting, queue pages
are made anew, host heaps are filled from the hosts' records.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rdfaspider.frontier import Counts, FrontierUnavailable, Taken
from rdfaspider.frontier.borrowing import Borrowing
from rdfaspider.frontier.counters import Counters
from rdfaspider.frontier.database import Database, guarded
from rdfaspider.frontier.failures import Failure, Failures
from rdfaspider.frontier.hosts import STRANGER, Hosts
from rdfaspider.frontier.later import Later
from rdfaspider.frontier.leases import Leases
from rdfaspider.frontier.lending import Lending
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.frontier.orders.order import Waiting
from rdfaspider.frontier.outbox import Outbox
from rdfaspider.frontier.outlinks import Outlinks
from rdfaspider.frontier.pages import INBOX_PAGE, MOST_AT_HAND, QUEUE_PAGE, Diversity, Inbox, spread
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.sharding import Shard
from rdfaspider.frontier.sieve import Sieve
from rdfaspider.frontier.terms import keep_shard, keep_terms, keep_window
from rdfaspider.frontier.trie import DENIED, DONE, FAILED, LATER, WAITING, Record, Trie, unpack
from rdfaspider.frontier.turns import Turns
from rdfaspider.frontier.urlviews import UrlViews
from rdfaspider.frontier.waiting import WaitingUrls, split
from rdfaspider.urls.keys import host_of, to_key, to_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier import HostView, State
    from rdfaspider.frontier.hosts import Host
    from rdfaspider.frontier.outbox import Owed

_STATES = {"done": DONE, "failed": FAILED, "denied": DENIED}


class LocalFrontier:
    """A Frontier (see the package) for one process at a time.

    politeness  how long hosts are left alone
    lease       seconds after which a URL in flight is taken for lost and handed out again
    order       name of an order (orders.py); a crawl keeps the one it began with
    limits      how much is taken in; a crawl cannot go deeper than it began
    window      how wide the window of the order is, if it has one; None is as the crawl began
    ranking     what comes first in that window; None is as the crawl began
    shard       which shard of a crawl it is, and of how many (sharding.py)
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
        now: float = 0.0,
    ) -> None:
        if order not in ORDERS:
            raise ValueError(f"There is no order {order}: choose {', '.join(ORDERS)}.")
        self._database = Database(Path(path))
        self.path = path
        self.order = order
        self.shard = Shard(*shard)
        self._lease = lease
        self._now = now
        try:
            self._keep_begun(window, ranking)
            self._load(order, politeness or Politeness(), limits or FrontierLimits())
        except (OSError, ValueError):  # it was begun otherwise, or is damaged
            self._database.close()
            raise

    @guarded
    def _keep_begun(self, size: int | None, ranking: str | None) -> None:
        keep_shard(self._database, self.shard)
        keep_window(self._database, self.order, size, ranking)

    @guarded
    def _load(self, order: str, politeness: Politeness, limits: FrontierLimits) -> None:
        self._limits = keep_terms(self._database, order, limits)
        self._order = ORDERS[order](self._database)
        self._counters = Counters(self._database)
        self.trie = Trie(self._database)
        self._inbox = Inbox(self._database)
        self._hosts = Hosts(self._database, politeness)
        self._turns = Turns(self._hosts, self._order)
        is_new = self._database.meta.get(b"clean") is None
        self._lending = Lending(self._turns, self._lease, -math.inf if is_new else self._now)
        self._borrowing = Borrowing(self._hosts, self._turns, self._lending, self._lease)
        self._waiting = WaitingUrls(self._database, self._order)
        self._later = Later(self._database)
        self._outbox = Outbox(self._database)
        self._outlinks = Outlinks(self._database, self._outbox, self.shard)
        self._failures = Failures(self._database)
        self._leases = Leases(self._lease)
        self._loaded: dict[int, Taken] = {}  # at hand or in flight
        self._diversity = Diversity()
        self._places = 0
        self._sieve = Sieve(
            self._database,
            self.trie,
            self._hosts,
            self._turns,
            self._waiting,
            self._counters,
            self._inbox,
            self._outlinks,
            self._limits,
            self._loaded,
            self._order,
        )
        if self.shard.total > 1:  # until somebody says how far the others are
            self._sieve.floor_elsewhere = 0
        self._restore()

    def _restore(self) -> None:
        """Bring back the hosts with work. That they rest after a kill is written down, so that another
        restart does not forget it."""
        batch = self._database.batch()
        killed = self._database.meta.get(b"clean") == b"no"
        for host in self._turns.restore(self._now, killed=killed):
            self._hosts.save(batch, host)
        self._database.write(batch)
        self._database.meta[b"clean"] = b"no"

    # --- in ---

    @guarded
    def put(
        self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = (), hops: int = 0
    ) -> None:
        remaining, start = iter(urls), 0
        while keys := [to_key(url) for url in islice(remaining, INBOX_PAGE)]:
            batch = self._database.batch()
            self._inbox.add(batch, depth, keys, contexts[start : start + INBOX_PAGE], hops=hops)
            self._database.write(batch)
            start += len(keys)
            if self._inbox.size >= self._order.inbox_page:
                self._sieve.run()

    @guarded
    def knows(self, url: str) -> bool:
        return url in self.trie

    # --- out ---

    @guarded
    def take(self, now: float) -> Taken | None:
        self._now = now
        self._put_back_overdue(now)
        if self._inbox.size >= self._order.inbox_page:
            self._sieve.run()
        while True:
            host = self._turns.next_ready(now)
            if host is not None and host.queue:
                return self._take_from(host, now)
            if self._inbox.size:  # what comes next may be in it
                self._sieve.run()
                if host is not None and host.engaged:  # else the sieve has put it to sleep
                    self._turns.make_ready(host)
            elif host is not None:
                self._feed([host, *self._turns.hungry(self._order.fed_at_once - 1, now)], now)
            else:
                return None

    def _take_from(self, host: Host, now: float) -> Taken:
        _, taken = host.queue.pop()
        self._leases.grant(taken, now)
        self._order.taken(host, taken)
        self._turns.depart(host, taken.number, now)
        if len(self._loaded) > MOST_AT_HAND:
            self._unload(host)
        self._diversity.taken()
        return taken

    def _feed(self, hosts: list[Host], now: float) -> None:
        """Make a queue page of ready hosts: give each its next URLs, and each URL its place."""
        room = (MOST_AT_HAND - len(self._loaded)) // len(hosts)
        quota = max(1, min(self._diversity.quota(now), self._order.most_at_hand, room))
        waiting = Waiting(self._database.waiting)
        picked = [
            (host, number, value)
            for host in sorted(hosts, key=lambda host: host.id)  # neighbours share blocks on disk
            for number, value in self._order.pick(waiting, host, quota)
        ]
        if not picked:
            raise self._database.fail("Corruption: URLs that should wait are missing")
        page = spread([host.id for host, _, _ in picked])
        for place in reversed(range(len(page))):
            host, number, value = picked[page[place]]
            hint, hops, rest = split(value)
            url = to_url(host.key + rest)
            taken = Taken(url, value[0], value[1], number, host.id, hint, hops)
            self._loaded[number] = taken
            host.queue.append((self._places + place, taken))
        self._places += len(page)
        for host in hosts:
            self._turns.make_ready(host)
        batch = self._database.batch()
        self._order.save(batch)
        if len(batch):
            self._database.write(batch)

    def _unload(self, host: Host) -> None:
        """Let go of the URLs at hand of a host that goes to sleep; they will be picked again."""
        for _, taken in host.queue:
            del self._loaded[taken.number]
        host.queue.clear()

    @guarded
    def wait(self, now: float) -> float | None:
        self._now = now
        if self._inbox.size:
            self._sieve.run()
        placing = now + self._lease if self._turns.has_unplaced else None
        lent = self._lending.first
        times = (self._turns.next_time(now), self._later.first, self._leases.first, placing, lent)
        return min((max(time - now, 0.0) for time in times if time is not None), default=None)

    @guarded
    def adopt(self, url: str, now: float) -> Taken | None:
        """Take a URL back into flight that somebody has held since before a restart; None if it has ended, or
        is in flight already."""
        key = to_key(url)
        record = self.trie.record(url)
        if record is None or record.state != WAITING or self._leases.has(record.number):
            return None
        host = self._hosts.known(key)
        host.queue = [entry for entry in host.queue if entry[1].number != record.number]
        self._order.forgotten(host)  # it may have read this one ahead
        taken = Taken(
            url, record.depth, record.attempts, record.number, host.id, record.hint, record.hops
        )
        self._loaded[record.number] = taken
        self._leases.grant(taken, now)
        self._turns.adopt(host, record.number, now)
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
        deeper: int = 1,
        hops: int = 0,
        gain: float = 0.0,
        contexts: Sequence[int] = (),
        reason: str = "",
        status: int = 0,
        abroad: Sequence[str] = (),
        told: int | None = None,
    ) -> None:
        """Do as the protocol says. Of a shard, `abroad` are the links of the page to other shards, whose
        contexts come after those of its own, and `told` is the depth of the page by which these were told
        of them; None if they were not."""
        if not self._leases.holds(taken):
            return
        keys = [to_key(link) for link in links]
        batch = self._database.batch()
        host = self._land(taken, now, asked=state != "denied")
        hint = taken.hint if state == "denied" else self._order.requested(taken.hint)
        if state == "done":
            hint = self._order.done(hint, gain)
        key = self._remove(batch, host, taken, _STATES[state], hint)
        self._count(host, taken, state)
        if state == "done":
            self._order.learn(host, key, taken.hint, gain)
            abroad_keys = [to_key(link) for link in abroad]
            self._take_in_links(batch, taken, keys, abroad_keys, deeper, contexts, hops)
            if told is None or told > taken.depth:
                self._owe(
                    batch, key, taken.depth + deeper, abroad_keys, contexts[len(keys) :], hops
                )
            if taken.attempts:
                self._failures.forget(batch, taken.number)
        else:
            self._failures.keep(batch, taken.number, Failure(now, status, reason))
        self._write(batch, host)

    def _count(self, host: Host, taken: Taken, state: State) -> None:
        counters = self._counters
        counters.end(taken.depth)
        if state == "done":
            counters.done += 1
            host.done += 1
        elif state == "failed":
            counters.failed += 1
            host.failed += 1
        else:
            counters.denied += 1

    def _take_in_links(
        self,
        batch: WriteBatch,
        taken: Taken,
        keys: list[bytes],
        abroad: list[bytes],
        deeper: int,
        contexts: Sequence[int],
        hops: int,
    ) -> None:
        depth = taken.depth + deeper
        if depth <= max(self._limits.depth, self._limits.dynamic_depth):
            own = contexts[: len(keys)] if abroad else contexts
            self._inbox.add(batch, depth, keys, own, taken.number, hops)
        else:
            self._counters.reject("depth", len(keys))
        if taken.depth > min(self._sieve.floor, self._sieve.floor_elsewhere):
            self._outlinks.keep(batch, taken.depth, taken.number, deeper, keys + abroad, hops)

    def _owe(
        self,
        batch: WriteBatch,
        page: bytes,
        depth: int,
        links: list[bytes],
        contexts: Sequence[int],
        hops: int,
    ) -> None:
        """Write down which links other shards have yet to hear of."""
        if depth <= max(self._limits.depth, self._limits.dynamic_depth):
            self._outbox.add(batch, page, depth, links, contexts, hops)
        else:
            self._counters.reject("depth", len(links))

    @guarded
    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        if not self._leases.holds(taken):
            return
        batch = self._database.batch()
        self._failures.keep(batch, taken.number, Failure(now, status, reason))
        host = self._land(taken, now)
        taken.attempts = min(taken.attempts + 1, 255)
        self._remove(batch, host, taken, LATER, self._order.requested(taken.hint))
        self._later.add(batch, host, taken.number, now + after)
        self._write(batch, host)

    @guarded
    def release(self, taken: Taken, now: float) -> None:
        if self._leases.holds(taken):
            host = self._land(taken, now)
            self._write(self._database.batch(), host)

    @guarded
    def requeue(self, pattern: str) -> int:
        """Let failed URLs wait again in which a regular expression is found; return how many."""
        return sum(self.requeuing(pattern))

    def requeuing(self, pattern: str) -> Iterator[bool]:
        """Do the same URL by URL, and yield of each known one whether it waits again."""
        wanted = re.compile(pattern)
        for key, record in self.trie.subtree():
            is_wanted = record.state == FAILED and bool(wanted.search(to_url(key)))
            if is_wanted:
                batch = self._database.batch()
                host = self._sieve.wait_again(batch, key, record._replace(attempts=0))
                self._failures.forget(batch, record.number)
                self._write(batch, host)
            yield is_wanted

    def _land(self, taken: Taken, now: float, *, asked: bool = True) -> Host:
        """Take a URL out of flight; its host rests if it was asked."""
        self._leases.end(taken)
        host = self._hosts[taken.host]
        self._turns.land(host, taken.number, now, asked=asked)
        del self._loaded[taken.number]
        return host

    def _remove(self, batch: WriteBatch, host: Host, taken: Taken, state: int, hint: int) -> bytes:
        """Take a URL out of the waiting ones, give it another state and hint, and return its key."""
        key = to_key(taken.url)
        record = Record(state, taken.depth, taken.attempts, taken.number, taken.hint, taken.hops)
        self._waiting.remove(batch, host, key, record)
        self.trie.update(batch, key, record._replace(hint=hint))
        return key

    def _write(self, batch: WriteBatch, host: Host) -> None:
        self._hosts.save(batch, host)
        self._counters.save(batch)
        self._database.write(batch)
        self._turns.schedule(host)

    # --- politeness ---

    def report(
        self,
        host: int,
        now: float,
        *,
        latency: float | None = None,
        refused: bool = False,
        wanted: float | None = None,
        strikes: int = 0,
    ) -> None:
        known = self._hosts.by_id(host)
        if known is None:
            return
        rules = self._hosts.politeness
        if strikes:
            rules.note_strikes(known, now, strikes)
        elif refused:
            rules.note_refusal(known, now, wanted)
        elif latency is None:
            rules.note_failure(known, now)
        else:
            rules.note_answer(known, latency)

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

    def unplaced(self, most: int) -> list[tuple[int, str]]:
        hosts = self._turns.unplaced(most, self._now, self._lease)
        return [(host.id, host.name) for host in hosts]

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
    def place(self, host: int, address: str) -> None:
        known = self._hosts.by_id(host)
        if known is not None and known.address != address and self._turns.by_address:
            self._turns.place(known, address)
            self._write(self._database.batch(), known)

    # --- other shards ---

    @property
    def lending(self) -> Lending:
        """Return who lends turns of servers to pages of other shards."""
        return self._lending

    def address_of(self, host: int) -> str:
        """Return the address of the server of a host that has work, "" if it has one of its own."""
        known = self._hosts.by_id(host)
        server = None if known is None else known.server
        return "" if server is None else server.address or ""

    @property
    def floor(self) -> int:
        """Return the smallest depth at which anything is unfinished, 256 if nothing is."""
        return 0 if self._outbox.size else self._sieve.floor

    @property
    def floor_elsewhere(self) -> int:
        """Return at which depth other shards have something unfinished, as far as is known."""
        return self._sieve.floor_elsewhere

    def set_floor_elsewhere(self, depth: int) -> None:
        """Take in at which depth other shards have something unfinished."""
        self._sieve.floor_elsewhere = depth

    @property
    def is_owing(self) -> bool:
        """Tell whether there are links that other shards have yet to hear of."""
        return self._outbox.size > 0

    @guarded
    def owed(self, most: int, now: float) -> list[Owed]:
        """Return links that somebody is to tell other shards of, and to say that of by `forwarded`."""
        return list(self._outbox.hand_out(most, now))

    @guarded
    def owe(
        self, page: str, depth: int, links: Sequence[str], contexts: Sequence[int], hops: int
    ) -> None:
        """Take in links of a page that other shards have yet to hear of."""
        batch = self._database.batch()
        self._outbox.add(batch, to_key(page), depth, list(map(to_key, links)), contexts, hops)
        self._database.write(batch)

    @guarded
    def forwarded(self, page: str, depth: int) -> None:
        """Take in that other shards know the links of a page, by a depth of these."""
        batch = self._database.batch()
        self._outbox.remove(batch, to_key(page), depth)
        self._database.write(batch)

    # --- time ---

    def _put_back_overdue(self, now: float) -> None:
        """Let URLs wait again whose lease ran out, and those that were put off until now."""
        self._lending.expire(now)
        while (lost := self._leases.expired(now)) is not None:
            host = self._land(lost, now)
            self._write(self._database.batch(), host)
        while self._later.first is not None and self._later.first <= now:
            self._wake_later(now)

    def _wake_later(self, now: float) -> None:
        batch = self._database.batch()
        numbers = self._later.pop(batch, now, QUEUE_PAGE)
        hosts: dict[int, Host] = {}
        keys = self.trie.keys(numbers)
        for key, data in zip(keys, self.trie.records(keys), strict=True):
            assert data is not None
            record = unpack(data)._replace(state=WAITING)
            host = self._hosts.known(key)
            host.later -= 1
            self._waiting.add(batch, host, key, record)
            self.trie.update(batch, key, record)
            self._hosts.save(batch, host)
            hosts[host.id] = host
        self._database.write(batch)
        for host in hosts.values():
            self._turns.schedule(host)

    @guarded
    def advance(self, now: float) -> None:
        """Let URLs wait again that were put off until now, though nobody takes any."""
        self._now = now
        self._put_back_overdue(now)

    # --- looking ---

    @guarded
    def counts(self) -> Counts:
        self._sieve_to_look()
        counters = self._counters
        return Counts(
            waiting=sum(counters.unfinished) - len(self._leases),
            in_flight=len(self._leases),
            done=counters.done,
            failed=counters.failed,
            denied=counters.denied,
            rejected=dict(counters.rejected),
        )

    @property
    def is_broken(self) -> bool:
        """Tell whether it could not be written, and takes nothing more."""
        return self._database.is_broken

    @property
    def in_flight(self) -> int:
        """Return how many URLs are in flight."""
        return len(self._leases)

    @property
    def limits(self) -> FrontierLimits:
        """Return the limits in force."""
        return self._limits

    @property
    def politeness(self) -> Politeness:
        """How long hosts are left alone; it may be changed at any time."""
        return self._hosts.politeness

    @politeness.setter
    def politeness(self, rules: Politeness) -> None:
        self._hosts.politeness = rules

    @property
    def views(self) -> UrlViews:
        """Return how people see URLs."""
        return UrlViews(self._database)

    def hosts(self, now: float) -> Iterator[HostView]:
        self._sieve_to_look()
        for host in self._hosts.all():
            yield self._hosts.view(host, now)

    def _sieve_to_look(self) -> None:
        """Look up what is in the inbox, because nobody knows how many of its links are new."""
        if self._inbox.size and not self._database.is_broken:
            with suppress(FrontierUnavailable):  # the next change says so, to somebody who can stop
                self._run_sieve()

    @guarded
    def _run_sieve(self) -> None:
        self._sieve.run()

    def host_key(self, number: int) -> str | None:
        """Return the key of a host that has work; numbers are of this directory, keys of every copy."""
        host = self._hosts.by_id(number)
        return None if host is None else host.key.decode("ascii")

    def host_number(self, key: str) -> int | None:
        """Return the number of a host that has work; links that were found are looked up first."""
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
        """Make a copy in a directory that is not there yet, on the same disk; what is written goes on."""
        self._database.copy_to(path)

    def abandon(self) -> None:
        """Let go of the directory as a kill does: whoever opens it next does not know what was in flight."""
        self._database.close()

    @guarded
    def close(self) -> None:
        """Write everything to disk. What is in flight will be handed out again."""
        try:
            if not self._database.is_broken:
                self._sieve.run()  # so that the numbers on disk are those of `counts`
                batch = self._database.batch()
                self._order.close(batch)
                self._database.write(batch)
                self._database.meta[b"clean"] = b"no" if len(self._leases) else b"yes"
        finally:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
