"""Connections to Redis: one server, a primary watched by Sentinels, or a node of a cluster.

    redis://HOST:PORT/0                           one server, or any node of a cluster
    redis+unix:///PATH                            one server, by its socket
    redis+sentinel://HOST:PORT,HOST:PORT/NAME/0   the primary called NAME

rediss:// and rediss+sentinel:// are the same with TLS. All keys that belong together share a hash tag, so
that even in a cluster one server has them all. That server is looked for before the first call, and again
after each failed call.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from hashlib import sha1
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit, urlunsplit

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from rdfaspider.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

_SENTINEL_PORT = 26379
# Milliseconds in which a replica must confirm that it is up to date.
_REPLICATION = 1000
# Errors of a server that does not answer, no longer has the keys, or accepts no writes. Older servers report
# those inside a script only in the text.
_ELSEWHERE = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.exceptions.AskError,  # MovedError is one
    redis.exceptions.ClusterDownError,  # MasterDownError is one
    redis.exceptions.ReadOnlyError,
    OSError,
)


def split_query(url: str, name: str, default: str) -> tuple[str, str]:
    """Return a URL without one parameter of its query, and that parameter; ValueError if it is not a URL."""
    try:
        query = parse_qs(urlsplit(url).query)
        for each in _hosts(url):
            _ = urlsplit(f"//{each}").port
    except ValueError:  # its message might show a password
        raise ValueError(
            f"{without_secrets(url)} is not a URL of Redis: write redis://HOST:PORT/0, and / ? # @ in a"
            " password as %2F %3F %23 %40."
        ) from None
    value = query.pop(name, [default])[-1]
    # Not by urllib, which would drop two slashes of redis+unix:///PATH.
    options = f"?{urlencode(query, doseq=True)}" if query else ""
    return url.partition("?")[0] + options, value


def _hosts(url: str) -> list[str]:
    return urlsplit(url).netloc.rpartition("@")[2].split(",")


class Primary:
    """Finds the server that has a key and accepts writes. `options` are those of its clients.

    Layout: `_servers` has the URLs to ask: the Sentinels, or the named server and the other nodes of its
    cluster.
    """

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self._slot = key_slot(key.encode())
        self.options: dict[str, Any] = {
            "socket_timeout": timeout,
            "socket_connect_timeout": timeout,
            "protocol": 2,
        }
        self._watched, self._url, self._servers = _read(url)

    def find(self) -> str:
        """Return its URL; redis.RedisError if it cannot be found."""
        failure: Exception = redis.ConnectionError("nobody answers")
        for url in self._servers:
            try:
                return self._ask_sentinel(url) if self._watched else self._ask_server(url)
            except (redis.RedisError, OSError, ValueError, TypeError) as error:
                failure = error  # the last two are unknown options in the URL
        raise _as_redis_error(failure)

    def connect(self, url: str) -> Any:
        """Return a client of a server."""
        return redis.Redis.from_url(url, **self.options, retry=Retry(NoBackoff(), 0))

    def _ask_sentinel(self, url: str) -> str:
        with self.connect(url) as client:
            found = client.execute_command("SENTINEL", "get-master-addr-by-name", self._watched)
        if not found:
            raise redis.ConnectionError(f"the Sentinels know no primary {self._watched}")
        return _elsewhere(self._url, found[0].decode(), int(found[1]))

    def _ask_server(self, url: str) -> str:
        with self.connect(url) as client:
            try:
                slots = client.execute_command("CLUSTER SLOTS")
            except redis.AuthenticationError:
                raise
            except redis.ResponseError:  # it is not a cluster, or the command is forbidden
                return url
        nodes = {
            (first, last): _elsewhere(self._url, primary[0].decode(), int(primary[1]))
            for first, last, primary, *_ in slots
            if primary[0]
        }
        # The server that answered is asked first the next time.
        self._servers = list(dict.fromkeys([url, *nodes.values(), self._url]))
        for (first, last), node in nodes.items():
            if first <= self._slot <= last:
                return node
        raise redis.ConnectionError("no node of the cluster has the keys of the crawl")


def _read(url: str) -> tuple[str, str, list[str]]:
    """Return the name of the primary for Sentinels, a URL with its options, and the servers to ask."""
    scheme, _, rest = url.partition("+sentinel://")
    if not rest:
        plain = url.removeprefix("redis+")
        return "", plain, [plain]
    parts = urlsplit(f"{scheme}://{rest}")
    name, _, number = parts.path.strip("/").partition("/")
    if not name:
        raise ValueError(
            f"{without_secrets(url)} does not say which primary the Sentinels watch: write"
            " redis+sentinel://HOST:PORT/NAME."
        )
    places = [urlsplit(f"//{each}") for each in _hosts(url)]
    # Account and database number belong to the servers, not to the Sentinels.
    asked = urlunsplit((scheme, "", "", parts.query, ""))
    sentinels = [
        _elsewhere(asked, each.hostname or "", each.port or _SENTINEL_PORT) for each in places
    ]
    return unquote(name), urlunsplit(parts._replace(path=f"/{number}")), sentinels


def _elsewhere(url: str, host: str, port: int) -> str:
    """Return the URL of another server, with the same account and options."""
    parts = urlsplit(url)
    account, at, _ = parts.netloc.rpartition("@")
    name = f"[{host}]" if ":" in host else host
    return urlunsplit(parts._replace(netloc=f"{account}{at}{name}:{port}"))


def _is_elsewhere(error: Exception) -> bool:
    """Tell whether another server may have to be asked."""
    return isinstance(error, _ELSEWHERE) or "-READONLY " in str(error)


class Script:
    """A Lua script for Redis, whose text is sent only once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = sha1(text.encode()).hexdigest()


