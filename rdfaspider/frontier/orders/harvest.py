"""Where triples grow, as far as is known (row B4): the order that learns.

What is learnt is in rdfaspider/focus/harvest.py; here it chooses among the waiting URLs.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING

from rdfaspider.focus.contexts import lift_of
from rdfaspider.focus.harvest import Harvest, Shares, section_of
from rdfaspider.frontier.orders.order import Order
from rdfaspider.frontier.tables.waiting import highest_byte_of_hint
from rdfaspider.urls.keys import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.orders.order import Picked
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.waiting import WaitingCursor

# Sections of a host that are compared; what lies in further ones waits until the first are empty.
_SECTIONS = 64
# URLs of a section that are read at once: one is handed out, and the next one says what the section promises
# after it. It saves a read where a host is asked for many at a time.
_AHEAD = 2
# After so many pages what was learnt is written down; a kill forgets the rest. It takes some 20 ms when much
# is known, a hundredth of the time of these pages.
_SAVED_AFTER = 1_000
_NAME = b"harvest2"  # of an earlier format nothing is read
# Comes after every host with a share left.
_LATE = 1e12


class Sections:
    """The sections of one host in which URLs wait, and which of them is the best.

    Layout: the best promise of each section, and the scores that were drawn for them; `ahead` has the URLs
    that come next in the section it is `ahead_of`, after the one that was picked last; the next one is last.
    Invariant: there are no scores but of sections in `promises`, and `best` is the highest of them or None.
    """

    __slots__ = ("ahead", "ahead_of", "best", "promises", "scores")

    def __init__(self, promises: dict[bytes, int]) -> None:
        self.promises = promises
        self.scores: dict[bytes, float] = {}
        self.best: tuple[float, bytes] | None = None
        self.ahead: list[Picked] = []
        self.ahead_of = b""

    def find_best(self, harvest: Harvest) -> tuple[float, bytes]:
        """Return the highest score, and its section; what was not scored yet is."""
        if self.best is None:
            scores, promises = self.scores, self.promises
            for section in promises.keys() - scores.keys():
                scores[section] = harvest.score(section, lift_of(promises[section]))
            self.best = max(zip(scores.values(), scores, strict=True))
        return self.best

    def set_promise(self, section: bytes, promise: int) -> None:
        """Take in what a section promises now."""
        if self.promises.get(section) != promise:
            self.promises[section] = promise
            self.scores.pop(section, None)
            self.best = None

    def drop(self, section: bytes) -> None:
        """Take in that nothing waits in a section."""
        self.promises.pop(section, None)
        self.scores.pop(section, None)
        self.best = None

    def forget_scores(self) -> None:
        """Take in that something of the host was learnt."""
        self.scores.clear()
        self.best = None


class HarvestOrder(Order):
    """The ready host whose best section promises most comes first (Thompson sampling).

    The hint is the context of the link by which a URL was found (16 bits) and above it what that
    promised then (a byte).

    Layout: the sections in which URLs of a host wait are in memory for hosts that have work; those that come
    in are added, those found empty are dropped, and when none is left they are read from disk.
    Invariant: the rank is the section and the promise turned round, so a section of a host is a range on
    disk, the most promising first. URLs read ahead are those that come next on disk: they are let go
    when any of their host come in.
    """

    reads_hints = True
    # One URL of one host at a time: whatever is learnt or found between two takes changes the choice, and a
    # host that has a URL at hand is not compared again.
    most_at_hand = 1
    fed_at_once = 1

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        stored = self._meta.get(_NAME)
        self.harvest = Harvest.load(stored) if stored else Harvest()
        self._shares = Shares()
        self._sections: dict[int, Sections] = {}
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
            sections = self._sections[host.id] = Sections({})
        sections.ahead.clear()
        promises = sections.promises
        for key in keys:
            section, promise = section_of(key), findings[key] >> 24
            known = promises.get(section, -1)
            if promise > known and (known >= 0 or len(promises) < _SECTIONS):
                sections.set_promise(section, promise)

    def forgotten(self, host: Host) -> None:
        self._sections.pop(host.id, None)

    # --- hosts ---

    def pick(self, waiting: WaitingCursor, host: Host, count: int) -> list[Picked]:
        sections = self._sections.get(host.id)
        while sections and sections.promises:
            _, section = sections.find_best(self.harvest)
            if not sections.ahead or sections.ahead_of != section:
                sections.ahead = self._next_of(waiting, host, section)
                sections.ahead_of = section
            if not sections.ahead:
                sections.drop(section)
            elif (promise := highest_byte_of_hint(sections.ahead[-1][1])) != sections.promises[
                section
            ]:
                sections.set_promise(section, promise)  # the most promising one is gone
            else:
                return [sections.ahead.pop()]
        self._sections[host.id] = Sections(dict(self._read(waiting, host)))
        return self.pick(waiting, host, count)

    def _next_of(self, waiting: WaitingCursor, host: Host, section: bytes) -> list[Picked]:
        """Return the URLs that come next in a section and are not in flight, the first one last."""
        start = section[len(host.key) :] + b"\0"
        rows = takewhile(lambda row: row[0].startswith(start), waiting.of(host, start))
        return [(number, value) for _, number, value in islice(rows, _AHEAD)][::-1]

    def _read(self, waiting: WaitingCursor, host: Host) -> Iterator[tuple[bytes, int]]:
        """Yield the sections of a host in which URLs wait that are not in flight, with their promises."""
        found = next(waiting.of(host), None)
        for _ in range(_SECTIONS):
            if found is None:
                return
            rank, _, value = found
            yield host.key + rank[:-2], highest_byte_of_hint(value)
            found = next(waiting.of(host, rank[:-2] + b"\1"), None)

    def urgency(self, host: Host) -> float:
        late = 0.0 if self._shares.has_room(host.id) else _LATE
        sections = self._sections.get(host.id)
        if not sections or not sections.promises:  # it is looked at when its turn comes
            return late - self.harvest.score(host.key + b")/")
        return late - sections.find_best(self.harvest)[0]

    def taken(self, host: Host, taken: Taken) -> None:
        self._shares.count(host.id)
        sections = self._sections.get(host.id)
        if sections and sections.ahead:
            sections.set_promise(sections.ahead_of, highest_byte_of_hint(sections.ahead[-1][1]))

    # --- what is learnt ---

    def learn(self, host: Host, key: bytes, hint: int, gain: float) -> None:
        self.harvest.learn(key, gain, hint & 0xFFFF)
        if sections := self._sections.get(host.id):
            sections.forget_scores()
        self._unsaved += 1

    def save(self, batch: WriteBatch) -> None:
        if self._unsaved >= _SAVED_AFTER:
            self.close(batch)

    def close(self, batch: WriteBatch) -> None:
        if self._unsaved:
            batch.put(_NAME, self.harvest.dump(), self._meta.handle)
            self._unsaved = 0
