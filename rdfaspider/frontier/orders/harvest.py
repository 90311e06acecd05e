"""Where triples grow, as far as is known (row B4): the order that learns.

What is learnt is in rdfaspider/frontier/harvest.py; here it chooses among the waiting URLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.contexts import lift_of
from rdfaspider.frontier.harvest import Harvest, Shares, section_of
from rdfaspider.frontier.orders.order import Order

if TYPE_CHECKING:
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

    Invariant: the rank is the section and the promise turned round, so a section of a host is a range,
    the most promising first; a host's `due` is the score of its best section when last looked at.
    """

    reads_hints = True
    most_at_hand = 4

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        stored = self._meta.get(_NAME)
        self.harvest = Harvest.load(stored) if stored else Harvest()
        self._shares = Shares()
        self._unsaved = 0

    # --- links ---

    def hint(self, context: int) -> int:
        return self.harvest.contexts.promise(context) << 16 | context

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        section = section_of(key)
        return section[section.index(b")") :] + b"\0" + bytes((255 - (hint >> 16),))

    # --- hosts ---

    def pick(self, waiting: Waiting, host: Host, count: int) -> list[Picked]:
        scores = sorted(self._sections(waiting, host), reverse=True)
        host.due = scores[0][0]
        picked: list[Picked] = []
        for _, section in scores:
            for rank, number, value in waiting.of(host, section):
                if len(picked) == count or not rank.startswith(section):
                    break
                picked.append((number, value))
            if len(picked) == count:
                break
        return picked

    def _sections(self, waiting: Waiting, host: Host) -> list[tuple[float, bytes]]:
        """Return the sections of a host in which URLs wait, each with what it may give."""
        scores: list[tuple[float, bytes]] = []
        found = next(waiting.of(host), None)
        while found is not None and len(scores) < _SECTIONS:
            rank, _, value = found
            section = rank[:-1]
            origin = value[5 : value.index(b")", 5)]
            score = self.harvest.score(host.key + origin + section[:-1], lift_of(value[2]))
            scores.append((score, section))
            found = next(waiting.of(host, section + b"\xff"), None)
        return scores

    def urgency(self, host: Host) -> float:
        late = 0.0 if self._shares.has_room(host.id) else _LATE
        if host.due:
            return late - host.due
        return late - self.harvest.score(host.key + b")/")

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
