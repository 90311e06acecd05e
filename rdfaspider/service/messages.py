"""What workers and the service say to each other: one small class for each message.

A worker says `Greeting` first and is told `Welcome`. Then each `Exchange` has the operations that the worker
did, in order, and what it wants; the `Reply` has that. A `Question` gets an `Answer`. Whatever the service
cannot do, it answers with a `Refusal`. A message is checked against its class when it is read (wire.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from rdfaspider.frontier import Counts, Ending, State
from rdfaspider.frontier.politeness import Experience
from rdfaspider.frontier.sharding import Shard
from rdfaspider.frontier.tables.outbox import Owed
from rdfaspider.stores.changes import Change

# Goes up when anything in this module changes.
VERSION = 3

# When, at which level, and what a worker has logged.
LogLine = tuple[float, str, str]


class Hello(Struct):
    """The first word of the service, in JSON, so that any two versions can tell each other apart."""

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


class Report(Operation):
    host: int
    fetch: Experience


class SlowDown(Operation):
    host: int
    crawl_delay: float | None
    seconds: float | None


class SetAddress(Operation):
    host: int
    address: str


class Repay(Operation):
    """The fetch has ended for which the turn of a host was borrowed."""

    url: str


class GiveBack(Operation):
    """The fetch has ended for which there was the turn of a server."""

    name: str


class Forwarded(Operation):
    """Other shards know the links of a page, by a depth of these."""

    page: str
    depth: int


class OtherFloor(Operation):
    """Other shards have something unfinished at this depth."""

    depth: int


class SetNote(Operation):
    name: str
    value: bytes


class AddToNote(Operation):
    name: str
    value: bytes


class Happened(Operation):
    """For whoever runs the service."""

    name: str
    words: dict[str, Any]


Operations = (
    Put
    | End
    | Retry
    | Release
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

# --- what a worker says ---


class Borrow(Struct, array_like=True):
    """Asks for the turn of the host of a URL, for a page of `host`; `alone` is without that of its server."""

    host: int | None
    url: str
    address: str
    alone: bool


class ServerTurn(Struct, array_like=True):
    """The turn of the server at an address, by a name, for a page of a shard."""

    name: str
    address: str
    shard: int = 0


class Hold(Struct, array_like=True):
    """A URL that a worker has held since before it connected."""

    grant: int
    url: str
    host: int


class Greeting(Struct, tag=True, kw_only=True):
    """Who connects, with what it holds. `run` tells two of the same name apart; onlookers have no name.

    `grants` is the highest number of a grant that it knows, `watched` are the notes that it wants to be told.
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
    """What a worker did, and what it wants: URLs, hosts to resolve, turns, pages whose links other shards are
    to be told of, the counts; None or nothing if not. Its counters have grown by `stats`."""

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


class ListHosts(Question):
    """Asks for the next hosts, or for the first (`begin`)."""

    begin: bool


class ListEnded(Question):
    """Asks for the next URLs that ended in a state, or for the first; likewise `Requeue`."""

    begin: bool
    state: State
    pattern: str


class Requeue(Question):
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
    | ListHosts
    | ListEnded
    | Requeue
    | Tell
    | ReadLog
    | ListWorkers
    | Leave
    | StoreChanges
    | MakeCopy
    | ReadCopy
)

# --- what the service says ---


class Welcome(Struct, tag=True, kw_only=True):
    """Tells a worker about the crawl, and which of its grants it still has."""

    run: str
    order: str
    depth: int
    dynamic_depth: int
    shard: Shard
    kept: list[int]
    proof: str = ""


class Granted(Struct, array_like=True):
    """A URL for a worker. `server` is the address of its server, if other shards may have hosts there."""

    grant: int
    url: str
    depth: int
    attempts: int
    number: int
    host: int
    hint: int
    hops: int
    server: str


class Reply(Struct, tag=True, omit_defaults=True, kw_only=True):
    """What a worker has asked for. `wait` is there if that was fewer URLs than it wants, `puts` then tells
    how much the service had taken in. `depths` has those of the URLs that it holds."""

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
    """What a question was answered with: who has asked knows its type."""

    value: Raw


class Refusal(Struct, tag=True):
    """Says in a sentence why the service does not do what it was asked for."""

    sentence: str


Told = Welcome | Reply | Answer | Refusal

# --- what answers are made of ---


class Found(Struct):
    """A part of what was found; `is_over` after the last."""

    rows: list[Any]
    is_over: bool


class Copy(Struct):
    """A copy of the frontier: its number, which entries of the log it has for sure, and its files."""

    copy: int
    position: str
    number: int
    files: dict[str, int]


@dataclass(slots=True)
class WorkerView:
    """One worker as people see it; `silent` are the seconds since it was heard of."""

    name: str
    about: dict[str, str | int]
    held: int
    ended: int
    silent: float
