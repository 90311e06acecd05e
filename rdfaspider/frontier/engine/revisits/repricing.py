"""Pricing all kept pages again, a few at each take, so that a wrong price heals.

A walk plans the next visit of each kept page anew, moves those whose time differs by much, and counts what
the prices ask for. At the end of a host its factor follows, at the end of the walk the price of the crawl
(focus/visits/prices.py).

What survives a kill. Where the walk was some visits ago, and what it had counted: the next start goes on from
there. A crawl that is started again each night would never end a walk that takes days.
"""

from __future__ import annotations

import json
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from rdfaspider.focus.visits.prices import CrawlPrice, Tally, follow_host
from rdfaspider.focus.visits.scale import decode_interval
from rdfaspider.frontier.engine.revisits.walk import AHEAD, Walk
from rdfaspider.urls.keys import host_of

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.focus.visits.planner import Past
    from rdfaspider.frontier.engine.revisits.revisits import Revisits
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.trie import Record

# Intervals that differ by less than this are left alone.
_ALIKE = 0.05
# Seconds between two fetches of a host without a delay.
_QUICKEST = 0.05

_POSITION = b"repricing"


class Repricing(Walk):
    """The walk of the default policy. `_name` is the host at which it is, `_of_host` what was counted
    there."""

    def __init__(self, database: Database, revisits: Revisits) -> None:
        super().__init__(database, revisits)
        self._visits = 0
        self._name = b""
        self._price_of_crawl = CrawlPrice()
        self._total, self._of_host = Tally(), Tally()
        # How long the walk had taken when it was left, until the first step knows the time.
        self._walked: float | None = None
        self._last = 0.0
        position = database.meta.get(_POSITION)
        if position and not self._is_upgrading:
            self._resume(json.loads(position))

    def step(self, now: float) -> None:
        if self._walked is not None:
            self.began, self._walked = now - self._walked, None
        self._last = now
        super().step(now)

    def look_at(self, batch: WriteBatch, key: bytes, record: Record, now: float) -> None:
        host, past, revisits = self._enter(key), record.past, self._revisits
        assert past is not None
        seconds = decode_interval(past.interval)
        is_ahead = past.last > now + AHEAD
        has_own_time = self.has_own_time(record, past, now)
        if not revisits.is_at_hand(record.number) and (is_ahead or not has_own_time):
            known = past._replace(last=int(now)) if is_ahead else past
            factor = revisits.factor(host, record.number)
            better = revisits.planner.plan(key, known, factor)
            if better.interval < past.interval and is_other(past, better, now):
                soonest = revisits.soonest(record.number)
                better = revisits.planner.plan(key, known, factor, soonest)
            if is_ahead or is_other(past, better, now):
                revisits.move(batch, host, key, record, better)
                self._hosts[host.key] = host
                past, seconds = better, decode_interval(better.interval)
        self._of_host.count(max(seconds, 1), is_late=past.due <= now)

    # --- its position ---

    def save(self, batch: WriteBatch) -> None:
        """Add where it is to a batch."""
        if not self._key:
            return
        walked = self._last - self.began if self._walked is None else self._walked
        tallies = astuple(self._total), astuple(self._of_host)
        visits = self._revisits.visits - self._visits
        position = [self._key.hex(), self._looked_at, walked, visits, self._name.hex(), *tallies]
        batch.put(_POSITION, json.dumps(position).encode(), self._database.meta.handle)

    def _resume(self, position: list[Any]) -> None:
        """Go on where a walk was left."""
        key, self._looked_at, self._walked, visits, name, total, of_host = position
        self._key, self._name = bytes.fromhex(key), bytes.fromhex(name)
        self._visits = -visits
        self._total, self._of_host = Tally(*total), Tally(*of_host)

    # --- hosts ---

    def _enter(self, key: bytes) -> Host:
        """Return the host of a key; leave the one before."""
        name = host_of(key)
        if name != self._name:
            self._leave()
            self._name = name
        return self._find(name)

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
        rules, server = self._revisits.hosts.politeness, host.server
        pause = rules.pause(host) + host.latency
        if server is not None and server.hosts:
            pause = max(pause, rules.server_pause(server) * server.hosts)
        return host.at_once / max(pause, _QUICKEST)

    # --- the crawl ---

    def arrive(self, batch: WriteBatch, now: float) -> None:
        self._leave()
        total, self._total = self._total, Tally()
        revisits, rules = self._revisits, self._revisits.planner.rules
        visits, self._visits = revisits.visits - self._visits, revisits.visits
        if total.pages:
            budget = total.pages / rules.mean if rules.mean else 0.0
            self._price_of_crawl.price = revisits.planner.price
            self._price_of_crawl.end_pass(
                total, visits, max(now - self.began, rules.period), budget
            )
            revisits.planner.price = self._price_of_crawl.price
            revisits.save_price(batch)
        revisits.compare()
        self._name = b""
        batch.delete(_POSITION, self._database.meta.handle)

    @property
    def share(self) -> float:
        """A new page brings what an old one brings after infinite time, a revisit the price."""
        planner = self._revisits.planner
        price, new = planner.price, planner.value_of_new(self._revisits.weight_of_new)
        return min(planner.rules.share, price / (price + new) if price else 1.0)


def is_other(old: Past, new: Past, now: float) -> bool:
    """Return whether a plan differs from the one before so much that the page is to be moved."""
    before, after = decode_interval(old.interval), decode_interval(new.interval)
    return abs(after - before) > _ALIKE * before and max(old.due, new.due) > now
