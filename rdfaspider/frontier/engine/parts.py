"""The parts of a local frontier: how they are made, restored after a kill, written and closed."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.closable import Closable
from rdfaspider.frontier.engine.admission import count_admitted
from rdfaspider.frontier.engine.counters import Counters
from rdfaspider.frontier.engine.revisits.revisits import Revisits
from rdfaspider.frontier.engine.revisits.walk import forget_upgrade
from rdfaspider.frontier.engine.sieve import Sieve
from rdfaspider.frontier.engine.steering import Steering
from rdfaspider.frontier.engine.terms import keep_shard, keep_terms, keep_window
from rdfaspider.frontier.engine.urls import Urls
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.orders import order_class
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.schedule.borrowing import Borrowing
from rdfaspider.frontier.schedule.hosts import Hosts
from rdfaspider.frontier.schedule.leases import Leases
from rdfaspider.frontier.schedule.lending import Lending
from rdfaspider.frontier.schedule.queue import Queue
from rdfaspider.frontier.schedule.schedule import Schedule
from rdfaspider.frontier.sharding import Shard
from rdfaspider.frontier.tables.database import Database, guarded
from rdfaspider.frontier.tables.pages import Pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocksdict import WriteBatch

    from rdfaspider.focus.visits.planner import RevisitRules
    from rdfaspider.frontier import Counts
    from rdfaspider.frontier.schedule.hosts import Host


class Parts(Closable):
    """A frontier without its methods. Each of its other modules adds those of one subject (engine/)."""

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
        order_class(order)  # before anything is made on disk
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
        self._order = order_class(self.order)(self._database)
        self._hosts = Hosts(self._database, politeness)
        self._schedule = Schedule(self._hosts, self._order)
        rests = politeness.delay >= 1.0
        self._queue = Queue(self._database.waiting, self._order, rests=rests)
        self._leases = Leases(self._lease)
        self._urls = Urls(self._database, self._order)
        self._database.fit(self._urls.counters.next_number)
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
            weighs_revisits=_weighs_ranks(self._revisit_rules),
        )
        self._pages = Pages(self._database)
        self._revisits: Revisits | None = None
        if self._revisit_rules is None:
            forget_upgrade(self._database)
        else:
            parts = (self._urls, self._schedule, self._queue, self._sieve, self._leases)
            ranks = self._steering.ranks
            self._revisits = Revisits(self._database, self._revisit_rules, *parts, ranks)
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

    def _write(self, batch: WriteBatch, host: Host) -> None:
        self._hosts.save(batch, host)
        self._urls.counters.save(batch)
        self._database.write(batch)
        self._schedule.update(host)

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
                self._hosts.save_rest(batch)
                self._order.close(batch)
                if self._revisits is not None:
                    self._revisits.save(batch)
                self._database.write(batch)
                self._database.meta[b"clean"] = b"no" if len(self._leases) else b"yes"
        finally:
            try:
                if self._database.is_broken:
                    _ = self._counts_on_disk  # for those who ask later
            finally:
                self._steering.close()
                self._database.close()

    @cached_property
    def _counts_on_disk(self) -> Counts:
        """Return the counts after a write has failed: memory is ahead of the disk, and the disk is right."""
        arriving = count_admitted(self._database, self.limits).total()
        return Counters(self._database).counts(arriving=arriving)


def _weighs_ranks(rules: RevisitRules | None) -> bool:
    """Return whether PageRank decides when pages are visited again."""
    return rules is not None and rules.rank > 1.0 and not rules.every