class RedisLink:
    """Calls the server that has a key, or the one that `connect` returns a client of.

    Each call raises redis.RedisError if it fails.
    """

    def __init__(
        self, url: str, key: str, timeout: float, connect: Callable[[], Any] | None = None
    ) -> None:
        self._primary = Primary(url, key, timeout)
        self._connect = connect or (lambda: self._primary.connect(self._primary.find()))
        self._client: Any = None

    def call(self, name: str, *words: Any) -> Any:
        """Call a command of the client by its name."""
        try:
            if self._client is None:
                self._client = self._connect()
            return getattr(self._client, name)(*words)
        except (redis.RedisError, OSError) as error:
            if _is_elsewhere(error):
                self.close()
            raise _as_redis_error(error) from error

    def run(self, script: Script, keys: list[str], *words: Any) -> Any:
        """Run a script."""
        try:
            return self.call("evalsha", script.digest, len(keys), *keys, *words)
        except redis.exceptions.NoScriptError:
            return self.call("eval", script.text, len(keys), *keys, *words)

    def close(self) -> None:
        if self._client is not None:
            with suppress(redis.RedisError, OSError):
                self._client.close()
        self._client = None


class AsyncRedisLink:
    """The same for asyncio."""

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self._primary = Primary(url, key, timeout)
        self._client: Any = None
        self._has_replicas: bool | None = None  # not known yet
        self._finding = asyncio.Lock()

    async def call(self, name: str, *words: Any, **options: Any) -> Any:
        """Call a command of the client by its name."""
        async with self._connected() as client:
            return await getattr(client, name)(*words, **options)

    async def run(self, script: Script, keys: list[str], *words: Any) -> Any:
        """Run a script."""
        try:
            return await self.call("evalsha", script.digest, len(keys), *keys, *words)
        except redis.exceptions.NoScriptError:
            return await self.call("eval", script.text, len(keys), *keys, *words)

    async def run_safely(self, script: Script, keys: list[str], *words: Any) -> Any:
        """Run a script; return when a replica has its changes too, if there is a replica.

        Replication is asynchronous: a replica that takes over may lack the last changes of its primary.
        """
        if self._has_replicas is None:
            await self.look_for_replicas()
        async with self._connected() as client:
            waits = self._has_replicas
            for start in (("EVALSHA", script.digest), ("EVAL", script.text)):
                pipeline = client.pipeline(transaction=False)
                pipeline.execute_command(*start, len(keys), *keys, *words)
                if waits:
                    pipeline.execute_command("WAIT", 1, _REPLICATION)
                answers = await pipeline.execute(raise_on_error=False)
                if not isinstance(answers[0], redis.exceptions.NoScriptError):
                    break
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
        if waits and not answers[1]:
            await self.look_for_replicas()
            if self._has_replicas:
                raise redis.TimeoutError("no replica of Redis has the change yet")
        return answers[0]

    async def look_for_replicas(self) -> None:
        """Find out whether the server has replicas now."""
        try:
            about = await self.call("info", "replication")
        except redis.ResponseError:  # the command is forbidden
            about = {}
        # A replica that is receiving its first copy cannot take over, and acknowledges nothing for minutes.
        replicas = (each for name, each in about.items() if name.startswith("slave"))
        self._has_replicas = any(
            isinstance(each, dict) and each.get("state") == "online" for each in replicas
        )

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Any]:
        """Yield the client; if a call fails and another server may have to be asked, close it."""
        client: Any = None
        try:
            client = await self._found()
            yield client
        except (redis.RedisError, OSError) as error:
            if _is_elsewhere(error) and client is self._client:
                await self.close()
            raise _as_redis_error(error) from error

    async def _found(self) -> Any:
        async with self._finding:
            if self._client is None:
                url = await asyncio.to_thread(self._primary.find)
                retry = AsyncRetry(NoBackoff(), 0)
                found: Any = redis.asyncio.Redis
                self._client = found.from_url(url, retry=retry, **self._primary.options)
            return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        self._has_replicas = None
        if client is not None:
            with suppress(redis.RedisError, OSError):
                await client.aclose()


def _as_redis_error(error: Exception) -> redis.RedisError:
    text = without_secrets(str(error))
    return error if isinstance(error, redis.RedisError) else redis.ConnectionError(text)
