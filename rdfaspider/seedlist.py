"""Seeds that are pushed to Redis, as with scrapy-redis: a list, a set or a sorted set of URLs.

A seed is a URL, or JSON with `url` and optionally `depth` or `meta` with a depth. A reader moves seeds to the
list {KEY}:NAME, and removes them from it when they are safe in the frontier; after a kill it reads them from
there again. So a seed is read at least once, and a second time does no harm.
"""

from __future__ import annotations

import io
import json
import pickle
from typing import TYPE_CHECKING, Any

import redis

from rdfaspider.fetchmeta import MAX_DEPTH
from rdfaspider.redislink import RedisLink, split_query
from rdfaspider.secrets import without_secrets
from rdfaspider.urls.seedfile import seed_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DEFAULT_KEY = "rdfa:start_urls"
# Seeds read at a time.
_MOST = 2_000
# Seconds after which a silent server counts as down.
_TIMEOUT = 10.0

# KEYS: where seeds are pushed, and those that this reader has taken. ARGV: how many to read, then those that
# are safe now. Returns the seeds to add.
_READ = """
for i = 2, #ARGV do redis.call('LREM', KEYS[2], 1, ARGV[i]) end
local left = tonumber(ARGV[1]) - redis.call('LLEN', KEYS[2])
local kind = redis.call('TYPE', KEYS[1]).ok
for _ = 1, left do
  local seed
  if kind == 'set' then seed = redis.call('SPOP', KEYS[1])
  elseif kind == 'zset' then seed = redis.call('ZPOPMAX', KEYS[1])[1]
  elseif kind == 'list' then seed = redis.call('LPOP', KEYS[1]) end
  if not seed then break end
  redis.call('RPUSH', KEYS[2], seed)
end
return redis.call('LRANGE', KEYS[2], 0, -1)
"""


class SeedsUnavailable(OSError):
    """Seeds cannot be read or pushed; the message says why."""


class SeedList:
    """The seeds at redis://HOST:PORT/0?key=KEY, as seen by one reader.

    key      where they are if the URL does not say
    kind     what `push` makes where nothing is: list, set or zset
    connect  returns a client; None connects to the URL
    """

    def __init__(
        self,
        url: str,
        reader: str = "",
        *,
        key: str = DEFAULT_KEY,
        kind: str = "list",
        connect: Callable[[], Any] | None = None,
    ) -> None:
        address, self.key = split_query(url, "key", key)
        self._kind = kind
        self._shown = without_secrets(url)
        # The braces put both on one node of a cluster.
        self._mine = f"{{{self.key}}}:{reader}"
        self._redis = RedisLink(address, self.key, _TIMEOUT, connect)

    def read(self, safe: Sequence[bytes] = ()) -> list[bytes]:
        """Return seeds to add, and acknowledge those of earlier reads that are `safe`."""
        seeds: list[bytes] = self._call("eval", _READ, 2, self.key, self._mine, _MOST, *safe)
        return seeds

    def push(self, seeds: Sequence[str]) -> None:
        kind = self.kind()
        match self._kind if kind == "none" else kind:
            case "set":
                self._call("sadd", self.key, *seeds)
            case "zset":
                self._call("zadd", self.key, dict.fromkeys(seeds, 0), True)  # nx
            case _:
                self._call("rpush", self.key, *seeds)

    def kind(self) -> str:
        """Return what the key is: none, list, set, zset or something else."""
        kind: str = self._call("type", self.key).decode()
        return kind

    def count(self) -> int:
        """Return how many seeds wait to be read."""
        command = {"list": "llen", "set": "scard", "zset": "zcard"}.get(self.kind())
        return int(self._call(command, self.key)) if command else 0

    def first(self, most: int) -> list[bytes]:
        """Return the seeds of a list that are read next."""
        found: list[bytes] = self._call("lrange", self.key, 0, most - 1)
        return found

    def queue(self, key: str) -> Iterator[bytes]:
        """Yield the requests that wait in a queue of scrapy-redis, as it keeps them (`read_request`)."""
        kind = self._call("type", key).decode()
        if kind not in ("list", "zset"):
            raise SeedsUnavailable(f"{key} is not a queue of scrapy-redis: its type is {kind}.")
        command, start = ("lrange" if kind == "list" else "zrange"), 0
        while items := self._call(command, key, start, start + _MOST - 1):
            yield from items
            start += len(items)

    def _call(self, name: str, *words: Any) -> Any:
        try:
            return self._redis.call(name, *words)
        except (redis.RedisError, ValueError, TypeError) as error:  # an unknown option in the URL
            raise SeedsUnavailable(
                f"The seeds in Redis at {self._shown} cannot be reached: {without_secrets(str(error))}"
            ) from error

    def close(self) -> None:
        self._redis.close()


def read_seed(item: bytes) -> tuple[str, int]:
    """Return the URL and the depth of a seed; ValueError if it is not one."""
    text = item.decode("utf-8", "replace").strip()
    if not text.startswith("{"):
        return seed_url(text), 0
    data: Any = json.loads(text)
    if not isinstance(data.get("url"), str):
        raise ValueError("it has no url")
    meta = data.get("meta")
    depth = data.get("depth", meta.get("depth", 0) if isinstance(meta, dict) else 0)
    if type(depth) is not int or not 0 <= depth <= MAX_DEPTH:  # true is no depth
        raise ValueError(f"its depth is not between 0 and {MAX_DEPTH}: {depth!r}")
    return seed_url(data["url"]), depth


def read_request(item: bytes) -> tuple[str, int]:
    """Return the URL and the depth of a request queued by scrapy-redis; ValueError if it is not one."""
    try:
        data = _Plain(io.BytesIO(item)).load()
        url, depth = data["url"], data.get("meta", {}).get("depth", 0)
    except Exception as error:  # a pickle can raise anything
        raise ValueError("it is not a request of scrapy-redis") from error
    if not isinstance(url, str) or type(depth) is not int:
        raise ValueError("it is not a request of scrapy-redis")
    return seed_url(url), max(0, min(depth, MAX_DEPTH))


class _Plain(pickle.Unpickler):
    """Reads texts, numbers, lists and dictionaries, and nothing that could run code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is not read")
