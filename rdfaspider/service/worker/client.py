"""The frontier that a worker sees when a service serves it.

Reading ahead. `take` answers from URLs at hand. What the worker did is sent in messages, one after the
other. Each asks for about as many URLs as are being fetched, so that there are always some at hand and
never so many that another worker has none. With an order that learns from each page, nothing is at hand:
the worker asks for as many URLs as can begin now, because a later choice is a better one.

With `read_ahead=0` each call is a message, waits for the answer, and uses the caller's times.
"""

from __future__ import annotations

import logging
import os
import socket
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import msgspec

from rdfaspider import clock
from rdfaspider.closable import Closable
from rdfaspider.frontier import BranchView, FrontierUnavailable, Hooks, HostView, UrlView
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.sharding import Shard
from rdfaspider.service import BEAT, messages
from rdfaspider.service.address import Address, Security
from rdfaspider.service.messages import Exchange, Found, WorkerView
from rdfaspider.service.worker.connection import Connection
from rdfaspider.service.worker.session import LONGEST, PATIENT, SHORTEST, Session, waking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.frontier import Counts, Ending, State, Taken
    from rdfaspider.frontier.politeness import Demand, Experience

logger = logging.getLogger(__name__)

Kind = TypeVar("Kind")

# The fewest URLs at hand.
_LEAST = 4
# Seconds allowed for a question of the crawl, and for the end of a worker.
_IMPATIENT, _LEAVING = 1.0, 10.0
# Hosts to resolve at a time.
_HOSTS = 100
# Pages whose links are forwarded at a time.
_OWED = 100


