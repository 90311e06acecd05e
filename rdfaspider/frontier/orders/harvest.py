"""Where triples grow, as far as is known (row B4): the order that learns.

What is learnt is in rdfaspider/frontier/harvest.py; here it chooses among the waiting URLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.contexts import lift_of
from rdfaspider.frontier.harvest import Harvest, Shares, section_of
from rdfaspider.frontier.keys import host_of
from rdfaspider.frontier.orders.order import Order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.database import Database
    from rdfaspider.frontier.hosts import Host
    from rdfaspider.frontier.orders.order import Picked, Waiting

# Sections of a host that are compared; what lies in further ones waits until the first are empty.
_SECTIONS = 64
# After so many pages what was learnt is written down; a kill forgets the rest. It takes a third of a second
# when much is known, so not often.
_SAVED_AFTER = 10_000
_NAME = b"harvest"
# Comes after every host with a share left.
_LATE = 1e12


class HarvestOrder(Order):
    """The ready host whose best section promises most comes first (Thompson sampling).

    The hint is the context of the link by which a URL was found (16 bits) and above it what that
    promised then (a byte).

    Layout: the sections in which URLs of a host wait are in memory for hosts that have work, each with the
    best promise; those that come in are added, those found empty are dropped, and when none is left they
    are read from disk. Their scores, of none but these, are remembered until something of the host is learnt.
    Invariant: the rank is the section and the promise turned round, so a section of a host is a range on
    disk, the most promising first.
    """

    reads_hints = True
    # One URL of few hosts at a time: what is learnt in between changes the choice.
    most_at_hand = 1
    fed_at_once = 8
    inbox_page = 400

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        stored = self._meta.get(_NAME)
        self.harvest = Harvest.load(stored) if stored else Harvest()
        self._shares = Shares()
        self._sections: dict[int, dict[bytes, int]] = {}
        self._scores: dict[int, dict[bytes, float]] = {}
        self._unsaved = 0

    # --- links ---

    def hint(self, context: int) -> int:
        return self.harvest.contexts.promise(context) << 16 | context

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        section = section_of(key)
        return section[len(host_of(key)) :] + b"\0" + bytes((255 - (hint >> 16),))

    def arrived(self, host: Host, keys: Sequence[bytes], findings: Mapping[bytes, int]) -> None:
        sections = self._sections.get(host.id)
        if sections is None:
            if host.waiting > len(keys):  # after a restart: they are read when its turn comes
                return
            sections = self._sections[host.id] = {}
        scores = self._scores.get(host.id, {})
        for key in keys:
            section, promise = section_of(key), findings[key] >> 24
            if promise > sections.get(section, -1) and (
                section in sections or len(sections) < _SECTIONS
            ):
                sections[section] = promise
                scores.pop(section, None)

    def forgotten(self, host: Host) -> None:
        self._sections.pop(host.id, None)
        self._scores.pop(host.id, None)

    # --- hosts ---

    def pick(self, waiting: Waiting, host: Host, count: int) -> list[Picked]:
        sections = self._sections.get(host.id)
        while sections:
            _, section = self._best_of(host, sections)
            start = section[len(host.key) :] + b"\0"
            found = next(waiting.of(host, start), None)
            if found is not None and found[0].startswith(start):
                if sections[section] != found[2][2]:  # the most promising one is gone
                    sections[section] = found[2][2]
                    del self._scores[host.id][section]
                return [(found[1], found[2])]
            del sections[section], self._scores[host.id][section]
        self._sections[host.id] = dict(self._read(waiting, host))
        self._scores[host.id] = {}
        return self.pick(waiting, host, count)

    def _read(self, waiting: Waiting, host: Host) -> Iterator[tuple[bytes, int]]:
        """Yield the sections of a host in which URLs wait that are not in flight, with their promises."""
        found = next(waiting.of(host), None)
        for _ in range(_SECTIONS):
            if found is None:
                return
            rank, _, value = found
            yield host.key + rank[:-2], value[2]
            found = next(waiting.of(host, rank[:-2] + b"\1"), None)

    def _best_of(self, host: Host, sections: Mapping[bytes, int]) -> tuple[float, bytes]:
        """Return the best score, and its section."""
        scores = self._scores.setdefault(host.id, {})
        for name in sections.keys() - scores.keys():
            scores[name] = self.harvest.score(name, lift_of(sections[name]))
        return max((score, name) for name, score in scores.items())

    def urgency(self, host: Host) -> float:
        late = 0.0 if self._shares.has_room(host.id) else _LATE
        sections = self._sections.get(host.id)
        if not sections:  # after a restart: it is looked at when its turn comes
            return late - self.harvest.score(host.key + b")/")
        return late - self._best_of(host, sections)[0]

    def taken(self, host: Host, taken: Taken) -> None:
        self._shares.count(host.id)

    # --- what is learnt ---

    def learn(self, host: Host, key: bytes, hint: int, gain: float) -> None:
        self.harvest.learn(key, gain, hint & 0xFFFF)
        self._scores.pop(host.id, None)
        self._unsaved += 1

    def save(self, batch: WriteBatch) -> None:
        if self._unsaved >= _SAVED_AFTER:
            self.close(batch)

    def close(self, batch: WriteBatch) -> None:
        if self._unsaved:
            batch.put(_NAME, self.harvest.dump(), self._meta.handle)
            self._unsaved = 0
