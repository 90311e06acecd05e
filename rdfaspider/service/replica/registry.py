"""What is in Redis of a crawl whose frontier is replicated: lease, nodes, secret and log.

    {NAME}:crawl   kind (log), id, secret, order; number: the last leader's; place: its machine and directory;
                   mark: its number, its name and how many entries it has added; trimmed: where the log begins
    {NAME}:lease   the name of the leading node, for LEASE seconds
    {NAME}:nodes   the names of nodes by the time of their last sign of life
    {NAME}:about   a description of each, as JSON
    {NAME}:log     a stream of entries

With several shards, {NAME}:crawl has kind (shards) and their number, the first shard has {NAME/1}:crawl
and so on.

Everything that decides who leads is a script (scripts.py), and so atomic.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import redis

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.redislink import AsyncRedisLink, Primary, RedisLink, Script, split_query
from rdfaspider.secrets import without_secrets
from rdfaspider.service.replica import AWAY_AFTER, LEASE, scripts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BEGINNING = "0-0"
# The name of a crawl whose URL has none.
DEFAULT_NAME = "rdfa"
# The most entries in the log, and entries that a standby reads at a time.
_KEPT = 50_000
_READ = 200
# Seconds after which a Redis call has failed, and for which a standby waits for entries.
_TIMEOUT = 5.0
_BLOCK = 0.3


@dataclass(frozen=True, slots=True)
class View:
    """What Redis knows: the number of the last leader, where the log begins, the machine and directory of
    that leader's copy, the present leader, and the nodes."""

    number: int
    trimmed: str
    secret: str
    order: str
    place: str
    leader: str
    nodes: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, row: list[Any]) -> View:
        number, trimmed, secret, order, place, leader = (each.decode() for each in row[:6])
        names = [name.decode() for name in row[6]]
        about = [json.loads(each) for each in row[7]]
        nodes = dict(zip(names, about, strict=True))
        return cls(int(number), trimmed, secret, order, place, leader, nodes)

    @property
    def copy_here(self) -> Path | None:
        """Return the directory of the last leader's copy, None if it is on another machine."""
        host, _, path = self.place.partition(" ")
        return Path(path) if path and host == socket.gethostname() else None

    def is_whole_from(self, position: str) -> bool:
        """Return whether the log has all that came after a position."""
        return place_of(position) >= place_of(self.trimmed) or self.trimmed == BEGINNING


def place_of(position: str) -> tuple[int, int]:
    """Return a position in a form that can be compared."""
    time, _, count = position.partition("-")
    return int(time), int(count)


