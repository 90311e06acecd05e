"""Where triples grow, as far as is known (row B4): the order that learns.

What is learnt is in rdfaspider/frontier/harvest.py; here it chooses among the waiting URLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.contexts import lift_of
from rdfaspider.frontier.harvest import Harvest, Shares, section_of
from rdfaspider.frontier.keys import host_of, to_key
from rdfaspider.frontier.orders.order import Order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.database import Database
    from rdfaspider.frontier.hosts import Host
    from rdfaspider.frontier.orders.order import Picked, Waiting

# Sections of a host that are compared; what lies in further ones waits until the first are empty.
_SECTIONS = 64
# After so many pages what was learnt is written down; a kill forgets the rest.
_SAVED_AFTER = 1_000
_NAME = b"harvest"
# Comes after every host with a share left.
_LATE = 1e12


class HarvestOrder(Order):
    """The ready host whose best section promises most comes first (Thompson sampling).

    The hint is the context of the link by which a URL was found (16 bits) and above it what that
    promised then (a byte).

    Layout: the sections in which URLs of a host wait are in memory for hosts that have work, each with the
    best promise; they are read from disk when the host is looked at, and those that come in are added.
    Invariant: the rank is the section and the promise turned round, so a section of a host is a range on
    disk, the most promising first.
    """

    reads_hints = True
    # One URL of one host at a time: what is learnt in between changes the choice.
    most_at_hand = 1
    fed_at_once = 1
    inbox_page = 400

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        stored = self._meta.get(_NAME)
        self.harvest = Harvest.load(stored) if stored else Harvest()
        self._shares = Shares()
        self._sections: dict[int, dict[bytes, int]] = {}
        self._unsaved = 0

    # --- links ---

    def hint(self, context: int) -> int:
        return self.harvest.contexts.promise(context) << 16 | context

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        section = section_of(key)
        return section[len(host_of(key)) :] + b"\0" + bytes((255 - (hint >> 16),))

    def arrived(self, host: Host, keys: Iterable[bytes], findings: Mapping[bytes, int]) -> None:
        sections = self._sections.setdefault(host.id, {})
        for key in keys:
            section, promise = section_of(key), findings[key] >> 24
            if section in sections or len(sections) < _SECTIONS:
                sections[section] = max(sections.get(section, 0), promise)

    def forgotten(self, host: Host) -> None:
        self._sections.pop(host.id, None)

    # --- hosts ---

    def pick(self, waiting: Waiting, host: Host, count: int) -> list[Picked]:
        sections = self._sections[host.id] = dict(self._read(waiting, host))
        picked: list[Picked] = []
        for section in sorted(sections, key=lambda name: -self._score(name, sections[name])):
            start = section[len(host.key) :] + b"\0"
            for rank, number, value in waiting.of(host, start):
                if len(picked) == count or not rank.startswith(start):
                    break
                picked.append((number, value))
            if len(picked) == count:
                break
        return picked

    def _read(self, waiting: Waiting, host: Host) -> Iterator[tuple[bytes, int]]:
        """Yield the sections of a host in which URLs wait that are not in flight, with their promises."""
        found = next(waiting.of(host), None)
        for _ in range(_SECTIONS):
            if found is None:
                return
            rank, _, value = found
            yield host.key + rank[:-2], value[2]
            found = next(waiting.of(host, rank[:-1] + b"\xff"), None)

    def _score(self, section: bytes, promise: int) -> float:
        return self.harvest.score(section, lift_of(promise))

    def urgency(self, host: Host) -> float:
        late = 0.0 if self._shares.has_room(host.id) else _LATE
        if host.queue:
            taken = host.queue[-1][1]
            return late - self._score(section_of(to_key(taken.url)), taken.hint >> 16)
        sections = self._sections.get(host.id)
        if not sections:  # after a restart: it is looked at when its turn comes
            return late - self.harvest.score(host.key + b")/")
        return late - max(self._score(name, promise) for name, promise in sections.items())

    def taken(self, host: Host, taken: Taken) -> None:
        self._shares.count(host.id)

    # --- what is learnt ---

    def learn(self, key: bytes, hint: int, gain: float) -> None:
        self.harvest.learn(key, gain, hint & 0xFFFF)
        self._unsaved += 1

    def save(self, batch: WriteBatch) -> None:
        if self._unsaved >= _SAVED_AFTER:
            self.close(batch)

    def close(self, batch: WriteBatch) -> None:
        if self._unsaved:
            batch.put(_NAME, self.harvest.dump(), self._meta.handle)
            self._unsaved = 0
