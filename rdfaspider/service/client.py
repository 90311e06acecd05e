"""The frontier as a worker sees it that a service hands out.

Reading ahead. `take` answers from URLs at hand. What the worker did is told in messages, one after the other,
and each asks for about as many URLs as are being fetched, so that there are always some at hand and never so
many that another worker is left without. An order that learns from each page has none at hand: as many are
asked for as can begin now, because what is chosen later is chosen better.

With `read_ahead=0` each call is a message, the answer is waited for, and all times are the caller's.
"""

from __future__ import annotations

import logging
import os
import socket
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

import msgspec

from rdfaspider import clock
from rdfaspider.frontier import FrontierUnavailable, Hooks, HostView, UrlView
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.frontier.sharding import Shard
from rdfaspider.service import BEAT, messages
from rdfaspider.service.connection import Connection
from rdfaspider.service.messages import Exchange, Found, WorkerView
from rdfaspider.service.session import LONGEST, SHORTEST, Session, waking
from rdfaspider.service.wire import Address, Security

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.frontier import Counts, Ending, State, Taken
    from rdfaspider.frontier.politeness import Experience

logger = logging.getLogger(__name__)

Kind = TypeVar("Kind")

# URLs at hand at least.
_LEAST = 4
# Seconds that a question of the crawl may take, that everything else may, and that the end of a worker may.
_IMPATIENT, _PATIENT, _LEAVING = 1.0, 60.0, 10.0
# Hosts that are named to be resolved, at a time.
_HOSTS = 100
# Pages whose links other shards are to be told of, at a time.
_OWED = 100


