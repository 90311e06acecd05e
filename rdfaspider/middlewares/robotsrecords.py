"""The records of robots.txt: kept with the frontier, the latest ones also in memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rdfaspider.middlewares.kept import Kept
from rdfaspider.middlewares.turns import noted
from rdfaspider.robots.record import RobotsRecord
from rdfaspider.urls import host
from rdfaspider.urls.hosts import authority

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier import Frontier

# Octets of stored rules in memory, some 40,000 services; the rest is with the frontier.
_REMEMBERED = 8_000_000


class Records:
    """Records by service, and by URL for robots.txt files that have moved elsewhere.

    The latter are in memory only: many hosts may have moved theirs to one URL, which is then fetched once.
    The note `delays HOST` has the Crawl-delays that the services of a host ask for.
    """

    def __init__(self, frontier: Callable[[], Frontier]) -> None:
        self._frontier = frontier
        self._records = Kept[RobotsRecord](_REMEMBERED)

    def known(self, service: str) -> RobotsRecord | None:
        """Return the record of a service; Postponed if it cannot be read now."""
        if (record := self._records.at_hand(service)) is not None:
            return record
        data = noted(self._frontier(), f"robots {service}")
        return (
            None
            if data is None
            else self._records.keep(service, RobotsRecord.from_bytes(data), len(data))
        )

    def remember(self, service: str, record: RobotsRecord) -> None:
        data = record.to_bytes()
        self._frontier().set_note(f"robots {service}", data)
        self._records.keep(service, record, len(data))

    def answered(self, url: str, now: float) -> RobotsRecord | None:
        """Return the latest answer of a URL to which others have moved, None if there is none."""
        service = service_of(url)
        record = (
            self.known(service) if url == f"{service}/robots.txt" else self._records.at_hand(url)
        )
        if record is None or record.failures or not record.reached or record.expires <= now:
            return None
        return RobotsRecord(record.rules, record.expires)

    def keep_answer(self, url: str, record: RobotsRecord) -> None:
        self._records.keep(url, record, len(record.to_bytes()))

    def longest_delay(self, service: str, delay: float | None) -> float:
        """Store the Crawl-delay of a service, None for none; return the longest of its host."""
        name = f"delays {host(f'{service}/')}"
        delays: dict[str, float] = json.loads(noted(self._frontier(), name) or b"{}")
        before = dict(delays)
        if delay is None:
            delays.pop(service, None)
        else:
            delays[service] = delay
        if delays != before:
            self._frontier().set_note(name, json.dumps(delays).encode())
        return max(delays.values(), default=0.0)


def service_of(url: str) -> str:
    """Return scheme, host and port of a normalised URL, which share one robots.txt."""
    return f"{url.partition('/')[0]}//{authority(url)}"
