"""What is in Redis of a crawl whose frontier is replicated: lease, nodes, secret and log.

    {NAME}:crawl   kind (log), id, secret, order; number: that of the last leader; place: its machine and its
                   directory; mark: its number, its name and how many entries it has added; trimmed: where the
                   log begins
    {NAME}:lease   the name of the node that leads, for LEASE seconds
    {NAME}:nodes   the names of nodes by when they were last heard of
    {NAME}:about   what is known of each, as JSON
    {NAME}:log     a stream of entries

Of a crawl with several shards {NAME}:crawl has kind (shards) and their number, and the first shard has
{NAME/1}:crawl and so on.

Everything that decides who leads is a script (scripts.py), and so done at once or not at all.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import redis

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.redislink import AsyncRedisLink, Primary, RedisLink, split_query
from rdfaspider.secrets import without_secrets
from rdfaspider.service.replica import AWAY_AFTER, LEASE, scripts

if TYPE_CHECKING:
    from collections.abc import Callable

BEGINNING = "0-0"
# The name of a crawl whose URL has none.
DEFAULT_NAME = "rdfa"
# Entries that are kept at most, and that a standby reads at a time.
_KEPT = 50_000
_READ = 200
# Seconds after which a call of Redis has failed, and that a standby waits for entries.
_TIMEOUT = 5.0
_BLOCK = 0.3


@dataclass(frozen=True, slots=True)
class View:
    """What Redis knows: the number of the last leader, where the log begins, on which machine and in which
    directory that leader has its copy, who leads now, and who is there."""

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
        """Return the directory with the copy of the last leader, None if it is on another machine."""
        host, _, path = self.place.partition(" ")
        return Path(path) if path and host == socket.gethostname() else None

    def is_whole_from(self, position: str) -> bool:
        """Tell whether the log has all that came after a position."""
        return place_of(position) >= place_of(self.trimmed) or self.trimmed == BEGINNING


def place_of(position: str) -> tuple[int, int]:
    """Return a position as what can be compared."""
    time, _, count = position.partition("-")
    return int(time), int(count)


class Keys:
    """The keys of a crawl, and where its Redis is; FrontierUnavailable if the URL makes no sense."""

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

    def own_address(self) -> str:
        """Return the address by which this machine reaches Redis, and so may be reached."""
        try:
            there = urlsplit(self._primary.find()[0])
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
    """Return how a crawl is begun: its identity, its secret and its order."""
    return ["id", identity or os.urandom(8).hex(), "secret", os.urandom(16).hex(), "order", order]


def of_open(keys: Keys, row: list[Any]) -> tuple[list[str], float]:
    """Return the terms of a crawl, and the time of Redis, that opening it has told."""
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

    `terms` is how the crawl was begun, and `offset` what to add to this machine's clock for that of Redis.
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
        """Begin the crawl, or go on with it; return its order. FrontierUnavailable if it cannot be."""
        row = await self._redis.run(scripts.OPEN, [self.keys.crawl], *new_terms(order, identity))
        self.terms, now = of_open(self.keys, row)
        self.offset = now - clock()
        return self.terms[5]

    async def evicts(self) -> str:
        """Return the policy by which this Redis throws keys away, "" if it does not."""
        try:
            memory = await self._redis.call("info", "memory")
        except redis.ResponseError:  # it may not be asked
            return ""
        policy = str(memory.get("maxmemory_policy", ""))
        return policy if memory.get("maxmemory") and policy != "noeviction" else ""

    async def look(self, within: float = AWAY_AFTER) -> View:
        """Return what Redis knows, with the nodes that were heard of within so many seconds."""
        keys = self.keys
        names = [keys.crawl, keys.lease, keys.nodes, keys.about]
        return View.read(await self._redis.run(scripts.LOOK, names, within))

    async def beat(self, **about: Any) -> None:
        """Say that this node is here."""
        said = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), **about})
        await self._redis.run(scripts.BEAT, [self.keys.nodes, self.keys.about], self.name, said)

    async def leave(self) -> None:
        """Say that this node ends; if it leads, another may at once."""
        keys = [self.keys.lease, self.keys.nodes, self.keys.about]
        await self._redis.run(scripts.LEAVE, keys, self.name)

    async def take(self, least: int, path: Path | None = None) -> int:
        """Take the lease with the copy in a directory; return this leader's number, 0 if another has it."""
        keys = [self.keys.crawl, self.keys.lease]
        place = f"{socket.gethostname()} {path.absolute() if path else ''}"
        words = (self.name, least, _milliseconds(LEASE), place, *self.terms)
        return int(await self._redis.run_safely(scripts.TAKE, keys, *words))

    async def keep(self, number: int, count: int, entry: bytes, *, begins: bool = False) -> str:
        """Renew the lease, and add an entry if there is one, as the so-maniest; return its position.

        It is "gone" if another node has led since, and "lost" if Redis has lost what was added. With
        `begins` whoever follows needs a copy that was made after it.
        """
        keys = [self.keys.crawl, self.keys.lease, self.keys.log]
        flag = "yes" if begins else ""
        words = (self.name, number, _milliseconds(LEASE), count, entry, flag)
        return str((await self._redis.run_safely(scripts.KEEP, keys, *words)).decode())

    async def trim(self, number: int, position: str) -> None:
        """Drop what comes before a position, and what is too much."""
        await self._redis.look_for_replicas()
        await self._redis.run(
            scripts.TRIM, [self.keys.crawl, self.keys.log], number, position, _KEPT
        )

    async def read(self, position: str, *, waits: bool) -> list[tuple[str, bytes]]:
        """Return the next entries after a position, with theirs."""
        block = _milliseconds(_BLOCK) if waits else None
        streams = await self._redis.call(
            "xread", {self.keys.log: position}, count=_READ, block=block
        )
        entries = streams[0][1] if streams else []
        return [(place.decode(), fields[b"z"]) for place, fields in entries]

    async def close(self) -> None:
        await self._redis.close()


