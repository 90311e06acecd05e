"""Pricing all kept pages again, a few at each take, so that a wrong price heals.

A pass goes through the trie once in a period, in the order of keys, and so host by host. It plans the next
visit of each kept page anew, moves those whose time differs by much, and counts what the prices ask for. At
the end of a host its factor follows, at the end of the pass the price of the crawl (focus/visits/prices.py).

The first pass of a crawl that began without revisits also keeps its done pages. They are those with a row
that says that a page was fetched (tables/pages.py).

What survives a kill. Each step is a batch. The next start begins a pass anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.focus.visits.prices import CrawlPrice, Tally, follow_host
from rdfaspider.focus.visits.scale import decode_interval
from rdfaspider.frontier import is_page
from rdfaspider.frontier.tables.pages import Pages
from rdfaspider.frontier.tables.trie import DONE, KEPT, state_of, unpack
from rdfaspider.pages.row import unpack as unpack_row
from rdfaspider.urls.keys import host_of

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.focus.visits.planner import Past
    from rdfaspider.frontier.engine.revisits import Revisits
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.trie import Record

# URLs looked at in a step, and kept pages priced in one: about a millisecond.
_LOOKED_AT, _PRICED = 512, 64
# Intervals that differ by less than this are left alone.
_ALIKE = 0.05
# Seconds by which a visit may lie ahead. Beyond that the clock has been set back since, and the next visit
# might be years away.
_AHEAD = 3_600.0
# Seconds between two fetches of a host without a delay.
_QUICKEST = 0.05

_UPGRADED = b"revisits"


class Repricing:
    """The pass of a frontier. `_name` is the host at which it is, `_of_host` what was counted there."""

    def __init__(self, database: Database, revisits: Revisits) -> None:
        self._database = database
        self._revisits = revisits
        self._pages = Pages(database)
        self._key = b""  # the last one that was looked at, b"" between two passes
        self._began: float | None = None
        self._looked_at = 0
        self._visits = 0
        self._name = b""
        self._price_of_crawl = CrawlPrice()
        self._total, self._of_host = Tally(), Tally()
        # Hosts of a step, to be saved at its end.
        self._hosts: dict[bytes, Host] = {}
        self._is_upgrading = database.meta.get(_UPGRADED) is None

    def step(self, now: float) -> None:
        """Go on with the pass, if it is behind."""
        rules, urls = self._revisits.planner.rules, self._revisits.urls
        if self._began is None or now < self._began:  # the clock may have been set back
            self._began = now
        elapsed = now - self._began
        if not self._key and self._looked_at:  # the last pass is over
            if elapsed < rules.period:
                return
            self._began, self._looked_at = now, 0
        elif elapsed * urls.counters.next_number < self._looked_at * rules.period:
            return
        self._go_on(now)

    def _go_on(self, now: float) -> None:
        batch, priced = self._database.batch(), 0
        done: list[tuple[bytes, Record]] = []
        cursor = self._database.urls.cursor()
        cursor.seek(self._key + b"\0" if self._key else b"")
        for _ in range(_LOOKED_AT):
            if not cursor.valid() or priced + len(done) == _PRICED:
                break
            key, data = cursor.key(), cursor.value()
            cursor.next()
            self._key = key
            self._looked_at += 1
            state = state_of(data)
            if state == KEPT:
                self._price(batch, key, unpack(data), now)
                priced += 1
            elif state == DONE and self._is_upgrading:
                done.append((key, unpack(data)))
        is_over = not cursor.valid()
        if is_over:
            cursor.status()  # raises what ended it too soon, if a file is damaged
        if done:
            self._keep(batch, done, now)
        if is_over and self._looked_at:
            self._end_pass(batch, now)
        if len(batch) or self._hosts:
            for host in self._hosts.values():
                self._revisits.hosts.save(batch, host)
            self._hosts.clear()
            self._database.write(batch)

    # --- pages ---

    def _price(self, batch: WriteBatch, key: bytes, record: Record, now: float) -> None:
        host, past, revisits = self._enter(key), record.past, self._revisits
        assert past is not None
        seconds = decode_interval(past.interval)
        is_ahead = past.last > now + _AHEAD
        # A page that was missed, or whose visit failed, has a time of its own.
        if not revisits.is_at_hand(record.number) and (is_ahead or not record.attempts):
            known = past._replace(last=int(now)) if is_ahead else past
            better = revisits.planner.plan(key, known, host.factor)
            if is_ahead or is_other(past, better, now):
                revisits.move(batch, host, key, record, better)
                self._hosts[host.key] = host
                past, seconds = better, decode_interval(better.interval)
        self._of_host.count(max(seconds, 1), is_late=past.due <= now)

    def _keep(self, batch: WriteBatch, done: list[tuple[bytes, Record]], now: float) -> None:
        """Keep done pages of a crawl that began without revisits."""
        rows = self._pages.rows(record.number for _, record in done)
        planner = self._revisits.planner
        for (key, record), data in zip(done, rows, strict=True):
            try:
                row = None if data is None else unpack_row(data)[0]
            except ValueError:
                continue
            if row is None or not 200 <= row.status < 300 or not is_page(row.status, row.reason):
                continue
            host = self._find(host_of(key))
            self._hosts[host.key] = host
            past = planner.begin(min(row.fetched or now, now), row.triples)
            past = planner.plan(key, past, host.factor)
            self._revisits.keep_done(batch, host, key, record, past)

    # --- hosts ---

    def _enter(self, key: bytes) -> Host:
        """Return the host of a key; leave the one before."""
        name = host_of(key)
        if name != self._name:
            self._leave()
            self._name = name
        return self._find(name)

    def _find(self, name: bytes) -> Host:
        """Return a host in memory, or as this step has changed it, or as it is on disk."""
        host = self._hosts.get(name) or self._revisits.hosts.peek(name)
        assert host is not None
        return host

    def _leave(self) -> None:
        """Let the factor of a host follow what its pages ask for."""
        tally, self._of_host = self._of_host, Tally()
        if not tally.pages:
            return
        host, rules = self._find(self._name), self._revisits.planner.rules
        capacity = self._capacity(host)
        self._total.add(tally, capacity, host.factor)
        factor = follow_host(host.factor, tally, capacity, rules.period)
        if factor != host.factor:
            host.factor = factor
            self._hosts[host.key] = host

    def _capacity(self, host: Host) -> float:
        """Return how many visits a second a host allows, if its server is shared fairly."""
        pause, server = self._revisits.hosts.politeness.pause(host) + host.latency, host.server
        if server is not None and server.hosts:
            pause = max(pause, server.delay * server.hosts)
        return host.at_once / max(pause, _QUICKEST)

    # --- the crawl ---

    def _end_pass(self, batch: WriteBatch, now: float) -> None:
        self._leave()
        total, self._total = self._total, Tally()
        revisits, rules = self._revisits, self._revisits.planner.rules
        visits, self._visits = revisits.visits - self._visits, revisits.visits
        began = now if self._began is None else self._began
        if total.pages:
            budget = total.pages / rules.mean if rules.mean else 0.0
            self._price_of_crawl.price = revisits.planner.price
            self._price_of_crawl.end_pass(total, visits, max(now - began, rules.period), budget)
            revisits.planner.price = self._price_of_crawl.price
            revisits.save_price(batch)
        if self._is_upgrading:
            self._is_upgrading = False
            batch.put(_UPGRADED, b"yes", self._database.meta.handle)
        self._key = self._name = b""


def is_other(old: Past, new: Past, now: float) -> bool:
    """Return whether a plan differs from the one before so much that the page is to be moved."""
    before, after = decode_interval(old.interval), decode_interval(new.interval)
    return abs(after - before) > _ALIKE * before and max(old.due, new.due) > now


def forget_upgrade(database: Database) -> None:
    """Note that pages end for good in this run, so that the next one with revisits looks for them."""
    if database.meta.get(_UPGRADED) is not None:
        batch = database.batch()
        batch.delete(_UPGRADED, database.meta.handle)
        database.write(batch)
