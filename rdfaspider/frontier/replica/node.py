"""The life of a node: it stands by until the lease is free, takes it, and leads until another does.

Whose copy counts. A standby follows the log, and may lead when it has done all of it. A node that has led
and was killed may have more on its disk than was acknowledged. If another has led since, that copy is put
aside, and removed when it has got another; if nobody has, it leads again, and all others need a copy of it. A
node without a copy fetches one from the leader or, if the log was never cut, makes its own from the log.
"""

from __future__ import annotations

import asyncio
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
from rdfaspider.frontier.replica import AWAY_AFTER, LEASE, RENEWED, Gone
from rdfaspider.frontier.replica.copying import QUESTION, Copies, fetch
from rdfaspider.frontier.replica.journal import Journal, unpack
from rdfaspider.frontier.replica.logged import LoggedFrontier, Standing
from rdfaspider.frontier.replica.registry import (
    BEGINNING,
    Keys,
    Registry,
    View,
    absent,
    place_of,
)
from rdfaspider.frontier.service.desk import Desk
from rdfaspider.frontier.service.server import Service
from rdfaspider.frontier.service.wire import Address, Security

logger = logging.getLogger(__name__)

# Seconds between two looks at what cannot be waited for.
_LOOK = 0.3
# Redis may be away for so long when a node is started.
_OPENING = 5.0
# A leader that ends waits so long for a standby that has not got its copy yet.
_HANDING_OVER = 25.0
# One that was not heard of for longer may be dead.
_LATELY = 3.0
_FLUSHING = 5.0
# After so many operations a standby opens its copy anew: nobody takes from it, so its heaps only grow.
_OPERATIONS = 100_000


class _Unfit(Exception):
    """The copy is not what the leader has."""


