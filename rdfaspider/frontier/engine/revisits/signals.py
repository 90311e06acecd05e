"""Signals of change: pages become due that sitemaps and feeds say have changed.

A host whose signals were right so far is believed. Right and wrong ones are counted when the page is visited;
both counts are in the host's record (schedule/hosts.py). Which pages were signalled is only in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from rdfaspider.frontier.tables.trie import KEPT, Record, unpack
from rdfaspider.urls.keys import host_of, to_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocksdict import WriteBatch

    from rdfaspider.frontier.engine.revisits.revisits import Revisits
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database

# Signals looked up at a time.
_SIGNALS = 500
# The most signals of a host that are counted, and the most signalled pages that are remembered.
_SIGNALS_COUNTED, _SIGNALLED = 200, 100_000
# Signals after which a host has the trust that it deserves, and of which one is tried without trust.
_TRIED = 20
# Trust below which a signal is worth nothing, whatever the price.
_LEAST_TRUST = 0.1


class Signals:
    """Takes signals and counts which of them were right."""

    def __init__(self, database: Database, revisits: Revisits) -> None:
        self._database = database
        self._revisits = revisits
        self._signalled: set[int] = set()

    def is_expected(self, number: int) -> bool:
        """Tell whether a page is due because its server told of a change."""
        return number in self._signalled

    def expect(self, changes: Iterable[tuple[str, float]], now: float) -> None:
        """Make pages due that have changed, as far as the signals of their hosts are worth it."""
        since = {to_key(url): time for url, time in changes}
        keys = sorted(since)
        for start in range(0, len(keys), _SIGNALS):
            some = keys[start : start + _SIGNALS]
            batch = self._database.batch()
            hosts: dict[bytes, Host] = {}
            for key, data in zip(some, self._revisits.urls.trie.records(some), strict=True):
                record = None if data is None else unpack(data)
                if record is None or record.state != KEPT or record.past is None:
                    continue
                if self._revisits.is_at_hand(record.number) or since[key] <= record.past.last:
                    continue
                host = hosts.get(host_of(key)) or self._revisits.hosts.peek(host_of(key))
                assert host is not None
                hosts[host.key] = host
                self._expect(batch, host, key, record, now)
            for host in hosts.values():
                self._revisits.hosts.save(batch, host)
            self._database.write(batch)

    def _expect(
        self, batch: WriteBatch, host: Host, key: bytes, record: Record, now: float
    ) -> None:
        past, planner = record.past, self._revisits.planner
        assert past is not None
        worth = _trust(host) * past.worth / planner.rate(key, past)
        price = planner.price * self._revisits.factor(host, record.number)
        # One in twenty is tried all the same: a host may mend its ways.
        is_doubtful = worth < price or _trust(host) < _LEAST_TRUST
        if is_doubtful and crc32(key, int(now)) % _TRIED:
            return
        least = max(planner.rules.shortest, self._revisits.soonest(record.number))
        better = past.until(max(now, past.last + least))
        if better.due < past.due:
            if len(self._signalled) < _SIGNALLED:
                self._signalled.add(record.number)
            self._revisits.move(batch, host, key, record, better)

    def learn(self, host: Host, number: int, changed: bool | None) -> None:
        """Count whether a signal of change was right."""
        if number in self._signalled:
            self._signalled.discard(number)
            if changed is not None:
                host.right += changed
                host.wrong += not changed
            if host.right + host.wrong > _SIGNALS_COUNTED:
                host.right, host.wrong = host.right // 2, host.wrong // 2


def _trust(host: Host) -> float:
    """Return the share of a host's signals that are right; new hosts are trusted."""
    count = host.right + host.wrong
    return host.right / count if count >= _TRIED else (host.right + 1) / (count + 1)
