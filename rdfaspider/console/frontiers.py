"""The frontier of a crawl as the console reads it: each question as a scan (scans.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rdfaspider.console.scans import Scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier import BranchView, HostView, State, UrlView
    from rdfaspider.frontier.engine.local import LocalFrontier
    from rdfaspider.service.messages import WorkerView

# Seconds of CPU time for a scan of all hosts, and for a requeue, which must come to an end.
_LONG = 600.0


class FrontierSource(Protocol):
    """What the console asks of a frontier."""

    def hosts(self, now: float) -> Scan[HostView]: ...

    def ended(self, state: State, reason: str) -> Scan[UrlView]:
        """Return the URLs that failed or were denied for a reason."""

    def failed_below(self, prefix: bytes) -> Scan[UrlView]:
        """Return the failed URLs below a prefix of keys."""

    def branches(self, prefix: bytes) -> Scan[BranchView]: ...

    def requeue(self, pattern: str) -> Scan[bool]: ...

    async def note(self, name: str) -> bytes | None: ...

    async def workers(self) -> list[WorkerView]: ...


class LocalSource:
    """A frontier in this process. `is_open` tells whether it may still be read."""

    def __init__(self, frontier: LocalFrontier, is_open: Callable[[], bool]) -> None:
        self._frontier = frontier
        self._is_open = is_open

    def hosts(self, now: float) -> Scan[HostView]:
        return Scan(self._frontier.hosts(now), limit=_LONG, may_go_on=self._is_open)

    def ended(self, state: State, reason: str) -> Scan[UrlView]:
        views = self._frontier.views
        return Scan(views.scan(state, "", reason), may_go_on=self._is_open)

    def failed_below(self, prefix: bytes) -> Scan[UrlView]:
        return Scan(self._frontier.views.below(prefix, "failed"), may_go_on=self._is_open)

    def branches(self, prefix: bytes) -> Scan[BranchView]:
        return Scan(self._frontier.views.branches(prefix), may_go_on=self._is_open)

    def requeue(self, pattern: str) -> Scan[bool]:
        return Scan(self._frontier.requeuing(pattern), limit=_LONG, may_go_on=self._is_open)

    async def note(self, name: str) -> bytes | None:
        return self._frontier.note(name)

    async def workers(self) -> list[WorkerView]:
        return []