def made_up_name() -> str:
    """Return a unique name for a worker."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"


class ServedFrontier(Closable):
    """A Frontier (see the package) that a service serves to any number of workers.

    url         unix:PATH or frontier://HOST:PORT
    worker      its name, unique in the crawl; generated if empty
    read_ahead  the most URLs at hand; 0 is for onlookers and for tests
    waits       whether to wait for seeds when nothing is left
    onlooks     whether only to look: then it is not listed as a worker
    connection  the connection to the service, if not to the URL
    patience    seconds to look for the service at first
    is_one_of_many  whether the service may have one of several shards of the crawl
    """

    def __init__(
        self,
        url: str,
        *,
        security: Security | None = None,
        worker: str = "",
        read_ahead: int = 64,
        waits: bool = False,
        onlooks: bool = False,
        now: float = 0.0,
        connection: Connection | None = None,
        patience: float = 10.0,
        is_one_of_many: bool = False,
    ) -> None:
        self._connection = connection or Connection(Address.parse(url), security or Security())
        self.session = Session(
            self._connection, "" if onlooks else worker or made_up_name(), now, patience
        )
        self._waits = waits
        self._hooks = Hooks()
        self.is_at_once = not read_ahead
        self._is_closed = False
        try:
            self.session.greet()
            if self.shard.total > 1 and not is_one_of_many:
                raise FrontierUnavailable(
                    f"The service at {self._connection.name} has shard {self.shard} of a crawl: name the"
                    " services of all its shards in FRONTIER_URL, separated by commas."
                )
        except BaseException:
            self._connection.close()
            raise
        self._most = read_ahead
        self._learns = self.session.welcome.learns

    @property
    def order(self) -> str:
        return self.session.welcome.order

    @property
    def limits(self) -> FrontierLimits:
        welcome = self.session.welcome
        return FrontierLimits(depth=welcome.depth, dynamic_depth=welcome.dynamic_depth)

    @property
    def shard(self) -> Shard:
        return self.session.welcome.shard

    @property
    def state(self) -> str:
        return self.session.state

    is_shared = True

    def attach(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._connection.notify = hooks.notify
        self.session.instructed = hooks.instructed
        hooks.instructed(self.session.told)

    def detach(self) -> None:
        """Stop notifying the worker."""
        self._connection.notify = lambda: None
        self.session.instructed = lambda told: None

    # --- messages ---

    def advance(self) -> None:
        """Process what has arrived, unless each call waits for its reply anyway."""
        if not self.is_at_once:
            self._advance()

    def flush(self, now: float | None = None, wishes: Exchange | None = None) -> None:
        """Send what was done: now, with the wishes, if each call is a message, otherwise soon."""
        if now is not None:
            self.session.now = now
        if self.is_at_once:
            self.session.exchange(wishes or Exchange(), PATIENT)
        else:
            self._advance()

    def _advance(self) -> None:
        """Process what has arrived, and send the next message if there is a reason to."""
        session = self.session
        session.collect()
        is_free = session.failure is None and not session.is_busy
        if is_free and (wishes := self._wishes()) is not None:
            session.begin(wishes)

    def _wishes(self) -> Exchange | None:
        """Return the next message, None if there is no reason for one."""
        session, now = self.session, clock.now()
        if session.at_hand and session.seconds_since_message() < SHORTEST:
            return None
        wishes = Exchange()
        has_reason = bool(session.did or session.borrowing or session.asking)
        goal = self._goal()
        is_hungry = 2 * len(session.at_hand) <= goal
        if goal and is_hungry and (now >= session.next_want or session.did):
            has_reason = True
            wishes.want = goal - len(session.at_hand)
            if not session.hosts_to_resolve:
                wishes.hosts_to_resolve = _HOSTS
        if now - session.last_look >= BEAT:
            has_reason = True
            wishes.look, wishes.log = "roughly", self._hooks.lines()
            if self.shard.total > 1 and not session.owed:
                wishes.owed = _OWED
        if has_reason:  # what it did is counted in one step with it
            wishes.stats = self._hooks.growth()
        return wishes if has_reason else None

    def _goal(self) -> int:
        """Return how many URLs to have at hand."""
        goal = self._hooks.room() if self._learns else max(_LEAST, self.session.begun)
        return max(0, min(self._most, goal))

    # --- in and out ---

    def put(
        self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = (), hops: int = 0
    ) -> None:
        self.session.do(messages.Put(list(urls), int(depth), list(contexts), hops))
        self.flush()

    @property
    def is_settled(self) -> bool:
        self._advance()
        if self.session.failure is not None:
            raise self.session.failure
        return not (self.session.did or self.session.is_busy)

    def knows(self, url: str) -> bool:
        try:
            return self.session.ask(messages.Knows(url), bool, _IMPATIENT)
        except FrontierUnavailable:
            return True  # not worth waiting for

    def take(self, now: float) -> Taken | None:
        self.flush(now, Exchange(want=1))
        session = self.session
        if session.failure is not None:
            raise session.failure
        return session.at_hand.popleft() if session.at_hand and not self.is_held_up else None

    @property
    def is_held_up(self) -> bool:
        """Return whether nothing may begin: the crawl is paused or stopped, or the service is silent."""
        return self.session.state != "run" or self.session.is_silent

    def wait(self, now: float) -> float | None:
        self.flush(now, Exchange(want=0, look="roughly", owed=_OWED))
        session = self.session
        if self.is_at_once:
            return session.wait
        if session.failure is not None:
            return 0.0  # the next `take` raises it
        if session.state == "stop":
            return LONGEST if session.begun or session.did else None
        if self.is_held_up:
            return BEAT
        if session.at_hand:
            return 0.0
        if session.is_busy or session.did:
            return LONGEST  # or sooner: `notify` is called
        if session.wait is None and (session.begun or self._waits):
            return LONGEST
        return waking(session.wait)

    # --- back ---

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        **said: Unpack[Ending],
    ) -> None:
        if self.session.end(taken, lambda grant: messages.End(grant, state, list(links), said)):
            self.flush(now)

    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        if self.session.end(taken, lambda grant: messages.Retry(grant, after, reason, status)):
            self.flush(now)

    def release(self, taken: Taken, now: float) -> None:
        if self.session.end(taken, messages.Release):
            self.flush(now)

    def expect(self, changes: Iterable[tuple[str, float]]) -> None:
        self.session.do(messages.Expect(list(changes)))
        self.flush()

    # --- politeness ---

    def report(self, host: int, now: float, fetch: Experience) -> None:
        self.session.do(messages.Report(host, fetch))  # sent with the next message

    def slow_down(self, host: int, now: float, demand: Demand) -> None:
        self.session.do(messages.SlowDown(host, demand))
        self.flush(now)

    def borrow(
        self, host: int | None, url: str, address: str, now: float, *, alone: bool = False
    ) -> float:
        session = self.session
        if url not in session.lent:  # otherwise the answer is there, and asking again borrows twice
            session.borrowing.setdefault(url, messages.Borrow(host, url, address, alone))
        self.flush(now)
        return session.lent.pop(url, LONGEST)

    def repay(self, url: str, now: float) -> None:
        self.session.do(messages.Repay(url))
        self.flush(now)

    def hosts_to_resolve(self, most: int) -> list[tuple[int, str]]:
        self.flush(wishes=Exchange(hosts_to_resolve=most))
        hosts = self.session.hosts_to_resolve
        self.session.hosts_to_resolve = hosts[most:] if most > 0 else hosts
        return hosts[: max(most, 0)]

    def set_address(self, host: int, address: str) -> None:
        self.session.do(messages.SetAddress(host, address))
        self.flush()

    # --- notes ---

    def note(self, name: str, timeout: float = PATIENT) -> bytes | None:
        found = self.session.ask(messages.ReadNote(name), list[bytes], timeout)
        return found[0] if found else None

    def set_note(self, name: str, value: bytes) -> None:
        kind = messages.AddToNote if name in self.session.watched else messages.SetNote
        self.session.do(kind(name, value))
        self.flush()

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        self.session.watched[name] = recall
        self.session.exchange(Exchange(watch=[name]), PATIENT)

    def say(self, name: str, **words: Any) -> None:
        self.session.do(messages.Happened(name, words))
        self.flush()

    # --- looking ---

    def counts(self) -> Counts:
        if not self._is_closed:
            self.flush(wishes=Exchange(look="exactly"))
        return self.session.counts

    def hosts(self, now: float) -> Iterator[HostView]:
        self.session.now = now
        begin = True
        while views := self.session.ask(messages.ListHosts(begin), list[HostView]):
            yield from views
            begin = False

    def url(self, url: str) -> UrlView | None:
        """Return what is known of a normalised URL, None if nothing is."""
        found = self.session.ask(messages.FindUrl(url), list[UrlView])
        return found[0] if found else None

    def ranks(self, urls: Iterable[str]) -> dict[str, float]:
        """Return the PageRank of those URLs that have one, 1 for the mean."""
        return self.session.ask(messages.ReadRanks(list(urls)), dict[str, float])

    def ended(self, state: State, pattern: str = "") -> Iterator[UrlView]:
        """Yield the URLs that ended in a state and match a regular expression."""
        return self._all(messages.ListEnded(True, state, pattern), UrlView)

    def under(self, prefix: bytes) -> Iterator[BranchView]:
        """Yield the branches one step below a prefix of keys."""
        return self._all(messages.ListBranches(True, prefix), BranchView)

    def requeue(self, pattern: str, reason: str = "") -> int:
        """Make the failed URLs that match a regular expression wait again; return how many."""
        return sum(self._all(messages.Requeue(True, pattern, reason), bool))

    def retire(self, pattern: str) -> int:
        """End the kept pages that match a regular expression; return how many."""
        return sum(self._all(messages.Retire(True, pattern), bool))

    def _all(
        self,
        question: messages.ListEnded | messages.ListBranches | messages.Requeue | messages.Retire,
        kind: type[Kind],
    ) -> Iterator[Kind]:
        """Yield the results of a scan of all URLs."""
        while True:
            part = self.session.ask(question, Found)
            yield from msgspec.convert(part.rows, list[kind])  # type: ignore[valid-type]
            if part.is_over:
                return
            question.begin = False

    def tell(self, name: str, value: str) -> None:
        """Give all workers an instruction; FrontierUnavailable if it is invalid."""
        self.session.told = self.session.ask(messages.Tell(name, value), dict[str, str])

    @property
    def told(self) -> dict[str, str]:
        """Return the instructions to all workers."""
        return self.session.told

    def log(self, most: int, level: str) -> list[str]:
        """Return the last lines of the log of all workers, of a level or above."""
        return self.session.ask(messages.ReadLog(most, level), list[str])

    def workers(self) -> list[WorkerView]:
        return self.session.ask(messages.ListWorkers(), list[WorkerView])

    def close(self) -> None:
        """Send everything, and release what is in flight.

        If that fails, the worker soon counts as dead, and the service puts back what it held.
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._connection.notify = lambda: None
        try:
            if self.session.failure is None:
                self._leave()
        except FrontierUnavailable as error:
            logger.warning("What was in flight will be handed out again later: %s", error)
        finally:
            self._connection.close()

    def _leave(self) -> None:
        session = self.session
        if not self.is_at_once:
            session.settle(_LEAVING)  # or what arrives now would not be released
            session.at_hand.clear()
            for taken in list(session.held):
                session.end(taken, messages.Release)
        last = Exchange(look="exactly", stats=self._hooks.growth(), log=self._hooks.lines())
        session.exchange(last, _LEAVING)
        if not self.is_at_once:
            session.ask(messages.Leave(), type(None), _LEAVING)