class Onlooker:
    """A worker's view of Redis, without a loop."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self._redis = RedisLink(keys.url, keys.name, _TIMEOUT)

    def look(self) -> View:
        """Return what Redis knows; ConnectionError if it is away."""
        keys = self.keys
        try:
            names = [keys.crawl, keys.lease, keys.nodes, keys.about]
            return View.read(self._redis.run(scripts.LOOK, names, AWAY_AFTER))
        except redis.RedisError as error:
            raise ConnectionError(f"Redis does not answer: {error}") from error

    def shards(self, wanted: int) -> int:
        """Return how many shards the crawl has, as many as are wanted if it is begun by this; ConnectionError
        if Redis is away."""
        try:
            return int(self._redis.run(scripts.SHARDS, [self.keys.crawl], wanted))
        except redis.RedisError as error:
            raise ConnectionError(f"Redis does not answer: {error}") from error

    def claim(self, name: str, most: int) -> bool:
        """Take a place among the nodes, unless there are so many already."""
        try:
            return bool(self._redis.run(scripts.CLAIM, [self.keys.nodes], name, most, AWAY_AFTER))
        except redis.RedisError:
            return False

    def close(self) -> None:
        self._redis.close()


def begun_order(url: str) -> str:
    """Return the order that a crawl was begun with, "" if it was not; FrontierUnavailable without Redis."""
    for each in (url, shard_url(url, 0)):
        onlooker = Onlooker(Keys(each))
        try:
            if order := onlooker.look().order:
                return order
        except ConnectionError as error:
            raise FrontierUnavailable(absent(onlooker.keys, error)) from error
        finally:
            onlooker.close()
    return ""


def shard_url(url: str, number: int) -> str:
    """Return the URL of a shard, which is counted from 0, of the crawl at a URL."""
    place, _, words = url.partition("?")
    query = parse_qs(words)
    query["crawl"] = [f"{Keys(url).name}/{number + 1}"]
    return f"{place}?{urlencode(query, doseq=True, safe='/')}"


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
