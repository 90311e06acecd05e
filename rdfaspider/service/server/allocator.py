"""Which worker gets which URL: WebParF's allocator over several workers (figure 6; rows P3 and P7).

A URL belongs to one of the workers: in the order `topics` by its topic, so that a worker reads pages of a
kind; in the others by its host, so that connections and what is known of a host are reused. Topics and
hosts are assigned by rendezvous hashing over the workers that ask for URLs, so the topics of a worker that
leaves spread over the rest, and the others keep theirs; or by the clock (partitions.py).

This is a preference and costs no throughput. The frontier decides what comes next, and each URL goes to the
worker that asks, unless it belongs to another one that has asked lately: then it is reserved for that one,
as long as no more is reserved than it is likely to ask for. A URL that is not asked for soon is free for
all, and an idle worker gets what is reserved for others. With an order that learns nothing is reserved: it
will make a better choice later.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from rdfaspider.focus.topics import topic_of
from rdfaspider.focus.topics.names import NOTE, read_names
from rdfaspider.frontier.orders import order_class
from rdfaspider.service.server.partitions import Division, even_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.engine.local import LocalFrontier

# The most URLs reserved for a worker.
_MOST = 32
# Seconds since its last request after which nothing is reserved for a worker, and for which a URL is
# reserved.
_LATELY, _KEPT = 0.5, 0.25
# A topic is split if its worker had no room for _TOO_MANY of its last _WINDOW URLs.
_WINDOW, _TOO_MANY = 200, 50


class HostKeys:
    """Hosts by their partitions. A place is the number of what belongs together, here a partition.

    `version` changes when `loads` do.
    """

    version = 0

    def __init__(self, division: Division) -> None:
        self._division = division

    def loads(self) -> list[float]:
        """Return the expected relative number of URLs of each place."""
        return [1.0] * self._division.partitions

    def place(self, taken: Taken) -> int:
        """Return the place that a URL belongs to."""
        return self._division.partition(taken.url.split("/", 3)[2])

    def count(self, place: int, *, is_over: bool) -> None:
        """Count a URL of a place, and whether its worker had no room for it."""


class TopicKeys:
    """Topics, each with its sub-topics; a topic that is too much for its worker is split into these.

    Invariant: `_places` numbers the topics that stand alone, or did before they were split, and `_known`
    has the place of every topic seen. As topics take turns, all count the same.
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
        """Return the ancestors of a topic and the topic itself, the largest first."""
        if topic >= len(self._names):  # workers store the names
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
    """Takes URLs from a frontier for workers, which are known by their names.

    Layout: `_kept` has the URLs reserved for each worker that has asked, with the time, oldest first; those
    in `_spare` are free for all. Invariant: reserved URLs are in flight in the frontier and held by no
    worker.
    """

    def __init__(self, frontier: LocalFrontier, division: Division | None = None) -> None:
        self._frontier = frontier
        self._division = division or Division()
        order = order_class(frontier.order)
        by_topic = order.advice == "topics"
        self._keys = TopicKeys(frontier) if by_topic else HostKeys(self._division)
        self._keeps = order.fed_at_once > 1
        self._kept: dict[str, deque[tuple[float, Taken]]] = {}
        self._spare: deque[tuple[float, Taken]] = deque()
        # When each worker asked last, and for how many.
        self._asked: dict[str, tuple[float, int]] = {}
        self._owners: list[str] = []
        self._version = -1  # of the keys when the owners were chosen
        self._phase = 0

    @property
    def kept(self) -> int:
        """Return how many URLs are in flight that no worker holds."""
        return len(self._spare) + sum(map(len, self._kept.values()))

    def take(self, name: str, want: int, now: float, *, is_idle: bool) -> Iterator[Taken]:
        """Yield up to `want` URLs for a worker; `is_idle` if it has nothing else to do."""
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
        """Return the next URL for a worker; reserve those before it for the workers they belong to."""
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
        """Return whether a worker is likely to ask for one more soon."""
        asked, want = self._asked[name]
        return now - asked <= _LATELY and len(self._kept[name]) < min(want, _MOST)

    def _what_others_have(self) -> Taken | None:
        most = max(self._kept.values(), key=len)
        return most.popleft()[1] if most else None

    def _let_go(self, before: float, name: str = "") -> None:
        """Free what was reserved for other workers before a time."""
        for owner, kept in self._kept.items():
            while kept and owner != name and kept[0][0] < before:
                self._spare.append(kept.popleft())

    def leave(self, name: str, now: float) -> None:
        """Remove a worker."""
        self._asked.pop(name, None)
        self._spare += self._kept.pop(name, ())
        self._version = -1
        if not self._kept:
            self._put_back(now)

    def tidy(self, now: float) -> None:
        """Put back what no worker has asked for in time; call it every second."""
        self._let_go(now - _KEPT)
        self._put_back(now)

    def _put_back(self, now: float) -> None:
        while self._spare:
            self._frontier.release(self._spare.popleft()[1], now)
