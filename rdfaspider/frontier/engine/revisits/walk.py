"""Going through all URLs, a few at each take, for what must be done to every kept page.

A walk goes through the trie once in a period, in the order of keys, and so host by host. What it does at each
kept page, and at the end, is its subclass's business.

The first walk of a crawl that began without revisits also keeps its done pages, sitemaps and feeds. They are
those with a row that says so (tables/pages.py).

What survives a kill. Each step is a batch. The next start begins a walk anew, unless its subclass goes on.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from rdfaspider.focus.visits.planner import DAY
from rdfaspider.frontier import is_page
from rdfaspider.frontier.tables.pages import Pages
from rdfaspider.frontier.tables.trie import DONE, KEPT, WAITING, number_of, state_of, unpack
from rdfaspider.pages.row import Row
from rdfaspider.pages.row import unpack as unpack_row
from rdfaspider.urls.keys import host_of

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.focus.visits.planner import Past
    from rdfaspider.frontier.engine.revisits.revisits import Revisits
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.trie import Record

# URLs looked at in a step, and kept pages in one: about a millisecond.
_LOOKED_AT, _KEPT_PAGES = 512, 64

# Seconds by which a visit may lie ahead. Beyond that the clock has been set back since, and the next visit
# might be years away.
AHEAD = 3_600.0
# The longest time that a page may have of its own, unless the rules allow for more.
_FARTHEST = 90 * DAY

_UPGRADED = b"revisits"


class Walk:
    """`began` is when the present walk began, infinity before the first; `next` is when to go on."""

    def __init__(self, database: Database, revisits: Revisits) -> None:
        self._database = database
        self._revisits = revisits
        self._pages = Pages(database)
        self.began, self.next = inf, -inf
        self._key = b""  # the last one that was looked at, b"" between two walks
        self._looked_at = 0
        # Hosts of a step, to be saved at its end.
        self._hosts: dict[bytes, Host] = {}
        self._is_upgrading = database.meta.get(_UPGRADED) is None

    def step(self, now: float) -> None:
        """Go on. The caller does this at any time that is not between `began` and `next`."""
        if not (self._key and self.began <= now):  # it is the first, or the clock has been set back
            self.began, self._looked_at = now, 0
        self._go_on(now)
        self.next = self._when(now)

    def _when(self, now: float) -> float:
        """Return when to go on: all URLs are looked at within a period."""
        period = self._revisits.planner.rules.period
        if not self._key:
            return self.began + period if self._looked_at else now
        if self._must_end:
            return now
        return self.began + self._looked_at * period / self._revisits.urls.counters.next_number

    def _go_on(self, now: float) -> None:
        batch, kept = self._database.batch(), 0
        done: list[tuple[bytes, Record]] = []
        cursor = self._database.urls.cursor()
        cursor.seek(self._key + b"\0" if self._key else b"")
        for _ in range(_LOOKED_AT):
            if not cursor.valid() or kept + len(done) == _KEPT_PAGES:
                break
            key, data = cursor.key(), cursor.value()
            cursor.next()
            self._key = key
            self._looked_at += 1
            state = state_of(data)
            if state == KEPT:
                self.look_at(batch, key, unpack(data), now)
                kept += 1
            elif state == WAITING:
                self.look_at_new(number_of(data))
            elif state == DONE and self._is_upgrading:
                done.append((key, unpack(data)))
        is_over = not cursor.valid()
        if is_over:
            cursor.status()  # raises what ended it too soon, if a file is damaged
        if done:
            self._keep(batch, done, now)
        if is_over and self._looked_at:
            self.arrive(batch, now)
            self._end_upgrade(batch)
            self._key = b""
        self._write(batch)

    def _write(self, batch: WriteBatch) -> None:
        """Write a batch, and the hosts that have changed with it."""
        for host in self._hosts.values():
            self._revisits.hosts.save(batch, host)
        self._hosts.clear()
        if len(batch):
            self._database.write(batch)

    def save(self, batch: WriteBatch) -> None:
        """Add to a batch what a walk needs to go on after a restart, if it does not begin anew."""

    @property
    def alarm(self) -> float | None:
        """Return when it must go on though nothing is taken, None if that can wait."""
        return self.next if self._must_end and self._key else None

    @property
    def _must_end(self) -> bool:
        """Return whether the walk ends as soon as it can: it keeps pages, which may be all there is to do, or
        this run ends, and short runs would never finish a walk that takes days."""
        return self._is_upgrading or self._revisits.planner.rules.until > 0.0

    @property
    def share(self) -> float:
        """Return the share of the turns that revisits get while new pages wait."""
        raise NotImplementedError

    def look_at(self, batch: WriteBatch, key: bytes, record: Record, now: float) -> None:
        """Do what is to be done to a kept page."""
        raise NotImplementedError

    def look_at_new(self, number: int) -> None:
        """Do what is to be done to a new page, by its number: nothing."""

    def arrive(self, batch: WriteBatch, now: float) -> None:
        """Notice that all URLs were looked at."""
        raise NotImplementedError

    def has_own_time(self, record: Record, past: Past, now: float) -> bool:
        """Return whether the next visit of a page is not to be planned: it was missed, its visit failed, or a
        change was told. A time that no rule allows is of a clock that has been set back since."""
        revisits, rules = self._revisits, self._revisits.planner.rules
        if not (record.attempts or revisits.signals.is_expected(record.number)):
            return False
        farthest = max(rules.longest, rules.every, rules.missed, _FARTHEST)
        return past.due <= now + 1.1 * farthest + AHEAD

    def _keep(self, batch: WriteBatch, done: list[tuple[bytes, Record]], now: float) -> None:
        """Keep done pages of a crawl that began without revisits."""
        rows = self._pages.rows(record.number for _, record in done)
        planner = self._revisits.planner
        for (key, record), data in zip(done, rows, strict=True):
            try:
                row = None if data is None else unpack_row(data)[0]
            except ValueError:
                continue
            if row is None or not _comes_again(row):
                continue
            host = self._find(host_of(key))
            self._hosts[host.key] = host
            past = planner.begin(min(row.fetched or now, now), row.triples)
            past = planner.plan(key, past, self._revisits.factor(host, record.number))
            self._revisits.keep_done(batch, host, key, record, past)

    def _find(self, name: bytes) -> Host:
        """Return a host in memory, or as this step has changed it, or as it is on disk."""
        host = self._hosts.get(name) or self._revisits.hosts.peek(name)
        assert host is not None
        return host

    def _end_upgrade(self, batch: WriteBatch) -> None:
        if self._is_upgrading:
            self._is_upgrading = False
            batch.put(_UPGRADED, b"yes", self._database.meta.handle)


def _comes_again(row: Row) -> bool:
    """Return whether a page is to be visited again; one of another type was never read."""
    is_signal = row.reason in ("sitemap", "feed")
    is_read = 200 <= row.status < 300 and is_page(row.status, row.reason) and row.reason != "type"
    return is_signal or is_read


def forget_upgrade(database: Database) -> None:
    """Note that pages end for good in this run, so that the next one with revisits looks for them."""
    if database.meta.get(_UPGRADED) is not None:
        batch = database.batch()
        batch.delete(_UPGRADED, database.meta.handle)
        database.write(batch)
