"""The frontier of a crawl as the console reads it: each question as a scan (scans.py)."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rdfaspider.console.hosts.readers import Readers
from rdfaspider.console.hosts.scans import Scan
from rdfaspider.frontier import open_frontier
from rdfaspider.urls.keys import host_name, prefix_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rdfaspider.frontier import BranchView, HostView, State, UrlView
    from rdfaspider.frontier.engine.local import LocalFrontier
    from rdfaspider.frontier.views.pages import Outcome
    from rdfaspider.frontier.views.reader import FrontierReader
    from rdfaspider.service.messages import WorkerView

Row = TypeVar("Row")

# What follows the name of a host in a key (urls/keys.py): its end, a port, a user.
HOST_ENDS = (b")", b":", b"@")

# Seconds of CPU time for a scan of all hosts, and for a requeue, which must come to an end.
_LONG = 600.0
# Seconds for a question to another process, or to a frontier that nobody else uses.
_PATIENCE = 5.0


class FrontierSource(Protocol):
    """What the console asks of a frontier."""

    def hosts(self, now: float) -> Scan[HostView]: ...

    def ended(self, state: State, reason: str, after: int = 0) -> Scan[UrlView]:
        """Return the URLs that failed or were denied for a reason, after a place in their list."""

    def place(self, after: int, shown: list[UrlView]) -> int:
        """Return the place after URLs that were shown."""

    def failed_at(self, host: bytes) -> Scan[UrlView]:
        """Return the failed URLs of a host, by its key."""

    def branches(self, prefix: bytes) -> Scan[BranchView]: ...

    def requeue(self, pattern: str, reason: str = "") -> Scan[bool]: ...

    async def note(self, name: str) -> bytes | None: ...

    async def ranks(self, urls: Iterable[str]) -> dict[str, float]:
        """Return the PageRank of those URLs that have one."""

    async def workers(self) -> list[WorkerView]: ...


class LocalSource:
    """A frontier in this process. `is_open` tells whether it may still be read."""

    def __init__(self, frontier: LocalFrontier, is_open: Callable[[], bool]) -> None:
        self._frontier = frontier
        self._is_open = is_open

    def hosts(self, now: float) -> Scan[HostView]:
        return Scan(self._frontier.hosts(now), limit=_LONG, may_go_on=self._is_open)

    def ended(self, state: State, reason: str, after: int = 0) -> Scan[UrlView]:
        views = self._frontier.views
        return Scan(views.scan(state, "", reason, after), may_go_on=self._is_open)

    def place(self, after: int, shown: list[UrlView]) -> int:
        return _after_number(after, shown)

    def failed_at(self, host: bytes) -> Scan[UrlView]:
        below = self._frontier.views.below
        rows = chain.from_iterable(below(host + end, "failed") for end in HOST_ENDS)
        return Scan(rows, may_go_on=self._is_open)

    def branches(self, prefix: bytes) -> Scan[BranchView]:
        return Scan(self._frontier.views.branches(prefix), may_go_on=self._is_open)

    def requeue(self, pattern: str, reason: str = "") -> Scan[bool]:
        rows = self._frontier.requeuing(pattern, reason)
        return Scan(rows, limit=_LONG, may_go_on=self._is_open)

    async def note(self, name: str) -> bytes | None:
        return self._frontier.note(name)

    async def ranks(self, urls: Iterable[str]) -> dict[str, float]:
        return self._frontier.views.ranks(urls)

    async def workers(self) -> list[WorkerView]:
        return []


class _LentSource:
    """A frontier that is not of this process: each question has it lent by `_open`, in a thread.

    `_clock` tells what a scan has taken.
    """

    _clock = staticmethod(time.monotonic)

    def _open(self) -> AbstractContextManager[Any]:
        raise NotImplementedError

    async def ask(self, call: Callable[[Any], Row]) -> Row:
        """Return what a call of the frontier returns."""

        def asked() -> Row:
            with self._open() as frontier:
                return call(frontier)

        return await asyncio.to_thread(asked)

    def _scan(self, call: Callable[[Any], Iterator[Row]], limit: float = _PATIENCE) -> Scan[Row]:
        def rows() -> Iterator[Row]:
            with self._open() as frontier:
                yield from call(frontier)

        return Scan(rows(), run=asyncio.to_thread, limit=limit, clock=self._clock)

    def hosts(self, now: float) -> Scan[HostView]:
        return self._scan(lambda frontier: frontier.hosts(now), _LONG)

    def branches(self, prefix: bytes) -> Scan[BranchView]:
        return self._scan(lambda frontier: frontier.under(prefix))

    async def note(self, name: str) -> bytes | None:
        found: bytes | None = await self.ask(lambda frontier: frontier.note(name))
        return found

    async def ranks(self, urls: Iterable[str]) -> dict[str, float]:
        wanted = list(urls)
        found: dict[str, float] = await self.ask(lambda frontier: frontier.ranks(wanted))
        return found


class ServedSource(_LentSource):
    """A frontier that a service serves to workers: each question has a connection of its own."""

    def __init__(self, url: str, security: Any, **options: Any) -> None:
        self._url = url
        self._security = security
        self._options = {"onlooks": True, "read_ahead": 0, **options}

    def _open(self) -> Any:
        return open_frontier(self._url, security=self._security, now=time.time(), **self._options)

    def ended(self, state: State, reason: str, after: int = 0) -> Scan[UrlView]:
        def rows(frontier: Any) -> Iterator[UrlView]:
            found = (view for view in frontier.ended(state) if view.reason == reason)
            return islice(found, after, None)

        return self._scan(rows)

    def place(self, after: int, shown: list[UrlView]) -> int:
        return after + len(shown)

    def all_ended(self, state: State) -> Scan[UrlView]:
        return self._scan(lambda frontier: frontier.ended(state))

    def failed_at(self, host: bytes) -> Scan[UrlView]:
        name = re.escape(host_name(host))
        pattern = rf"^https?://([^/@]*@)?{name}(:\d+)?/"
        return self._scan(lambda frontier: frontier.ended("failed", pattern))

    def requeue(self, pattern: str, reason: str = "") -> Scan[bool]:
        return self._scan(lambda frontier: iter([True] * frontier.requeue(pattern, reason)), _LONG)

    async def workers(self) -> list[WorkerView]:
        found: list[WorkerView] = await self.ask(lambda frontier: frontier.workers())
        return found


class StoredSource(_LentSource):
    """A frontier on disk, whose crawl may run elsewhere: each scan reads it as it was a little before."""

    _clock = staticmethod(time.thread_time)

    def __init__(self, path: str, delay: float) -> None:
        self._readers = Readers(path, delay)

    def _open(self) -> AbstractContextManager[FrontierReader]:
        return self._readers.lend()

    def ended(self, state: State, reason: str, after: int = 0) -> Scan[UrlView]:
        return self._scan(lambda reader: reader.ended_for(state, reason, after))

    def place(self, after: int, shown: list[UrlView]) -> int:
        return _after_number(after, shown)

    def outcomes(self) -> Scan[Outcome]:
        """Return how all URLs have ended, with the rows of their pages."""
        return self._scan(lambda reader: reader.pages.outcomes(), _LONG)

    def failed_at(self, host: bytes) -> Scan[UrlView]:
        return self._scan(
            lambda reader: chain.from_iterable(
                reader.below(host + end, "failed") for end in HOST_ENDS
            )
        )

    def requeue(self, pattern: str, reason: str = "") -> Scan[bool]:
        raise ValueError("The crawl does not run: scrapy frontier --requeue REGEX does this.")

    async def workers(self) -> list[WorkerView]:
        return []


async def knows_host(frontier: FrontierSource, name: str) -> bool:
    """Tell whether a frontier has URLs of a host."""
    key = prefix_of(name)
    for end in HOST_ENDS:
        scan = frontier.branches(key + end)
        async for part in scan:
            if part:
                return True
        if not scan.is_whole:  # there was no time to come to the end of all these
            return True
    return False


def _after_number(after: int, shown: list[UrlView]) -> int:
    """Return the place after URLs that are listed by number."""
    return shown[-1].number + 1 if shown and shown[-1].number is not None else after
