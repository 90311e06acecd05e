"""The messages between workers and the service: one small class each.

A worker sends `Greeting` first and receives `Welcome`. Then each `Exchange` has the operations that the
worker did, in order, and what it wants; the `Reply` has that. A `Question` gets an `Answer`. If the service
cannot do something, it sends a `Refusal`. A message is checked against its class when it is read (wire.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from rdfaspider.frontier import Counts, Ending, State, Visit
from rdfaspider.frontier.politeness import Demand, Experience
from rdfaspider.frontier.sharding import Shard
from rdfaspider.frontier.tables.links.outbox import Owed
from rdfaspider.stores.changes import Change

# Increases when anything in this module changes.
VERSION = 9

# Time, level and text.
LogLine = tuple[float, str, str]


class Hello(Struct):
    """The first message of the service, in JSON, so that any two versions can recognise each other."""

    version: int
    challenge: str


# --- what a worker did ---


class Operation(Struct, array_like=True, tag=True):
    """Something that a worker did. A `grant` is the number by which it knows a URL that it holds."""


class Put(Operation):
    urls: list[str]
    depth: int
    contexts: list[int]
    hops: int


class End(Operation):
    grant: int
    state: State
    links: list[str]
    said: Ending


class Retry(Operation):
    grant: int
    after: float
    reason: str
    status: int


class Release(Operation):
    grant: int


class Expect(Operation):
    """Signals of change: URLs, each with the time since which its page is another."""

    changes: list[tuple[str, float]]


class Report(Operation):
    host: int
    fetch: Experience


class SlowDown(Operation):
    host: int
    demand: Demand


class SetAddress(Operation):
    host: int
    address: str


class Repay(Operation):
    """The fetch has ended for which the turn of a host was borrowed."""

    url: str


class GiveBack(Operation):
    """The fetch has ended for which the turn of a server was lent."""

    name: str


class Forwarded(Operation):
    """Other shards have the links of a page, at a depth of the links."""

    page: str
    depth: int


class OtherFloor(Operation):
    """The smallest unfinished depth of the other shards."""

    depth: int


class SetNote(Operation):
    name: str
    value: bytes


class AddToNote(Operation):
    name: str
    value: bytes


class Happened(Operation):
    """An event for the owner of the service."""

    name: str
    words: dict[str, Any]


Operations = (
    Put
    | End
    | Retry
    | Release
    | Expect
    | Report
    | SlowDown
    | SetAddress
    | Repay
    | GiveBack
    | Forwarded
    | OtherFloor
    | SetNote
    | AddToNote
    | Happened
)

# --- what a worker sends ---


class Borrow(Struct, array_like=True):
    """Asks for the turn of the host of a URL, for a page of `host`; `alone` excludes the turn of its
    server."""

    host: int | None
    url: str
    address: str
    alone: bool


class ServerTurn(Struct, array_like=True):
    """The named turn of the server at an address, for a page of a shard."""

    name: str
    address: str
    shard: int = 0


class Hold(Struct, array_like=True):
    """A URL that a worker has held since before it connected."""

    grant: int
    url: str
    host: int


class Greeting(Struct, tag=True, kw_only=True):
    """Who connects, and what it holds. `run` distinguishes two runs of the same name; onlookers have no
    name.

    `grants` is the highest grant that it knows, `watched` are the notes that it wants to follow.
    """

    name: str
    run: str
    now: float
    about: dict[str, str | int]
    watched: list[str]
    grants: int
    holds: list[Hold]
    server_turns: list[ServerTurn]
    challenge: str = ""
    proof: str = ""


class Exchange(Struct, tag=True, omit_defaults=True, kw_only=True):
    """What a worker did, and what it wants: URLs, hosts to resolve, turns, links to forward to other
    shards, the counts; None or empty if not. Its counters have grown by `stats`."""

    number: int = 0
    now: float = 0.0
    did: list[Operations] = []
    want: int | None = None
    hosts_to_resolve: int | None = None
    borrow: list[Borrow] = []
    server_turns: list[ServerTurn] = []
    owed: int | None = None
    look: Literal["no", "roughly", "exactly"] = "no"
    watch: list[str] = []
    stats: dict[str, int] = {}
    log: list[LogLine] = []


class Question(Struct, tag=True, kw_only=True):
    now: float = 0.0


class ReadNote(Question):
    name: str


class Knows(Question):
    url: str


class FindUrl(Question):
    url: str


class ReadRanks(Question):
    """Asks for the PageRank of those URLs that have one."""

    urls: list[str]


class ListHosts(Question):
    """Asks for the next hosts, or for the first (`begin`)."""

    begin: bool


class ListEnded(Question):
    """Asks for the next URLs that ended in a state, or for the first (`begin`); likewise `Requeue` and
    `Retire`."""

    begin: bool
    state: State
    pattern: str


class ListBranches(Question):
    begin: bool
    prefix: bytes


class Requeue(Question):
    begin: bool
    pattern: str
    reason: str = ""


class Retire(Question):
    begin: bool
    pattern: str


class Tell(Question):
    name: str
    value: str


class ReadLog(Question):
    most: int
    level: str


class ListWorkers(Question):
    pass


class Leave(Question):
    pass


class StoreChanges(Question):
    changes: list[Change]


class MakeCopy(Question):
    pass


class ReadCopy(Question):
    copy: int
    file: str
    start: int


Said = (
    Exchange
    | ReadNote
    | Knows
    | FindUrl
    | ReadRanks
    | ListHosts
    | ListEnded
    | ListBranches
    | Requeue
    | Retire
    | Tell
    | ReadLog
    | ListWorkers
    | Leave
    | StoreChanges
    | MakeCopy
    | ReadCopy
)

# --- what the service sends ---


class Welcome(Struct, tag=True, kw_only=True):
    """Describes the crawl to a worker, and which of its grants it still has.

    `learns` says that its order learns from each page, and wants little read ahead.
    """

    run: str
    order: str
    learns: bool
    depth: int
    dynamic_depth: int
    shard: Shard
    kept: list[int]
    proof: str = ""


class Granted(Struct, array_like=True):
    """A URL for a worker. `server` is its server's address, if other shards may have hosts there."""

    grant: int
    url: str
    depth: int
    attempts: int
    number: int
    host: int
    hint: int
    hops: int
    server: str
    visit: Visit | None = None


