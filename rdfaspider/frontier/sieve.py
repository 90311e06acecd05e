"""The sieve: what is in the inbox is looked up in the trie; new URLs wait, better depths are passed on.

A depth gets better when a URL is found again by a shorter way. A waiting URL simply takes it. A finished
page passes it on: its links, which are on record while this can happen, go through the inbox again,
one deeper than the page now is. So the pages visited are those within the depth limit by the shortest
way, whatever the order in which they were found (guarantee G6).
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from rdfaspider.frontier.keys import host_of, is_dynamic, to_key
from rdfaspider.frontier.trie import DONE, LATER, WAITING, Record, Trie, pack_number, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.counters import Counters
    from rdfaspider.frontier.database import Database
    from rdfaspider.frontier.hosts import Host, Hosts
    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.orders import Order
    from rdfaspider.frontier.outlinks import Outlinks
    from rdfaspider.frontier.pages import Inbox


class Sieve:
    """Empties the inbox into the trie, one batch at a time."""

    def __init__(
        self,
        database: Database,
        trie: Trie,
        hosts: Hosts,
        counters: Counters,
        inbox: Inbox,
        outlinks: Outlinks,
        order: Order,
        limits: FrontierLimits,
        loaded: Mapping[int, Taken],
    ) -> None:
        self._database = database
        self._trie = trie
        self._hosts = hosts
        self._counters = counters
        self._inbox = inbox
        self._outlinks = outlinks
        self._order = order
        self._limits = limits
        self._loaded = loaded
        self._waiting = database.waiting

    def run(self) -> None:
        """Look up everything in the inbox, and what that brings in turn."""
        while self._inbox.size:
            batch = self._database.batch()
            found = _shortest(self._inbox.empty(batch))
            keys = sorted(found)
            new: list[bytes] = []
            idle: list[Host] = []
            for key, data in zip(keys, self._trie.records(keys), strict=True):
                if data is None:
                    new.append(key)
                elif found[key] < data[1]:
                    idle += self._improve(batch, key, unpack(data), found[key])
            idle += self._add(batch, new, found)
            self._outlinks.prune(batch, min(self._counters.floor, self._inbox.floor))
            self._counters.save(batch)
            self._database.write(batch)
            for host in idle:
                self._hosts.schedule(host)

    def _add(self, batch: WriteBatch, keys: list[bytes], depths: Mapping[bytes, int]) -> list[Host]:
        """Take in new URLs as far as the limits allow; return the hosts that were without work."""
        accepted: list[bytes] = []
        idle: list[Host] = []
        first = self._counters.next_number
        for host_key, group in groupby(self._within_depth(keys, depths), host_of):
            host = self._hosts.find(host_key) or self._create(host_key)
            chosen = self._within_limits(host, list(group))
            if chosen:
                if host.waiting == len(host.in_flight):
                    idle.append(host)
                self._wait_all(batch, host, chosen, depths, first + len(accepted))
                accepted += chosen
            if not host.waiting:
                self._hosts.schedule(host)  # it need not stay in memory
        self._trie.add(batch, accepted, [depths[key] for key in accepted], first)
        self._counters.next_number = first + len(accepted)
        for depth, count in Counter(map(depths.__getitem__, accepted)).items():
            self._counters.begin(depth, count)
        return idle

    def _wait_all(
        self,
        batch: WriteBatch,
        host: Host,
        keys: list[bytes],
        depths: Mapping[bytes, int],
        first: int,
    ) -> None:
        """Let new URLs of a host wait, with the numbers from `first` on."""
        rank, put, handle, prefix = self._order.rank, batch.put, self._waiting.handle, host.prefix
        places = [
            rank(key, depths[key]) + number.to_bytes(5, "big")
            for number, key in enumerate(keys, start=first)
        ]
        for place in places:
            put(prefix + place, b"", handle)
        host.low = min(host.low, *places)
        host.waiting += len(keys)
        host.taken_in += len(keys)
        self._hosts.save(batch, host)

    def wait(self, batch: WriteBatch, host: Host, place: bytes) -> None:
        """Let one URL wait among those of its host, at its rank and number."""
        batch.put(host.prefix + place, b"", self._waiting.handle)
        host.low = min(host.low, place)

    def _within_depth(self, keys: list[bytes], depths: Mapping[bytes, int]) -> list[bytes]:
        limits = self._limits
        deepest = max(map(depths.__getitem__, keys), default=0)
        if deepest <= min(limits.depth, limits.dynamic_depth):
            return keys
        chosen = [
            key
            for key in keys
            if depths[key] <= (limits.dynamic_depth if is_dynamic(key) else limits.depth)
        ]
        self._counters.reject("depth", len(keys) - len(chosen))
        return chosen

    def _within_limits(self, host: Host, keys: list[bytes]) -> list[bytes]:
        limits = self._limits
        room = min(limits.host_urls - host.taken_in, limits.host_waiting - host.waiting)
        if room >= len(keys):
            return keys
        chosen = keys[: max(room, 0)]
        self._counters.reject("host", len(keys) - len(chosen))
        return chosen

    def _create(self, key: bytes) -> Host:
        host = self._hosts.create(key, self._counters.next_host)
        self._counters.next_host += 1
        return host

    def _improve(
        self, batch: WriteBatch, key: bytes, record: Record, depth: int
    ) -> tuple[Host, ...]:
        """Give a known URL a smaller depth; return its host if that gets work by it."""
        better = record._replace(depth=depth)
        again: tuple[Host, ...] = ()
        if record.state in (WAITING, LATER):
            self._counters.end(record.depth)
            self._counters.begin(depth)
            if record.state == WAITING:
                self._move(batch, key, record, depth)
        elif record.state == DONE:
            passed_on = self._outlinks.pass_on(
                batch, self._inbox, record.number, record.depth, depth
            )
            if not passed_on:
                # Only new seeds can do that. The page is fetched again for its links.
                better = better._replace(state=WAITING)
                again = (self.wait_again(batch, key, better),)
                again[0].done -= 1
                self._counters.done -= 1
        self._trie.update(batch, key, better)
        return again

    def _move(self, batch: WriteBatch, key: bytes, record: Record, depth: int) -> None:
        """Sort a waiting URL anew among those of its host."""
        host = self._hosts.find(host_of(key))
        assert host is not None
        number = pack_number(record.number)
        batch.delete(
            host.prefix + self._order.rank(key, record.depth) + number, self._waiting.handle
        )
        self.wait(batch, host, self._order.rank(key, depth) + number)
        if taken := self._loaded.get(record.number):
            taken.depth = depth

    def wait_again(self, batch: WriteBatch, key: bytes, record: Record) -> Host:
        """Let a finished URL wait again, with the record it is to have from now on."""
        host = self._hosts.find(host_of(key))
        assert host is not None
        self.wait(batch, host, self._order.rank(key, record.depth) + pack_number(record.number))
        self._trie.update(batch, key, record)
        self._counters.begin(record.depth)
        self._counters.save(batch)
        host.waiting += 1
        self._hosts.save(batch, host)
        return host


def _shortest(entries: Iterable[tuple[int, list[str]]]) -> dict[bytes, int]:
    """Return the keys of all URLs with the smallest depth each was found at."""
    found: dict[bytes, int] = {}
    for depth, urls in entries:
        for url in urls:
            key = to_key(url)
            if found.get(key, 256) > depth:
                found[key] = depth
    return found
