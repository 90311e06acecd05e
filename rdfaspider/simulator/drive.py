"""Crawls a web without a network, in virtual time, by any frontier.

Connections are slots: each fetch holds one for a random time, and a frontier without a ready host leaves them
idle. So politeness costs as much as in a real crawl.
"""

from __future__ import annotations

import heapq
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import inf
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.focus.contexts import context_of, richness
from rdfaspider.focus.harvest import section_of
from rdfaspider.frontier import open_frontier
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.engine.steering import GROWTH, LEAST_PAGES
from rdfaspider.frontier.limits import MAX_DEPTH, FrontierLimits
from rdfaspider.frontier.orders import ORDERS as FRONTIER_ORDERS
from rdfaspider.frontier.orders import order_class
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.plugins import is_path
from rdfaspider.simulator.bandit import BanditFrontier
from rdfaspider.simulator.inmemory import MemoryFrontier
from rdfaspider.simulator.scored import ScoredFrontier, by_chance, by_links, by_rank
from rdfaspider.urls.keys import to_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rdfaspider.frontier import Frontier, State, Taken
    from rdfaspider.simulator.web import SimulatedWeb

_POINTS = 200  # of a curve

# What can be simulated: all orders of a frontier, and baselines. `omniscient` knows the ranks of the whole
# web beforehand.
BANDIT, OMNISCIENT = "bandit", "omniscient"
_SCORES = {"random": by_chance, "inlinks": by_links}
ORDERS = (*FRONTIER_ORDERS, BANDIT, *_SCORES)


class Real:
    """Adapts any Frontier for a simulation, with the gain of each page and the contexts of its links.

    Ranks are computed whenever a crawl would: when it has grown enough. Time stands still meanwhile.
    """

    def __init__(self, frontier: Frontier, *, ranks: bool = False) -> None:
        self._frontier = frontier
        self._rich, self._gain = 0, 0.0
        self._pages, self._due = 0, float(LEAST_PAGES) if ranks else inf

    def put(self, urls: Sequence[str], depth: int = 0) -> None:
        self._frontier.put(urls, depth)

    def take(self, now: float) -> Taken | None:
        return self._frontier.take(now)

    def wait(self, now: float) -> float | None:
        return self._frontier.wait(now)

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Sequence[str] = (),
        *,
        gain: float = 0.0,
    ) -> None:
        if gain > 0:
            self._rich += 1
            self._gain += gain
        page = richness(gain, self._gain / self._rich if self._rich else 1.0)
        source = section_of(to_key(taken.url))
        contexts = []
        if order_class(self._frontier.order).advice == "harvest":
            contexts = [context_of(source, section_of(to_key(link)), page) for link in links]
        self._frontier.finish(taken, state, now, links, gain=gain, contexts=contexts)
        self._pages += 1
        if self._pages >= self._due and isinstance(self._frontier, LocalFrontier):
            self._frontier.rank_now()
            self._due = self._pages * GROWTH


Crawled = MemoryFrontier | Real


@contextmanager
def simulated(
    order: str, seed: int = 0, delay: float = 1.0, ranks: Mapping[str, float] | None = None
) -> Iterator[Crawled]:
    """Open a frontier of an order, without limits; its hosts rest `delay` seconds. It is gone afterwards.

    `ranks` are those of all pages of the web, for the order `omniscient`.
    """
    if order == BANDIT:
        yield BanditFrontier(seed, delay)
        return
    if order in _SCORES or (order == OMNISCIENT and ranks is not None):
        yield ScoredFrontier(_SCORES.get(order) or by_rank(ranks or {}), delay)
        return
    if order not in ORDERS and not is_path(order):
        raise ValueError(f"There is no order {order}: choose {', '.join(ORDERS)}.")
    limits = FrontierLimits(
        depth=MAX_DEPTH, dynamic_depth=MAX_DEPTH, host_urls=1 << 31, host_waiting=1 << 31
    )
    options = {"order": order, "politeness": Politeness(delay=delay), "limits": limits}
    is_ranked = order_class(order).reads_ranks and find_spec("numpy") is not None
    with TemporaryDirectory() as path, open_frontier(f"{path}/frontier", **options) as frontier:
        yield Real(frontier, ranks=is_ranked)


class Point(NamedTuple):
    """The state of a crawl after some fetches; `idle` and `seen` as in Run."""

    fetches: int
    gain: float
    hosts: int
    idle: float
    seen: int


@dataclass(slots=True)
class Run:
    """The result of a simulated crawl, with points of its curves."""

    fetches: int = 0
    rich: int = 0
    gain: float = 0.0
    seconds: float = 0.0  # of virtual time
    idle: float = 0.0  # seconds that connections waited for polite hosts, summed
    seen: int = 0  # URLs found
    hosts: set[str] = field(default_factory=set)
    urls: list[str] = field(default_factory=list)  # fetched, in order
    points: list[Point] = field(default_factory=list)

    @property
    def harvest(self) -> float:
        """Return the gain of a fetch."""
        return self.gain / self.fetches if self.fetches else 0.0


def crawl(
    frontier: Crawled,
    web: SimulatedWeb,
    fetches: int,
    *,
    seeds: int = 20,
    connections: int = 32,
    latency: float = 0.5,
    seed: int = 0,
) -> Run:
    """Crawl until `fetches` pages are fetched or none is left; `latency` is the mean time of an answer."""
    chance = Random(seed)
    run = Run()
    known: set[str] = set()
    flying: list[tuple[float, int, Taken]] = []
    now = 0.0
    first = web.seeds(seeds)
    known.update(first)
    frontier.put(first)
    while run.fetches < fetches:
        free = min(connections, fetches - run.fetches) - len(flying)
        while free and (taken := frontier.take(now)):
            heapq.heappush(flying, (now + chance.expovariate(1 / latency), taken.number, taken))
            free -= 1
        later = _next_time(frontier, now, flying, free)
        if later is None:
            break
        run.idle += (later - now) * free
        now = later
        while flying and flying[0][0] <= now:
            _land(run, frontier, web, heapq.heappop(flying)[-1], now, known)
            if run.fetches % max(1, fetches // _POINTS) == 0:
                run.points.append(
                    Point(run.fetches, run.gain, len(run.hosts), run.idle, len(known))
                )
    run.seconds, run.seen = now, len(known)
    return run


def _next_time(
    frontier: Crawled, now: float, flying: list[tuple[float, int, Taken]], free: int
) -> float | None:
    """Return when something happens: an answer comes in or a host may be asked."""
    wait = frontier.wait(now) if free else None
    times = [now + max(wait, 1e-6)] if wait is not None else []
    if flying:
        times.append(flying[0][0])
    return min(times, default=None)


def _land(
    run: Run, frontier: Crawled, web: SimulatedWeb, taken: Taken, now: float, known: set[str]
) -> None:
    fetched = web.fetch(taken.url)
    frontier.finish(taken, "done", now, fetched.links, gain=fetched.gain)
    known.update(fetched.links)
    run.fetches += 1
    run.rich += fetched.gain > 0
    run.gain += fetched.gain
    run.hosts.add(taken.url.split("/", 3)[2])
    run.urls.append(taken.url)
