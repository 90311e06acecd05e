"""The sieve: what is in the inbox is looked up in the trie; new URLs wait, better depths are passed on.

A depth gets better when a URL is found again by a shorter way. A waiting URL simply takes it. A finished
page passes it on: its links, which are on record while this can happen, go through the inbox again,
one deeper than the page now is. So the pages visited are those within the depth limit by the shortest
way, whatever the order in which they were found (guarantee G6).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import repeat
from typing import TYPE_CHECKING

from rdfaspider.frontier.engine.admission import (
    by_host,
    redirected,
    smallest_depths,
    within_depth,
    within_host,
)
from rdfaspider.frontier.tables.referrers import Referrers, finders
from rdfaspider.frontier.tables.trie import DONE, POSTPONED, WAITING, Record, Trie, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.engine.counters import Counters
    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.orders.order import Order
    from rdfaspider.frontier.schedule.hosts import Host, Hosts
    from rdfaspider.frontier.schedule.schedule import Schedule
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.inbox import Entry, Inbox
    from rdfaspider.frontier.tables.outlinks import Outlinks
    from rdfaspider.frontier.tables.waiting import WaitingUrls


class Sieve:
    """Empties the inbox into the trie, one batch at a time."""

    def __init__(
        self,
        database: Database,
        trie: Trie,
        hosts: Hosts,
        turns: Schedule,
        waiting: WaitingUrls,
        counters: Counters,
        inbox: Inbox,
        outlinks: Outlinks,
        limits: FrontierLimits,
        loaded: Mapping[int, Taken],
        order: Order,
    ) -> None:
        self._database = database
        self._trie = trie
        self._hosts = hosts
        self._schedule = turns
        self._waiting = waiting
        self._counters = counters
        self._inbox = inbox
        self._outlinks = outlinks
        self._limits = limits
        self._loaded = loaded
        self._order = order
        self._referrers = Referrers(database)
        self._stirred: list[Host] = []  # hosts with work that got more
        # The smallest depth at which another shard has something unfinished, as far as is known: a mistake
        # costs a page a second fetch.
        self.floor_elsewhere = 256

    @property
    def floor(self) -> int:
        """Return the smallest depth at which anything is unfinished, 256 if nothing is."""
        return min(self._counters.floor, self._inbox.floor)

    def run(self) -> None:
        """Look up everything in the inbox, and what that brings in turn."""
        while self._inbox.size:
            batch = self._database.batch()
            entries = self._inbox.empty(batch)
            found = self._findings(entries)
            keys = sorted(found)
            new: list[bytes] = []
            idle: list[Host] = []
            reads_hints = self._order.reads_hints
            for key, data in zip(keys, self._trie.records(keys), strict=True):
                if data is None:
                    new.append(key)
                elif reads_hints or found[key] < data[1]:
                    idle += self._improve(batch, key, unpack(data), found[key])
            idle += self._add(batch, new, found, entries)
            self._outlinks.prune(batch, min(self.floor, self.floor_elsewhere))
            self._counters.save(batch)
            self._database.write(batch)
            for host in idle:
                self._schedule.update(host)
            while self._stirred:
                self._schedule.compare_again(self._stirred.pop())

    def _findings(self, entries: list[Entry]) -> dict[bytes, int]:
        """Return all keys, each with its finding: the smallest depth and, 256-fold, its hint."""
        order = self._order
        if not order.reads_hints:
            return smallest_depths(entries)
        found: dict[bytes, int] = {}
        for entry in entries:
            depth = entry.depth
            for key, context in zip(entry.keys, entry.contexts or repeat(0), strict=False):
                hint = order.hint(context)
                if (known := found.get(key)) is not None:
                    depth_, hint = min(known & 255, depth), order.combine(known >> 8, hint)
                    found[key] = depth_ | hint << 8
                else:
                    found[key] = depth | hint << 8
        return found

    # --- new URLs ---

    def _add(
        self,
        batch: WriteBatch,
        keys: list[bytes],
        findings: Mapping[bytes, int],
        entries: list[Entry],
    ) -> list[Host]:
        """Take in new URLs as far as the limits allow; return the hosts that were without work."""
        accepted: list[bytes] = []
        idle: list[Host] = []
        first, limits, reject = self._counters.next_number, self._limits, self._counters.reject
        for host_key, group in by_host(within_depth(limits, keys, findings, reject)):
            host = self._hosts.find(host_key) or self._create(host_key)
            chosen = within_host(limits, host, group, findings, reject)
            if chosen:
                if not host.can_give:
                    idle.append(host)
                elif self._order.reads_hints:
                    self._stirred.append(host)
                self._waiting.add_all(batch, host, chosen, findings, first + len(accepted))
                host.taken_in += len(chosen)
                self._hosts.save(batch, host)
                accepted += chosen
            self._schedule.forget_if_idle(host)
        own = [findings[key] for key in accepted]
        self._trie.add(batch, accepted, own, first)
        self._referrers.add(batch, accepted, finders(entries) if accepted else {}, first)
        self._counters.next_number = first + len(accepted)
        for finding, count in Counter(own).items():
            self._counters.begin(finding & 255, count)
        self._mark_targets(batch, accepted, findings, entries, first)
        return idle

    def _mark_targets(
        self,
        batch: WriteBatch,
        keys: list[bytes],
        findings: Mapping[bytes, int],
        entries: list[Entry],
        first: int,
    ) -> None:
        """Write down once more those of the new URLs, which are sorted, that were found by redirects."""
        for key, hops in redirected(entries).items():
            place = bisect_left(keys, key)
            if place < len(keys) and keys[place] == key:
                depth, hint = findings[key] & 255, findings[key] >> 8
                record = Record(WAITING, depth, 0, first + place, hint, hops)
                self._waiting.write(batch, self._hosts.known(key), key, record)
                self._trie.update(batch, key, record)

    def _create(self, key: bytes) -> Host:
        host = self._hosts.create(key, self._counters.next_host)
        self._counters.next_host += 1
        return host

    # --- known URLs ---

    def _improve(
        self, batch: WriteBatch, key: bytes, record: Record, finding: int
    ) -> tuple[Host, ...]:
        """Give a known URL a smaller depth or another hint; return its host if that gets work by it."""
        depth = min(record.depth, finding & 255)
        hint = record.hint
        if self._order.reads_hints and record.state != DONE:  # then there is nothing left to expect
            hint = self._order.combine(hint, finding >> 8)
        better = record._replace(depth=depth, hint=hint)
        if better == record:
            return ()
        if record.state in (WAITING, POSTPONED):
            self._counters.end(record.depth)
            self._counters.begin(depth)
        if record.state == WAITING:
            host = self._hosts.known(key)
            self._waiting.remove(batch, host, key, record)
            self._waiting.add(batch, host, key, better)
            if taken := self._loaded.get(record.number):
                taken.depth, taken.hint = depth, hint
        elif (
            record.state == DONE
            and depth < record.depth
            and not self._outlinks.pass_on(
                batch, self._inbox, key, record.number, record.depth, depth
            )
        ):
            # Only new seeds can do that. The page is fetched again for its links.
            return (self.wait_again(batch, key, better),)
        self._trie.update(batch, key, better)
        return ()

    def wait_again(self, batch: WriteBatch, key: bytes, record: Record) -> Host:
        """Let a finished URL wait again, at the depth and with the attempts of its record."""
        host = self._hosts.known(key)
        if record.state == DONE:
            host.done -= 1
            self._counters.done -= 1
        else:
            host.failed -= 1
            self._counters.failed -= 1
        self._waiting.add(batch, host, key, record)
        self._trie.update(batch, key, record._replace(state=WAITING))
        self._counters.begin(record.depth)
        self._counters.save(batch)
        self._hosts.save(batch, host)
        return host
