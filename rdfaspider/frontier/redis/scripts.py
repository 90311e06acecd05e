"""The scripts of one crawl with their arguments, as the worker's rules ask for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier.hosts import Host
from rdfaspider.frontier.redis.calls import fingerprint, lines
from rdfaspider.frontier.redis.link import Script

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.frontier.redis.calls import Chunk, Landing

# A host that is asked within so many seconds is at work.
_NEAR = 2.0


class Scripts:
    """Makes scripts. `politeness` may be replaced while the crawl runs."""

    def __init__(
        self,
        crawl: str,
        epoch: str,
        partitions: int,
        worker: str,
        politeness: Politeness,
        limits: FrontierLimits,
        lease: float,
    ) -> None:
        self.crawl = crawl
        self.epoch = epoch
        self.partitions = partitions
        self.worker = worker
        self.politeness = politeness
        self.limits = limits
        self.lease = lease
        # A host that was refused by its server asks again after this, if nobody wakes it.
        self.patience = min(lease, 60.0)

    def root(self, partition: int) -> str:
        """Return what all keys of a partition begin with."""
        return f"{{{self.crawl}:{partition}}}"

    def root_of(self, name: bytes) -> str:
        """Return what keys begin with that belong to no host: of a note, or of a server."""
        return self.root(fingerprint(name) % self.partitions)

    def put(self, partition: int, now: float, chunk: Chunk) -> Script:
        limits, pause = self.limits, repr(self.politeness.pause(Host(b"", 0)))
        numbers = (limits.depth, limits.dynamic_depth, limits.host_urls, limits.host_waiting)
        script = self._script("put", partition, now, *numbers, pause)
        return replace(script, last=partial(lines, chunk))

    def knows(self, partition: int, now: float, key: bytes) -> Script:
        return self._script("knows", partition, now, fingerprint(key))

    def land(self, partition: int, now: float, floor: int, landings: list[Landing]) -> Script:
        words = [word for landing in landings for word in landing.arguments()]
        return self._script("land", partition, now, min(floor, 254), *words)

    def take(
        self, partition: int, now: float, count: int, ahead: float = 0.0, slack: float = 0.0
    ) -> Script:
        return self._script("take", partition, now, count, ahead, self.worker, slack)

    def look(self, partition: int, now: float) -> Script:
        return self._script("look", partition, now, _NEAR)

    def evict(self, partition: int, now: float, worker: str) -> Script:
        """Put back all that a worker has in flight."""
        delay = self.politeness.server_delay or 0.0
        return self._script("evict", partition, now, worker, delay)

    def evict_but(self, partition: int, now: float, tokens: Iterable[int]) -> Script:
        """Put back what this worker has in flight without knowing it."""
        return self._script("evict", partition, now, self.worker, "", *tokens)

    def hosts(self, partition: int, now: float, cursor: bytes) -> Script:
        return self._script("hosts", partition, now, cursor)

    def requeue(self, partition: int, now: float, prints: Iterable[bytes]) -> Script:
        return self._script("requeue", partition, now, *prints)

    def unplaced(self, partition: int, now: float, most: int) -> Script:
        return self._script("unplaced", partition, now, most)

    def note(self, name: str, value: bytes, *, merge: bool) -> Script:
        arguments = (self.epoch, "0", "0", 1, name, value, "merge" if merge else "")
        return Script("note", (self.root_of(name.encode()),), arguments)

    def ask_server(
        self, address: str, identity: str, start: float, latest: float, host: bytes
    ) -> Script:
        """Ask for a turn at a server."""
        return self._serve("ask", address, identity, start, repr(latest), host)

    def leave_server(
        self, address: str, identity: str, time: float, how: str, host: bytes
    ) -> Script:
        """End a turn at a server: asked, unasked, or moved to another."""
        return self._serve("leave", address, identity, time, how, host)

    def come_to_server(self, address: str, identity: str, start: float) -> Script:
        """Take a turn for a fetch that is under way."""
        return self._serve("come", address, identity, start)

    def wake_next(self, address: str) -> Script:
        """Wake another host of a server."""
        return self._serve("next", address, "", 0.0)

    def _serve(
        self,
        what: str,
        address: str,
        identity: str,
        time: float,
        how: str = "",
        host: bytes = b"",
    ) -> Script:
        delay = repr(self.politeness.server_delay or 0.0)
        patience = repr(self.patience)
        rules = (self.politeness.at_once, delay, repr(self.lease), patience, self.worker)
        arguments = (*rules, what, address, identity, repr(time), how, host)
        return Script("serve", (self.root_of(address.encode()),), arguments)

    def _script(self, name: str, partition: int, now: float, *arguments: Any) -> Script:
        at_once = self.politeness.at_once
        if self.politeness.server_delay is not None:
            at_once = -at_once
        common = (self.epoch, repr(now), repr(self.lease), at_once)
        return Script(name, (self.root(partition),), (*common, *arguments))
