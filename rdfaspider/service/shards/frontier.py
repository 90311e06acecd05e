"""The frontier as a worker sees it that several services share by host."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, Unpack

from rdfaspider import clock
from rdfaspider.frontier import Counts, FrontierUnavailable, Hooks
from rdfaspider.frontier.sharding import shard_of, shard_of_note
from rdfaspider.service.notes import STATES
from rdfaspider.service.session import LONGEST
from rdfaspider.service.shards.borrowed import Borrowed
from rdfaspider.service.shards.floors import Floors
from rdfaspider.service.shards.forwarding import Forwarding, divide
from rdfaspider.service.shards.keepers import Keepers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.frontier import Ending, HostView, State, Taken, UrlView
    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.politeness import Experience
    from rdfaspider.service.client import ServedFrontier
    from rdfaspider.service.messages import WorkerView

# URLs that wait for turns of servers, at most, and seconds that the end of a worker may take.
_ROOM, _LEAVING = 64, 10.0
# Seconds that a note may take while the crawl runs: the other shards wait for it too.
_IMPATIENT = 1.0


class ShardedFrontier:
    """A Frontier (see the package) of several shards, in their order, each of which a service hands out."""

    def __init__(self, shards: Sequence[ServedFrontier]) -> None:
        self._shards = shards
        self.total = len(shards)
        self._forwarding = Forwarding(self._shards)
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

    is_shared = True

    def attach(self, hooks: Hooks) -> None:
        one = Hooks(hooks.notify, room=lambda: -(-hooks.room() // self.total), heed=hooks.heed)
        self._first.attach(replace(one, growth=hooks.growth, lines=hooks.lines))
        for shard in self._shards[1:]:
            shard.attach(one)

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
            if shard.session.owed:
                self._forwarding.forward(number)
        self._forwarding.run()
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
        self._forwarding.run()
        return all([shard.is_settled for shard in self._shards]) and not self._forwarding

    def knows(self, url: str) -> bool:
        shard = self._of(url)
        return shard.session.is_away or shard.knows(url)  # it is not worth waiting for

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
            if shard.session.failure is not None:
                raise shard.session.failure

    def wait(self, now: float) -> float | None:
        while True:
            waits = [shard.wait(now) for shard in self._shards]
            is_new = any(shard.session.owed for shard in self._shards) and self._first.is_at_once
            self._run(now)
            if not is_new:
                break
        if self.state == "stop" and not self._first.is_at_once:
            return self._wait_to_stop()
        if self._forwarding or self._keepers:
            waits.append(self._keepers.wait)
        seconds = min((wait for wait in waits if wait is not None), default=None)
        if any(shard.session.wait is not None for shard in self._shards):
            self._quiet = None
        if seconds is None and self.state != "stop" and not self._is_over():
            return self.wait(now) if self._first.is_at_once else LONGEST
        return seconds

    def _wait_to_stop(self) -> float | None:
        """Return when to look again, None if nothing is under way."""
        sessions = [shard.session for shard in self._shards]
        if any(session.failure is not None for session in sessions):
            return 0.0  # the next `take` says so
        is_busy = self._forwarding or any(session.begun or session.did for session in sessions)
        return LONGEST if is_busy else None

    def _is_over(self) -> bool:
        """Tell whether all shards had nothing at one moment.

        One that has nothing may get something from another that ends later. So each is asked once more
        after all have said that they have nothing; if none has taken in anything in between, that is so.
        """
        sessions = [shard.session for shard in self._shards]
        puts = [session.puts for session in sessions]
        if self._quiet is None or self._quiet[0] != puts:
            self._quiet = puts, clock.now()
            return False
        return all(session.asked_at > self._quiet[1] for session in sessions)

    # --- back ---

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        **said: Unpack[Ending],
    ) -> None:
        self._keepers.give_back(taken, now)
        if state == "done":
            parts = divide(links, said.get("contexts", ()), self.total)
            if parts.keys() - {taken.host % self.total}:
                self._forwarding.finish(taken, parts, now, said)
                return
            links, said["contexts"] = parts.get(taken.host % self.total, ([], []))
        self._home(taken.host).finish(taken, state, now, links, **said)

    def retry(self, taken: Taken, now: float, after: float = 0.0, **said: Any) -> None:
        self._keepers.give_back(taken, now)
        self._home(taken.host).retry(taken, now, after, **said)

    def release(self, taken: Taken, now: float) -> None:
        self._keepers.give_back(taken, now)
        self._home(taken.host).release(taken, now)

    # --- politeness ---

    def report(self, host: int, now: float, fetch: Experience) -> None:
        self._home(host).report(host, now, fetch)

    def slow_down(
        self, host: int, *, crawl_delay: float | None = None, until: float | None = None
    ) -> None:
        self._home(host).slow_down(host, crawl_delay=crawl_delay, until=until)

    def borrow(self, host: int | None, url: str, address: str, now: float) -> float:
        return self._borrowed.borrow(host, url, address, now)

    def repay(self, url: str, now: float) -> None:
        self._borrowed.repay(url, now)

    def hosts_to_resolve(self, most: int) -> list[tuple[int, str]]:
        hosts: list[tuple[int, str]] = []
        for shard in self._shards:
            hosts += shard.hosts_to_resolve(most - len(hosts))
        return hosts

    def set_address(self, host: int, address: str) -> None:
        self._home(host).set_address(host, address)

    # --- notes ---

    def note(self, name: str) -> bytes | None:
        shard = self._shards[shard_of_note(name, self.total)]
        if shard.is_at_once or not self._has_begun:
            return shard.note(name)
        if shard.session.is_away:
            raise FrontierUnavailable(f"Shard {shard.shard} of the crawl does not answer.")
        return shard.note(name, _IMPATIENT)

    def set_note(self, name: str, value: bytes) -> None:
        if name in self._first.session.watched:
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
            self._run(self._first.session.now)
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

    def workers(self) -> list[WorkerView]:
        """Return what the shards know of each worker."""
        known: dict[str, WorkerView] = {}
        for worker in chain.from_iterable(shard.workers() for shard in self._shards):
            before = known.setdefault(worker.name, worker)
            if before is not worker:
                before.held += worker.held
                before.ended += worker.ended
                before.silent = max(before.silent, worker.silent)
        return list(known.values())

    # --- the end ---

    def close(self) -> None:
        """Tell everything, and give back what is in flight."""
        if self._is_closed:
            return
        for shard in self._shards:
            shard.detach()  # or it would ask in another thread
        now, end = clock.now(), time.monotonic() + _LEAVING
        with suppress(FrontierUnavailable):  # each says so when it is closed
            while self._forwarding and time.monotonic() < end:
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
