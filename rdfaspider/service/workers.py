"""The workers that the service knows, and what each of them holds.

Layout. A URL that is handed out has a grant, a number that its worker knows it by; these numbers go up.
Invariant: what is in flight in the frontier is held by exactly one worker, or kept for one (allocator.py).
All of this is in memory. After a kill it comes back with the workers, whose names are in the note `workers`.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.service import DEAD_AFTER
from rdfaspider.service.messages import Reply, WorkerView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.frontier import HostView, Taken, UrlView
    from rdfaspider.frontier.engine.local import LocalFrontier
    from rdfaspider.service.allocator import Allocator
    from rdfaspider.service.messages import Borrow, Greeting, ServerTurn

logger = logging.getLogger(__name__)

# The note that has the names of the workers.
NOTE = "workers"


class Worker:
    """One worker. Nobody else changes what it holds: URLs, turns of hosts, turns of servers."""

    def __init__(self, frontier: LocalFrontier, name: str, run: str, grants: int = 0) -> None:
        self.name = name
        self.run = run
        self.about: dict[str, str | int] = {}
        self.heard = 0.0
        self.ended = 0
        self.peer: object | None = None  # None while it is not connected
        # The number of its last message, and the reply, in case that this did not arrive.
        self.number = -1
        self.reply = Reply(number=-1)
        # The versions of notes that it knows, and what it is being told bit by bit.
        self.seen: dict[str, int] = {}
        self.views: Iterator[HostView] = iter(())
        self.rows: Iterator[UrlView | bool | None] = iter(())
        self._frontier = frontier
        self._granted = grants
        self._held: dict[int, Taken] = {}
        self._hosts: dict[int, int] = {}
        self._borrowed: set[str] = set()
        self._server_turns: set[str] = set()

    # --- URLs ---

    @property
    def held(self) -> dict[int, Taken]:
        """Return the URLs that it holds, by their grants."""
        return self._held

    @property
    def has_had_any(self) -> bool:
        """Tell whether it was ever granted a URL."""
        return self._granted > 0

    def grant(self, taken: Taken) -> int:
        """Let it hold a URL; return the number of the grant."""
        self._granted += 1
        self._held[self._granted] = taken
        return self._granted

    def end(self, grant: int) -> Taken | None:
        """Let it hold a URL no more; None if it did not."""
        return self._held.pop(grant, None)

    def take_back(self, greeting: Greeting, now: float) -> None:
        """Take what it has held since before a restart into flight again, unless others have it."""
        for turn in greeting.server_turns:
            self._frontier.lending.lend_again(self._turn(turn.name), turn.address, now)
            self._server_turns.add(turn.name)
        for hold in greeting.holds:
            if (taken := self._frontier.adopt(hold.url, now)) is not None:
                self._held[hold.grant] = taken
                self._hosts[hold.host] = taken.host

    def host(self, number: int) -> int:
        """Return the number that a host has here of which another copy of the frontier has told this worker;
        -1, which no host has, if that is not known."""
        return self._hosts.get(number, -1)

    # --- turns ---

    def borrow(self, wish: Borrow, own: int | None, now: float) -> float:
        """Take the turn of a host; return the seconds to wait if that cannot be."""
        if wish.url in self._borrowed:
            return 0.0
        seconds = self._frontier.borrow(own, wish.url, wish.address, now, alone=wish.alone)
        if seconds == 0.0:
            self._borrowed.add(wish.url)
        return seconds

    def repay(self, url: str, now: float) -> None:
        if url in self._borrowed:
            self._borrowed.discard(url)
            self._frontier.repay(url, now)

    def lend_server(self, turn: ServerTurn, now: float) -> float:
        """Take the turn of a server; return the seconds to wait if that cannot be."""
        if turn.name in self._server_turns:
            return 0.0
        name = self._turn(turn.name)
        seconds = self._frontier.lending.lend(name, turn.address, turn.shard, now)
        if seconds == 0.0:
            self._server_turns.add(turn.name)
        return seconds

    def has_turn(self, name: str) -> bool:
        """Tell whether it has the turn of a server."""
        return name in self._server_turns

    def give_back(self, name: str, now: float) -> None:
        if name in self._server_turns:
            self._server_turns.discard(name)
            self._frontier.lending.end(self._turn(name), now)

    def _turn(self, name: str) -> str:
        """Return the name of a turn, which another worker may have asked for before it died."""
        return f"{name} {self.name}"

    def put_back(self, now: float) -> None:
        """Let go of everything."""
        for taken in self._held.values():
            self._frontier.release(taken, now)
        self._held.clear()
        for url in self._borrowed.copy():
            self.repay(url, now)
        for name in self._server_turns.copy():
            self.give_back(name, now)

    def view(self, now: float) -> WorkerView:
        """Return it as people see it."""
        return WorkerView(self.name, self.about, len(self._held), self.ended, now - self.heard)


class Workers:
    """All workers by name, and the names of those that may come back after a restart.

    Until these have, or are taken for dead, nothing may be handed out: they hold what nobody knows of.
    """

    def __init__(self, frontier: LocalFrontier, allocator: Allocator, opened: float) -> None:
        self._frontier = frontier
        self._allocator = allocator
        self._opens = opened + DEAD_AFTER
        self._there: dict[str, Worker] = {}
        self._expected: set[str] = set(json.loads(frontier.note(NOTE) or b"[]"))

    def __iter__(self) -> Iterator[Worker]:
        return iter(self._there.values())

    @property
    def are_expected(self) -> bool:
        """Tell whether workers may come back."""
        return bool(self._expected)

    @property
    def is_deserted(self) -> bool:
        """Tell whether no worker is there, and none is waited for."""
        return not (self._there or self._expected)

    def is_waiting(self, now: float) -> bool:
        """Tell whether workers may come back with what they hold, which nobody else may get."""
        return bool(self._expected) and now < self._opens

    def has(self, worker: Worker) -> bool:
        """Tell whether a worker is not taken for dead; onlookers never are."""
        return not worker.name or self._there.get(worker.name) is worker

    def find(self, name: str, run: str, now: float) -> Worker | None:
        """Return the worker of a name that comes back, None if it is new; FrontierUnavailable if another one
        has that name."""
        worker = self._there.get(name)
        if worker is None or worker.run == run:
            return worker
        if worker.peer is not None:
            raise FrontierUnavailable(
                f"The name {name} is in use by another worker of this crawl: give each worker its"
                " own FRONTIER_WORKER and JOBDIR, or leave the name empty."
            )
        self.remove(worker, now)
        return None

    def add(self, worker: Worker) -> bool:
        """Let a worker in; tell whether it was expected back, or had anything before."""
        comes_back = worker.name in self._expected or worker.has_had_any
        self._there[worker.name] = worker
        self._expected.discard(worker.name)
        self._note()
        return comes_back

    def remove(self, worker: Worker, now: float) -> None:
        """Let a worker go, and put back what it held."""
        self._allocator.leave(worker.name, now)
        worker.put_back(now)
        if self._there.pop(worker.name, None) is not None:
            self._note()

    def remove_dead(self, name: str, now: float) -> None:
        """Remove a worker that is known to be dead."""
        self._expected.discard(name)
        if (worker := self._there.get(name)) is not None:
            self.remove(worker, now)

    def remove_silent(self, now: float) -> None:
        """Remove workers that were not heard of for too long."""
        for worker in [each for each in self if now - each.heard > DEAD_AFTER]:
            logger.warning("The worker %s is gone: its URLs are handed out again.", worker.name)
            self.remove(worker, now)
        if self._expected and now >= self._opens:
            logger.warning("Workers did not come back: %s.", ", ".join(sorted(self._expected)))
            self._expected.clear()
            self._note()

    def _note(self) -> None:
        names = sorted({*self._there, *self._expected})
        self._frontier.set_note(NOTE, json.dumps(names).encode())
