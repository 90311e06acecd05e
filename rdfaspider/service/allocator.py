"""Which worker gets which URL: WebParF's allocator over several workers (figure 6; rows P3 and P7).

A URL belongs to one of the workers: in the order topics by its topic, so that a worker reads pages of a kind,
in the others by its host, so that connections and what is known of a host are used again. Which worker a
topic or a host belongs to is decided by rendezvous hashing over those who ask for URLs, so the topics of one
that leaves spread over the rest, and the others keep theirs; or by the clock (partitions.py).

This is a preference and costs no throughput. The frontier decides what comes next, and each URL goes to the
worker who asks, unless it belongs to another one who has asked lately: then it is kept for that one, as long
as no more is kept than it is likely to ask for. What was not asked for soon is anybody's, and a worker that
would have nothing to do gets what is kept for others. An order that learns keeps nothing: what it has not
chosen yet it will choose better.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Protocol

from rdfaspider.focus.topics import topic_of
from rdfaspider.focus.topics.names import NOTE, read_names
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.service.partitions import Division, even_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.engine.local import LocalFrontier

# URLs that are kept for a worker at most.
_MOST = 32
# Seconds since its last question after which nothing is kept for a worker, and for which a URL is kept.
_LATELY, _KEPT = 0.5, 0.25
# Of so many URLs of a topic, so many that its worker had no room for: then it is split.
_WINDOW, _TOO_MANY = 200, 50


class Keys(Protocol):
    """Numbers what belongs together, its place; `version` changes when `loads` do."""

    version: int

    def loads(self) -> list[float]:
        """Return how many URLs there are to be expected of each place, as compared to the others."""

    def place(self, taken: Taken) -> int:
        """Return the number of what a URL belongs to."""

    def count(self, place: int, *, is_over: bool) -> None:
        """Take in that there was a URL of it, and whether its worker had no room for that."""


class HostKeys:
    """Hosts by their partitions."""

    version = 0

    def __init__(self, division: Division) -> None:
        self._division = division

    def loads(self) -> list[float]:
        return [1.0] * self._division.partitions

    def place(self, taken: Taken) -> int:
        return self._division.partition(taken.url.split("/", 3)[2])

    def count(self, place: int, *, is_over: bool) -> None:
        pass


class TopicKeys:
    """Topics, each with its sub-topics; those of one that is too much for its worker count by themselves.

    Invariant: `_places` numbers the topics that count by themselves, or did before they were split, and
    `_known` has the place of every topic that was met. As topics take turns, each is as much as another.
    """

    def __init__(self, frontier: LocalFrontier) -> None:
        self.version = 0
        self._frontier = frontier
        self._names: list[str] = []
        self._places: dict[int, int] = {}
        self._known: dict[int, int] = {}
        self._split: set[int] = set()
        self._counts: dict[int, tuple[int, int]] = {}  # by place: URLs, and those too many

    def loads(self) -> list[float]:
        topics = Counter(self._known.values())
        return [float(topics[place]) for place in range(len(self._places))]

    def place(self, taken: Taken) -> int:
        topic = topic_of(taken.hint)
        found = self._known.get(topic)
        return self._meet(topic) if found is None else found

    def _meet(self, topic: int) -> int:
        key = next((each for each in self._line(topic) if each not in self._split), topic)
        place = self._known[topic] = self._places.setdefault(key, len(self._places))
        self.version += 1
        return place

    def _line(self, topic: int) -> list[int]:
        """Return a topic after those that it is part of, the largest first."""
        if topic >= len(self._names):  # workers say what they are called
            self._names = read_names(self._frontier.note(NOTE))
        if topic >= len(self._names):
            return [topic]
        parts = self._names[topic].split("/")
        return [self._names.index("/".join(parts[: n + 1])) for n in range(len(parts))]

    def count(self, place: int, *, is_over: bool) -> None:
        count, over = self._counts.get(place, (0, 0))
        count, over = count + 1, over + is_over
        if count == _WINDOW:
            if over >= _TOO_MANY:
                self._split_up(place)
            count = over = 0
        self._counts[place] = count, over

    def _split_up(self, place: int) -> None:
        key = next(key for key, its in self._places.items() if its == place)
        if key not in self._split:
            self._split.add(key)
            for topic in [topic for topic, its in self._known.items() if its == place]:
                self._meet(topic)


class Allocator:
    """Takes URLs out of a frontier for workers, who are known by their names.

    Layout: `_kept` has the URLs that are kept for each worker who has asked, with the time, oldest first;
    those in `_spare` are anybody's.
    Invariant: what is kept is in flight in the frontier and held by nobody.
    """

    def __init__(self, frontier: LocalFrontier, division: Division | None = None) -> None:
        self._frontier = frontier
        self._division = division or Division()
        by_topic = frontier.order == "topics"
        self._keys: Keys = TopicKeys(frontier) if by_topic else HostKeys(self._division)
        self._keeps = ORDERS[frontier.order].fed_at_once > 1
        self._kept: dict[str, deque[tuple[float, Taken]]] = {}
        self._spare: deque[tuple[float, Taken]] = deque()
        # When each worker asked last, and for how many.
        self._asked: dict[str, tuple[float, int]] = {}
        self._owners: list[str] = []
        self._version = -1  # of the keys, for which the owners are
        self._phase = 0

    @property
    def kept(self) -> int:
        """Return how many URLs are in flight that nobody holds."""
        return len(self._spare) + sum(map(len, self._kept.values()))

    def take(self, name: str, want: int, now: float, *, is_idle: bool) -> Iterator[Taken]:
        """Yield up to so many URLs for a worker, which has nothing to do else if `is_idle`."""
        if want <= 0:
            return
        if name not in self._kept:
            self._kept[name] = deque()
            self._version = -1
        self._asked[name] = now, want
        self._let_go(now - _KEPT, name)
        for count in range(want):
            taken = self._next(name, now)
            if taken is None and is_idle and not count:
                taken = self._what_others_have()
            if taken is None:
                return
            yield taken

    def _next(self, name: str, now: float) -> Taken | None:
        """Return the next URL for a worker; what comes before it is kept for those whom it belongs to."""
        for ready in (self._kept[name], self._spare):
            if ready:
                return ready.popleft()[1]
        while (taken := self._frontier.take(now)) is not None:
            if len(self._kept) == 1 or not self._keeps:
                return taken
            place = self._keys.place(taken)
            if self._version != self._keys.version or self._phase != self._division.phase(now):
                self._choose_owners(now)
            owner = self._owners[place]
            is_over = owner != name and not self._has_room(owner, now)
            self._keys.count(place, is_over=is_over)
            if is_over or owner == name:
                return taken
            self._kept[owner].append((now, taken))
        return None

    def _choose_owners(self, now: float) -> None:
        loads, workers = self._keys.loads(), list(self._kept)
        self._owners = even_out(self._division.assign(len(loads), workers, now), loads, workers)
        self._version, self._phase = self._keys.version, self._division.phase(now)

    def _has_room(self, name: str, now: float) -> bool:
        """Tell whether a worker is likely to ask for one more soon."""
        asked, want = self._asked[name]
        return now - asked <= _LATELY and len(self._kept[name]) < min(want, _MOST)

    def _what_others_have(self) -> Taken | None:
        most = max(self._kept.values(), key=len)
        return most.popleft()[1] if most else None

    def _let_go(self, before: float, name: str = "") -> None:
        """Let anybody have what was kept for others since before a time."""
        for owner, kept in self._kept.items():
            while kept and owner != name and kept[0][0] < before:
                self._spare.append(kept.popleft())

    def leave(self, name: str, now: float) -> None:
        """Take in that a worker is gone."""
        self._asked.pop(name, None)
        self._spare += self._kept.pop(name, ())
        self._version = -1
        if not self._kept:
            self._put_back(now)

    def tidy(self, now: float) -> None:
        """Put back what nobody has asked for in time; to be called every second."""
        self._let_go(now - _KEPT)
        self._put_back(now)

    def _put_back(self, now: float) -> None:
        while self._spare:
            self._frontier.release(self._spare.popleft()[1], now)
