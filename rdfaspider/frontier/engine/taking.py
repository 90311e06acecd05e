"""Handing URLs out, new ones and kept ones, and taking them back when their leases expire. How long hosts and
servers are left alone, and whose turn is borrowed for a page of another host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier import Taken
from rdfaspider.frontier.engine.parts import Parts
from rdfaspider.frontier.schedule.hosts import STRANGER
from rdfaspider.frontier.schedule.queue import QUEUE_PAGE
from rdfaspider.frontier.tables.database import guarded
from rdfaspider.frontier.tables.trie import KEPT, WAITING
from rdfaspider.urls.keys import host_of, to_key

if TYPE_CHECKING:
    from rdfaspider.frontier.politeness import Demand, Experience
    from rdfaspider.frontier.schedule.hosts import Host


class Taking(Parts):
    """URLs on their way out. A URL in flight is stored as waiting or kept, so a crash puts it back."""

    @guarded
    def take(self, now: float) -> Taken | None:
        self._now = now
        self._put_back_overdue(now)
        if self._sieve.is_due:
            self._sieve.run()
        self._steering.step(now)
        revisits = self._revisits
        if revisits is not None and not revisits.began <= now < revisits.next_step:
            revisits.step(now)
        while True:
            host = self._schedule.next_ready(now)
            if host is not None and host.recalled:
                return self._revisit(host, now)
            if host is not None and host.queue:
                return self._take_from(host, now)
            if self._sieve.inbox.size and (host is None or not self._sieve.may_wait):
                # What comes next may be in it.
                self._sieve.run()
                if host is not None and host.engaged:  # else the sieve has put it to sleep
                    self._schedule.make_ready(host)
            elif host is not None:
                self._feed([host, *self._schedule.hungry(self._order.fed_at_once - 1, now)], now)
            elif revisits is None or not revisits.recall(now, is_free=True):
                return None

    def _take_from(self, host: Host, now: float) -> Taken:
        self._save_address(host)
        taken = self._queue.pop(host)
        self._leases.grant(taken, now)
        self._order.taken(host, taken)
        self._schedule.depart(host, taken.number, now)
        self._queue.tidy(host)
        return taken

    def _revisit(self, host: Host, now: float) -> Taken:
        assert self._revisits is not None
        self._save_address(host)
        taken = self._revisits.take(host, now)
        self._steering.count_revisit()
        self._leases.grant(taken, now)
        self._schedule.depart(host, taken.number, now)
        return taken

    def _save_address(self, host: Host) -> None:
        """Write the address of a host before it is asked: after a kill its server rests too."""
        if self._hosts.is_unsaved(host):
            batch = self._database.batch()
            self._hosts.save_rest(batch)
            self._database.write(batch)

    def _feed(self, hosts: list[Host], now: float) -> None:
        """Give ready hosts their next URLs."""
        if not self._queue.fill(hosts, now):
            raise self._database.fail("Corruption: URLs that should wait are missing")
        for host in hosts:
            self._schedule.make_ready(host)
        if self._order.has_news:
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
            None if self._revisits is None else self._revisits.next_time,
            now + self._lease if self._schedule.unresolved else None,
            self.lending.first,
        )
        return min((max(time - now, 0.0) for time in times if time is not None), default=None)

    @guarded
    def adopt(self, url: str, now: float) -> Taken | None:
        """Put a URL back into flight that a worker has held since before a restart; return None if it has
        ended or is in flight already."""
        record = self.trie.record(url)
        if (record is None or record.state not in (WAITING, KEPT)) and self._sieve.inbox.size:
            # In a copy the link to it may still be in the inbox.
            self._sieve.run()
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

    # --- put back ---

    def _land(self, taken: Taken, now: float, *, asked: bool = True) -> Host:
        """Take a URL out of flight; its host rests if it was asked."""
        self._leases.end(taken)
        host = self._hosts[taken.host]
        self._schedule.land(host, taken.number, now, asked=asked)
        self._queue.drop(taken)
        if taken.visit is not None and self._revisits is not None:
            self._revisits.land(host)
        return host

    def _put_back(self, taken: Taken, now: float) -> None:
        batch = self._database.batch()
        host = self._land(taken, now)
        if taken.visit is not None and self._revisits is not None:
            self._revisits.give_back(batch, host, taken, now)
        self._order.forgotten(host)  # it may know that nothing was left beside this one
        self._write(batch, host)

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

    # --- politeness, and turns that are borrowed ---

    def report(self, host: int, now: float, fetch: Experience) -> None:
        if (known := self._hosts.by_id(host)) is not None:
            self._hosts.politeness.learn(known, now, fetch)
            if known.server is not None:
                self._hosts.politeness.learn_server(known.server, fetch)

    @guarded
    def slow_down(self, host: int, now: float, demand: Demand) -> None:
        known = self._hosts.by_id(host)
        if known is not None and self._hosts.politeness.heed(known, now, demand):
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
            self._hosts.save_later(known)  # if a kill loses it, it is resolved once more
