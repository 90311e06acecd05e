"""The way to Redis: scripts in batches, to one server or to the nodes of a cluster.

A batch is a list of stages. Every script of a stage has run before one of the next stage does. On one
server that is two pipelines, one with what must be safe before pages are ended and one with the rest,
and so two round trips at most; on a cluster each stage is a pipeline to every node it concerns. All
scripts can be sent twice without harm, so whatever was not answered is sent again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from hashlib import sha1
from importlib import resources
from typing import TYPE_CHECKING, Any

import redis

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.redis.address import connect, name_of
from rdfaspider.frontier.redis.batch import LANDS
from rdfaspider.frontier.redis.replicas import Replicas
from rdfaspider.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

logger = logging.getLogger(__name__)

# A server that does not answer for so many seconds is taken for gone.
_TIMEOUT = 10.0
# What the crawl itself waits for is given up sooner: everything stands still meanwhile.
_IMPATIENT = 1.0
# Replies that pass by themselves: the server is loading, failing over, out of memory, moved.
_PASSING = (
    "LOADING",
    "READONLY",
    "CLUSTERDOWN",
    "MASTERDOWN",
    "TRYAGAIN",
    "OOM",
    "BUSY",
    "MISCONF",
    "NOREPLICAS",
)
_PASSING_KINDS = (
    redis.exceptions.BusyLoadingError,
    redis.exceptions.ReadOnlyError,
    redis.exceptions.OutOfMemoryError,
    redis.exceptions.ClusterDownError,
    redis.exceptions.MasterDownError,
    redis.exceptions.TryAgainError,
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
)
# RedisClusterException is no RedisError.
_ERRORS = (redis.RedisError, redis.exceptions.RedisClusterException, OSError)
_MOVED = ("MOVED", "ASK")
_WITHOUT_COMMON = ("beat", "farewell", "seeds", "serve", "version")


class RedisAway(FrontierUnavailable):
    """Says that Redis does not answer now, and why."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script to run: its name, its keys, which share a hash tag, and its arguments.

    `last` makes one more argument when the script is sent, and so in the thread that sends it.
    """

    name: str
    keys: tuple[str, ...]
    arguments: Sequence[str | bytes | int]
    last: Callable[[], bytes] | None = None

    def words(self) -> tuple[str | bytes | int, ...]:
        """Return what Redis is told: how many keys, the keys, the arguments."""
        end = () if self.last is None else (self.last(),)
        return (len(self.keys), *self.keys, *self.arguments, *end)


class RedisLink:
    """Runs scripts on a Redis server or cluster. `round_trips` counts what that took."""

    def __init__(self, url: str) -> None:
        self.url = without_secrets(url)
        self.round_trips = 0
        self._full_url = url
        self._impatient: Any = None
        self._replicas = Replicas()
        self._sources = dict(_scripts())
        self._digests = {name: sha1(text).hexdigest() for name, text in self._sources.items()}
        try:
            self.client, self._cluster = connect(url, _TIMEOUT)
        except (*_ERRORS, ValueError, TypeError) as error:  # of an option that there is not
            raise FrontierUnavailable(
                f"Redis cannot be reached at {self.url} ({error}): start it, or name it with"
                " -s FRONTIER_URL=redis://HOST:PORT/0."
            ) from error

    def run(self, stages: Sequence[Sequence[Script]]) -> list[list[Any]]:
        """Run scripts and return their replies; RedisAway if not all of them could be run."""
        if self._cluster is None:
            # What a page led to must be safe before the page is ended: a script that is refused (memory,
            # an error) does not keep those behind it in the pipeline from running.
            return self._run_together(stages[:LANDS]) + self._run_together(stages[LANDS:])
        return [self._run_stage(stage) if stage else [] for stage in stages]

    def _run_together(self, stages: Sequence[Sequence[Script]]) -> list[list[Any]]:
        scripts = [script for stage in stages for script in stage]
        replies = iter(self._run_stage(scripts) if scripts else [])
        return [[next(replies) for _ in stage] for stage in stages]

    def one(self, script: Script) -> Any:
        """Run one script and return its reply."""
        return self.run([[script]])[0][0]

    def command(self, name: str, *arguments: Any) -> Any:
        """Run one command and return its reply; FrontierUnavailable if Redis is away."""
        self.round_trips += 1
        for attempt in (1, 2, 3):
            try:
                return getattr(self.client, name)(*arguments)
            except _ERRORS as error:
                if attempt == 3:
                    raise FrontierUnavailable(f"Redis at {self.url} is away: {error}") from error
        return None

    def ask(self, script: Script) -> Any:
        """Run a script that changes nothing, as `ask_command` does."""
        return self.ask_command("evalsha", self._digests[script.name], *script.words())

    def ask_command(self, name: str, *arguments: Any) -> Any:
        """Run a command that changes nothing, once and for a second at most; RedisAway if that fails."""
        self.round_trips += 1
        try:
            if self._impatient is None:
                self._impatient, _ = connect(self._full_url, _IMPATIENT)
            return getattr(self._impatient, name)(*arguments)
        except _ERRORS as error:
            raise RedisAway(f"Redis at {self.url} is away: {error}") from error

    def _run_stage(self, scripts: Sequence[Script]) -> list[Any]:
        replies: list[Any] = [None] * len(scripts)
        missing = list(range(len(scripts)))
        for _ in range(3):
            self._send(scripts, missing, replies)
            missing = [i for i in missing if isinstance(replies[i], redis.RedisError)]
            if not missing:
                return replies
            self._mend([replies[i] for i in missing])
        raise RedisAway(str(replies[missing[0]]))

    def _send(self, scripts: Sequence[Script], missing: list[int], replies: list[Any]) -> None:
        groups: dict[Any, list[int]] = {}
        try:
            for index in missing:
                groups.setdefault(self._server(scripts[index].keys[0]), []).append(index)
            for server, indices in groups.items():
                answers = self._pipe(server, [scripts[index] for index in indices])
                for index, answer in zip(indices, answers, strict=True):
                    replies[index] = answer
        except _ERRORS as error:
            if self._cluster is not None:
                self._learn_cluster()
            raise RedisAway(str(error)) from error

    def _pipe(self, server: Any, scripts: Sequence[Script]) -> list[Any]:
        pipeline, name = server.pipeline(transaction=False), name_of(server)
        for script in scripts:
            pipeline.execute_command("EVALSHA", self._digests[script.name], *script.words())
        self._replicas.add_questions(name, pipeline)
        self.round_trips += 1
        answers: list[Any] = pipeline.execute(raise_on_error=False)
        if not self._replicas.take_answers(name, answers):
            raise RedisAway(f"no replica of {name} has what was told yet")
        return answers

    def _mend(self, errors: list[redis.RedisError]) -> None:
        """Do what lets the scripts run that failed, or raise what it means that they did."""
        for error in errors:
            text = str(error)
            if text.startswith("LOST"):
                raise FrontierUnavailable(
                    f"Redis has {text[0].lower()}{text[1:4].lower()}{text[4:]} of the crawl: it was"
                    " restarted without its data, or evicts keys. Restore it from a backup, or begin"
                    " anew with another crawl=NAME in FRONTIER_URL."
                )
            if isinstance(error, redis.exceptions.NoScriptError):
                self._load()
                return
            kind = type(error).__name__.upper()
            if text.startswith(_MOVED) or kind.startswith(_MOVED):
                self._learn_cluster()
                return
            if text.startswith(_PASSING) or isinstance(error, _PASSING_KINDS):
                raise RedisAway(text)
        raise FrontierUnavailable(f"Redis refuses a script of the frontier: {errors[0]}")

    def _load(self) -> None:
        try:
            for server in self._servers():
                for text in self._sources.values():
                    server.script_load(text)
        except _ERRORS as error:
            raise RedisAway(str(error)) from error

    def _server(self, key: str) -> Any:
        if self._cluster is None:
            return self.client
        node = self._cluster.get_node_from_key(key)
        if node is None:
            raise redis.exceptions.ClusterDownError(f"nobody serves {key}")
        return self._cluster.get_redis_connection(node)

    def _servers(self) -> list[Any]:
        if self._cluster is None:
            return [self.client]
        nodes = self._cluster.get_primaries()
        return [self._cluster.get_redis_connection(node) for node in nodes]

    def _learn_cluster(self) -> None:
        if self._cluster is not None:
            try:
                self._cluster.nodes_manager.initialize()
            except _ERRORS as error:
                raise RedisAway(str(error)) from error

    def policies(self) -> list[tuple[int, str, int]]:
        """Return of each server the memory it may use, what it does beyond, and keys it evicted."""
        found = []
        for server in self._servers():
            memory, stats = server.info("memory"), server.info("stats")
            found.append(
                (memory["maxmemory"], memory["maxmemory_policy"], stats.get("evicted_keys", 0))
            )
        return found

    def close(self) -> None:
        self.client.close()
        if self._impatient is not None:
            self._impatient.close()


def _scripts() -> Iterator[tuple[str, bytes]]:
    folder = resources.files("rdfaspider.frontier.redis") / "lua"
    common = (folder / "common.lua").read_bytes()
    for file in folder.iterdir():
        name = file.name.removesuffix(".lua")
        if file.name.endswith(".lua") and name != "common":
            yield name, (b"" if name in _WITHOUT_COMMON else common) + file.read_bytes()
