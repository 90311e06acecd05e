"""The frontier as a worker sees it that several services share by host.

Each shard of a crawl is a frontier of its own, with a service of its own; the worker talks with all of them.
A host belongs to one shard (sharding.py), which has its URLs, its clock and its notes. What concerns several:

errands.py   the links of a page go to the shards of their hosts before the page is ended at its own
keepers.py   a server with hosts of several shards has its clock with one of them
borrowed.py  turns of other hosts, and of their servers
floors.py    how far all shards are, so that each knows which links it may forget

What all workers are told, and the notes that they watch, are with every shard. A shard that is away stops its
own hosts, and those whose servers it keeps.
"""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from rdfaspider import clock
from rdfaspider.frontier import Counts, FrontierUnavailable
from rdfaspider.frontier.service.borrowed import Borrowed
from rdfaspider.frontier.service.errands import Errands, divide
from rdfaspider.frontier.service.floors import Floors
from rdfaspider.frontier.service.keepers import Keepers
from rdfaspider.frontier.service.notices import STATES
from rdfaspider.frontier.service.talk import LONGEST
from rdfaspider.frontier.sharding import shard_of, shard_of_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.frontier import HostView, State, Taken, UrlView
    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.service.client import ServedFrontier

# URLs that wait for turns of servers, at most, and seconds that the end of a worker may take.
_ROOM, _LEAVING = 64, 10.0
# Seconds that a note may take while the crawl runs: the other shards wait for it too.
_IMPATIENT = 1.0


