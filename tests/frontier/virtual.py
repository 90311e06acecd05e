"""Workers of a service in virtual time: the handler, the allocator and the clients are real, the wire is not.

A message is done when it is sent, and its answer is there `rtt` seconds later. Everything else happens as
with processes and sockets, reading ahead included, but a minute of crawling takes as long as its CPU time,
and two runs are the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from random import Random
from typing import Protocol
from unittest.mock import patch

from msgspec import Struct

from rdfaspider import clock
from rdfaspider.frontier import Hooks, Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.service import BEAT, wire
from rdfaspider.service.address import Address, Security
from rdfaspider.service.messages import Answer, Exchange, Greeting, Question, Reply
from rdfaspider.service.server import questions
from rdfaspider.service.server.handler import Handler
from rdfaspider.service.server.network import answer_with
from rdfaspider.service.server.workers import Worker as Known
from rdfaspider.service.wire import LARGE, Frames, pack
from rdfaspider.service.worker.client import ServedFrontier
from rdfaspider.service.worker.connection import Carried, Connection
from rdfaspider.simulator.drive import Real


class Served(Protocol):
    """Where a handler is, how late it is, and how long messages take."""

    handler: Handler
    now: float
    rtt: float


class DirectConnection(Connection):
    """Carries messages to a handler in this process, through the frames of the wire."""

    def __init__(self, room: Served) -> None:
        super().__init__(Address(path="virtual"), Security())
        self._room = room
        self._carried: Carried | None = None
        self._known: Known | None = None
        self.due = 0.0

    @property
    def is_busy(self) -> bool:
        return self._carried is not None

    def submit(
        self, message: Exchange | Question, greeting: Greeting | None, patience: float
    ) -> None:
        handler, welcome = self._room.handler, None
        if greeting is not None:
            self._known, welcome = handler.greet(wire.greeting.read(framed(greeting)))
        assert self._known is not None
        said = wire.said.read(framed(message))
        if isinstance(said, Exchange):
            reply: Struct = handler.exchange(self._known, said)
        else:
            reply = answer_with(questions.answer(handler, self._known, said))
        told = wire.told.read(framed(reply))
        assert isinstance(told, Reply | Answer)
        self._carried = Carried(welcome, told)
        self.due = self._room.now + self._room.rtt

    def collect(self, timeout: float = 0.0) -> Carried | None:
        if self._room.rtt and not timeout and self._room.now < self.due:
            return None
        carried, self._carried = self._carried, None
        return carried


def framed(message: Struct) -> bytes:
    """Return a message as the other side gets it."""
    return Frames(LARGE).feed(pack(message))[0]


class Member:
    """A worker with some connections."""

    def __init__(self, room: Room, name: str, connections: int) -> None:
        self.name = name
        self.line = DirectConnection(room)
        self.frontier = ServedFrontier("", worker=name, connection=self.line)
        self.contexts = Real(self.frontier)
        self.free = connections
        self.frontier.attach(Hooks(room=lambda: self.free))
        self.wakes = float("inf")  # when it looks next, if nothing happens before
        self.is_dead = False


class Room:
    """A service and its workers, in one thread."""

    def __init__(self, frontier: LocalFrontier, *, rtt: float = 0.002, seed: int = 0) -> None:
        self.now = 1.0
        self.rtt = rtt
        self.handler = Handler(frontier, lambda: self.now)
        self.members: list[Member] = []
        self._chance = Random(seed)
        self._order = count()
        self._events: list[tuple[float, int, Member | None, Taken | None]] = [
            (self.now + BEAT, next(self._order), None, None)
        ]

    @contextmanager
    def open(self, workers: int, connections: int) -> Iterator[None]:
        """Let workers in, whose clock is that of the room while the block runs."""
        with patch.object(clock, "now", lambda: self.now):
            for number in range(workers):
                self.members.append(Member(self, f"w{number}", connections))
            yield

    def kill(self, member: Member) -> None:
        """End a worker that nobody hears of any more; the service knows at once, as a crew does."""
        member.is_dead = True
        self.handler.remove_worker(member.name)

    def run(
        self,
        fetches: int,
        land: Callable[[Member, Taken, float], None],
        latency: float = 0.5,
    ) -> int:
        """Begin so many fetches at most, and end them; return how many there were.

        `land` is called with a worker, what it has fetched and the time, and finishes that.
        """
        begun = ended = 0
        for each in self.members:
            self._wake(each, self.now)
        while self._events and ended < fetches:
            self.now, _, member, taken = heapq.heappop(self._events)
            if member is None:
                self.handler.remove_silent_workers()
                self._push(self.now + BEAT, None, None)
                if all(each.wakes == float("inf") for each in self.members) and begun == ended:
                    break
                continue
            if member.is_dead:
                begun -= taken is not None
                continue
            if taken is not None:
                land(member, taken, self.now)
                member.free += 1
                ended += 1
            elif self.now < member.wakes:
                continue  # it has looked meanwhile
            member.wakes = float("inf")
            while member.free and begun < fetches:
                if (found := member.frontier.take(self.now)) is None:
                    break
                self._push(self.now + self._chance.expovariate(1 / latency), member, found)
                member.free -= 1
                begun += 1
            if begun < fetches:
                self._look_again(member)
        return ended

    def _look_again(self, member: Member) -> None:
        """Have a worker woken as its engine is: by an answer, or when something may be ready."""
        if not member.free:
            return  # it asks when a fetch has ended
        wait = None if member.line.is_busy else member.frontier.wait(self.now)
        if member.line.is_busy:
            self._wake(member, max(member.line.due, self.now + 1e-6))
        elif wait is not None:
            self._wake(member, self.now + max(wait, 1e-3))

    def _wake(self, member: Member, at: float) -> None:
        if at < member.wakes:
            member.wakes = at
            self._push(at, member, None)

    def _push(self, at: float, member: Member | None, taken: Taken | None) -> None:
        heapq.heappush(self._events, (at, next(self._order), member, taken))
