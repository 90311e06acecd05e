"""Where most triples are expected (row B4): the order that learns.

rdfaspider/focus/harvest.py learns; this module chooses among the waiting URLs.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

from rdfaspider.focus.harvest import Harvest, Shares
from rdfaspider.frontier.orders.order import Order
from rdfaspider.frontier.orders.sections import MOST_SECTIONS, PLACES, Sections
from rdfaspider.frontier.tables.waiting import highest_byte_of_hint
from rdfaspider.linkgraph.weights import doublings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.waiting import Picked, WaitingCursor

# URLs of a section that are read at once: one is handed out, and the next shows what the section promises
# after it. This saves a read where a host is asked for many at a time.
_AHEAD = 2
# Pages after which what was learnt is written; a kill loses the rest. Writing takes some 20 ms when much is
# known, a hundredth of the time of these pages.
_SAVED_AFTER = 1_000
_NAME = b"harvest2"  # an earlier format is not read
# Puts a host after every host with a share left.
_LATE = 1e12

_OF_HOST = re.compile(rb"(?:\[[^]]*+\]|[^:@)]*+)([^/]*+/(?:[^,)/?&]*+[,)/?&])?)")

# In a hint: the context, above it two bits for links, above these the promise.
_CONTEXT = 0xFFFF
_LINKS, _MOST_LINKS = 16, 3
_PROMISE = 0xFC
_REST = ~(_MOST_LINKS << _LINKS)
# The probability that one more link raises the class of a URL, by the class; and by the difference of two.
_RISES = [1 / (15 * 16**times) for times in range(_MOST_LINKS)]


class HarvestOrder(Order):
    """The ready host with the most promising section comes first (Thompson sampling).

    The hint is the context of the link by which a URL was found (16 bits), the class of the links to it (2
    bits: 1, 16, 256 and 4096 links on average) and what the context promised then (6 bits). Class and promise
    are read as one byte: of URLs with the same promise the one with most links comes first, and it counts as
    a little more promising, by 2 % for each class.

    Layout: the sections with waiting URLs are in memory for hosts that have work. New ones are added, empty
    ones are dropped, and when none is left they are read from disk. Invariant: the rank is the section and
    the inverted promise, so a section of a host is a range on disk, the most promising URL first. URLs read
    ahead are the next on disk: they are dropped when new URLs of their host arrive.
    """

    advice = "harvest"
    reads_hints = True
    reads_ranks = True
    # One URL of one host at a time: anything learnt or found between two takes changes the choice, and a
    # host with a URL at hand is not compared again.
    most_at_hand = 1
    fed_at_once = 1
    # Links that came last are compared a little later: looked up many at a time they cost less.
    patience = 1 / 16

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        stored = self._meta.get(_NAME)
        self.harvest = Harvest.load(stored) if stored else Harvest()
        self._shares = Shares()
        self._sections: dict[int, Sections] = {}
        self._unsaved = 0
        self._random = Random(0).random

    # --- links ---

    def hint(self, context: int) -> int:
        promise = self.harvest.contexts.promise(context) & _PROMISE
        return promise << _LINKS | context & _CONTEXT

    def combine(self, old: int, new: int) -> int:
        more, fewer = old >> _LINKS & _MOST_LINKS, new >> _LINKS & _MOST_LINKS
        if more < fewer:
            more, fewer = fewer, more
        if more < _MOST_LINKS and self._random() < _RISES[more - fewer]:
            more += 1
        return max(old & _REST, new & _REST) | more << _LINKS

    def ranked(self, hint: int, weight: int) -> int:
        links = min(max(int(doublings_of(weight) / 4), 0), _MOST_LINKS)
        return hint & _REST | links << _LINKS

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        # The section without the host, which is one for all of them.
        return _OF_HOST.match(key)[1] + PLACES[hint >> 16]  # type: ignore[index]

    def arrived(self, host: Host, keys: Sequence[bytes], findings: Sequence[int]) -> list[bytes]:
        sections = self._sections.get(host.id)
        if sections is None:
            # After a restart they are read when the turn of the host comes; until then these are unknown too.
            sections = Sections({})
            if not host.waiting:
                self._sections[host.id] = sections
        return sections.add(host.key, keys, findings, self.harvest)

    def is_stirred(self, host: Host) -> bool:
        sections = self._sections.get(host.id)
        return sections is None or not sections.is_compared

    def forgotten(self, host: Host) -> None:
        self._sections.pop(host.id, None)

    # --- hosts ---

    def pick(self, waiting: WaitingCursor, host: Host, count: int) -> list[Picked]:
        sections = self._sections.get(host.id)
        while sections and sections.promises:
            _, section = sections.find_best(self.harvest)
            if not sections.ahead or sections.ahead_of != section:
                sections.ahead = self._next_of(waiting, host, section)
                sections.ahead_of, sections.is_all = section, len(sections.ahead) < _AHEAD
            if not sections.ahead:
                sections.drop(section)
                continue
            promise = highest_byte_of_hint(sections.ahead[-1][1])
            if promise == sections.promises[section]:
                return [sections.ahead.pop()]
            sections.set_promise(section, promise, self.harvest)  # the most promising one is gone
        self._sections[host.id] = Sections(dict(self._read(waiting, host)))
        return self.pick(waiting, host, count)

    def _next_of(self, waiting: WaitingCursor, host: Host, section: bytes) -> list[Picked]:
        """Return the next URLs of a section that are not in flight, the first one last."""
        return waiting.first_of(host, section[len(host.key) :] + b"\0", _AHEAD)[::-1]

    def _read(self, waiting: WaitingCursor, host: Host) -> Iterator[tuple[bytes, int]]:
        """Yield the sections of a host with URLs to hand out, with their promises."""
        found = next(waiting.of(host), None)
        for _ in range(MOST_SECTIONS):
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
        # A host whose share is used up is compared again in any case: it may have room then.
        sections.is_compared = not late
        return late - sections.find_best(self.harvest)[0]

    def taken(self, host: Host, taken: Taken) -> None:
        self._shares.count(host.id)
        sections = self._sections.get(host.id)
        if sections and sections.ahead:
            promise = highest_byte_of_hint(sections.ahead[-1][1])
            sections.set_promise(sections.ahead_of, promise, self.harvest)
        elif sections and sections.is_all:
            sections.drop(sections.ahead_of)

    # --- what is learnt ---

    def learn(self, host: Host, key: bytes, hint: int, gain: float) -> None:
        self.harvest.learn(key, gain, hint & _CONTEXT)
        if sections := self._sections.get(host.id):
            sections.forget_best()
        self._unsaved += 1

    @property
    def has_news(self) -> bool:
        return self._unsaved >= _SAVED_AFTER

    def save(self, batch: WriteBatch) -> None:
        batch.put(_NAME, self.harvest.dump(), self._meta.handle)
        self._unsaved = 0

    def close(self, batch: WriteBatch) -> None:
        if self._unsaved:
            self.save(batch)
