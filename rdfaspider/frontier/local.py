"""The frontier of one process, in a directory: trie, paged queue and host heap on RocksDB.

Each public method that changes anything writes one batch, so that the change is there after a kill or
is not. What is only in memory can be found again: URLs in flight are stored as waiting, queue pages
are made anew, host heaps are filled from the hosts' records.
"""

from __future__ import annotations

import heapq
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rdfaspider.frontier import Counts, HostView, Taken
from rdfaspider.frontier.counters import Counters
from rdfaspider.frontier.database import Database
from rdfaspider.frontier.hosts import Host, Hosts
from rdfaspider.frontier.keys import host_of, to_key, to_url
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.frontier.outlinks import Outlinks
from rdfaspider.frontier.pages import INBOX_PAGE, QUEUE_PAGE, Diversity, Inbox, spread
from rdfaspider.frontier.sieve import Sieve
from rdfaspider.frontier.trie import (
    DENIED,
    DONE,
    FAILED,
    LATER,
    WAITING,
    Record,
    Trie,
    pack_number,
    unpack,
    unpack_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier import State

_STATES = {"done": DONE, "failed": FAILED, "denied": DENIED}
_TIME = struct.Struct(">d")


class LocalFrontier:
    """A Frontier (see the package) for one process at a time.

    delay    seconds between two fetches of a host that has no delay of its own
    at_once  fetches of one host at a time
    lease    seconds after which a URL in flight is taken for lost and handed out again
    order    name of an order (orders.py); a crawl keeps the one it began with
    now      the time of opening
    """

    def __init__(
        self,
        path: str,
        *,
        delay: float = 1.0,
        at_once: int = 1,
        lease: float = 600.0,
        order: str = "breadth",
        limits: FrontierLimits | None = None,
        now: float = 0.0,
    ) -> None:
        self._database = Database(Path(path))
        self._lease = lease
        self._order = ORDERS[self._check_order(order)](self._database)
        self._counters = Counters(self._database)
        self.trie = Trie(self._database)
        self._inbox = Inbox(self._database)
        self._hosts = Hosts(self._database, delay=delay, at_once=at_once)
        self._outlinks = Outlinks(self._database)
        self._loaded: dict[int, Taken] = {}  # at hand or in flight
        self._in_flight = 0
        self._leases: list[tuple[float, int]] = []
        self._diversity = Diversity()
        self._places = 0
        self._limits = limits or FrontierLimits()
        self._sieve = Sieve(
            self._database,
            self.trie,
            self._hosts,
            self._counters,
            self._inbox,
            self._outlinks,
            self._order,
            self._limits,
            self._loaded,
        )
        self._hosts.restore(now, killed=self._database.meta.get(b"clean") == b"no")
        self._database.meta[b"clean"] = b"no"
        self._next_due = self._first_due()

    def _check_order(self, order: str) -> str:
        if order not in ORDERS:
            raise ValueError(f"There is no order {order}: choose {', '.join(ORDERS)}.")
        kept: bytes | None = self._database.meta.get(b"order")
        if kept is None:
            self._database.meta[b"order"] = order.encode()
        elif kept.decode() != order:
            self._database.close()
            raise ValueError(
                f"This crawl was begun in the order {kept.decode()} and cannot go on as {order}."
            )
        return order

    # --- in ---

    def put(self, urls: Iterable[str], depth: int = 0) -> None:
        batch = self._database.batch()
        self._inbox.add(batch, depth, list(urls))
        self._database.write(batch)
        if self._inbox.size >= INBOX_PAGE:
            self._sieve.run()

    # --- out ---

    def take(self, now: float) -> Taken | None:
        self._put_back_overdue(now)
        if self._inbox.size >= INBOX_PAGE:
            self._sieve.run()
        host = self._hosts.next_ready(now) or self._next_page(now)
        return None if host is None else self._take_from(host, now)

    def _take_from(self, host: Host, now: float) -> Taken:
        _, taken = host.queue.pop()
        heapq.heappush(self._leases, (now + self._lease, taken.number))
        self._in_flight += 1
        host.in_flight += (taken.number,)
        host.clock = now + self._hosts.delay_of(host)
        self._hosts.schedule(host)
        self._diversity.taken()
        return taken

    def _next_page(self, now: float) -> Host | None:
        """Make a queue page of hosts that are ready, and return the first in turn."""
        if self._inbox.size:
            self._sieve.run()
        quota = room = 0
        hungry: list[Host] = []
        while room < QUEUE_PAGE and (host := self._hosts.wake(now)):
            if host.queue:
                self._make_ready(host)
            else:
                quota = quota or self._diversity.quota(now)
                hungry.append(host)
            room += max(quota, 1)
        if hungry:
            self._feed(hungry, quota)
        return self._hosts.next_ready(now)

    def _feed(self, hosts: list[Host], quota: int) -> None:
        """Give each host its next URLs, and each URL its place in the page."""
        picked = [
            (host, number)
            for host in hosts
            for number in self._order.pick(host, quota, set(host.in_flight))
        ]
        keys = self.trie.keys(number for _, number in picked)
        records = self.trie.records(keys)
        page = spread([host.id for host, _ in picked])
        for place in reversed(range(len(page))):
            host, number = picked[page[place]]
            data = records[page[place]]
            assert data is not None
            taken = Taken(to_url(keys[page[place]]), data[1], data[2], number, host.id)
            self._loaded[number] = taken
            host.queue.append((self._places + place, taken))
        self._places += len(page)
        for host in hosts:
            self._make_ready(host)
        batch = self._database.batch()
        self._order.save(batch)
        self._database.write(batch)

    def _make_ready(self, host: Host) -> None:
        self._hosts.make_ready(host, self._order.urgency(host.queue[-1][1].depth))

    def wait(self, now: float) -> float | None:
        if self._inbox.size:
            self._sieve.run()
        times = (self._hosts.next_time(now), self._next_due)
        return min((max(time - now, 0.0) for time in times if time is not None), default=None)

    # --- back ---

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        *,
        deeper: int = 1,
    ) -> None:
        if not self._owns(taken):
            return
        batch = self._database.batch()
        host = self._release(batch, taken, Record(_STATES[state], *_known(taken)), now)
        self._counters.end(taken.depth)
        setattr(self._counters, state, getattr(self._counters, state) + 1)
        if state == "done":
            host.done += 1
            self._take_in_links(batch, taken, list(links), deeper)
        elif state == "failed":
            host.failed += 1
        self._write(batch, host)

    def _take_in_links(
        self, batch: WriteBatch, taken: Taken, links: list[str], deeper: int
    ) -> None:
        depth = taken.depth + deeper
        if depth <= max(self._limits.depth, self._limits.dynamic_depth):
            self._inbox.add(batch, depth, links)
        else:
            self._counters.reject("depth", len(links))
        if taken.depth > min(self._counters.floor, self._inbox.floor):
            self._outlinks.keep(batch, taken.depth, taken.number, deeper, links)

    def retry(self, taken: Taken, now: float, after: float = 0.0) -> None:
        if not self._owns(taken):
            return
        batch = self._database.batch()
        taken.attempts += 1
        host = self._release(batch, taken, Record(LATER, *_known(taken)), now)
        batch.put(
            _TIME.pack(now + after) + pack_number(taken.number), b"", self._database.later.handle
        )
        self._next_due = min(now + after, self._next_due or now + after)
        self._write(batch, host)

    def requeue(self, pattern: str) -> int:
        """Let failed URLs wait again in which a regular expression is found; return how many."""
        wanted = re.compile(pattern)
        count = 0
        for key, record in self.trie.subtree():
            if record.state == FAILED and wanted.search(to_url(key)):
                batch = self._database.batch()
                waiting = record._replace(state=WAITING, attempts=0)
                host = self._sieve.wait_again(batch, key, waiting)
                host.failed -= 1
                self._counters.failed -= 1
                self._write(batch, host)
                count += 1
        return count

    def slow_down(
        self, host: int, *, delay: float | None = None, until: float | None = None
    ) -> None:
        known = self._hosts[host]
        known.delay = known.delay if delay is None else delay
        known.blocked = known.blocked if until is None else until
        batch = self._database.batch()
        self._write(batch, known)

    def _owns(self, taken: Taken) -> bool:
        """Tell whether a URL is still in flight: its lease may have run out."""
        if self._loaded.get(taken.number) is not taken:
            return False
        return taken.number in self._hosts[taken.host].in_flight

    def _release(self, batch: WriteBatch, taken: Taken, record: Record, now: float) -> Host:
        """Take a URL out of flight and out of the waiting ones, and set its host's clock."""
        host = self._hosts[taken.host]
        key = to_key(taken.url)
        rank = self._order.rank(key, taken.depth)
        batch.delete(host.prefix + rank + pack_number(taken.number), self._database.waiting.handle)
        self.trie.update(batch, key, record)
        self._land(host, taken)
        host.waiting -= 1
        if self._hosts.at_once == 1:
            host.clock = max(host.clock, now + self._hosts.delay_of(host))
        return host

    def _land(self, host: Host, taken: Taken) -> None:
        host.in_flight = tuple(number for number in host.in_flight if number != taken.number)
        self._in_flight -= 1
        del self._loaded[taken.number]

    def _write(self, batch: WriteBatch, host: Host) -> None:
        self._hosts.save(batch, host)
        self._counters.save(batch)
        self._database.write(batch)
        self._hosts.schedule(host)

    # --- time ---

    def _put_back_overdue(self, now: float) -> None:
        """Let URLs wait again whose lease ran out, and those that were put off until now."""
        while self._leases and self._leases[0][0] <= now:
            _, number = heapq.heappop(self._leases)
            taken = self._loaded.get(number)
            if taken is not None and self._owns(taken):
                host = self._hosts[taken.host]
                self._land(host, taken)
                self._hosts.schedule(host)
        if self._next_due is not None and self._next_due <= now:
            self._wake_later(now)

    def _wake_later(self, now: float) -> None:
        batch = self._database.batch()
        due: list[int] = []
        for key, _ in self._database.later.pairs():
            if _TIME.unpack(key[:8])[0] > now or len(due) == QUEUE_PAGE:
                break
            due.append(unpack_number(key[8:]))
            batch.delete(key, self._database.later.handle)
        hosts = {}
        for key, number in zip(self.trie.keys(due), due, strict=True):
            data = self.trie.records([key])[0]
            assert data is not None
            record = unpack(data)._replace(state=WAITING)
            self.trie.update(batch, key, record)
            host = self._hosts.find(host_of(key))
            assert host is not None
            rank = self._order.rank(key, record.depth)
            self._sieve.wait(batch, host, rank + pack_number(number))
            host.waiting += 1
            self._hosts.save(batch, host)
            hosts[host.id] = host
        self._database.write(batch)
        self._next_due = self._first_due()
        for host in hosts.values():
            self._hosts.schedule(host)

    def _first_due(self) -> float | None:
        for key, _ in self._database.later.pairs():
            due: float = _TIME.unpack(key[:8])[0]
            return due
        return None

    # --- looking ---

    def counts(self) -> Counts:
        counters = self._counters
        return Counts(
            waiting=sum(counters.unfinished) - self._in_flight,
            in_flight=self._in_flight,
            done=counters.done,
            failed=counters.failed,
            denied=counters.denied,
            rejected=dict(counters.rejected),
        )

    def hosts(self, now: float) -> Iterator[HostView]:
        return self._hosts.views(now)

    def close(self) -> None:
        """Write everything to disk. What is in flight will be handed out again."""
        self._database.meta[b"clean"] = b"no" if self._in_flight else b"yes"
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _known(taken: Taken) -> tuple[int, int, int]:
    return taken.depth, taken.attempts, taken.number
