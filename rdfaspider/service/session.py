"""A worker's session with its service: what it did goes one way, URLs come the other.

Layout. `did` is what the worker did since the last message, in order. `held` are its URLs, with their grants,
those `at_hand` among them, which nobody has begun to fetch. `_ended` are grants that have ended in `did`, and
`_ending` those that have in the message under way.
Invariant: a URL that the service takes to be this worker's is in exactly one of the three, so a greeting can
name everything that the service must not give to others. The same holds for `turns` of servers.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from rdfaspider import clock
from rdfaspider.frontier import Counts, FrontierUnavailable, Taken
from rdfaspider.service import AWAY_AFTER, BEAT, SILENT_AFTER
from rdfaspider.service.notes import TOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.service.connection import Answer, Connection

# Messages are so far apart at least, when there is something at hand, and at most, when something is wanted.
SHORTEST, LONGEST = 0.01, 0.2
# Seconds that a worker seeks its service once it has begun.
_GOING_ON = 600.0

logger = logging.getLogger(__name__)

Message = dict[str, Any]


class Session:
    """`now` is the time that is told to a service without a clock. `failure` says why nothing can go on."""

    def __init__(self, connection: Connection, name: str, now: float, patience: float) -> None:
        self.name = name
        self.now = now
        self.did: list[tuple[Any, ...]] = []
        self.held: dict[Taken, int] = {}
        self.at_hand: deque[Taken] = deque()
        self.watched: dict[str, Callable[[bytes], None]] = {TOLD: self._heed}
        self.told: Message = {}
        self.heed: Callable[[Message], None] = lambda told: None
        self.borrowing: dict[str, tuple[int | None, str, str, bool]] = {}
        self.lent: dict[str, float] = {}
        self.unplaced: list[tuple[int, str]] = []
        # For a frontier of several shards: the servers of URLs at hand, turns of servers that are asked for,
        # the answers, those that are out, and what others must be told of.
        self.servers: dict[Taken, str] = {}
        self.asking: dict[str, tuple[str, str, int]] = {}
        self.answers: dict[str, float] = {}
        self.turns: dict[str, str] = {}
        self.owed: list[list[Any]] = []
        # Where the service has something unfinished, and when the question was sent that this answers.
        self.floor, self.looked_at = 0, 0.0
        # The number of the last message that was answered; when the question was sent that `wait` answers,
        # and how much the service had taken in then.
        self.answered = 0
        self.asked_at = 0.0
        self.puts = ""
        self.counts = Counts(0, 0, 0, 0, 0, {})
        self.wait: float | None = 0.0
        self.welcome: Message = {}
        self.failure: FrontierUnavailable | None = None
        self.next_want = self.last_look = self._last_sent = 0.0
        self._last_contact = clock.now()
        self._connection = connection
        self._patience = patience
        self._run = os.urandom(8).hex()
        self._ended: dict[int, tuple[str, int]] = {}
        self._ending: dict[int, tuple[str, int]] = {}
        self._returned: dict[str, str] = {}
        self._returning: dict[str, str] = {}
        self._last_grant = 0
        self._number = 0
        self._message: Message = {}
        self._reply: Message = {}

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""
        return str(self.told.get("state", "run"))

    @property
    def begun(self) -> int:
        """Return how many URLs are being fetched."""
        return len(self.held) - len(self.at_hand)

    @property
    def is_silent(self) -> bool:
        """Tell whether the service was not heard of for so long that it may take this worker for dead."""
        return clock.now() - self._last_contact > SILENT_AFTER

    @property
    def is_busy(self) -> bool:
        return self._connection.is_busy

    @property
    def is_away(self) -> bool:
        """Tell whether the service lets this worker wait for longer than it should."""
        since = max(self._last_contact, self._last_sent)
        return self._connection.is_busy and clock.now() - since > AWAY_AFTER

    @property
    def ticket(self) -> int:
        """Return the number of the message in which everything is told that was done until now."""
        return self._number + 1 if self.did else self._number

    def do(self, *words: Any) -> None:
        self.did.append(words)

    def give_back(self, name: str) -> None:
        """Say that a fetch has ended for which there was a turn of a server."""
        if (address := self.turns.pop(name, None)) is not None:
            self._returned[name] = address
            self.did.append(("return", name))

    def end(self, taken: Taken, what: str, *words: Any) -> bool:
        """Say that a URL is not held any more; False if it was not."""
        grant = self.held.pop(taken, None)
        if grant is None:
            return False
        self._ended[grant] = (taken.url, taken.host)
        self.did.append((what, grant, *words))
        return True

    # --- messages ---

    def greet(self) -> None:
        """Say who is here, and wait for the answer."""
        self.settle(self._patience)
        self._compose({"look": True})
        self._connection.submit(self._message, self._greeting(), self._patience)
        self.settle(2 * self._patience)

    def _greeting(self) -> Message:
        holds = [(grant, taken.url, taken.host) for taken, grant in self.held.items()]
        ended = [(grant, *words) for grant, words in {**self._ended, **self._ending}.items()]
        return {
            "name": self.name,
            "run": self._run,
            "now": self.now,
            "about": {"host": socket.gethostname(), "pid": os.getpid()},
            "watch": list(self.watched),
            "grants": self._last_grant,
            "holds": [*holds, *ended],
            "turns": list({**self._returning, **self._returned, **self.turns}.items()),
        }

    def begin(self, wishes: Message) -> None:
        """Send what was done, and what is wanted, if nothing is under way."""
        self._compose(wishes)
        self._connection.submit(self._message, None, _GOING_ON)

    def _compose(self, wishes: Message) -> None:
        self._number += 1
        if self.borrowing:
            wishes["borrow"] = list(self.borrowing.values())
        if self.asking:
            wishes["turns"] = list(self.asking.values())
        self._message = {"number": self._number, "now": self.now, "did": self.did, **wishes}
        self.did = []
        self._ending, self._ended = self._ended, {}
        self._returning, self._returned = self._returned, {}
        self._last_sent = clock.now()
        if "look" in wishes:
            self.last_look = self._last_sent

    def exchange(self, wishes: Message, timeout: float) -> None:
        """Send what was done, and what is wanted, and wait until that is answered."""
        self.settle(timeout)
        self.begin(wishes)
        self.settle(timeout)

    def ask(self, question: str, timeout: float, **words: Any) -> Message:
        """Return the answer to a question."""
        self.settle(timeout)
        self._message = {"ask": question, "now": self.now, **words}
        self._connection.submit(self._message, None, _GOING_ON)
        self.settle(timeout)
        return self._reply

    def collect(self) -> None:
        """Take in what has come."""
        try:
            while (answer := self._connection.collect()) is not None:
                self._arrived(answer)
        except FrontierUnavailable as error:
            self.failure = error

    def seconds_since_message(self) -> float:
        return clock.now() - self._last_sent

    def settle(self, timeout: float) -> None:
        """Wait until nothing is under way."""
        end = time.monotonic() + timeout
        while self._connection.is_busy:
            try:
                answer = self._connection.collect(max(end - time.monotonic(), 0.0))
            except FrontierUnavailable as error:
                self.failure = error
                raise
            if answer is None:
                raise FrontierUnavailable(
                    f"The frontier service at {self._connection.name} does not answer."
                )
            self._arrived(answer)

    # --- answers ---

    def _arrived(self, answer: Answer) -> None:
        if answer.welcome is not None:
            self._let_go_of_what_is_lost(answer.welcome)
        if answer.reply is None:  # it hung up
            self._connection.submit(self._message, self._greeting(), _GOING_ON)
            return
        self._last_contact = clock.now()
        self._reply = answer.reply
        if answer.reply.get("number") == self._number:
            self.answered = self._number
            self._take_in(answer.reply)

    def _let_go_of_what_is_lost(self, welcome: Message) -> None:
        """Forget the URLs at hand that the service has given to others, or lets wait."""
        self.welcome = welcome
        kept = set(welcome["kept"])
        lost = [taken for taken in self.at_hand if self.held[taken] not in kept]
        for taken in lost:
            self.at_hand.remove(taken)
            del self.held[taken]
            self.servers.pop(taken, None)

    def _take_in(self, reply: Message) -> None:
        self._ending, self._returning = {}, {}
        for name, value in reply.get("notes", {}).items():
            try:
                self.watched[name](value.encode("latin-1"))
            except Exception:  # what somebody has noted must not cost the URLs that came with it
                logger.exception("What others have noted as %s cannot be used.", name)
        servers = reply.get("servers", ())
        for place, (grant, *words) in enumerate(reply.get("taken", ())):
            taken = Taken(*words)
            self.held[taken] = self._last_grant = grant
            self.at_hand.append(taken)
            if servers and servers[place]:
                self.servers[taken] = servers[place]
        if "wait" in reply:
            self.asked_at, self.puts = self._last_sent, str(reply.get("puts", ""))
            self.wait = reply["wait"]
            pause = LONGEST if self.wait is None else min(max(self.wait, SHORTEST), LONGEST)
            self.next_want = clock.now() + pause
        for url, seconds in zip(list(self.borrowing), reply.get("lent", ()), strict=False):
            del self.borrowing[url]
            self.lent[url] = seconds
        for name, seconds in zip(list(self.asking), reply.get("turns", ()), strict=False):
            self.answers[name] = seconds
            if seconds == 0.0:
                self.turns[name] = self.asking[name][1]
            del self.asking[name]
        self.owed += reply.get("owed", ())
        if "floor" in reply:
            self.floor, self.looked_at = reply["floor"], self._last_sent
        self.unplaced += [(host, name) for host, name in reply.get("unplaced", ())]
        if "counts" in reply:
            self.counts = Counts(*reply["counts"])
            depths = dict(reply["depths"])
            for taken, grant in self.held.items():
                taken.depth = depths.get(grant, taken.depth)

    def _heed(self, told: bytes) -> None:
        self.told = json.loads(told)
        if self.state != "run":
            # A pause may outlast the lease: what nobody has begun goes back.
            while self.at_hand:
                taken = self.at_hand.popleft()
                self.servers.pop(taken, None)
                self.end(taken, "release")
        self.heed(self.told)

    def shut(self) -> None:
        self._connection.close()


def waking(seconds: float | None) -> float | None:
    """Return when to look again for what will be ready in so many seconds, as far as the service knows."""
    if seconds is None or seconds > BEAT:
        return seconds
    return max(min(seconds, LONGEST), SHORTEST)