class Node:
    """One copy of a frontier, in a directory.

    worker    the name of the worker that ends when this node is stopped, if it has one
    listen    where to serve; if None, at a free port of the address by which Redis is reached
    security  certificate and key for TLS; the secret is that of the crawl
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
        **options: Any,
    ) -> None:
        keys = Keys(url)
        self._path = path
        self._registry = Registry(keys, name)
        self._worker = worker
        self._listen = listen or Address(host=keys.own_address())
        self._security = security or Security()
        self._options = options
        self._frontier: LoggedFrontier | None = None
        self._standing: Standing | None = None
        self._done = 0
        self._free_since: float | None = None
        self._about: dict[str, Any] = {"role": "standby", "path": str(path.absolute())}
        self._has_warned = False

    @property
    def _aside(self) -> Path:
        return self._path.with_name(f"{self._path.name}.old")

    def _now(self) -> float:
        """Return the time by the clock of Redis, which all nodes have in common."""
        return clock.now() + self._registry.offset

    async def run(self, stopped: asyncio.Event) -> None:
        """Stand by and lead until somebody stops it; FrontierUnavailable if it cannot, or cannot any more."""
        beating: asyncio.Task[None] | None = None
        try:
            await self._open()
            beating = asyncio.create_task(self._beat())
            while not stopped.is_set():
                if number := await self._stand_by(stopped):
                    await self._lead(number, stopped)
        finally:
            if beating is not None:
                beating.cancel()
            if self._frontier is not None:
                self._frontier.abandon()
            with suppress(redis.RedisError):
                await self._registry.leave()
            await self._registry.close()

    async def _open(self) -> None:
        registry, end = self._registry, monotonic() + _OPENING
        while not registry.terms:
            try:
                self._options["order"] = await registry.open(self._options["order"], clock.now)
                policy = await registry.evicts()
            except redis.RedisError as error:
                if monotonic() > end:
                    raise FrontierUnavailable(absent(registry.keys, error)) from error
                await asyncio.sleep(_LOOK)
        if policy:
            logger.warning(
                "Redis at %s evicts keys when its memory is full (maxmemory-policy %s): a crawl would lose"
                " its log. Set maxmemory-policy noeviction.",
                registry.keys.shown,
                policy,
            )
        if rocksdb.is_there(self._path):
            self._open_copy()
            self._standing = self._check(self._frontier.standing if self._frontier else None)

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
            await asyncio.sleep(RENEWED)

    # --- standing by ---

    async def _stand_by(self, stopped: asyncio.Event) -> int:
        """Follow the log until the lease is free and taken; return the number, 0 if stopped before."""
        self._about |= {"role": "standby", "address": None}
        self._free_since = None
        while not stopped.is_set():
            try:
                if number := await self._step():
                    return number
            except redis.RedisError:
                await asyncio.sleep(_LOOK)
            except _Unfit:
                self._throw_away()
        return 0

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
        else:
            self._about["position"] = standing.position
        if view.leader or not self._may_lead(view, standing):
            await asyncio.sleep(0 if view.leader and not standing.has_led else _LOOK)
            return 0
        return await self._take(standing, view)

    def _may_lead(self, view: View, standing: Standing) -> bool:
        """Tell whether it is this node's turn: whoever has the better copy goes first."""
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
        number = await self._registry.take(standing.number)
        if not number:
            return 0
        while not standing.has_led and await self._follow(waits=False):
            pass
        # Else Redis has forgotten who has led, and so what was done.
        self._is_whole = not standing.has_led and standing.number <= view.number
        return number

    async def _follow(self, *, waits: bool) -> bool:
        """Do what the log says next; tell whether there was anything."""
        assert self._frontier is not None
        assert self._standing is not None
        entries = await self._registry.read(self._standing.position, waits=waits)
        standing = self._standing
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
        if self._done > _OPERATIONS:
            self._frontier.abandon()
            self._open_copy()
        return bool(entries)

    def _throw_away(self) -> None:
        logger.warning("The copy in %s is not that of the leader: another is fetched.", self._path)
        if self._frontier is not None:
            self._frontier.abandon()
        self._frontier = self._standing = None
        self._about.pop("position", None)
        shutil.rmtree(self._aside, ignore_errors=True)
        self._path.rename(self._aside)

    async def _get_copy(self, view: View) -> None:
        """Fetch a copy from the leader; without one, make it from the log, if that has everything."""
        if view.leader:
            if address := view.nodes.get(view.leader, {}).get("address"):
                await self._fetch(Address.parse(address))
            else:
                await asyncio.sleep(_LOOK)
        elif view.trimmed == BEGINNING and not self._others_have_copies(view):
            self._standing = Standing(self._registry.identity, 0, BEGINNING)
            self._open_copy().stand(self._standing)
        else:
            if not (self._has_warned or self._others_have_copies(view)):
                self._has_warned = True
                logger.warning(
                    "The crawl %s waits for a machine that has a copy of it: start a worker there, with the"
                    " JOBDIR that it had.",
                    self._registry.keys.name,
                )
            await asyncio.sleep(_LOOK)

    async def _fetch(self, address: Address) -> None:
        security = replace(self._security, secret=self._registry.secret)
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            position, number = await asyncio.to_thread(fetch, address, security, new)
        except OSError as error:
            logger.info("No copy could be fetched: %s", error)
            await asyncio.sleep(RENEWED)
            return
        # It gets its name when it knows how far it is: until then it says that it has led.
        self._standing = Standing(self._registry.identity, number, position)
        with LoggedFrontier(str(new), now=self._now(), **self._options) as copy:
            copy.stand(self._standing)
        shutil.rmtree(self._path, ignore_errors=True)
        new.rename(self._path)
        shutil.rmtree(self._aside, ignore_errors=True)
        self._open_copy()

    # --- leading ---

    async def _lead(self, number: int, stopped: asyncio.Event) -> None:
        assert self._standing is not None
        journal = Journal(self._registry, number, self._standing.position)
        try:
            await journal.begin(is_whole=self._is_whole)
        except (Gone, redis.RedisError):  # nothing was done yet
            return
        keeping = asyncio.create_task(journal.run())
        try:
            await self._serve(journal, keeping, stopped)
        except Gone:
            logger.warning("Another node leads now: this one stands by.")
            self._throw_away()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _serve(
        self, journal: Journal, keeping: asyncio.Task[None], stopped: asyncio.Event
    ) -> None:
        """Hand the frontier out while the journal is kept."""
        assert self._frontier is not None
        self._frontier.abandon()  # as after a kill: nobody knows what is in flight
        self._frontier = None
        frontier = await asyncio.to_thread(self._open_copy)
        self._mark(journal, has_led=True)
        frontier.record = journal.record
        journal.renumbered = lambda number: self._mark(journal, has_led=True)
        copies = Copies(frontier, journal, self._path)
        security = replace(self._security, secret=self._registry.secret)
        desk = Desk(frontier, self._now, journal.number)
        service = Service(desk, self._listen, security)
        service.commit = journal.commit
        service.is_cut_off = journal.is_cut_off
        service.others[QUESTION] = copies.answer
        trimming = asyncio.create_task(self._trim(journal))
        serving = asyncio.create_task(self._until(service, desk, journal, stopped))
        try:
            done, _ = await asyncio.wait((keeping, serving), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (trimming, serving):
                task.cancel()
            await asyncio.gather(trimming, serving, return_exceptions=True)
            await service.close()
            copies.close()

    async def _until(
        self, service: Service, desk: Desk, journal: Journal, stopped: asyncio.Event
    ) -> None:
        await service.start()
        self._about |= {"role": "leader", "address": str(service.address)}
        with suppress(redis.RedisError):
            await self._registry.beat(**self._about)
        logger.info("This node leads as number %d, at %s.", journal.number, service.address)
        await service.until(stopped)
        desk.bury(self._worker)  # if it has not said goodbye it was killed
        await self._hand_over(service, journal)

    def _mark(self, journal: Journal, *, has_led: bool) -> None:
        assert self._frontier is not None
        self._standing = Standing(
            self._registry.identity, journal.number, journal.position, has_led
        )
        self._frontier.stand(self._standing)

    async def _trim(self, journal: Journal) -> None:
        """Drop from the log what all others have done."""
        while True:
            await asyncio.sleep(RENEWED)
            with suppress(redis.RedisError):
                positions = await self._positions(AWAY_AFTER)
                known = [each for each in positions if each]
                slowest = min(known, key=place_of) if known and len(known) == len(positions) else ""
                self._about["position"] = journal.position
                first = max(slowest or BEGINNING, journal.first_to_keep, key=place_of)
                await self._registry.trim(journal.number, first)

    async def _positions(self, within: float) -> list[str]:
        """Return how far the standbys are that were heard of lately, "" for one that has no copy yet."""
        nodes = (await self._registry.look(within)).nodes
        nodes.pop(self._registry.name, None)
        return [each.get("position", "") for each in nodes.values() if each.get("role") != "leader"]

    async def _hand_over(self, service: Service, journal: Journal) -> None:
        """End so that another node can go on: it has a copy, and the log has everything."""
        assert self._frontier is not None
        end = monotonic() + _HANDING_OVER
        with suppress(redis.RedisError):
            while (positions := await self._positions(_LATELY)) and not any(positions):
                if monotonic() > end:
                    break
                await asyncio.sleep(_LOOK)
        await service.close()
        self._frontier.record = lambda *operation: None
        try:
            await asyncio.wait_for(journal.flush(), _FLUSHING)
            self._mark(journal, has_led=False)
        except TimeoutError:
            logger.warning("Redis is away: this node has what others do not know yet.")
        frontier, self._frontier = self._frontier, None
        frontier.close()
