"""The life of a node: it stands by until the lease is free, takes it, and leads until another does.

Whose copy counts. A standby follows the log, and may lead when it has done all of it. A node that was
killed while leading may have more on its disk than was acknowledged. If another has led since, that copy is
put aside, and removed when the node has a new one; if none has, it leads again, and all others need a copy
of it. A node without a copy fetches one from the leader or, if the log was never cut, makes its own from
the log.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import redis

from rdfaspider import clock, rocksdb
from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.sharding import Shard
from rdfaspider.service.address import Address, Security
from rdfaspider.service.replica import LEASE, RENEWED, Gone, end
from rdfaspider.service.replica.copying import fetch
from rdfaspider.service.replica.journal import Journal, unpack
from rdfaspider.service.replica.leading import HANDING_OVER, LATELY, Leader, has_heir
from rdfaspider.service.replica.logged import LoggedFrontier, Standing, standing_of
from rdfaspider.service.replica.registry import BEGINNING, Keys, Registry, View, absent
from rdfaspider.service.replica.shards import ShardCount
from rdfaspider.service.server import workers
from rdfaspider.service.server.partitions import Division

logger = logging.getLogger(__name__)

# Seconds between two checks where nothing signals a change.
_LOOK = 0.3
# Seconds for which Redis may be away when a node starts.
_OPENING = 5.0
# Operations after which a standby reopens its copy: no worker takes from it, so its heaps only grow.
_OPERATIONS = 100_000


class _Unfit(Exception):
    """The copy differs from the leader's."""


