"""What the service does for its workers, without any network: it applies what they did and hands out URLs."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import is_page
from rdfaspider.frontier.orders import order_class
from rdfaspider.service import BEAT, messages
from rdfaspider.service.messages import Exchange, Granted, Greeting, Reply, Welcome
from rdfaspider.service.notes import SharedNotes
from rdfaspider.service.server.allocator import Allocator
from rdfaspider.service.server.workerlog import WorkerLog
from rdfaspider.service.server.workers import Worker, Workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier import Counts, Ending, State, Taken
    from rdfaspider.frontier.engine.local import LocalFrontier
    from rdfaspider.service.messages import Borrow, ServerTurn
    from rdfaspider.service.server.partitions import Division

logger = logging.getLogger(__name__)

# Seconds after which the counts are taken again.
_COUNTED = 0.5

# Numbers of hosts have at most this many bits.
_COPY = 32


class Handler:
    """Serves workers from a frontier that it alone uses.

    `clock` returns the time; None if the workers send it, as tests do. `copy` is the number of this copy of
    the frontier, if there are several: hosts have other numbers in each, so workers get both in one number.
    `division` assigns hosts to workers.
    """

    def __init__(
        self,
        frontier: LocalFrontier,
        clock: Callable[[], float] | None,
        copy: int = 0,
        division: Division | None = None,
    ) -> None:
        self.frontier = frontier
        self._clock = clock
        self._copy = copy << _COPY
        self._shard = frontier.shard
        self.run = os.urandom(8).hex()
        self._puts = 0
        self._pages = 0
        self._counted: tuple[float, Counts] | None = None
        self._allocator = Allocator(frontier, division)
        self.workers = Workers(frontier, self._allocator, clock() if clock is not None else 0.0)
        self.notes = SharedNotes(frontier)
        if not self.workers.are_expected:
            self.notes.end_stop()
        self.log = WorkerLog(frontier.path)
        self._politeness = frontier.politeness
        self._apply_delays()
        self._operations: dict[type, Callable[[Worker, float, Any], None]] = {
            messages.Put: self._put,
            messages.End: self._end,
            messages.Retry: self._retry,
            messages.Release: self._release,
            messages.Expect: lambda _, now, did: frontier.expect(did.changes),
            messages.Report: self._report,
            messages.SlowDown: self._slow_down,
            messages.SetAddress: self._set_address,
            messages.Repay: lambda worker, now, did: worker.repay(did.url, now),
            messages.GiveBack: lambda worker, now, did: worker.give_back(did.name, now),
            messages.Forwarded: lambda _, now, did: frontier.forwarded(did.page, did.depth),
            messages.OtherFloor: lambda _, now, did: frontier.set_floor_elsewhere(did.depth),
            messages.SetNote: lambda _, now, did: frontier.set_note(did.name, did.value),
            messages.AddToNote: self._add_to_note,
            messages.Happened: lambda _, now, did: self.happened(did.name, did.words),
        }
        # For the owner of the service: the number of pages after which nothing more is handed out (0 for no
        # limit); and what to do with the counters of workers, with their events, on the instruction to stop,
        # and with each URL that has ended.
        self.page_limit = 0
        self.heard: Callable[[dict[str, int]], None] = lambda growth: None
        self.happened: Callable[[str, dict[str, Any]], None] = lambda name, words: None
        self.stopped: Callable[[], None] = lambda: None
        self.ended: Callable[[Taken, State, Ending], None] = lambda taken, state, said: None

    def now(self, said: float) -> float:
        """Return the time of a message: when it was read or, without a clock, what it says."""
        return said if self._clock is None else self._clock()

    # --- workers ---

    def greet(self, greeting: Greeting) -> tuple[Worker, Welcome]:
        """Admit a worker, or readmit it with what it holds; return it, and the welcome."""
        frontier, name, now = self.frontier, greeting.name, self.now(greeting.now)
        worker = self.workers.find(name, greeting.run, now)
        is_new = worker is None
        if worker is None:
            worker = Worker(frontier, name, greeting.run, greeting.grants)
            worker.take_back(greeting, now)
        worker.heard = now
        worker.about = greeting.about
        worker.seen = self.notes.versions(greeting.watched)
        # An onlooker has no name, and is not one of the workers.
        if is_new and name and not self.workers.add(worker):
            self.notes.end_stop()  # it was started after the stop
        welcome = Welcome(
            run=self.run,
            order=frontier.order,
            learns=order_class(frontier.order).fed_at_once == 1,
            depth=frontier.limits.depth,
            dynamic_depth=frontier.limits.dynamic_depth,
            shard=self._shard,
            kept=list(worker.held),
        )
        return worker, welcome

    def remove_silent_workers(self) -> None:
        """Put back what workers held that have been silent for too long."""
        if self._clock is not None:  # without a clock, silence cannot be measured
            now = self._clock()
            self._allocator.tidy(now)
            self.workers.remove_silent(now)

    def hear_all(self) -> None:
        """Treat all workers as alive, because none could be heard."""
        for worker in self.workers:
            worker.heard = self.now(worker.heard)

    def remove_worker(self, name: str) -> None:
        """Put back what a worker held that is known to be dead."""
        assert self._clock is not None
        self.workers.remove_dead(name, self._clock())

    def is_waiting_for_workers(self, now: float) -> bool:
        """Return whether workers may come back with what they hold, which no other may get."""
        return self._clock is not None and self.workers.is_waiting(now)

    # --- exchanges ---

    def exchange(self, worker: Worker, said: Exchange) -> Reply:
        """Apply what a worker did, and give it what it wants."""
        if not self.workers.has(worker):
            raise ConnectionResetError("it counts as dead")  # it may greet again
        if said.number == worker.number:
            return worker.reply  # the first one was lost
        worker.heard = now = self.now(said.now)
        worker.seen |= self.notes.versions(said.watch)
        operations = self._operations
        for did in said.did:
            operations[type(did)](worker, now, did)
        reply = Reply(number=said.number)
        if said.want is not None:
            self._hand_out(worker, said.want, now, reply)
        if said.borrow:
            reply.lent = [self._borrow(worker, now, wish) for wish in said.borrow]
        if said.hosts_to_resolve is not None:
            hosts = self.frontier.hosts_to_resolve(said.hosts_to_resolve)
            reply.hosts_to_resolve = [(self._number(host), name) for host, name in hosts]
        if said.server_turns:
            reply.server_turns = [self._lend(worker, now, turn) for turn in said.server_turns]
        if said.owed is not None:
            reply.owed = self.frontier.owed(said.owed, now)
        if said.stats:
            self.heard(said.stats)
        if said.log:
            self._write_log(worker, said.log)
        if said.look != "no":
            self._look(worker, now, reply, is_exact=said.look == "exactly")
        reply.notes = self.notes.news(worker.seen)
        worker.number, worker.reply = said.number, reply
        return reply

    def _hand_out(self, worker: Worker, want: int, now: float, reply: Reply) -> None:
        """Add URLs to a reply and, if there are fewer than wanted, the time until there are more."""
        frontier = self.frontier
        if self.notes.state != "run" or self.is_waiting_for_workers(now):
            reply.wait = BEAT
            return
        if self.page_limit:  # those in flight may be the last
            held = frontier.in_flight - self._allocator.kept
            want = max(0, min(want, self.page_limit - self._pages - held))
        has_others = self._shard.total > 1
        for taken in self._allocator.take(worker.name, want, now, is_idle=not worker.held):
            server = frontier.address_of(taken.host) if has_others else ""
            reply.granted.append(
                Granted(
                    worker.grant(taken),
                    taken.url,
                    taken.depth,
                    taken.attempts,
                    taken.number,
                    self._number(taken.host),
                    taken.hint,
                    taken.hops,
                    server,
                    taken.visit,
                )
            )
        if len(reply.granted) < want or not want:
            reply.wait, reply.puts = self._wait(worker, now), f"{self.run} {self._puts}"

    def _wait(self, worker: Worker, now: float) -> float | None:
        """Return the seconds after which a worker should ask again, None if there is nothing to wait for."""
        wait = self.frontier.wait(now)
        if self._allocator.kept and wait is None:
            wait = BEAT
        if wait is not None and self.frontier.in_flight > len(worker.held):
            wait = min(wait, BEAT)  # the others may find links at any moment
        if self.frontier.is_owing or self.frontier.lending.first is not None:
            wait = BEAT if wait is None else min(wait, BEAT)
        return wait

    @property
    def has_enough_pages(self) -> bool:
        return bool(self.page_limit) and self._pages >= self.page_limit

    def _look(self, worker: Worker, now: float, reply: Reply, *, is_exact: bool) -> None:
        reply.counts = self._counts(now, is_exact=is_exact)
        reply.depths = [(grant, taken.depth) for grant, taken in worker.held.items()]
        if self._shard.total > 1:
            reply.floor = self.frontier.floor

    def _counts(self, now: float, *, is_exact: bool) -> Counts:
        is_old = self._counted is None or now - self._counted[0] > _COUNTED
        if self._counted is None or self._clock is None or is_exact or is_old:
            self._counted = now, self.frontier.counts()
        return self._counted[1]

    def tell(self, name: str, value: str) -> dict[str, str]:
        """Give all workers an instruction, and return all instructions; ValueError if it is invalid."""
        self.notes.tell(name, value)
        self._apply_delays()
        if self.notes.state == "stop":
            self.stopped()
        return self.notes.told

    def _apply_delays(self) -> None:
        self.frontier.politeness = replace(self._politeness, **self.notes.numbers)

    def _write_log(self, worker: Worker, lines: list[messages.LogLine]) -> None:
        try:
            self.log.write(worker.name, lines)
        except OSError as error:
            logger.warning("The log of the workers cannot be written: %s", error)

    def _host(self, worker: Worker, number: int) -> int:
        """Return the number of a host that a worker names; -1, which no host has, if it is unknown."""
        own = number // self._shard.total
        return own - self._copy if own >> _COPY << _COPY == self._copy else worker.host(number)

    def _number(self, host: int) -> int:
        """Return the number by which workers know a host: it is unique over all shards and copies."""
        return (self._copy + host) * self._shard.total + self._shard.number

    # --- operations ---

    def _put(self, worker: Worker, now: float, did: messages.Put) -> None:
        self._puts += 1
        self.frontier.put(did.urls, did.depth, did.contexts, did.hops)

    def _end(self, worker: Worker, now: float, did: messages.End) -> None:
        if (taken := worker.end(did.grant)) is not None:
            worker.ended += 1
            self._pages += is_page(did.said.get("status", 0), did.said.get("reason", ""))
            self.frontier.finish(taken, did.state, now, did.links, **did.said)
            self.ended(taken, did.state, did.said)

    def _retry(self, worker: Worker, now: float, did: messages.Retry) -> None:
        if (taken := worker.end(did.grant)) is not None:
            self.frontier.retry(taken, now, did.after, reason=did.reason, status=did.status)

    def _release(self, worker: Worker, now: float, did: messages.Release) -> None:
        if (taken := worker.end(did.grant)) is not None:
            self.frontier.release(taken, now)

    def _report(self, worker: Worker, now: float, did: messages.Report) -> None:
        self.frontier.report(self._host(worker, did.host), now, did.fetch)

    def _slow_down(self, worker: Worker, now: float, did: messages.SlowDown) -> None:
        self.frontier.slow_down(self._host(worker, did.host), now, did.demand)

    def _set_address(self, worker: Worker, now: float, did: messages.SetAddress) -> None:
        self.frontier.set_address(self._host(worker, did.host), did.address)

    def _add_to_note(self, worker: Worker, now: float, did: messages.AddToNote) -> None:
        self.notes.add(did.name, did.value, worker.seen)

    # --- turns ---

    def _borrow(self, worker: Worker, now: float, wish: Borrow) -> float:
        if self.is_waiting_for_workers(now):
            return BEAT
        own = None if wish.host is None else self._host(worker, wish.host)
        return worker.borrow(wish, own, now)

    def _lend(self, worker: Worker, now: float, turn: ServerTurn) -> float:
        if self.is_waiting_for_workers(now) and not worker.has_turn(turn.name):
            return BEAT
        return worker.lend_server(turn, now)
