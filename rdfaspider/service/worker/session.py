"""A worker's session with its service: operations go one way, URLs come the other.

Layout. `did` has what the worker did since the last message, in order. `held` has its URLs, with their
grants; those `at_hand` are among them and not begun yet. `_ended` has grants that ended in `did`, and
`_ending` those that ended in the message under way. Invariant: a URL that the service considers this
worker's is in exactly one of the three, so a greeting can name everything that the service must not give to
others. The same holds for `server_turns`.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from msgspec import UNSET, msgpack

from rdfaspider import clock
from rdfaspider.frontier import Counts, FrontierUnavailable, Taken
from rdfaspider.service import AWAY_AFTER, BEAT, SILENT_AFTER, messages
from rdfaspider.service.messages import Answer, Exchange, Greeting, Hold, Reply, ServerTurn
from rdfaspider.service.notes import TOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier.tables.links.outbox import Owed
    from rdfaspider.service.messages import Borrow, Operations, Question, Welcome
    from rdfaspider.service.worker.connection import Carried, Connection

# The least seconds between messages when something is at hand, and the most when something is wanted.
SHORTEST, LONGEST = 0.01, 0.2
# Seconds allowed for an answer, and for which a worker looks for its service once it has begun.
PATIENT, _GOING_ON = 60.0, 600.0

logger = logging.getLogger(__name__)

Kind = TypeVar("Kind")


class Session:
    """`now` is the time sent to a service without a clock. `failure` says why nothing can go on."""

    def __init__(self, connection: Connection, name: str, now: float, patience: float) -> None:
        self.name = name
        self.now = now
        self.did: list[Operations] = []
        self.held: dict[Taken, int] = {}
        self.at_hand: deque[Taken] = deque()
        self.watched: dict[str, Callable[[bytes], None]] = {TOLD: self._instructed}
        self.told: dict[str, str] = {}
        self.instructed: Callable[[dict[str, str]], None] = lambda told: None
        # Turns of hosts to ask for, and the seconds to wait for each.
        self.borrowing: dict[str, Borrow] = {}
        self.lent: dict[str, float] = {}
        self.hosts_to_resolve: list[tuple[int, str]] = []
        # For a frontier of several shards: the servers of URLs at hand, turns of servers to ask for, the
        # seconds to wait for each, those lent, and links to forward.
        self.servers: dict[Taken, str] = {}
        self.asking: dict[str, ServerTurn] = {}
        self.answers: dict[str, float] = {}
        self.server_turns: dict[str, str] = {}
        self.owed: list[Owed] = []
        # The smallest unfinished depth of the service, and when it was asked for.
        self.floor, self.looked_at = 0, 0.0
        # The number of the last message answered; when the request was sent that `wait` answers, and how
        # much the service had taken in then.
        self.answered = 0
        self.asked_at = 0.0
        self.puts = ""
        self.counts = Counts(0, 0, 0, 0, 0, {})
        self.wait: float | None = 0.0
        self.welcome: Welcome
        self.failure: FrontierUnavailable | None = None
        self.next_want = self.last_look = self._last_sent = 0.0
        self._last_contact = clock.now()
        self._connection = connection
        self._patience = patience
        self._run = os.urandom(8).hex()
        self._ended: dict[int, Hold] = {}
        self._ending: dict[int, Hold] = {}
        self._returned: dict[str, str] = {}
        self._returning: dict[str, str] = {}
        self._last_grant = 0
        self._number = 0
        self._message: Exchange | Question = Exchange()
        self._reply: Reply | Answer = Reply(number=0)

    @property
    def state(self) -> str:
        return self.told.get("state", "run")

    @property
    def begun(self) -> int:
        """Return how many URLs are being fetched."""
        return len(self.held) - len(self.at_hand)

    @property
    def is_silent(self) -> bool:
        """Return whether the service has been silent for so long that this worker may count as dead."""
        return clock.now() - self._last_contact > SILENT_AFTER

    @property
    def is_busy(self) -> bool:
        return self._connection.is_busy

    @property
    def is_away(self) -> bool:
        """Return whether the service keeps this worker waiting for longer than it should."""
        since = max(self._last_contact, self._last_sent)
        return self._connection.is_busy and clock.now() - since > AWAY_AFTER

    @property
    def ticket(self) -> int:
        """Return the number of the message that has everything done until now."""
        return self._number + 1 if self.did else self._number

    def do(self, operation: Operations) -> None:
        """Queue an operation for the next message."""
        self.did.append(operation)

    def ask_turn(self, turn: ServerTurn) -> None:
        """Queue a request for the turn of a server; `take_answers` returns the answer."""
        self.asking[turn.name] = turn

    def take_answers(self) -> dict[str, float]:
        """Return by name the seconds to wait for turns of servers, 0.0 if lent; each once."""
        answers, self.answers = self.answers, {}
        return answers

    def take_server(self, taken: Taken) -> str:
        """Return the server address of a URL that was at hand, "" if it has none; once."""
        return self.servers.pop(taken, "")

    def take_owed(self) -> list[Owed]:
        """Return links to forward to other shards; once."""
        owed, self.owed = self.owed, []
        return owed

    def give_back(self, name: str) -> None:
        """Return the turn of a server, because the fetch has ended."""
        if (address := self.server_turns.pop(name, None)) is not None:
            self._returned[name] = address
            self.did.append(messages.GiveBack(name))

    def end(self, taken: Taken, operation: Callable[[int], Operations]) -> bool:
        """Give up a URL with an operation on its grant; False if it was not held."""
        grant = self.held.pop(taken, None)
        if grant is None:
            return False
        self._ended[grant] = Hold(grant, taken.url, taken.host)
        self.did.append(operation(grant))
        return True

    # --- messages ---

    def greet(self) -> None:
        """Send the greeting, and wait for the answer."""
        self.settle(self._patience)
        message = self._compose(Exchange(look="roughly"))
        self._submit(message, self._patience, self._greeting())
        self.settle(2 * self._patience)

    def _greeting(self) -> Greeting:
        holds = [Hold(grant, taken.url, taken.host) for taken, grant in self.held.items()]
        turns = {**self._returning, **self._returned, **self.server_turns}
        return Greeting(
            name=self.name,
            run=self._run,
            now=self.now,
            about={"host": socket.gethostname(), "pid": os.getpid()},
            watched=list(self.watched),
            grants=self._last_grant,
            holds=[*holds, *self._ended.values(), *self._ending.values()],
            server_turns=[ServerTurn(name, address) for name, address in turns.items()],
        )

    def begin(self, wishes: Exchange) -> None:
        """Send what was done and what is wanted, if nothing is under way."""
        self._submit(self._compose(wishes), _GOING_ON)

    def _compose(self, message: Exchange) -> Exchange:
        self._number += 1
        message.number, message.now, message.did = self._number, self.now, self.did
        message.borrow = list(self.borrowing.values())
        message.server_turns = list(self.asking.values())
        self.did = []
        self._ending, self._ended = self._ended, {}
        self._returning, self._returned = self._returned, {}
        self._last_sent = clock.now()
        if message.look != "no":
            self.last_look = self._last_sent
        return message

    def _submit(
        self, message: Exchange | Question, patience: float, greeting: Greeting | None = None
    ) -> None:
        self._message = message
        self._connection.submit(message, greeting, patience)

    def exchange(self, wishes: Exchange, timeout: float) -> None:
        """Send what was done and what is wanted, and wait for the answer."""
        self.settle(timeout)
        self.begin(wishes)
        self.settle(timeout)

    def ask(self, question: Question, kind: type[Kind], timeout: float = PATIENT) -> Kind:
        """Return the answer to a question, decoded as `kind`."""
        self.settle(timeout)
        question.now = self.now
        self._submit(question, _GOING_ON)
        self.settle(timeout)
        if not isinstance(self._reply, Answer):
            raise FrontierUnavailable("The frontier service did not answer the question.")
        return msgpack.decode(self._reply.value, type=kind)

    def collect(self) -> None:
        """Process what has arrived."""
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

    def _arrived(self, carried: Carried) -> None:
        if carried.welcome is not None:
            self._let_go_of_what_is_lost(carried.welcome)
        reply = carried.reply
        if reply is None:  # the connection broke
            self._submit(self._message, _GOING_ON, self._greeting())
            return
        self._last_contact = clock.now()
        self._reply = reply
        if isinstance(reply, Reply) and reply.number == self._number:
            self.answered = self._number
            self._take_in(reply)

    def _let_go_of_what_is_lost(self, welcome: Welcome) -> None:
        """Drop the URLs at hand that the service has given to others or put back."""
        self.welcome = welcome
        kept = set(welcome.kept)
        lost = [taken for taken in self.at_hand if self.held[taken] not in kept]
        for taken in lost:
            self.at_hand.remove(taken)
            del self.held[taken]
            self.servers.pop(taken, None)

    def _take_in(self, reply: Reply) -> None:
        self._ending, self._returning = {}, {}
        for name, value in reply.notes.items():
            try:
                self.watched[name](value)
            except Exception:  # a bad note must not cost the URLs that came with it
                logger.exception("The shared note %s cannot be used.", name)
        for row in reply.granted:
            taken = Taken(
                row.url,
                row.depth,
                row.attempts,
                row.number,
                row.host,
                row.hint,
                row.hops,
                row.visit,
            )
            self.held[taken] = self._last_grant = row.grant
            self.at_hand.append(taken)
            if row.server:
                self.servers[taken] = row.server
        if reply.wait is not UNSET:
            self.asked_at, self.puts, self.wait = self._last_sent, reply.puts, reply.wait
            pause = LONGEST if self.wait is None else min(max(self.wait, SHORTEST), LONGEST)
            self.next_want = clock.now() + pause
        self._take_in_turns(reply)
        self.owed += reply.owed
        if reply.floor is not None:
            self.floor, self.looked_at = reply.floor, self._last_sent
        self.hosts_to_resolve += reply.hosts_to_resolve
        if reply.counts is not None:
            self.counts = reply.counts
            depths = dict(reply.depths)
            for taken, grant in self.held.items():
                taken.depth = depths.get(grant, taken.depth)

    def _take_in_turns(self, reply: Reply) -> None:
        for url, seconds in zip(list(self.borrowing), reply.lent, strict=False):
            del self.borrowing[url]
            self.lent[url] = seconds
        for name, seconds in zip(list(self.asking), reply.server_turns, strict=False):
            turn = self.asking.pop(name)
            self.answers[name] = seconds
            if seconds == 0.0:
                self.server_turns[name] = turn.address

    def _instructed(self, told: bytes) -> None:
        self.told = json.loads(told)
        if self.state != "run":
            # A pause may outlast the lease: what was not begun goes back.
            while self.at_hand:
                taken = self.at_hand.popleft()
                self.servers.pop(taken, None)
                self.end(taken, messages.Release)
        self.instructed(self.told)

    def shut(self) -> None:
        self._connection.close()


def waking(seconds: float | None) -> float | None:
    """Return when to look again for what will be ready after some seconds, as far as the service knows."""
    if seconds is None or seconds > BEAT:
        return seconds
    return max(min(seconds, LONGEST), SHORTEST)