class Node:
    """One copy of a frontier, in a directory.

    worker    the name of the worker that ends when this node is stopped, if it has one
    listen    where to serve; if None, at a free port of the address by which Redis is reached
    security  certificate and key for TLS; the secret is that of the crawl
    division  assigns hosts to workers
    options   those of the local frontier
    """

    def __init__(
        self,
        url: str,
        path: Path,
        name: str,
        *,
        worker: str = "",
        listen: Address | None = None,
        security: Security | None = None,
        division: Division | None = None,
        **options: Any,
    ) -> None:
        keys = Keys(url)
        self._path = path
        self._registry = Registry(keys, name)
        self._shards = ShardCount(keys, Shard(*options.get("shard", ())).total)
        self._worker = worker
        self._listen = listen or Address(host=keys.own_address())
        self._security = security or Security()
        self._division = division or Division()
        self._options = options
        self._frontier: LoggedFrontier | None = None
        self._standing: Standing | None = None
        self._done = 0
        self._free_since: float | None = None
        self._about: dict[str, Any] = {"role": "standby", "path": str(path.absolute())}
        self._has_warned = False
        self._end: float | None = None

    @property
    def _aside(self) -> Path:
        return self._path.with_name(f"{self._path.name}.old")

    def _now(self) -> float:
        """Return the time by the clock of Redis, which all nodes share."""
        return clock.now() + self._registry.offset

    async def run(self, stopped: asyncio.Event) -> None:
        """Stand by and lead until `stopped` is set; FrontierUnavailable if that fails."""
        beating: asyncio.Task[None] | None = None
        try:
            await self._open()
            beating = asyncio.create_task(self._beat())
            while not stopped.is_set():
                if number := await self._stand_by(stopped):
                    await self._lead(number, stopped)
        finally:
            if beating is not None:
                await end(beating)
            if self._frontier is not None:
                self._frontier.abandon()
            with suppress(redis.RedisError):
                await self._registry.leave()
            await self._registry.close()
            await self._shards.close()

    async def _open(self) -> None:
        registry, until = self._registry, monotonic() + _OPENING
        is_there = rocksdb.is_there(self._path)
        standing = standing_of(self._path) if is_there else None
        # If there is a copy, a Redis that does not know the crawl has lost it.
        identity = standing.crawl if standing else ""
        while not registry.terms:
            try:
                order = self._options["order"]
                self._options["order"] = await registry.open(order, clock.now, identity)
                policy = await registry.evicts()
            except redis.RedisError as error:
                if monotonic() > until:
                    raise FrontierUnavailable(absent(registry.keys, error)) from error
                await asyncio.sleep(_LOOK)
        if policy:
            logger.warning(
                "Redis at %s evicts keys when its memory is full (maxmemory-policy %s): a crawl would lose"
                " its log. Set maxmemory-policy noeviction.",
                registry.keys.shown,
                policy,
            )
        if is_there:
            self._standing = self._check(standing)
            self._open_copy()

    def _check(self, standing: Standing | None) -> Standing:
        if standing is not None and standing.crawl == self._registry.identity:
            return standing
        what = "a crawl that is not in Redis" if standing is None else "another crawl"
        raise FrontierUnavailable(
            f"The frontier {self._path} is that of {what}, not of {self._registry.keys.name} in"
            f" {self._registry.keys.shown}: give this one a directory of its own with -s JOBDIR=DIRECTORY."
        )

    def _open_copy(self) -> LoggedFrontier:
        self._done = 0
        self._frontier = LoggedFrontier(str(self._path), now=self._now(), **self._options)
        return self._frontier

    async def _beat(self) -> None:
        while True:
            with suppress(redis.RedisError):
                await self._registry.beat(**self._about)
                await self._shards.keep()
            await asyncio.sleep(RENEWED)

    # --- standing by ---

    async def _stand_by(self, stopped: asyncio.Event) -> int:
        """Follow the log until the lease is free and taken; return the number, 0 if stopped before."""
        self._about |= {"role": "standby", "address": None}
        self._free_since = None
        while not (stopped.is_set() and await self._may_end()):
            try:
                if number := await self._step():
                    return number
            except redis.RedisError:
                await asyncio.sleep(_LOOK)
            except _Unfit:
                self._throw_away()
        return 0

    async def _may_end(self) -> bool:
        """Return whether this node can end: others have copies, or none is needed."""
        if self._frontier is None:
            return True
        if self._end is None:
            self._end = monotonic() + HANDING_OVER
        self._about["ending"] = True
        try:
            await self._registry.beat(**self._about)
            view = await self._registry.look(LATELY)
        except redis.RedisError:
            return True
        leader = view.nodes.get(view.leader)
        is_led = leader is not None and not leader.get("ending")
        others = [each for name, each in view.nodes.items() if name != self._registry.name]
        is_needed = view.leader or json.loads(self._frontier.note(workers.NOTE) or b"[]")
        return is_led or has_heir(others) or not is_needed or monotonic() > self._end

    async def _step(self) -> int:
        view = await self._registry.look()
        if view.leader:
            self._free_since = None
        elif self._free_since is None:
            self._free_since = monotonic()
        standing = self._standing
        if standing is None:
            await self._get_copy(view)
            return 0
        if standing.has_led:
            if view.number > standing.number:
                raise _Unfit
        elif not view.is_whole_from(standing.position):
            raise _Unfit
        elif await self._follow(waits=bool(view.leader)):
            return 0
        if view.leader or not self._may_lead(view, standing):
            await asyncio.sleep(0 if view.leader and not standing.has_led else _LOOK)
            return 0
        return await self._take(standing, view)

    def _may_lead(self, view: View, standing: Standing) -> bool:
        """Return whether it is this node's turn: the better copy goes first."""
        if not standing.has_led and standing.number <= view.number:
            return True
        free = monotonic() - (self._free_since or monotonic())
        return free > (LEASE if self._others_have_copies(view) else _LOOK)

    def _others_have_copies(self, view: View) -> bool:
        return any(
            each["role"] == "standby" and "position" in each
            for name, each in view.nodes.items()
            if name != self._registry.name and each
        )

    async def _take(self, standing: Standing, view: View) -> int:
        number = await self._registry.take(standing.number, self._path)
        if not number:
            return 0
        while not standing.has_led and await self._follow(waits=False):
            pass
        # Otherwise Redis has forgotten who led, and so what was done.
        self._is_whole = not standing.has_led and standing.number <= view.number
        return number

    async def _follow(self, *, waits: bool) -> bool:
        """Repeat the next operations of the log; return whether there were any."""
        assert self._frontier is not None
        assert self._standing is not None
        entries = await self._registry.read(self._standing.position, waits=waits)
        standing = self._standing
        # The log may have been cut since the last look, if this node stood still in between.
        if not (await self._registry.look()).is_whole_from(standing.position):
            raise _Unfit
        for position, entry in entries:
            for name, *words in unpack(entry):
                if name == "lead":
                    number, is_whole = words
                    if not is_whole:
                        raise _Unfit
                    standing = replace(standing, number=number)
                else:
                    self._frontier.do(name, *words)
                self._done += 1
            standing = replace(standing, position=position)
            await asyncio.sleep(0)
        if entries:
            self._frontier.stand(standing)
            self._standing = standing
        self._about["position"] = standing.position
        if self._done > _OPERATIONS:
            floor = self._frontier.floor_elsewhere  # which is sent again only when it changes
            self._frontier.abandon()
            self._open_copy().set_floor_elsewhere(floor)
        return bool(entries)

    def _throw_away(self) -> None:
        logger.warning("The copy in %s differs from the leader's: fetching a new one.", self._path)
        if self._frontier is not None:
            self._frontier.abandon()
        self._frontier = self._standing = None
        self._about.pop("position", None)
        shutil.rmtree(self._aside, ignore_errors=True)
        self._path.rename(self._aside)

    async def _get_copy(self, view: View) -> None:
        """Fetch a copy from the leader; without one, make it from the log, if that is complete."""
        if view.leader:
            if address := view.nodes.get(view.leader, {}).get("address"):
                await self._fetch(Address.parse(address))
            else:
                await asyncio.sleep(_LOOK)
        elif view.trimmed == BEGINNING and not self._others_have_copies(view):
            self._standing = Standing(self._registry.identity, 0, BEGINNING)
            self._open_copy().stand(self._standing)
        elif self._others_have_copies(view) or not self._take_over(view.copy_here):
            if not (self._has_warned or self._others_have_copies(view)):
                self._has_warned = True
                logger.warning(
                    "The crawl %s waits for a machine that has a copy of it: start a worker there, with the"
                    " JOBDIR that it had. The last was %s.",
                    self._registry.keys.name,
                    view.place,
                )
            await asyncio.sleep(_LOOK)

    def _take_over(self, left: Path | None) -> bool:
        """Use the copy that another node has left on this machine; return whether there is one."""
        if left is None or not rocksdb.is_there(left) or rocksdb.is_in_use(left):
            return False
        standing = standing_of(left)
        if standing is None or standing.crawl != self._registry.identity:
            return False
        try:
            left.rename(self._path)
        except OSError:  # another disk, or another node was faster
            return False
        logger.info("The copy of the frontier in %s is now in %s.", left, self._path)
        self._standing = standing
        self._open_copy()
        return True

    async def _fetch(self, address: Address) -> None:
        security = replace(self._security, secret=self._registry.secret)
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            position, number = await asyncio.to_thread(fetch, address, security, new)
        except OSError as error:
            logger.info("No copy could be fetched: %s", error)
            await asyncio.sleep(RENEWED)
            return
        # It is renamed once it has its standing: until then it claims to have led.
        self._standing = Standing(self._registry.identity, number, position)
        with LoggedFrontier(str(new), now=self._now(), **self._options) as copy:
            copy.stand(self._standing)
        shutil.rmtree(self._path, ignore_errors=True)
        new.rename(self._path)
        shutil.rmtree(self._aside, ignore_errors=True)
        self._open_copy()

    # --- leading ---

    async def _lead(self, number: int, stopped: asyncio.Event) -> None:
        assert self._frontier is not None
        assert self._standing is not None
        if not self._is_whole:
            # From now on the log says that this copy alone counts; it must know that if it is killed.
            self._standing = replace(self._standing, number=number, has_led=True)
            self._frontier.stand(self._standing)
        journal = Journal(self._registry, number, self._standing.position, self._path)
        try:
            await journal.begin(is_whole=self._is_whole)
        except (Gone, redis.RedisError):  # nothing was done yet
            return
        keeping = asyncio.create_task(journal.run())
        self._frontier.abandon()  # as after a kill, when what is in flight is unknown
        self._frontier = None
        try:
            frontier = await asyncio.to_thread(self._open_copy)
            leader = Leader(
                self._registry,
                journal,
                frontier,
                self._path,
                self._about,
                replace(self._security, secret=self._registry.secret),
                self._worker,
                self._division,
            )
            await leader.run(self._listen, self._now, keeping, stopped)
            self._frontier = self._standing = None  # it is closed
        except Gone:
            logger.warning("Another node leads now: this one stands by.")
            self._throw_away()
        finally:
            await end(keeping)
