"""The frontier: which URLs are known, which are to be fetched, and which may be fetched now.

The life of a URL. The modules are named in the order in which they meet it.

1.  A link is found on a page, or a seed is given. `finish` and `put` write it to the inbox
    (tables/links/inbox.py), in the same batch that ends the page.
2.  The sieve (engine/sieve.py) looks up a whole inbox at once. A new URL within the limits
    (engine/admission.py) gets a number, a record in the trie (tables/trie.py) and a place among the waiting
    URLs of its host (tables/waiting.py), where its order ranks it (orders/). A known URL keeps the smaller
    depth.
3.  A new host waits until its address is known (`hosts_to_resolve`, `set_address`). Then it sleeps until its
    delay has passed, and the delay of its server (schedule/schedule.py; the rules are politeness.py). Then it
    is ready, and competes with other ready hosts for its turn. The first turn goes to its robots.txt.
4.  When its turn comes and nothing is at hand, its next URLs are read into a queue page
    (schedule/queue.py), spread so that the hosts are far apart.
5.  `take` hands the URL out under a lease (schedule/leases.py). It is in flight; on disk it still waits, so a
    crash puts it back.
6.  It ends (engine/urls.py): `finish` makes it done, failed or denied, for good; `retry` postpones it
    (tables/postponed.py); `release` puts it back unchanged. Then its host rests. What is known of its page
    is written with its end (tables/pages.py); the sieve finds out whether another page had the same body
    (tables/copies.py).
7.  A done page that is found again by a shorter way passes its better depth on to its links
    (tables/links/outlinks.py), without another fetch.
8.  Its links stay on record by their numbers, as the link graph (tables/links/edges.py). Now and then
    PageRank is computed from it (engine/steering.py), and waiting URLs are ranked by it where their order
    asks for that; it weighs the visits of the next step too.
9.  In a crawl with revisits a page is kept with a due time (tables/visits.py), by what another visit will
    bring (focus/visits/). When it is due, its host is woken, and it is handed out again
    (engine/revisits/). Prices follow the load.

A URL is unknown, waiting, in flight, kept, or finished: done, failed or denied. These guarantees are held by
tests over every implementation (tests/frontier/test_contract.py, test_revisits.py):

G1  Nothing is lost. A URL that `put` or `finish` took in is handed out, or ends in a named state, through
    `kill -9` at any instant. What is beyond a limit is not taken in; it is counted by reason.
G2  Nothing twice. A URL is handed out again only after a crash, an expired lease, a requested retry, when the
    next visit of a kept page is due, or when a shorter way to it was found whose links are no longer on
    record.
G3  Polite. Two fetches of one host are never closer than its delay, from the end of one to the start
    of the next, nor more at once than its limit, across restarts too. The same holds for the server at
    one address, whatever names its hosts have, where the rules ask for it (`Politeness.server_pause`).
G4  Ready head. `take` returns a URL if and only if one is ready, in O(log hosts), and `wait` says
    when the next will be.
G5  Bounded memory. Memory grows with the hosts that have URLs waiting, not with the URLs.
G6  Order-free depth. Which pages a depth-limited crawl visits does not depend on timing.
G7  It adds up: seen = waiting + in flight + done + failed + denied + kept, at any moment.

The rooms: `engine/` is the frontier of one process. It stores its state in `tables/`, and chooses the next
URL with `schedule/` and `orders/`. `views/` shows it to people. limits.py says how much is taken in and how
many redirects are followed, sharding.py which shard has which host. The package `service` serves a frontier
to many workers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypedDict, Unpack

import msgspec

from rdfaspider import rocksdb
from rdfaspider.closable import Closable
from rdfaspider.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.politeness import Demand, Experience

State = Literal["done", "failed", "denied"]

# How the URLs of frontiers in other processes begin.
_REPLICATED = ("redis://", "rediss://", "redis+unix://", "redis+sentinel://", "rediss+sentinel://")
_SERVED = ("unix:", "frontier:")


class FrontierUnavailable(OSError):
    """Explains in a sentence why a frontier cannot be used, and what to do about it."""


class Visit(NamedTuple):
    """What is known of a kept page from the visits before.

    time          of the last visit
    etag, last_modified  validators as its server sent them, "" if it sent none
    misses        how many times in a row it was not found
    missed_since  time of the first of these
    weight        how much its graph was worth, in triples, to within some per cent
    """

    time: float
    etag: str = ""
    last_modified: str = ""
    misses: int = 0
    missed_since: float = 0.0
    weight: float = 0.0


class Keep(NamedTuple):
    """What an ended visit says for the next one (`Ending.keep`): the page is kept, and visited again.

    changed  whether the page has changed since the visit before; None if nobody can tell, as at a first
             visit, or when there was no answer
    weight   how much its graph is worth, in triples; None if it is what it was
    etag, last_modified  validators for the next visit, as its server sent them
    soonest  seconds before which its server asks not to come back (Cache-Control)
    missed   it was not found: what is known of it stays, and it is tried again in a day

    A visit after others that names neither a change nor a weight had no answer: what is known of the page
    stays, its validators, its misses and the time of its last visit too.
    """

    changed: bool | None = None
    weight: float | None = None
    etag: str = ""
    last_modified: str = ""
    soonest: float = 0.0
    missed: bool = False

    @property
    def is_answered(self) -> bool:
        """Return whether the server said anything about the page."""
        return self.changed is not None or self.weight is not None


@dataclass(slots=True, eq=False)
class Taken:
    """A URL in flight: what `take` returns and `finish`, `retry` or `release` take back.

    `depth` decreases while the URL is in flight if a shorter way to it is found. `number` identifies the
    URL for life, `host` its host within the frontier. `hops` counts the consecutive redirects that led to
    the URL when it was first found. `hint` belongs to the order. `visit` has the visits before, if the page
    was kept to be visited again.
    """

    url: str
    depth: int
    attempts: int
    number: int
    host: int
    hint: int = 0
    hops: int = 0
    visit: Visit | None = None


class Beside(TypedDict, total=False):
    """What a page has beside the links that are followed, for the link graph (tables/links/edges.py).

    nofollow   links within the crawl that the page asks not to follow
    canonical  the page that it names as its canonical form, if that is another
    outside    how many links lead out of the crawl, by host
    media      how many images, sounds and films are on the page, by kind (items.py)
    unlinked   how many of the last links that are taken in are not on the page: guesses, or a list of pages
    """

    nofollow: Sequence[str]
    canonical: str
    outside: dict[str, int]
    media: dict[str, int]
    unlinked: int


class Ending(TypedDict, total=False):
    """How a URL ended, besides its state and its links (`Frontier.finish`).

    `abroad` and `told` are for a shard (sharding.py): `abroad` has the page's links to other shards; their
    contexts follow those of its own links. `told` is the depth of the page when those shards received the
    links, None if they did not.

    `row` has what is known of the page, packed by rdfaspider/pages/row.py.

    With `keep` the URL does not end for good, whatever its state: the page is kept, and handed out again when
    its next visit is due. Without it, or in a crawl without revisits, it ends as its state says. With a
    `status` of 304 nothing was read: the links on record stay.
    """

    depth_step: int
    hops: int
    gain: float
    contexts: Sequence[int]
    reason: str
    status: int
    abroad: Sequence[str]
    told: int | None
    beside: Beside
    row: bytes
    keep: Keep


@dataclass(slots=True)
class Counts:
    """How many URLs are in each state, and how many links were turned away, by reason (limits.py).

    `kept` are done pages that will be visited again. `copies` are pages whose body another page had before.
    `topics` has the number of pages by the best topic of each.
    `pages` is how many pages were read, each visit counted.
    """

    waiting: int
    in_flight: int
    done: int
    failed: int
    denied: int
    rejected: dict[str, int]
    copies: int = 0
    kept: int = 0
    topics: dict[str, int] = field(default_factory=dict)
    pages: int = 0

    @property
    def seen(self) -> int:
        ended = self.done + self.failed + self.denied + self.kept
        return self.waiting + self.in_flight + ended

    @classmethod
    def total(cls, parts: Iterable[Counts]) -> Counts:
        """Return the counts of a crawl by those of its shards."""
        each = list(parts)
        rejected: Counter[str] = Counter()
        topics: Counter[str] = Counter()
        for counts in each:
            rejected.update(counts.rejected)
            topics.update(counts.topics)
        names = ("waiting", "in_flight", "done", "failed", "denied", "copies", "kept", "pages")
        sums = {name: sum(getattr(counts, name) for counts in each) for name in names}
        return cls(**sums, rejected=dict(rejected), topics=dict(topics))


class HostView(msgspec.Struct, gc=False):
    """One host as people see it: `ready` is the time of its next fetch, `why` the reason it waits.

    There may be millions, so it is quick to make, and the garbage collector does not look at it.
    """

    name: str
    waiting: int
    in_flight: int
    done: int
    failed: int
    delay: float
    ready: float
    why: str
    kept: int = 0


@dataclass(slots=True)
class UrlView:
    """One URL as people see it; unknown fields are None.

    `number` is its number for life, `attempts` counts its fetches. `reason`, `status` and `time` are those of
    the last attempt, if it failed. `referrer` is the page on which the link was first found. In a crawl with
    topics, `topic` is that of the page or, before it is read, the one that the links to it suggest. `rank` is
    its PageRank when that was last computed (engine/steering.py); the mean is 1.
    """

    url: str
    state: str
    depth: int
    number: int | None = None
    attempts: int | None = None
    status: int | None = None
    reason: str | None = None
    time: float | None = None
    referrer: str | None = None
    topic: str | None = None
    rank: float | None = None


@dataclass(slots=True)
class BranchView:
    """A branch of the trie as people see it: a site, a folder, or a page, with its URLs by state.

    `weighed` are some of its pages, those whose rows were looked at, and `triples` is how many these have.
    """

    name: str
    waiting: int = 0
    done: int = 0
    failed: int = 0
    denied: int = 0
    kept: int = 0
    weighed: int = 0
    triples: int = 0

    @property
    def urls(self) -> int:
        return self.waiting + self.done + self.failed + self.denied + self.kept


class Inspector(Protocol):
    """What people can see of a frontier, and try again."""

    def counts(self) -> Counts: ...

    def hosts(self, now: float) -> Iterator[HostView]: ...

    def url(self, url: str) -> UrlView | None:
        """Return what is known of a normalised URL, None if nothing is."""

    def ranks(self, urls: Iterable[str]) -> dict[str, float]:
        """Return the PageRank of those URLs that have one, 1 for the mean."""

    def ended(self, state: State, pattern: str = "") -> Iterator[UrlView]:
        """Yield the URLs that ended in a state and match a regular expression."""

    def under(self, prefix: bytes) -> Iterator[BranchView]:
        """Yield the branches one step below a prefix of keys (urls/keys.py)."""


@dataclass(slots=True)
class Hooks:
    """What a shared frontier asks of the worker that uses it.

    notify      is called, in another thread, when something new may be ready
    room        returns how many fetches could begin now
    growth      returns how much this worker's counters have grown since the last call
    lines       returns the lines logged since the last call: time, level, text
    instructed  is called with the instructions for all workers when they have changed
    """

    notify: Callable[[], None] = lambda: None
    room: Callable[[], int] = lambda: 4
    growth: Callable[[], dict[str, int]] = dict
    lines: Callable[[], list[tuple[float, str, str]]] = list
    instructed: Callable[[dict[str, str]], None] = lambda told: None


class Frontier(Closable, Protocol):
    """What a crawl needs from a frontier. All times are seconds, by the caller's clock."""

    @property
    def is_shared(self) -> bool:
        """Return whether other workers use it too."""

    @property
    def order(self) -> str:
        """Return the name of the order in which it hands out URLs."""

    @property
    def limits(self) -> FrontierLimits:
        """Return the limits in force, as far as they concern a worker."""

    @property
    def state(self) -> str:
        """Return the instruction to all workers: run, pause or stop."""

    @property
    def is_settled(self) -> bool:
        """Return whether everything passed in so far is safe."""

    def attach(self, hooks: Hooks) -> None:
        """Set the hooks of the worker, if the frontier is shared."""

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Call `recall` with a note whenever another worker has changed it.

        The note is a JSON array or an object of arrays, and setting it adds to them. `recall` is called
        before any URL taken in after the change is handed out.
        """

    def say(self, name: str, **words: Any) -> None:
        """Report an event to the owner of the service, if there is one."""

    def put(self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = ()) -> None:
        """Take in normalised URLs found at a depth; known URLs keep the smaller depth.

        URLs of depth 0 are seeds, which no limit turns away. Many URLs are taken in in several steps, each
        of them atomic. `contexts` is for the order, as in `finish`.
        """

    def knows(self, url: str) -> bool:
        """Return whether a normalised URL was taken in and looked up."""

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
        **said: Unpack[Ending],
    ) -> None:
        """End a URL and take in its links, `depth_step` (1) deeper than it, in one step.

        A redirect is a URL with one link at its own depth and the `hops` that led there, 31 at most. If the
        URL failed or was denied, `reason` and the `status` of the answer are kept for people.

        For orders that learn (scheduler/answers/advice.py): `gain` is what the page was worth, or its topic,
        and `contexts` has a number for each link that describes its page and its words.
        """

    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        """Put a URL back; it is handed out again after `after` seconds or later.

        `reason` and `status` are kept until it is done.
        """

    def expect(self, changes: Iterable[tuple[str, float]]) -> None:
        """Take signals of change: normalised URLs, each with the time since which its page is another.

        A kept page that was not visited since becomes due, as far as the signals of its host were right
        before. Other URLs are ignored.
        """

    def release(self, taken: Taken, now: float) -> None:
        """Put a URL back unchanged: it was not fetched, but the turn of its host is used up."""

    def report(self, host: int, now: float, fetch: Experience) -> None:
        """Record how a fetch of a host went; it counts from the next `finish`."""

    def slow_down(self, host: int, now: float, demand: Demand) -> None:
        """Do what is asked for a host; it counts at once."""

    def borrow(self, host: int | None, url: str, address: str, now: float) -> float:
        """Take the turn of another host, known or not, for a page of `host` in flight, if any.

        Return 0.0 if the fetch of `url` may begin. Then the caller must `repay` when it has ended; the host
        of `url`, and the server at its address ("" if unknown), rest from then on. Otherwise return the
        seconds after which to ask again. No turn is needed of the page's own server.
        """

    def repay(self, url: str, now: float) -> None:
        """Return a borrowed turn: the fetch has ended."""

    def hosts_to_resolve(self, most: int) -> list[tuple[int, str]]:
        """Return up to `most` hosts that have URLs and need an address, with their names.

        Each is returned once, and again if it has no address after the time of a lease. There are none if
        servers do not matter (`Politeness.has_servers`). While any wait, `wait` is at most a lease.
        """

    def set_address(self, host: int, address: str) -> None:
        """Set the address of a host's server; "" means a server for this host alone.

        A host may move: its next fetch keeps the delay of the new server.
        """

    def note(self, name: str) -> bytes | None:
        """Return a note, None if there is none."""

    def set_note(self, name: str, value: bytes) -> None:
        """Store a note with the frontier, under a name."""

    def counts(self) -> Counts:
        """Return how many URLs are in each state; links in the inbox are looked up first.

        Call it about once a second. After `close` it returns the final counts.
        """

    def hosts(self, now: float) -> Iterator[HostView]:
        """Yield every known host."""

    def close(self) -> None:
        """Make everything safe and release what is in flight: it will be handed out again."""


def is_page(status: int, reason: str) -> bool:
    """Return whether a finished URL counts as a page: it had an answer, no redirect, sitemap or feed."""
    return status > 0 and reason not in ("redirect", "redirects", "sitemap", "feed")


def is_replicated(url: str) -> bool:
    """Return whether several nodes have copies of the frontier at a URL, and find each other in Redis."""
    return url.startswith(_REPLICATED)


def services_of(url: str) -> list[str]:
    """Return the addresses of the services in a URL, which are separated by commas."""
    return re.split(",(?=unix:|frontier:)", url)


def is_shared(url: str) -> bool:
    """Return whether many workers share the frontier at a URL."""
    return url.startswith((*_REPLICATED, *_SERVED))


def is_begun(url: str) -> bool:
    """Return whether there may be a crawl to resume; only its service knows this of a shared one."""
    try:
        return is_shared(url) or rocksdb.is_there(Path(url))
    except OSError:  # opening it says what is wrong
        return True


def open_frontier(url: str, **options: Any) -> Frontier:
    """Open the frontier at a URL.

    A path is a directory with a local frontier on RocksDB. unix:PATH and frontier://HOST:PORT name a
    service; several, separated by commas, are the shards of one crawl. redis://HOST:PORT/0?crawl=NAME
    (redislink.py has the other forms) names a crawl whose nodes have copies of the frontier, and whose
    leader serves it.
    """
    # By name: the service is in a higher layer, and a crawl of one process does not import it.
    if is_replicated(url):
        opener = "rdfaspider.service.replica.client:open_replicated"
    elif is_shared(url):
        opener = "rdfaspider.service.shards.opening:open_served"
    elif "://" not in url:
        opener = "rdfaspider.frontier.engine.local:LocalFrontier"
    else:
        raise FrontierUnavailable(
            f"This version cannot open the frontier {without_secrets(url)}: give the path"
            " of a directory, unix:PATH, frontier://HOST:PORT or redis://HOST:PORT/0."
        )
    frontier: Frontier = resolve_name(opener)(url, **options)
    return frontier
