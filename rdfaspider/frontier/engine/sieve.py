"""The sieve looks up links in the trie. New URLs wait; smaller depths are passed on.

A depth decreases when a URL is found again by a shorter way. A waiting URL simply takes it. A finished page
passes it on: its links, which are kept while this can happen, go through the inbox again, one deeper than
the page is now. So the pages visited are those within the depth limit by the shortest way, in whatever
order they were found (guarantee G6).
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from itertools import count, repeat
from typing import TYPE_CHECKING

from rdfaspider.frontier.engine.admission import (
    by_host,
    redirected,
    smallest_depths,
    within_depth,
    within_folders,
    within_host,
)
from rdfaspider.frontier.engine.discoveries import Discoveries
from rdfaspider.frontier.tables.copies import Copies
from rdfaspider.frontier.tables.links.edges import Edges, rest_of
from rdfaspider.frontier.tables.links.inbox import Inbox
from rdfaspider.frontier.tables.links.outbox import Outbox
from rdfaspider.frontier.tables.links.outlinks import Outlinks
from rdfaspider.frontier.tables.links.referrers import Referrers, finders
from rdfaspider.frontier.tables.pages import Pages
from rdfaspider.frontier.tables.trie import (
    DEPTH,
    DONE,
    HINT,
    KEPT,
    NO_DEPTH,
    POSTPONED,
    WAITING,
    depth_of,
    hint_of,
    numbers_of,
    state_of,
    unpack,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Beside, Taken
    from rdfaspider.frontier.engine.urls import Urls
    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.orders.order import Order
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.schedule.queue import Queue
    from rdfaspider.frontier.schedule.schedule import Schedule
    from rdfaspider.frontier.sharding import Shard
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.links.inbox import Entry
    from rdfaspider.frontier.tables.trie import Record


class Sieve:
    """Adds links to the inbox, and empties the inbox into the trie, one batch at a time."""

    def __init__(
        self,
        database: Database,
        urls: Urls,
        schedule: Schedule,
        queue: Queue,
        order: Order,
        limits: FrontierLimits,
        shard: Shard,
        *,
        keeps_graph: bool,
        follows_copies: bool = True,
    ) -> None:
        self.inbox = Inbox(database)
        self.outbox = Outbox(database)
        self.copies = Copies(database)
        self.discoveries = Discoveries()
        self._follows_copies = follows_copies
        self._pages = Pages(database)
        self._outlinks = Outlinks(database, self.outbox, shard)
        self._referrers = Referrers(database)
        self._edges = Edges(database) if keeps_graph else None
        self._database = database
        self._urls = urls
        self._counters = urls.counters
        self._schedule = schedule
        self._hosts = schedule.hosts
        self._queue = queue
        self._order = order
        self._limits = limits
        self._stirred: list[Host] = []  # hosts that had work and got other work
        # The smallest unfinished depth of the other shards, as far as is known: an error costs a second
        # fetch of a page. Until the workers report it, assume the smallest.
        self.floor_elsewhere = 0 if shard.total > 1 else NO_DEPTH

    @property
    def floor(self) -> int:
        """Return the smallest depth at which anything is unfinished, 256 if nothing is."""
        return min(self._counters.floor, self.inbox.floor)

    @property
    def is_due(self) -> bool:
        """Return whether enough links have gathered."""
        return self.inbox.size >= self._order.inbox_page or self.copies.is_due

    @property
    def may_wait(self) -> bool:
        """Return whether a choice may be made without the links in the inbox."""
        patience = self._order.patience
        return patience > 0 and self.inbox.size <= patience * sum(self._counters.unfinished)

    @property
    def has_work(self) -> bool:
        """Return whether links or digests wait to be looked up."""
        return bool(self.inbox.size or self.copies.waiting)

    def take_in(
        self,
        batch: WriteBatch,
        page: Taken,
        links: list[bytes],
        abroad: list[bytes],
        depth_step: int,
        contexts: Sequence[int],
        hops: int,
        beside: Beside,
    ) -> None:
        """Add the links of a done page to a batch; those `abroad` are only kept on record."""
        depth, own = page.depth + depth_step, contexts[: len(links)] if abroad else contexts
        is_within = self.is_within(depth, links)
        if self._edges is None:
            if is_within:
                self.inbox.add(batch, depth, links, own, page.number, hops)
        else:
            self._take_in_edges(
                batch, page.number, depth if is_within else None, links, abroad, own, hops, beside
            )
        if page.depth > min(self.floor, self.floor_elsewhere):
            links = links + abroad
            self._outlinks.keep(batch, page.depth, page.number, depth_step, links, hops)

    def _take_in_edges(
        self,
        batch: WriteBatch,
        page: int,
        depth: int | None,
        links: list[bytes],
        abroad: list[bytes],
        contexts: Sequence[int],
        hops: int,
        beside: Beside,
    ) -> None:
        """Add the links of a page to the inbox and to the link graph; without a depth to the latter only."""
        assert self._edges is not None
        unlinked = beside.get("unlinked", 0)
        own = max(len(links) - unlinked, 0)
        rest = rest_of(beside, abroad if unlinked <= len(links) else (), hops)
        if depth is None or not own:
            self._edges.add(batch, page, links[:own], hops, rest)
        else:
            self.inbox.add(batch, depth, links[:own], contexts[:own], page, hops, rest)
        if depth is not None and own < len(links):
            self.inbox.add(batch, depth, links[own:], contexts[own:], page, hops)

    def is_within(self, depth: int, links: Sequence[object]) -> bool:
        """Return whether the depth of links may be within the limits; if not, count them as rejected."""
        if depth <= max(self._limits.depth, self._limits.dynamic_depth):
            return True
        self._counters.reject("depth", len(links))
        return False

    def run(self) -> None:
        """Look up everything in the inbox, and whatever that adds to it; find copies."""
        while self.has_work:
            batch = self._database.batch()
            entries = self._without_copies(batch, self.inbox.empty(batch))
            found = self._findings(entries)
            keys = sorted(found)
            new: list[bytes] = []
            idle: list[Host] = []
            reads_hints = self._order.reads_hints
            records = self._urls.trie.records(keys)
            for key, data in zip(keys, records, strict=True):
                if data is None:
                    new.append(key)
                elif reads_hints or found[key] < depth_of(data):
                    idle += self._improve(batch, key, data, found[key])
            first = self._counters.next_number
            hosts, accepted = self._add(batch, new, found, entries)
            idle += hosts
            if self._edges is not None and any(entry.beside is not None for entry in entries):
                numbers = numbers_of(keys, records)
                numbers.update(zip(accepted, count(first), strict=False))
                self._edges.add_all(batch, entries, numbers)
            self._outlinks.prune(batch, min(self.floor, self.floor_elsewhere))
            self._hosts.save_rest(batch)
            self._counters.save(batch)
            self._database.write(batch)
            self._database.fit(self._counters.next_number)
            for host in idle:
                self._schedule.update(host)
            while self._stirred:
                self._schedule.compare_again(self._stirred.pop())

    def _without_copies(self, batch: WriteBatch, entries: list[Entry]) -> list[Entry]:
        """Mark pages that are copies; return the entries without their links, unless these are followed.

        The digest of a page comes in the same batch as its links, and leaves in the same. The link graph has
        the links of copies too.
        """
        copies = self.copies.look_up(batch)
        self._counters.copies += len(copies)
        if self._follows_copies or not copies:
            return entries
        for entry in entries:
            if (page := entry.referrer) is not None and page in copies:
                self._counters.reject("copies", len(entry.keys))
                if self._edges is not None and entry.beside is not None:
                    self._edges.add(batch, page, entry.keys, entry.hops, entry.beside)
        return [entry for entry in entries if entry.referrer not in copies]

    def _findings(self, entries: list[Entry]) -> dict[bytes, int]:
        """Return all keys, each with its finding."""
        order = self._order
        if not order.reads_hints:
            return smallest_depths(entries)
        found: dict[bytes, int] = {}
        hint_for = cache(order.hint)  # many links have the same context
        for entry in entries:
            depth = entry.depth
            hints = map(hint_for, entry.contexts) if entry.contexts else repeat(hint_for(0))
            for key, hint in zip(entry.keys, hints, strict=False):
                if (known := found.get(key)) is not None:
                    hint = order.combine(known >> HINT, hint)
                    found[key] = min(known & DEPTH, depth) | hint << HINT
                else:
                    found[key] = depth | hint << HINT
        return found

    # --- new URLs ---

    def _add(
        self,
        batch: WriteBatch,
        keys: list[bytes],
        findings: dict[bytes, int],
        entries: list[Entry],
    ) -> tuple[list[Host], list[bytes]]:
        """Take in new URLs within the limits; return the hosts that had no work before, and the URLs."""
        accepted: list[bytes] = []
        idle: list[Host] = []
        first, limits, reject = self._counters.next_number, self._limits, self._counters.reject
        hosts, urls, is_stirred = self._hosts, self._urls, self._order.is_stirred
        deepest = max((entry.depth for entry in entries), default=0)
        keys = within_depth(limits, keys, findings, deepest, reject)
        for host_key, group in by_host(within_folders(limits, keys, findings, reject)):
            host = hosts.find(host_key) or self._create(host_key)
            chosen = within_host(limits, host, group, findings, reject)
            if chosen:
                could_give = host.can_give
                urls.add(batch, host, chosen, findings)
                if not could_give:
                    idle.append(host)
                elif is_stirred(host):
                    self._stirred.append(host)
                hosts.save(batch, host)
                accepted += chosen
            else:
                self._schedule.forget_if_idle(host)
        urls.add_records(batch, accepted, findings, first)
        found_by = finders(entries) if accepted else {}
        self._referrers.add(batch, accepted, found_by, first)
        self.discoveries.add(accepted, found_by, first)
        for key, hops in redirected(entries).items():
            place = bisect_left(accepted, key)
            if place < len(accepted) and accepted[place] == key:
                host = hosts.known(key)
                urls.mark_target(batch, host, key, findings[key], first + place, hops)
        return idle, accepted

    def _create(self, key: bytes) -> Host:
        host = self._hosts.create(key, self._counters.next_host)
        self._counters.next_host += 1
        return host

    # --- known URLs ---

    def _improve(self, batch: WriteBatch, key: bytes, data: bytes, found: int) -> tuple[Host, ...]:
        """Give a known URL a smaller depth or another hint; return its host if this gives it work."""
        state, known = state_of(data), depth_of(data)
        depth = min(known, found & DEPTH)
        before = hint = hint_of(data)
        # Of a page that was visited nothing is left to expect.
        if self._order.reads_hints and state not in (DONE, KEPT):
            hint = self._order.combine(before, found >> HINT)
        if depth == known and hint == before:
            return ()
        record = unpack(data)
        better = record._replace(depth=depth, hint=hint)
        if state in (WAITING, POSTPONED):
            self._counters.end(record.depth)
            self._counters.begin(depth)
        if state == WAITING:
            self._urls.move(batch, self._hosts.known(key), key, record, better)
            if taken := self._queue.get(record.number):
                taken.depth, taken.hint = depth, hint
        elif (
            state in (DONE, KEPT)
            and depth < record.depth
            and (self._follows_copies or not self.copies.has(record.number))
            and not self._outlinks.pass_on(
                batch, self.inbox, key, record.number, record.depth, depth
            )
        ):
            # Only new seeds can cause this. The page is fetched again for its links, unless it is at hand to
            # be visited anyway.
            if (taken := self._queue.get(record.number)) is None:
                return (self.reopen(batch, key, better),)
            taken.depth = depth
        self._urls.trie.update(batch, key, better)
        return ()

    def reopen(self, batch: WriteBatch, key: bytes, record: Record) -> Host:
        """Make a finished URL wait again, at the depth and with the attempts of its record."""
        host = self._hosts.known(key)
        self._urls.reopen(batch, host, key, record)
        self._counters.copies -= self.copies.forget(batch, record.number)
        self._counters.count_topic(self._pages.topic_of(record.number), -1)
        self._counters.save(batch)
        self._hosts.save(batch, host)
        return host
