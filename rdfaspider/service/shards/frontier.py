"""The frontier that a worker sees when several services share it by host."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

from rdfaspider import clock
from rdfaspider.closable import Closable
from rdfaspider.frontier import Counts, FrontierUnavailable, Hooks
from rdfaspider.frontier.sharding import shard_of, shard_of_note
from rdfaspider.service.notes import STATES
from rdfaspider.service.shards.forwarding import Floors, Forwarding, divide
from rdfaspider.service.shards.hostturns import HostTurns
from rdfaspider.service.shards.serverturns import ServerTurns
from rdfaspider.service.worker.session import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.frontier import BranchView, Ending, HostView, State, Taken, UrlView
    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.politeness import Demand, Experience
    from rdfaspider.service.messages import WorkerView
    from rdfaspider.service.worker.client import ServedFrontier

# The most URLs that wait for turns of servers, and the seconds allowed for the end of a worker.
_ROOM, _LEAVING = 64, 10.0
# Seconds allowed for a note while the crawl runs: the other shards wait for it too.
_IMPATIENT = 1.0


class ShardedFrontier(Closable):
    """A Frontier (see the package) of several shards, in their order, each with a service."""

    def __init__(self, shards: Sequence[ServedFrontier]) -> None:
        self._shards = shards
        self.total = len(shards)
        self._forwarding = Forwarding(self._shards)
        self._keepers = ServerTurns(self._shards)
        self._next = 0
        self._quiet: tuple[list[str], float] | None = None
        self._floors = Floors(self._shards)
        self._borrowed = HostTurns(self._shards, self._keepers)
        self._has_begun = False  # whether any URL was asked for
        self._is_closed = False

    # --- what all shards have in common ---

    @property
    def _first(self) -> ServedFrontier:
        return self._shards[0]

    @property
    def order(self) -> str:
        return self._first.order

    @property
    def limits(self) -> FrontierLimits:
        return self._first.limits

    @property
    def state(self) -> str:
        """Return the instruction of any shard to all workers: stop before pause before run."""
        return max((shard.state for shard in self._shards), key=STATES.index)

    @property
    def told(self) -> dict[str, str]:
        """Return the instructions to all workers."""
        return self._first.told

    is_shared = True

    def attach(self, hooks: Hooks) -> None:
        each = replace(hooks, room=lambda: -(-hooks.room() // self.total))
        self._first.attach(each)
        for shard in self._shards[1:]:  # counters and log are sent once
            shard.attach(replace(each, growth=dict, lines=list))

    def _of(self, url: str) -> ServedFrontier:
        return self._shards[shard_of(url, self.total)]

    def _home(self, host: int) -> ServedFrontier:
        return self._shards[host % self.total]

    def _run(self, now: float) -> None:
        """Continue what concerns several shards."""
        for shard in self._shards:
            shard.advance()
        self._keepers.run(now)
        self._borrowed.run(now)
        for number, shard in enumerate(self._shards):
            if shard.session.owed:
                self._forwarding.forward(number)
        self._forwarding.run()
        self._floors.share()
        if len(self._keepers) and self.state != "run":
            self._keepers.give_all_back(now)  # a pause may outlast the lease

    # --- in and out ---

    def put(self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = ()) -> None:
        for number, (some, said) in divide(urls, contexts, self.total).items():
            self._shards[number].put(some, depth, said)

    @property
    def is_settled(self) -> bool:
        self._forwarding.run()
        return all([shard.is_settled for shard in self._shards]) and not self._forwarding

    def knows(self, url: str) -> bool:
        shard = self._of(url)
        return shard.session.is_away or shard.knows(url)  # not worth waiting for

    def take(self, now: float) -> Taken | None:
        self._has_begun = True
        self._run(now)
        if self.state != "run":  # by any shard: the others may not know yet
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
            return 0.0  # the next `take` raises it
        is_busy = self._forwarding or any(session.begun or session.did for session in sessions)
        return LONGEST if is_busy else None

    def _is_over(self) -> bool:
        """Return whether all shards had nothing at one moment.

        A shard that has nothing may get something from another that ends later. So each is asked once more
        after all have reported that they have nothing; if none has taken in anything in between, the crawl
        is over.
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

    def expect(self, changes: Iterable[tuple[str, float]]) -> None:
        parts: dict[int, list[tuple[str, float]]] = {}
        for change in changes:
            parts.setdefault(shard_of(change[0], self.total), []).append(change)
        for number, some in parts.items():
            self._shards[number].expect(some)

    # --- politeness ---

    def report(self, host: int, now: float, fetch: Experience) -> None:
        self._home(host).report(host, now, fetch)

    def slow_down(self, host: int, now: float, demand: Demand) -> None:
        self._home(host).slow_down(host, now, demand)

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
        for shard in self._shards:
            shard.watch(name, recall)

    def say(self, name: str, **words: Any) -> None:
        """Report an event to the owner of the first shard's service."""
        self._first.say(name, **words)

    # --- looking ---

    def counts(self) -> Counts:
        if not self._is_closed:
            self._run(self._first.session.now)
        return Counts.total(shard.counts() for shard in self._shards)

    def hosts(self, now: float) -> Iterator[HostView]:
        return chain.from_iterable(shard.hosts(now) for shard in self._shards)

    def url(self, url: str) -> UrlView | None:
        return self._of(url).url(url)

    def ranks(self, urls: Iterable[str]) -> dict[str, float]:
        """Return the PageRank of those URLs that have one; each shard has computed its own."""
        wanted, ranks = list(urls), dict[str, float]()
        for shard in self._shards:
            ranks |= shard.ranks(wanted)
        return ranks

    def ended(self, state: State, pattern: str = "") -> Iterator[UrlView]:
        return chain.from_iterable(shard.ended(state, pattern) for shard in self._shards)

    def under(self, prefix: bytes) -> Iterator[BranchView]:
        return chain.from_iterable(shard.under(prefix) for shard in self._shards)

    def requeue(self, pattern: str, reason: str = "") -> int:
        return sum(shard.requeue(pattern, reason) for shard in self._shards)

    def retire(self, pattern: str) -> int:
        return sum(shard.retire(pattern) for shard in self._shards)

    def tell(self, name: str, value: str) -> None:
        for shard in self._shards:
            shard.tell(name, value)

    def log(self, most: int, level: str) -> list[str]:
        return sorted(chain.from_iterable(shard.log(most, level) for shard in self._shards))[-most:]

    def workers(self) -> list[WorkerView]:
        """Return the workers, each with its sums over all shards."""
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
        """Send everything, and release what is in flight."""
        if self._is_closed:
            return
        for shard in self._shards:
            shard.detach()  # or it would call back from another thread
        now, end = clock.now(), time.monotonic() + _LEAVING
        with suppress(FrontierUnavailable):  # each raises it again when it is closed
            while self._forwarding and time.monotonic() < end:
                self._run(now)
                time.sleep(0.005)
            self._keepers.give_all_back(now)
        self._is_closed = True
        # In parallel: each may take long, and meanwhile the worker would count as dead with the others.
        with ThreadPoolExecutor(self.total) as pool:
            closing = [pool.submit(shard.close) for shard in self._shards]
        for each in closing:
            each.result()