class ShardedFrontier:
    """A Frontier (see the package) of several shards, in their order, each of which a service hands out."""

    def __init__(self, shards: Sequence[ServedFrontier]) -> None:
        self._shards = shards
        self.total = len(shards)
        self._errands = Errands(self._shards)
        self._keepers = Keepers(self._shards)
        self._next = 0
        self._quiet: tuple[list[str], float] | None = None
        self._floors = Floors(self._shards)
        self._borrowed = Borrowed(self._shards, self._keepers)
        self._has_begun = False  # whether anything was asked for
        self._is_closed = False

    # --- what all shards have in common ---

    @property
    def _first(self) -> ServedFrontier:
        return self._shards[0]

    @property
    def name(self) -> str:
        return self._first.name

    @property
    def order(self) -> str:
        """Return the order in which the shards hand out URLs."""
        return self._first.order

    @property
    def limits(self) -> FrontierLimits:
        """Return the limits in force, as far as they concern a worker."""
        return self._first.limits

    @property
    def state(self) -> str:
        """Return what all workers are told to do, by any shard: run, pause or stop."""
        return max((shard.state for shard in self._shards), key=STATES.index)

    @property
    def told(self) -> dict[str, str]:
        """Return what all workers are told."""
        return self._first.told

    @property
    def growth(self) -> Callable[[], dict[str, int]]:
        """Returns what the counters of this worker have grown by; to be set."""
        return self._first.growth

    @growth.setter
    def growth(self, function: Callable[[], dict[str, int]]) -> None:
        self._first.growth = function

    @property
    def room(self) -> Callable[[], int]:
        """Returns how many fetches could begin now; to be set."""
        return self._first.room

    @room.setter
    def room(self, function: Callable[[], int]) -> None:
        for shard in self._shards:
            shard.room = lambda: -(-function() // self.total)

    @property
    def lines(self) -> Callable[[], list[tuple[float, str, str]]]:
        """Returns what this worker has logged since it was last asked; to be set."""
        return self._first.lines

    @lines.setter
    def lines(self, function: Callable[[], list[tuple[float, str, str]]]) -> None:
        self._first.lines = function

    @property
    def notify(self) -> Callable[[], None]:
        """Is called, in another thread, when there may be something new; to be set."""
        return self._first.notify

    @notify.setter
    def notify(self, function: Callable[[], None]) -> None:
        for shard in self._shards:
            shard.notify = function

    @property
    def heed(self) -> Callable[[dict[str, str]], None]:
        """Is called with what all workers are told when that has changed; to be set."""
        return self._first.heed

    @heed.setter
    def heed(self, function: Callable[[dict[str, str]], None]) -> None:
        for shard in self._shards:
            shard.heed = function

    def _of(self, url: str) -> ServedFrontier:
        return self._shards[shard_of(url, self.total)]

    def _home(self, host: int) -> ServedFrontier:
        return self._shards[host % self.total]

    def _run(self, now: float) -> None:
        """Go on with what concerns several shards."""
        for shard in self._shards:
            shard.advance()
        self._keepers.run(now)
        self._borrowed.run(now)
        for number, shard in enumerate(self._shards):
            if shard.talk.owed:
                self._errands.forward(number)
        self._errands.run()
        self._floors.tell()
        if len(self._keepers) and self.state != "run":
            self._keepers.give_all_back(now)  # a pause may outlast the lease

    # --- in and out ---

    def put(self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = ()) -> None:
        for number, (some, said) in divide(urls, contexts, self.total).items():
            self._shards[number].put(some, depth, said)

    @property
    def is_settled(self) -> bool:
        """Tell whether the shards have answered everything that they were told."""
        self._errands.run()
        return all([shard.is_settled for shard in self._shards]) and not self._errands

    def knows(self, url: str) -> bool:
        shard = self._of(url)
        return shard.talk.is_away or shard.knows(url)  # it is not worth waiting for

    def take(self, now: float) -> Taken | None:
        self._has_begun = True
        self._run(now)
        if self.state != "run":  # by any shard: the others may not have been told
            self._raise_failure()
            return None
        if (taken := self._keepers.next()) is not None:
            return taken
        for step in range(self.total):
            number = (self._next + step) % self.total
            shard = self._shards[number]
            while len(self._keepers) < _ROOM and (taken := shard.take(now)) is not None:
                if not self._keepers.needs(taken, now):
                    self._next = number + 1
                    return taken
                self._keepers.run(now)
        return self._keepers.next()

    def _raise_failure(self) -> None:
        for shard in self._shards:
            if shard.talk.failure is not None:
                raise shard.talk.failure

    def wait(self, now: float) -> float | None:
        while True:
            waits = [shard.wait(now) for shard in self._shards]
            is_new = any(shard.talk.owed for shard in self._shards) and self._first.is_at_once
            self._run(now)
            if not is_new:
                break
        if self.state == "stop" and not self._first.is_at_once:
            return self._wait_to_stop()
        if self._errands or self._keepers:
            waits.append(self._keepers.wait)
        seconds = min((wait for wait in waits if wait is not None), default=None)
        if any(shard.talk.wait is not None for shard in self._shards):
            self._quiet = None
        if seconds is None and self.state != "stop" and not self._is_over():
            return self.wait(now) if self._first.is_at_once else LONGEST
        return seconds

    def _wait_to_stop(self) -> float | None:
        """Return when to look again, None if nothing is under way."""
        talks = [shard.talk for shard in self._shards]
        if any(talk.failure is not None for talk in talks):
            return 0.0  # the next `take` says so
        is_busy = self._errands or any(talk.begun or talk.did for talk in talks)
        return LONGEST if is_busy else None

    def _is_over(self) -> bool:
        """Tell whether all shards had nothing at one moment.

        One that has nothing may get something from another that ends later. So each is asked once more
        after all have said that they have nothing; if none has taken in anything in between, that is so.
        """
        talks = [shard.talk for shard in self._shards]
        puts = [talk.puts for talk in talks]
        if self._quiet is None or self._quiet[0] != puts:
            self._quiet = puts, clock.now()
            return False
        return all(talk.asked_at > self._quiet[1] for talk in talks)

    # --- back ---

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        *,
        deeper: int = 1,
        hops: int = 0,
        contexts: Sequence[int] = (),
        **said: Any,
    ) -> None:
        self._keepers.give_back(taken, now)
        if state == "done":
            parts = divide(links, contexts, self.total)
            if parts.keys() - {taken.host % self.total}:
                self._errands.finish(taken, parts, now, deeper, hops, **said)
                return
            links, contexts = parts.get(taken.host % self.total, ([], []))
        said |= {"deeper": deeper, "hops": hops, "contexts": contexts}
        self._home(taken.host).finish(taken, state, now, links, **said)

    def retry(self, taken: Taken, now: float, after: float = 0.0, **said: Any) -> None:
        self._keepers.give_back(taken, now)
        self._home(taken.host).retry(taken, now, after, **said)

    def release(self, taken: Taken, now: float) -> None:
        self._keepers.give_back(taken, now)
        self._home(taken.host).release(taken, now)

    # --- politeness ---

    def report(self, host: int, now: float, **said: Any) -> None:
        self._home(host).report(host, now, **said)

    def slow_down(
        self, host: int, *, crawl_delay: float | None = None, until: float | None = None
    ) -> None:
        self._home(host).slow_down(host, crawl_delay=crawl_delay, until=until)

    def borrow(self, host: int | None, url: str, address: str, now: float) -> float:
        return self._borrowed.borrow(host, url, address, now)

    def repay(self, url: str, now: float) -> None:
        self._borrowed.repay(url, now)

    def unplaced(self, most: int) -> list[tuple[int, str]]:
        hosts: list[tuple[int, str]] = []
        for shard in self._shards:
            hosts += shard.unplaced(most - len(hosts))
        return hosts

    def place(self, host: int, address: str) -> None:
        self._home(host).place(host, address)

    # --- notes ---

    def note(self, name: str) -> bytes | None:
        shard = self._shards[shard_of_note(name, self.total)]
        if shard.is_at_once or not self._has_begun:
            return shard.note(name)
        if shard.talk.is_away:
            raise FrontierUnavailable(f"Shard {shard.shard} of the crawl does not answer.")
        return shard.note(name, _IMPATIENT)

    def set_note(self, name: str, value: bytes) -> None:
        if name in self._first.talk.watched:
            for shard in self._shards:
                shard.set_note(name, value)
        else:
            self._shards[shard_of_note(name, self.total)].set_note(name, value)

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Have `recall` called with a note when another worker has changed it, by each shard."""
        for shard in self._shards:
            shard.watch(name, recall)

    def say(self, name: str, **words: Any) -> None:
        """Tell whoever runs the service of the first shard what has happened here."""
        self._first.say(name, **words)

    # --- looking ---

    def counts(self) -> Counts:
        if not self._is_closed:
            self._run(self._first.talk.now)
        each = [shard.counts() for shard in self._shards]
        rejected: Counter[str] = Counter()
        for counts in each:
            rejected.update(counts.rejected)
        names = ("waiting", "in_flight", "done", "failed", "denied")
        sums = {name: sum(getattr(counts, name) for counts in each) for name in names}
        return Counts(**sums, rejected=dict(rejected))

    def hosts(self, now: float) -> Iterator[HostView]:
        return chain.from_iterable(shard.hosts(now) for shard in self._shards)

    def url(self, url: str) -> UrlView | None:
        """Return what is known of a normalised URL, None if nothing is."""
        return self._of(url).url(url)

    def ended(self, state: State, pattern: str = "") -> Iterator[UrlView]:
        """Yield the URLs that ended in a state in which a regular expression is found."""
        return chain.from_iterable(shard.ended(state, pattern) for shard in self._shards)

    def requeue(self, pattern: str) -> int:
        """Let failed URLs wait again in which a regular expression is found; return how many."""
        return sum(shard.requeue(pattern) for shard in self._shards)

    def tell(self, name: str, value: str) -> None:
        """Tell all workers something, by all shards; ValueError if it makes no sense."""
        for shard in self._shards:
            shard.tell(name, value)

    def log(self, most: int, level: str) -> list[str]:
        """Return the last lines of the log of all workers, of a level or above."""
        return sorted(chain.from_iterable(shard.log(most, level) for shard in self._shards))[-most:]

    def workers(self) -> list[dict[str, Any]]:
        """Return what the shards know of each worker."""
        known: dict[str, dict[str, Any]] = {}
        for worker in chain.from_iterable(shard.workers() for shard in self._shards):
            before = known.setdefault(worker["name"], worker)
            if before is not worker:
                before["held"] += worker["held"]
                before["ended"] += worker["ended"]
                before["silent"] = max(before["silent"], worker["silent"])
        return list(known.values())

    # --- the end ---

    def close(self) -> None:
        """Tell everything, and give back what is in flight."""
        if self._is_closed:
            return
        self.notify = lambda: None
        for shard in self._shards:
            shard.talk.heed = lambda told: None  # it would be called in another thread
        now, end = clock.now(), time.monotonic() + _LEAVING
        with suppress(FrontierUnavailable):  # each says so when it is closed
            while self._errands and time.monotonic() < end:
                self._run(now)
                time.sleep(0.005)
            self._keepers.give_all_back(now)
        self._is_closed = True
        # At the same time: each may take long, and would be taken for dead by those that wait for it.
        with ThreadPoolExecutor(self.total) as pool:
            closing = [pool.submit(shard.close) for shard in self._shards]
        for each in closing:
            each.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