class Keys:
    """The keys of a crawl, and where its Redis is; FrontierUnavailable if the URL is invalid."""

    def __init__(self, url: str) -> None:
        self.shown = without_secrets(url)
        try:
            self.url, self.name = split_query(url, "crawl", DEFAULT_NAME)
            self._primary = Primary(self.url, self.name, _TIMEOUT)
        except ValueError as error:
            raise FrontierUnavailable(str(error)) from error
        if not self.name or set(self.name) & set("{}* "):
            raise FrontierUnavailable(
                f"{self.name!r} is no name for a crawl: use letters and digits."
            )
        tag = f"{{{self.name}}}"
        self.crawl, self.lease = f"{tag}:crawl", f"{tag}:lease"
        self.nodes, self.about, self.log = f"{tag}:nodes", f"{tag}:about", f"{tag}:log"
        self.looked_at = [self.crawl, self.lease, self.nodes, self.about]

    def own_address(self) -> str:
        """Return the address by which this machine reaches Redis, and so may be reached."""
        try:
            there = urlsplit(self._primary.find())
            if there.hostname is None:  # a socket of this machine
                return "127.0.0.1"
            port = there.port or 6379
            family, kind, protocol, _, place = socket.getaddrinfo(
                there.hostname, port, type=socket.SOCK_DGRAM
            )[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(place)  # nothing is sent
                return str(probe.getsockname()[0])
        except (OSError, redis.RedisError) as error:
            raise FrontierUnavailable(absent(self, error)) from error


def absent(keys: Keys, error: object) -> str:
    """Return the sentence about a Redis that does not answer."""
    return (
        f"Redis at {keys.shown} does not answer ({error}): start it, or name another with"
        " -s FRONTIER_URL=…"
    )


def new_terms(order: str, identity: str) -> list[str]:
    """Return the terms of a new crawl: its identity, its secret and its order."""
    return ["id", identity or os.urandom(8).hex(), "secret", os.urandom(16).hex(), "order", order]


def of_open(keys: Keys, row: list[Any]) -> tuple[list[str], float]:
    """Return the terms of a crawl, and the time of Redis, from the result of OPEN."""
    if row == [b"shards"]:
        raise FrontierUnavailable(
            f"The crawl {keys.name} in {keys.shown} has just been begun with several shards: start again."
        )
    if len(row) == 1:
        raise FrontierUnavailable(
            f"The crawl {keys.name} in {keys.shown} was begun by a version that kept the frontier in Redis"
            " itself: end it with that version, or begin another with crawl=NAME in FRONTIER_URL; what it has"
            " stored stays."
        )
    identity, secret, order = (each.decode() for each in row[:3])
    terms = ["id", identity, "secret", secret, "order", order]
    return terms, int(row[3]) + int(row[4]) / 1e6


class Registry:
    """A node's view of Redis. Each method raises redis.RedisError when Redis is away.

    `terms` are those of the crawl; `offset` is what to add to this machine's clock for that of Redis.
    """

    def __init__(self, keys: Keys, name: str) -> None:
        self.keys = keys
        self.name = name
        self.terms: list[str] = []
        self.offset = 0.0
        self._redis = AsyncRedisLink(keys.url, keys.name, _TIMEOUT)

    @property
    def identity(self) -> str:
        return self.terms[1]

    @property
    def secret(self) -> str:
        return self.terms[3]

    async def open(self, order: str, clock: Callable[[], float], identity: str = "") -> str:
        """Begin the crawl, or resume it; return its order. FrontierUnavailable if that is impossible."""
        row = await self._redis.run(scripts.OPEN, [self.keys.crawl], *new_terms(order, identity))
        self.terms, now = of_open(self.keys, row)
        self.offset = now - clock()
        return self.terms[5]

    async def evicts(self) -> str:
        """Return the policy by which this Redis evicts keys, "" if it does not."""
        try:
            memory = await self._redis.call("info", "memory")
        except redis.ResponseError:  # INFO may be forbidden
            return ""
        policy = str(memory.get("maxmemory_policy", ""))
        return policy if memory.get("maxmemory") and policy != "noeviction" else ""

    async def look(self, within: float = AWAY_AFTER) -> View:
        """Return what Redis knows, with the nodes that showed life within this many seconds."""
        return View.read(await self._redis.run(scripts.LOOK, self.keys.looked_at, within))

    async def beat(self, **about: Any) -> None:
        """Show that this node is alive."""
        said = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), **about})
        await self._redis.run(scripts.BEAT, [self.keys.nodes, self.keys.about], self.name, said)

    async def leave(self) -> None:
        """Remove this node; if it leads, another may at once."""
        keys = [self.keys.lease, self.keys.nodes, self.keys.about]
        await self._redis.run(scripts.LEAVE, keys, self.name)

    async def take(self, least: int, path: Path | None = None) -> int:
        """Take the lease for the copy in a directory; return this leader's number, 0 if another node has
        it."""
        keys = [self.keys.crawl, self.keys.lease]
        place = f"{socket.gethostname()} {path.absolute() if path else ''}"
        words = (self.name, least, _milliseconds(LEASE), place, *self.terms)
        return int(await self._redis.run_safely(scripts.TAKE, keys, *words))

    async def keep(self, number: int, count: int, entry: bytes, *, begins: bool = False) -> str:
        """Renew the lease, and add entry number `count` if there is one; return its position.

        Return "gone" if another node has led since, and "lost" if Redis has lost what was added. With
        `begins`, every follower needs a copy made after this entry.
        """
        keys = [self.keys.crawl, self.keys.lease, self.keys.log]
        flag = "yes" if begins else ""
        words = (self.name, number, _milliseconds(LEASE), count, entry, flag)
        return str((await self._redis.run_safely(scripts.KEEP, keys, *words)).decode())

    async def trim(self, number: int, position: str) -> None:
        """Drop what comes before a position, and what exceeds the limit."""
        await self._redis.look_for_replicas()
        await self._redis.run(
            scripts.TRIM, [self.keys.crawl, self.keys.log], number, position, _KEPT
        )

    async def read(self, position: str, *, waits: bool) -> list[tuple[str, bytes]]:
        """Return the next entries after a position, each with its own."""
        block = _milliseconds(_BLOCK) if waits else None
        streams = await self._redis.call(
            "xread", {self.keys.log: position}, count=_READ, block=block
        )
        entries = streams[0][1] if streams else []
        return [(place.decode(), fields[b"z"]) for place, fields in entries]

    async def close(self) -> None:
        await self._redis.close()


class Onlooker:
    """A worker's view of Redis, without an event loop."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self._redis = RedisLink(keys.url, keys.name, _TIMEOUT)

    def _run(self, script: Script, names: list[str], *words: Any) -> Any:
        try:
            return self._redis.run(script, names, *words)
        except redis.RedisError as error:
            raise ConnectionError(f"Redis does not answer: {error}") from error

    def look(self) -> View:
        """Return what Redis knows; ConnectionError if it is away."""
        return View.read(self._run(scripts.LOOK, self.keys.looked_at, AWAY_AFTER))

    def shards(self, wanted: int) -> int:
        """Return how many shards the crawl has, `wanted` if it begins here; ConnectionError if Redis is
        away."""
        return int(self._run(scripts.SHARDS, [self.keys.crawl], wanted))

    def claim(self, name: str, most: int) -> bool:
        """Take a place among the nodes, unless there are `most` already."""
        try:
            return bool(self._run(scripts.CLAIM, [self.keys.nodes], name, most, AWAY_AFTER))
        except ConnectionError:
            return False

    def close(self) -> None:
        self._redis.close()


@contextmanager
def looking(url: str) -> Iterator[Onlooker]:
    """Yield an onlooker of a crawl; FrontierUnavailable if Redis is away."""
    with closing(Onlooker(Keys(url))) as onlooker:
        try:
            yield onlooker
        except ConnectionError as error:
            raise FrontierUnavailable(absent(onlooker.keys, error)) from error


def begun_order(url: str) -> str:
    """Return the order of a crawl, "" if it has not begun; FrontierUnavailable without Redis."""
    for each in (url, shard_url(url, 0)):
        with looking(each) as onlooker:
            if order := onlooker.look().order:
                return order
    return ""


def shard_url(url: str, number: int) -> str:
    """Return the URL of a shard, counted from 0, of the crawl at a URL."""
    place, _, words = url.partition("?")
    query = parse_qs(words)
    query["crawl"] = [f"{Keys(url).name}/{number + 1}"]
    return f"{place}?{urlencode(query, doseq=True, safe='/')}"


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