class Reply(Struct, tag=True, omit_defaults=True, kw_only=True):
    """What a worker has asked for. `wait` is set if it got fewer URLs than it wants; then `puts` identifies
    how much the service had taken in. `depths` has the depths of the URLs that it holds."""

    number: int
    granted: list[Granted] = []
    wait: float | UnsetType | None = UNSET
    puts: str = ""
    hosts_to_resolve: list[tuple[int, str]] = []
    lent: list[float] = []
    server_turns: list[float] = []
    owed: list[Owed] = []
    counts: Counts | None = None
    depths: list[tuple[int, int]] = []
    floor: int | None = None
    notes: dict[str, bytes] = {}


class Answer(Struct, tag=True):
    """The answer to a question; the asker knows its type."""

    value: Raw


class Refusal(Struct, tag=True):
    """Explains in a sentence why the service refuses."""

    sentence: str


Told = Welcome | Reply | Answer | Refusal

# --- what answers are made of ---


class Found(Struct):
    """A part of the results; `is_over` is set in the last."""

    rows: list[Any]
    is_over: bool


class Copy(Struct):
    """A copy of the frontier: its number, the log position that it certainly includes, the leader's number,
    and its files."""

    copy: int
    position: str
    number: int
    files: dict[str, int]


@dataclass(slots=True)
class WorkerView:
    """One worker as people see it; `silent` is the seconds since its last message."""

    name: str
    about: dict[str, str | int]
    held: int
    ended: int
    silent: float