def made_up_name() -> str:
    """Return a name for a worker that no other has."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"


class ServedFrontier:
    """A Frontier (see the package) that a service hands out to any number of workers.

    url         unix:PATH or frontier://HOST:PORT
    worker      its name, unique in the crawl; made up if empty
    read_ahead  URLs at hand, at most; 0 is for onlookers and for tests
    waits       whether to wait for seeds when nothing is left
    onlooks     whether only to look: the workers do not see it
    connection  the way to the service, if it is another than that to the URL
    patience    seconds for which the service is sought at first
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
        self._session = Session(
            self._connection, "" if onlooks else worker or made_up_name(), now, patience
        )
        self._waits = waits
        self._hooks = Hooks()
        self.is_at_once = not read_ahead
        self._is_closed = False
        try:
            self._session.greet()
            if self.shard.total > 1 and not is_one_of_many:
                raise FrontierUnavailable(
                    f"The service at {self._connection.name} has shard {self.shard} of a crawl: name the"
                    " services of all its shards in FRONTIER_URL, with commas between."
                )
        except BaseException:
            self._connection.close()
            raise
        self._most = read_ahead
        self._learns = ORDERS[self.order].fed_at_once == 1

    @property
    def name(self) -> str:
        return self._session.name

    @property
    def order(self) -> str:
        """Return the order in which the service hands out URLs."""
        return self._session.welcome.order

    @property
    def limits(self) -> FrontierLimits:
        """Return the limits in force, as far as they concern a worker."""
        welcome = self._session.welcome
        return FrontierLimits(depth=welcome.depth, dynamic_depth=welcome.dynamic_depth)

    @property
    def shard(self) -> Shard:
        """Return which shard of the crawl the service has."""
        return self._session.welcome.shard

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""
        return self._session.state

    is_shared = True

    def attach(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._connection.notify = hooks.notify
        self._session.heed = hooks.heed
        hooks.heed(self._session.told)

    def detach(self) -> None:
        """Notify nobody any more, and tell nobody what all are told."""
        self._connection.notify = lambda: None
        self._session.heed = lambda told: None

    @property
    def session(self) -> Session:
        """Return the session with the service, for whoever puts several of these together (shards.py)."""
        return self._session

    # --- messages ---

    def flush(self, now: float | None = None) -> None:
        """Have told what was done in the session."""
        self._flush(now)

    def advance(self) -> None:
        """Take in what has come, if that is not waited for anyway."""
        if not self.is_at_once:
            self._advance()

    def _flush(self, now: float | None = None, wishes: Exchange | None = None) -> None:
        """Have told what was done, and what is wanted if each call is a message, else before long."""
        if now is not None:
            self._session.now = now
        if self.is_at_once:
            self._session.exchange(wishes or Exchange(), _PATIENT)
        else:
            self._advance()

    def _advance(self) -> None:
        """Take in what has come, and send the next message if there is reason to."""
        session = self._session
        session.collect()
        is_free = session.failure is None and not session.is_busy
        if is_free and (wishes := self._wishes()) is not None:
            session.begin(wishes)

    def _wishes(self) -> Exchange | None:
        """Return what is wanted now, None if there is no reason for a message."""
        session, now = self._session, clock.now()
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
            wishes.look, wishes.stats, wishes.log = (
                "roughly",
                self._hooks.growth(),
                self._hooks.lines(),
            )
            if self.shard.total > 1 and not session.owed:
                wishes.owed = _OWED
        return wishes if has_reason else None

    def _goal(self) -> int:
        """Return how many URLs to have at hand."""
        goal = self._hooks.room() if self._learns else max(_LEAST, self._session.begun)
        return max(0, min(self._most, goal))

    def _ask(
        self, question: messages.Question, kind: type[Kind], timeout: float = _PATIENT
    ) -> Kind:
        return self._session.ask(question, kind, timeout)

    # --- in and out ---

    def put(
        self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = (), hops: int = 0
    ) -> None:
        self._session.do(messages.Put(list(urls), depth, list(contexts), hops))
        self._flush()

    @property
    def is_settled(self) -> bool:
        """Tell whether the service has answered everything that it was told."""
        self._advance()
        if self._session.failure is not None:
            raise self._session.failure
        return not (self._session.did or self._session.is_busy)

    def knows(self, url: str) -> bool:
        try:
            return self._ask(messages.Knows(url), bool, _IMPATIENT)
        except FrontierUnavailable:
            return True  # it is not worth waiting for

    def take(self, now: float) -> Taken | None:
        self._flush(now, Exchange(want=1))
        session = self._session
        if session.failure is not None:
            raise session.failure
        return session.at_hand.popleft() if session.at_hand and not self.is_held_up else None

    @property
    def is_held_up(self) -> bool:
        """Tell whether nothing may begin: the crawl is paused or stopped, or the service was not heard of."""
        return self._session.state != "run" or self._session.is_silent

    def wait(self, now: float) -> float | None:
        self._flush(now, Exchange(want=0, look="roughly", owed=_OWED))
        session = self._session
        if self.is_at_once:
            return session.wait
        if session.failure is not None:
            return 0.0  # the next `take` says so
        if session.state == "stop":
            return LONGEST if session.begun or session.did else None
        if self.is_held_up:
            return BEAT
        if session.at_hand:
            return 0.0
        if session.is_busy or session.did:
            return LONGEST  # or sooner: whoever has set `notify` is told
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
        if self._session.end(taken, lambda grant: messages.End(grant, state, list(links), said)):
            self._flush(now)

    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        if self._session.end(taken, lambda grant: messages.Retry(grant, after, reason, status)):
            self._flush(now)

    def release(self, taken: Taken, now: float) -> None:
        if self._session.end(taken, messages.Release):
            self._flush(now)

    # --- politeness ---

    def report(self, host: int, now: float, fetch: Experience) -> None:
        self._session.do(messages.Report(host, fetch))  # it is told with what comes next

    def slow_down(
        self, host: int, *, crawl_delay: float | None = None, until: float | None = None
    ) -> None:
        here = self._session.now if self.is_at_once else clock.now()
        seconds = None if until is None else until - here
        self._session.do(messages.SlowDown(host, crawl_delay, seconds))
        self._flush()

    def borrow(
        self, host: int | None, url: str, address: str, now: float, *, alone: bool = False
    ) -> float:
        session = self._session
        if (
            url not in session.lent
        ):  # else the answer is there: to ask again would be to borrow twice
            session.borrowing.setdefault(url, messages.Borrow(host, url, address, alone))
        self._flush(now)
        return session.lent.pop(url, LONGEST)

    def repay(self, url: str, now: float) -> None:
        self._session.do(messages.Repay(url))
        self._flush(now)

    def hosts_to_resolve(self, most: int) -> list[tuple[int, str]]:
        self._flush(wishes=Exchange(hosts_to_resolve=most))
        hosts = self._session.hosts_to_resolve
        self._session.hosts_to_resolve = hosts[most:] if most > 0 else hosts
        return hosts[: max(most, 0)]

    def set_address(self, host: int, address: str) -> None:
        self._session.do(messages.SetAddress(host, address))
        self._flush()

    # --- notes ---

    def note(self, name: str, timeout: float = _PATIENT) -> bytes | None:
        found = self._ask(messages.ReadNote(name), list[bytes], timeout)
        return found[0] if found else None

    def set_note(self, name: str, value: bytes) -> None:
        kind = messages.AddToNote if name in self._session.watched else messages.SetNote
        self._session.do(kind(name, value))
        self._flush()

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        self._session.watched[name] = recall
        self._session.exchange(Exchange(watch=[name]), _PATIENT)

    def say(self, name: str, **words: Any) -> None:
        self._session.do(messages.Happened(name, words))
        self._flush()

    # --- looking ---

    def counts(self) -> Counts:
        if not self._is_closed:
            self._flush(wishes=Exchange(look="exactly"))
        return self._session.counts

    def hosts(self, now: float) -> Iterator[HostView]:
        self._session.now = now
        begin = True
        while views := self._ask(messages.ListHosts(begin), list[HostView]):
            yield from views
            begin = False

    def url(self, url: str) -> UrlView | None:
        """Return what is known of a normalised URL, None if nothing is."""
        found = self._ask(messages.FindUrl(url), list[UrlView])
        return found[0] if found else None

    def ended(self, state: State, pattern: str = "") -> Iterator[UrlView]:
        """Yield the URLs that ended in a state in which a regular expression is found."""
        question = messages.ListEnded(True, state, pattern)
        return self._all(question, UrlView)

    def requeue(self, pattern: str) -> int:
        """Let failed URLs wait again in which a regular expression is found; return how many."""
        return sum(self._all(messages.Requeue(True, pattern), bool))

    def _all(
        self, question: messages.ListEnded | messages.Requeue, kind: type[Kind]
    ) -> Iterator[Kind]:
        """Yield what the service finds while it goes through all URLs."""
        while True:
            part = self._ask(question, Found)
            yield from msgspec.convert(part.rows, list[kind])  # type: ignore[valid-type]
            if part.is_over:
                return
            question.begin = False

    def tell(self, name: str, value: str) -> None:
        """Tell all workers something; FrontierUnavailable if it makes no sense."""
        self._session.told = self._ask(messages.Tell(name, value), dict[str, str])

    @property
    def told(self) -> dict[str, str]:
        """Return what all workers are told."""
        return self._session.told

    def log(self, most: int, level: str) -> list[str]:
        """Return the last lines of the log of all workers, of a level or above."""
        return self._ask(messages.ReadLog(most, level), list[str])

    def workers(self) -> list[WorkerView]:
        """Return what the service knows of each worker."""
        return self._ask(messages.ListWorkers(), list[WorkerView])

    def close(self) -> None:
        """Tell everything, and give back what is in flight.

        If that fails, the service takes this worker for dead before long, and puts back what it had.
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._connection.notify = lambda: None
        try:
            if self._session.failure is None:
                self._leave()
        except FrontierUnavailable as error:
            logger.warning("What was in flight is handed out again later: %s", error)
        finally:
            self._connection.close()

    def _leave(self) -> None:
        session = self._session
        if not self.is_at_once:
            session.settle(_LEAVING)  # or what comes now would not be given back
            session.at_hand.clear()
            for taken in list(session.held):
                session.end(taken, messages.Release)
        last = Exchange(look="exactly", stats=self._hooks.growth(), log=self._hooks.lines())
        session.exchange(last, _LEAVING)
        if not self.is_at_once:
            session.ask(messages.Leave(), type(None), _LEAVING)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
