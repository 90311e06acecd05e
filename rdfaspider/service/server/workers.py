"""The workers of the service, and what each of them holds.

Layout. A URL that is handed out has a grant, a number by which its worker knows it; these numbers increase.
Invariant: what is in flight in the frontier is held by exactly one worker, or reserved for one
(allocator.py). All of this is in memory. After a kill the workers bring it back; their names are in the
note `workers`.
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

    from rdfaspider.frontier import BranchView, HostView, Taken, UrlView
    from rdfaspider.frontier.engine.local import LocalFrontier
    from rdfaspider.service.messages import Borrow, Greeting, ServerTurn
    from rdfaspider.service.server.allocator import Allocator

logger = logging.getLogger(__name__)

# The note that has the names of the workers.
NOTE = "workers"


class Worker:
    """One worker. Only its methods change what it holds: URLs, turns of hosts, turns of servers."""

    def __init__(self, frontier: LocalFrontier, name: str, run: str, grants: int = 0) -> None:
        self.name = name
        self.run = run
        self.about: dict[str, str | int] = {}
        self.heard = 0.0
        self.ended = 0
        self.peer: object | None = None  # None while it is not connected
        # The number of its last message, and the reply, in case that got lost.
        self.number = -1
        self.reply = Reply(number=-1)
        # The versions of notes that it knows, and the scans whose results it gets in parts.
        self.seen: dict[str, int] = {}
        self.views: Iterator[HostView] = iter(())
        self.rows: Iterator[BranchView | UrlView | bool | None] = iter(())
        self._frontier = frontier
        self._granted = grants
        self.held: dict[int, Taken] = {}  # by grant
        self._hosts: dict[int, int] = {}
        self._borrowed: set[str] = set()
        self._server_turns: set[str] = set()

    # --- URLs ---

    @property
    def has_had_any(self) -> bool:
        """Return whether it was ever granted a URL."""
        return self._granted > 0

    def grant(self, taken: Taken) -> int:
        """Give it a URL; return the number of the grant."""
        self._granted += 1
        self.held[self._granted] = taken
        return self._granted

    def end(self, grant: int) -> Taken | None:
        """Take a URL from it; None if it does not hold it."""
        return self.held.pop(grant, None)

    def take_back(self, greeting: Greeting, now: float) -> None:
        """Put what it has held since before a restart back into flight, unless others have it."""
        for turn in greeting.server_turns:
            self._frontier.lending.lend_again(self._turn(turn.name), turn.address, now)
            self._server_turns.add(turn.name)
        for hold in greeting.holds:
            if (taken := self._frontier.adopt(hold.url, now)) is not None:
                self.held[hold.grant] = taken
                self._hosts[hold.host] = taken.host

    def host(self, number: int) -> int:
        """Translate the number of a host that another copy of the frontier gave this worker; -1, which no
        host has, if it is unknown."""
        return self._hosts.get(number, -1)

    # --- turns ---

    def borrow(self, wish: Borrow, own: int | None, now: float) -> float:
        """Take the turn of a host; return the seconds to wait, 0.0 if it is lent."""
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
        """Take the turn of a server; return the seconds to wait, 0.0 if it is lent."""
        if turn.name in self._server_turns:
            return 0.0
        name = self._turn(turn.name)
        seconds = self._frontier.lending.lend(name, turn.address, turn.shard, now)
        if seconds == 0.0:
            self._server_turns.add(turn.name)
        return seconds

    def has_turn(self, name: str) -> bool:
        return name in self._server_turns

    def give_back(self, name: str, now: float) -> None:
        if name in self._server_turns:
            self._server_turns.discard(name)
            self._frontier.lending.end(self._turn(name), now)

    def _turn(self, name: str) -> str:
        """Return a unique name of a turn: another worker may have asked for the same one before it died."""
        return f"{name} {self.name}"

    def put_back(self, now: float) -> None:
        """Release everything."""
        for taken in self.held.values():
            self._frontier.release(taken, now)
        self.held.clear()
        for url in self._borrowed.copy():
            self.repay(url, now)
        for name in self._server_turns.copy():
            self.give_back(name, now)

    def view(self, now: float) -> WorkerView:
        return WorkerView(self.name, self.about, len(self.held), self.ended, now - self.heard)


class Workers:
    """All workers by name, and the names of those that may come back after a restart.

    Until these have come back or count as dead, nothing may be handed out: the service does not know what
    they hold.
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
        """Return whether workers may come back."""
        return bool(self._expected)

    @property
    def is_deserted(self) -> bool:
        """Return whether there are no workers, and none are expected."""
        return not (self._there or self._expected)

    def is_waiting(self, now: float) -> bool:
        """Return whether workers may come back with what they hold, which no other may get."""
        return bool(self._expected) and now < self._opens

    def has(self, worker: Worker) -> bool:
        """Return whether a worker does not count as dead; onlookers never do."""
        return not worker.name or self._there.get(worker.name) is worker

    def find(self, name: str, run: str, now: float) -> Worker | None:
        """Return the worker of a name that comes back, None if it is new; FrontierUnavailable if another
        one has the name."""
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
        """Add a worker; return whether it was expected back, or had URLs before."""
        comes_back = worker.name in self._expected or worker.has_had_any
        self._there[worker.name] = worker
        self._expected.discard(worker.name)
        self._note()
        return comes_back

    def remove(self, worker: Worker, now: float) -> None:
        """Remove a worker, and put back what it held."""
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
        """Remove workers that have been silent for too long."""
        for worker in [each for each in self if now - each.heard > DEAD_AFTER]:
            logger.warning("The worker %s is gone: its URLs will be handed out again.", worker.name)
            self.remove(worker, now)
        if self._expected and now >= self._opens:
            logger.warning("Workers did not come back: %s.", ", ".join(sorted(self._expected)))
            self._expected.clear()
            self._note()

    def _note(self) -> None:
        names = sorted({*self._there, *self._expected})
        self._frontier.set_note(NOTE, json.dumps(names).encode())
