"""The frontier: which URLs are known, which are to be fetched, and which may be fetched now.

The life of a URL. The modules are named in the order in which they meet it.

1.  A link is found on a page, or a seed is given. `finish` and `put` write it to the inbox
    (tables/inbox.py), in the same batch that ends the page.
2.  The sieve (engine/sieve.py) looks up a whole inbox at once. A new URL within the limits
    (engine/admission.py) gets a number, a record in the trie (tables/trie.py) and a place among the waiting
    URLs of its host (tables/waiting.py), where its order ranks it (orders/). A known URL keeps the smaller
    depth.
3.  Its host sleeps until its delay has passed, and the delay of its server (schedule/schedule.py; the rules
    are politeness.py). Then it is ready, and competes with other ready hosts for its turn.
4.  When its turn comes and nothing is at hand, its next URLs are read into a queue page
    (schedule/queue.py), spread so that the hosts are far apart.
5.  `take` hands the URL out under a lease (schedule/leases.py). It is in flight; on disk it still waits, so a
    crash gives it back.
6.  It ends (engine/urls.py): `finish` makes it done, failed or denied, for good; `retry` lets it wait for a
    time of its own (tables/postponed.py); `release` puts it back as it was. Its host rests from then on.
7.  A done page that is found again by a shorter way passes its better depth on to its links
    (tables/outlinks.py), without another fetch.

A URL is unknown, waiting, in flight, or finished: done, failed or denied. These guarantees are held by tests
over every implementation (tests/frontier/test_contract.py):

G1  Nothing is lost. A URL that `put` or `finish` took in is handed out, or ends in a named state, through
    `kill -9` at any instant. What is beyond a limit is not taken in; it is counted by reason.
G2  Nothing twice. A URL is handed out again only after a crash, an expired lease, a requested retry, or when
    a shorter way to it was found whose links are no longer on record.
G3  Polite. Two fetches of one host are never closer than its delay, from the end of one to the start
    of the next, nor more at once than its limit, across restarts too. The same holds for the server at
    one address, whatever names its hosts have, where the rules ask for it (`server_delay`).
G4  Ready head. `take` returns a URL if and only if one is ready, in O(log hosts), and `wait` says
    when the next will be.
G5  Bounded memory. Memory grows with the hosts that have URLs waiting, not with the URLs.
G6  Order-free depth. Which pages a depth-limited crawl visits does not depend on timing.
G7  It adds up: seen = waiting + in flight + done + failed + denied, at any moment.

The rooms: `engine/` is the frontier of one process, on the `tables/` of a database, with `schedule/` and
`orders/` to choose what comes next; `views/` is what people see of it. limits.py says how much is taken in,
sharding.py which hosts belong to which of several frontiers. The package `service` hands a frontier out to
many workers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypedDict

from rdfaspider import rocksdb
from rdfaspider.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.politeness import Experience

__all__ = [
    "Counts",
    "Frontier",
    "FrontierUnavailable",
    "Hooks",
    "HostView",
    "State",
    "Taken",
    "UrlView",
    "is_begun",
    "is_page",
    "is_replicated",
    "is_shared",
    "open_frontier",
    "services_of",
]

State = Literal["done", "failed", "denied"]

# Who opens the frontiers of other processes, by what their URLs begin with. These are above this package:
# they hand out a local one, and a crawl of one process imports none of them.
_REPLICATED = "rdfaspider.service.replica.sharded:open_replicated"
_SERVED = "rdfaspider.service.shards.opening:open_served"
_OPENERS = {
    "redis://": _REPLICATED,
    "rediss://": _REPLICATED,
    "redis+unix://": _REPLICATED,
    "redis+sentinel://": _REPLICATED,
    "rediss+sentinel://": _REPLICATED,
    "unix:": _SERVED,
    "frontier:": _SERVED,
}


class FrontierUnavailable(OSError):
    """Says in a sentence why a frontier cannot be used and what to do about it."""


@dataclass(slots=True, eq=False)
class Taken:
    """A URL in flight: what `take` hands out and `finish` or `retry` takes back.

    `depth` gets smaller while the URL is in flight if a shorter way to it is found. `number` is the
    URL's number for life; `host` identifies its host within the frontier. `hops` counts the redirects
    in a row that led to it when it was first found. `hint` is for the order.
    """

    url: str
    depth: int
    attempts: int
    number: int
    host: int
    hint: int = 0
    hops: int = 0


class Ending(TypedDict, total=False):
    """How a URL ended, beside its state and its links, as `Frontier.finish` tells.

    Of a shard (sharding.py), `abroad` are the links of the page to other shards, whose contexts come after
    those of its own, and `told` is the depth of the page by which these were told of them, None if they were
    not.
    """

    depth_step: int
    hops: int
    gain: float
    contexts: Sequence[int]
    reason: str
    status: int
    abroad: Sequence[str]
    told: int | None


@dataclass(slots=True)
class Counts:
    """How many URLs are in each state, and how many links were turned away, by reason (limits.py)."""

    waiting: int
    in_flight: int
    done: int
    failed: int
    denied: int
    rejected: dict[str, int]

    @property
    def seen(self) -> int:
        return self.waiting + self.in_flight + self.done + self.failed + self.denied


@dataclass(slots=True)
class HostView:
    """One host as people see it: `ready` is when it may be fetched from next, `why` the reason it waits."""

    name: str
    waiting: int
    in_flight: int
    done: int
    failed: int
    delay: float
    ready: float
    why: str


@dataclass(slots=True)
class UrlView:
    """One URL as people see it; what is unknown is None.

    `attempts` counts its fetches. `reason`, `status` and `time` are those of the last attempt, if it failed,
    and `referrer` is the page on which the link was first found. In a crawl with topics, `topic` is that of
    the page, or, before the page is read, the one that the links to it suggest.
    """

    url: str
    state: str
    depth: int
    attempts: int | None = None
    status: int | None = None
    reason: str | None = None
    time: float | None = None
    referrer: str | None = None
    topic: str | None = None


@dataclass(slots=True)
class Hooks:
    """What a frontier that many share asks of the worker that uses it.

    notify  is called, in another thread, when there may be something new
    room    returns how many fetches could begin now
    growth  returns what the counters of this worker have grown by since it was last asked
    lines   returns what it has logged since then: when, at which level, and what
    heed    is called with what all workers are told when that has changed
    """

    notify: Callable[[], None] = lambda: None
    room: Callable[[], int] = lambda: 4
    growth: Callable[[], dict[str, int]] = dict
    lines: Callable[[], list[tuple[float, str, str]]] = list
    heed: Callable[[dict[str, str]], None] = lambda told: None


class Frontier(Protocol):
    """What a crawl needs of a frontier. All times are seconds, of whatever clock the caller keeps."""

    @property
    def is_shared(self) -> bool:
        """Tell whether other workers use it too."""

    @property
    def order(self) -> str:
        """Return the name of the order in which it hands out URLs."""

    @property
    def limits(self) -> FrontierLimits:
        """Return the limits in force, as far as they concern a worker."""

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""

    @property
    def is_settled(self) -> bool:
        """Tell whether everything is safe that it was told until now."""

    def attach(self, hooks: Hooks) -> None:
        """Say how to ask the worker that uses it, if it is shared."""

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Have `recall` called with a note when another worker has changed it.

        The note is a JSON array or an object of arrays, and to set it is to add to them. `recall` is
        called before any URL is handed out that was taken in after the change.
        """

    def say(self, name: str, **words: Any) -> None:
        """Tell whoever runs the service, if there is one, what has happened here."""

    def put(self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = ()) -> None:
        """Take in normalised URLs found at a depth; known ones keep the smaller depth.

        URLs of depth 0 are seeds, which no limit turns away. Many URLs are taken in in several steps, each of
        them whole or not at all. `contexts` is for the order, as in `finish`.
        """

    def knows(self, url: str) -> bool:
        """Tell whether a normalised URL was taken in and looked up."""

    def take(self, now: float) -> Taken | None:
        """Hand out a URL whose host is ready, None if there is none."""

    def wait(self, now: float) -> float | None:
        """Return the seconds until a URL will be ready, None if none waits."""

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        *,
        depth_step: int = 1,
        hops: int = 0,
        gain: float = 0.0,
        contexts: Sequence[int] = (),
        reason: str = "",
        status: int = 0,
    ) -> None:
        """End a URL and take in its links, `depth_step` deeper than it, in one step.

        A redirect is a URL with one link, which is no deeper, and the `hops` that led there, 31 at most.
        If the URL failed or was denied, `reason` and the `status` of the answer are kept for people.

        For orders that learn (scheduler/advice.py): `gain` is what the page was worth, or is about, and
        `contexts` has a number for each link that tells what its page and its words say of it.
        """

    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        """Put a URL back, to be handed out again no sooner than `after` seconds from now.

        `reason` and `status` are kept until it is done.
        """

    def release(self, taken: Taken, now: float) -> None:
        """Put a URL back as it was: it was not fetched, but the turn of its host is used up."""

    def report(self, host: int, now: float, fetch: Experience) -> None:
        """Tell what a fetch of a host was like; it counts from the next `finish`."""

    def slow_down(
        self, host: int, *, crawl_delay: float | None = None, until: float | None = None
    ) -> None:
        """Set the delay that the robots.txt of a host asks for, 0 for none, or leave the host alone until a
        time."""

    def borrow(self, host: int | None, url: str, address: str, now: float) -> float:
        """Take the turn of another host, known or not, on behalf of a page of `host` in flight, if any.

        Return 0.0 if the fetch of `url` may begin. Then `repay` must be called when it has ended; the host of
        `url`, and the server at its address ("" if unknown), rest from that moment. Otherwise return the
        seconds after which to ask again. The page needs no turn of its own server.
        """

    def repay(self, url: str, now: float) -> None:
        """Give a borrowed turn back: the fetch has ended."""

    def hosts_to_resolve(self, most: int) -> list[tuple[int, str]]:
        """Return hosts, `most` at a time, that have URLs and need an address, with their names.

        Each is named once, and again if it has no address after the time of a lease. There are none if
        servers do not matter (Politeness.server_delay is None). While any wait, `wait` is at most a lease.
        """

    def set_address(self, host: int, address: str) -> None:
        """Set the address of a host's server; an empty one means a server of its own.

        A host may move: its next fetch keeps the delay of the new server.
        """

    def note(self, name: str) -> bytes | None:
        """Return the note of a name, None if there is none."""

    def set_note(self, name: str, value: bytes) -> None:
        """Keep a note with the frontier, under a name."""

    def counts(self) -> Counts:
        """Return how many URLs are in each state; links in the inbox are looked up first.

        Call it about once a second; after `close` it says what was left behind.
        """

    def hosts(self, now: float) -> Iterator[HostView]:
        """Yield every known host."""

    def close(self) -> None:
        """Make everything safe, and let go of what is in flight: that will be handed out again."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def is_page(status: int, reason: str) -> bool:
    """Tell whether a finished URL counts as a page: it was answered, by neither a redirect nor a sitemap."""
    return status > 0 and reason not in ("redirect", "redirects", "sitemap")


def _opener(url: str) -> str | None:
    return next((name for start, name in _OPENERS.items() if url.startswith(start)), None)


def is_replicated(url: str) -> bool:
    """Tell whether several nodes have copies of the frontier at a URL, and find each other in Redis."""
    return _opener(url) == _REPLICATED


def services_of(url: str) -> list[str]:
    """Return the addresses of the services of all shards that a URL names, with commas between."""
    return re.split(",(?=unix:|frontier:)", url)


def is_shared(url: str) -> bool:
    """Tell whether many workers share the frontier at a URL."""
    return _opener(url) is not None


def is_begun(url: str) -> bool:
    """Tell whether there may be a crawl to go on with; of a shared one only its service knows."""
    try:
        return is_shared(url) or rocksdb.is_there(Path(url))
    except OSError:  # opening it says what is wrong
        return True


def open_frontier(url: str, **options: Any) -> Frontier:
    """Open the frontier at a URL.

    A path is a directory with a local one on RocksDB. unix:PATH and frontier://HOST:PORT is one that a
    service hands out to its workers; several with commas between are the shards of one. Of
    redis://HOST:PORT/0?crawl=NAME (redislink.py has the other forms) several nodes have copies, and the one
    that leads hands it out.
    """
    opener = _opener(url) or "rdfaspider.frontier.engine.local:LocalFrontier"
    if "://" in url and not is_shared(url):
        raise FrontierUnavailable(
            f"The frontier {without_secrets(url)} is not one this version can open: give the path"
            " of a directory, unix:PATH, frontier://HOST:PORT or redis://HOST:PORT/0."
        )
    frontier: Frontier = resolve_name(opener)(url, **options)
    return frontier
