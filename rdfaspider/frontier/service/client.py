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
from typing import TYPE_CHECKING, Any, Self

from rdfaspider import clock
from rdfaspider.frontier import FrontierUnavailable, HostView, UrlView
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.frontier.service import BEAT
from rdfaspider.frontier.service.line import Line
from rdfaspider.frontier.service.talk import LONGEST, SHORTEST, Talk, waking
from rdfaspider.frontier.service.wire import Address, Security
from rdfaspider.frontier.sharding import Shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.frontier import Counts, State, Taken

logger = logging.getLogger(__name__)

# URLs at hand at least.
_LEAST = 4
# Seconds that a question of the crawl may take, that everything else may, and that the end of a worker may.
_IMPATIENT, _PATIENT, _LEAVING = 1.0, 60.0, 10.0
# Hosts that are named to be placed, at a time.
_PLACES = 100
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
    line        the way to the service, if it is another than that to the URL
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
        line: Line | None = None,
        patience: float = 10.0,
        is_one_of_many: bool = False,
    ) -> None:
        self._line = line or Line(Address.parse(url), security or Security())
        self._talk = Talk(self._line, "" if onlooks else worker or made_up_name(), now, patience)
        self._waits = waits
        # Returns what the counters of this worker have grown by; to be set.
        self.growth: Callable[[], dict[str, int]] = dict
        # Returns what this worker has logged since it was last asked; to be set.
        self.lines: Callable[[], list[tuple[float, str, str]]] = list
        # Returns how many fetches could begin now; to be set.
        self.room: Callable[[], int] = lambda: _LEAST
        self.is_at_once = not read_ahead
        self._is_closed = False
        try:
            self._talk.greet()
            if self.shard.total > 1 and not is_one_of_many:
                raise FrontierUnavailable(
                    f"The service at {self._line.name} has shard {self.shard} of a crawl: name the"
                    " services of all its shards in FRONTIER_URL, with commas between."
                )
        except BaseException:
            self._line.close()
            raise
        self._most = read_ahead
        self._learns = ORDERS[self.order].fed_at_once == 1

    @property
    def name(self) -> str:
        return self._talk.name

    @property
    def order(self) -> str:
        """Return the order in which the service hands out URLs."""
        return str(self._talk.welcome["order"])

    @property
    def limits(self) -> FrontierLimits:
        """Return the limits in force, as far as they concern a worker."""
        return FrontierLimits(**self._talk.welcome["limits"])

    @property
    def shard(self) -> Shard:
        """Return which shard of the crawl the service has."""
        return Shard(*self._talk.welcome["shard"])

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""
        return self._talk.state

    @property
    def notify(self) -> Callable[[], None]:
        """Is called, in another thread, when there may be something new; to be set."""
        return self._line.notify

    @notify.setter
    def notify(self, function: Callable[[], None]) -> None:
        self._line.notify = function

    @property
    def talk(self) -> Talk:
        """Return the talk with the service, for whoever puts several of these together (shards.py)."""
        return self._talk

    # --- messages ---

    def tell_on(self, now: float | None = None) -> None:
        """Have told what was done by way of `talk`."""
        self._tell(now)

    def advance(self) -> None:
        """Take in what has come, if that is not waited for anyway."""
        if not self.is_at_once:
            self._advance()

    def _tell(self, now: float | None = None, **wishes: Any) -> None:
        """Have told what was done, before long or, at once, now."""
        if now is not None:
            self._talk.now = now
        if self.is_at_once:
            self._talk.exchange(wishes, _PATIENT)
        else:
            self._advance()

    def _advance(self) -> None:
        """Take in what has come, and send the next message if there is reason to."""
        talk = self._talk
        talk.collect()
        if talk.failure is None and not talk.is_busy and (wishes := self._wishes()) is not None:
            talk.begin(wishes)

    def _wishes(self) -> dict[str, Any] | None:
        """Return what is wanted now, None if there is no reason for a message."""
        talk, now = self._talk, clock.now()
        if talk.at_hand and talk.seconds_since_message() < SHORTEST:
            return None
        wishes: dict[str, Any] = {}
        goal = self._goal()
        is_hungry = 2 * len(talk.at_hand) <= goal
        if goal and is_hungry and (now >= talk.next_want or talk.did):
            wishes["want"] = goal - len(talk.at_hand)
            if not talk.unplaced:
                wishes["unplaced"] = _PLACES
        if now - talk.last_look >= BEAT:
            wishes |= {"look": True, "stats": self.growth(), "log": self.lines()}
        if "look" in wishes and self.shard.total > 1 and not talk.owed:
            wishes["owed"] = _OWED
        return wishes if wishes or talk.did or talk.borrowing or talk.asking else None

    def _goal(self) -> int:
        """Return how many URLs to have at hand."""
        goal = self.room() if self._learns else max(_LEAST, self._talk.begun)
        return max(0, min(self._most, goal))

    def _ask(self, question: str, timeout: float = _PATIENT, **words: Any) -> dict[str, Any]:
        return self._talk.ask(question, timeout, **words)

    # --- in and out ---

    def put(
        self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = (), hops: int = 0
    ) -> None:
        self._talk.do("put", list(urls), depth, list(contexts), hops)
        self._tell()

    @property
    def is_settled(self) -> bool:
        """Tell whether the service has answered everything that it was told."""
        self._advance()
        if self._talk.failure is not None:
            raise self._talk.failure
        return not (self._talk.did or self._talk.is_busy)

    def knows(self, url: str) -> bool:
        try:
            return bool(self._ask("knows", _IMPATIENT, url=url)["knows"])
        except FrontierUnavailable:
            return True  # it is not worth waiting for

    def take(self, now: float) -> Taken | None:
        self._tell(now, want=1)
        talk = self._talk
        if talk.failure is not None:
            raise talk.failure
        return talk.at_hand.popleft() if talk.at_hand and not self.is_held_up else None

    @property
    def is_held_up(self) -> bool:
        """Tell whether nothing may begin: the crawl is paused or stopped, or the service was not heard of."""
        return self._talk.state != "run" or self._talk.is_silent

    def wait(self, now: float) -> float | None:
        self._tell(now, want=0, look=True, owed=_OWED)
        talk = self._talk
        if self.is_at_once:
            return talk.wait
        if talk.failure is not None:
            return 0.0  # the next `take` says so
        if talk.state == "stop":
            return LONGEST if talk.begun or talk.did else None
        if self.is_held_up:
            return BEAT
        if talk.at_hand:
            return 0.0
        if talk.is_busy or talk.did:
            return LONGEST  # or sooner: whoever has set `notify` is told
        if talk.wait is None and (talk.begun or self._waits):
            return LONGEST
        return waking(talk.wait)

    # --- back ---

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        *,
        deeper: int = 1,
        hops: int = 0,
        gain: float = 0.0,
        contexts: Sequence[int] = (),
        reason: str = "",
        status: int = 0,
        abroad: Sequence[str] = (),
        told: int | None = None,
    ) -> None:
        said: dict[str, Any] = {"deeper": deeper, "hops": hops, "gain": gain}
        said |= {"contexts": list(contexts), "reason": reason, "status": status}
        if abroad:
            said |= {"abroad": abroad, "told": told}
        if self._talk.end(taken, "end", state, list(links), said):
            self._tell(now)

    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        if self._talk.end(taken, "retry", after, {"reason": reason, "status": status}):
            self._tell(now)

    def release(self, taken: Taken, now: float) -> None:
        if self._talk.end(taken, "release"):
            self._tell(now)

    # --- politeness ---

    def report(
        self,
        host: int,
        now: float,
        *,
        latency: float | None = None,
        refused: bool = False,
        wanted: float | None = None,
        strikes: int = 0,
    ) -> None:
        said = {"latency": latency, "refused": refused, "wanted": wanted, "strikes": strikes}
        self._talk.do("report", host, said)  # it is told with what comes next

    def slow_down(
        self, host: int, *, crawl_delay: float | None = None, until: float | None = None
    ) -> None:
        here = self._talk.now if self.is_at_once else clock.now()
        self._talk.do("slow", host, crawl_delay, None if until is None else until - here)
        self._tell()

    def borrow(
        self, host: int | None, url: str, address: str, now: float, *, alone: bool = False
    ) -> float:
        talk = self._talk
        if (
            url not in talk.lent
        ):  # else an answer is there: to ask once more would be to borrow twice
            talk.borrowing.setdefault(url, (host, url, address, alone))
        self._tell(now)
        return talk.lent.pop(url, LONGEST)

    def repay(self, url: str, now: float) -> None:
        self._talk.do("repay", url)
        self._tell(now)

    def unplaced(self, most: int) -> list[tuple[int, str]]:
        self._tell(unplaced=most)
        hosts = self._talk.unplaced
        self._talk.unplaced = hosts[most:] if most > 0 else hosts
        return hosts[: max(most, 0)]

    def place(self, host: int, address: str) -> None:
        self._talk.do("place", host, address)
        self._tell()

    # --- notes ---

    def note(self, name: str, timeout: float = _PATIENT) -> bytes | None:
        value: str | None = self._ask("note", timeout, name=name)["note"]
        return None if value is None else value.encode("latin-1")

    def set_note(self, name: str, value: bytes) -> None:
        kind = "add" if name in self._talk.watched else "note"
        self._talk.do(kind, name, value.decode("latin-1"))
        self._tell()

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Have `recall` called with a note when another worker has changed it.

        The note is a JSON array or an object of arrays, and to set it is to add to them. `recall` is
        called before any URL is handed out that was taken in after the change.
        """
        self._talk.watched[name] = recall
        self._talk.exchange({"watch": [name]}, _PATIENT)

    def say(self, name: str, **words: Any) -> None:
        """Tell whoever runs the service what has happened here."""
        self._talk.do("event", name, words)
        self._tell()

    # --- looking ---

    def counts(self) -> Counts:
        if not self._is_closed:
            self._tell(look="exact")
        return self._talk.counts

    def hosts(self, now: float) -> Iterator[HostView]:
        self._talk.now = now
        begin = True
        while rows := self._ask("hosts", begin=begin)["hosts"]:
            yield from (HostView(*row) for row in rows)
            begin = False

    def url(self, url: str) -> UrlView | None:
        """Return what is known of a normalised URL, None if nothing is."""
        row = self._ask("url", url=url)["url"]
        return None if row is None else UrlView(*row)

    def ended(self, state: State, pattern: str = "") -> Iterator[UrlView]:
        """Yield the URLs that ended in a state in which a regular expression is found."""
        return (UrlView(*row) for row in self._all("ended", state=state, pattern=pattern))

    def requeue(self, pattern: str) -> int:
        """Let failed URLs wait again in which a regular expression is found; return how many."""
        return sum(self._all("requeue", pattern=pattern))

    def _all(self, question: str, **words: Any) -> Iterator[Any]:
        """Yield what the service finds while it goes through all URLs."""
        part = self._ask(question, begin=True, **words)
        while True:
            yield from part["found"]
            if part["is_over"]:
                return
            part = self._ask(question, begin=False)

    def tell(self, name: str, value: str) -> None:
        """Tell all workers something; ValueError if it makes no sense."""
        self._talk.told = self._ask("tell", name=name, value=value)["told"]

    @property
    def told(self) -> dict[str, str]:
        """Return what all workers are told."""
        return self._talk.told

    def log(self, most: int, level: str) -> list[str]:
        """Return the last lines of the log of all workers, of a level or above."""
        lines: list[str] = self._ask("log", most=most, level=level)["lines"]
        return lines

    @property
    def heed(self) -> Callable[[dict[str, str]], None]:
        """Is called with what all workers are told when that has changed; to be set."""
        return self._talk.heed

    @heed.setter
    def heed(self, function: Callable[[dict[str, str]], None]) -> None:
        self._talk.heed = function
        function(self._talk.told)

    def workers(self) -> list[dict[str, Any]]:
        """Return what the service knows of each worker."""
        workers: list[dict[str, Any]] = self._ask("workers")["workers"]
        return workers

    def close(self) -> None:
        """Tell everything, and give back what is in flight.

        If that fails, the service takes this worker for dead before long, and puts back what it had.
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._line.notify = lambda: None
        try:
            if self._talk.failure is None:
                self._leave()
        except FrontierUnavailable as error:
            logger.warning("What was in flight is handed out again later: %s", error)
        finally:
            self._line.close()

    def _leave(self) -> None:
        talk = self._talk
        if not self.is_at_once:
            talk.settle(_LEAVING)  # or what comes now would not be given back
            talk.at_hand.clear()
            for taken in list(talk.held):
                talk.end(taken, "release")
        last = {"look": "exact", "stats": self.growth(), "log": self.lines()}
        talk.exchange(last, _LEAVING)
        if not self.is_at_once:
            talk.ask("leave", _LEAVING)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
