"""How long hosts and servers are left alone, and whose turn is borrowed for a page of another host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.engine.parts import Parts
from rdfaspider.frontier.schedule.hosts import STRANGER
from rdfaspider.frontier.tables.database import guarded
from rdfaspider.urls.keys import host_of, to_key

if TYPE_CHECKING:
    from rdfaspider.frontier.politeness import Demand, Experience
    from rdfaspider.frontier.schedule.hosts import Host


class Turns(Parts):
    """The politeness of a frontier."""

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
