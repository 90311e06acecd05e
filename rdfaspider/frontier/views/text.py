"""A frontier as text for people: its sum, its hosts, its URLs.

User names and passwords are left out of the URLs shown.
"""

from __future__ import annotations

import heapq
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rdfaspider.frontier.limits import explain
from rdfaspider.terminal import plural
from rdfaspider.urls.iris import without_userinfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfaspider.frontier import BranchView, Counts, HostView, UrlView
    from rdfaspider.frontier.limits import FrontierLimits

_COLUMNS = ("status", "attempts", "time", "reason", "URL", "found on")
# Widths of all columns but the last two, which take the room they need.
_WIDTHS = (6, 8, 20, 20)


def sum_lines(counts: Counts, limits: FrontierLimits | None = None) -> Iterator[str]:
    """Yield how the states add up, and how many links were not taken in."""
    yield (
        f"{plural(counts.seen, 'URL')} = {counts.done:,} done + {counts.failed:,} failed"
        f" + {counts.denied:,} denied"
        + (f" + {counts.kept:,} kept to be visited again" if counts.kept else "")
        + f" + {counts.waiting + counts.in_flight:,} waiting"
        " (those being fetched included)"
    )
    for sentence in explain(counts.rejected, limits):
        yield f"{sentence}, not taken in"


def host_lines(views: Iterable[HostView], most: int, now: float) -> Iterator[str]:
    """Yield a table of the hosts that have the most URLs waiting."""
    hosts = heapq.nlargest(most, views, key=lambda host: (host.waiting, host.done))
    if hosts:
        yield f"\n{'waiting':>9} {'done':>9} {'failed':>7} {'delay':>6} {'next':>7}  host"
    for host in hosts:
        yield (
            f"{host.waiting:>9,} {host.done:>9,} {host.failed:>7,} {host.delay:>5.1f}s"
            f" {_next(host, now):>7}  {host.name}: {host.why}"
        )


def _next(host: HostView, now: float) -> str:
    if not host.waiting:
        return "-"
    return "now" if host.ready <= now else f"{host.ready - now:.0f}s"


def branch_lines(views: Iterable[BranchView], most: int) -> Iterator[str]:
    """Yield a table of the branches with the most URLs."""
    branches = list(views)
    yield f"{'URLs':>9} {'waiting':>9} {'done':>9} {'failed':>7} {'denied':>7}"
    for branch in heapq.nlargest(most, branches, key=lambda branch: branch.urls):
        yield (
            f"{branch.urls:>9,} {branch.waiting:>9,} {branch.done:>9,} {branch.failed:>7,}"
            f" {branch.denied:>7,}  {without_userinfo(branch.name)}"
        )
    if len(branches) > most:
        yield f"{len(branches) - most:,} more (--hosts N)"


def url_lines(view: UrlView) -> Iterator[str]:
    """Yield what is known of one URL."""
    yield without_userinfo(view.url)
    known = {
        "state": view.state,
        "depth": view.depth,
        "number": view.number,
        "attempts": view.attempts,
        "status": view.status,
        "reason": view.reason,
        "time": None if view.time is None else moment(view.time),
        "topic": view.topic,
        "rank": None if view.rank is None else f"{view.rank:.3g} times the mean",
        "found on": None if view.referrer is None else without_userinfo(view.referrer),
    }
    for name, value in known.items():
        if value is not None:
            yield f"  {name:<9} {value}"


def table_lines(views: Iterable[UrlView], *, aligned: bool) -> Iterator[str]:
    """Yield a heading and a line for each URL: aligned columns, or columns separated by tabs."""
    line = _aligned if aligned else "\t".join
    for number, view in enumerate(views):
        if not number:
            yield line(_COLUMNS)
        yield line(_cells(view))


def _aligned(cells: tuple[str, ...]) -> str:
    narrow = [cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False)]
    return "  ".join((*narrow, *cells[len(_WIDTHS) :]))


def _cells(view: UrlView) -> tuple[str, ...]:
    time = None if view.time is None else moment(view.time)
    urls = (without_userinfo(url) if url else None for url in (view.url, view.referrer))
    values = (view.status, view.attempts, time, view.reason, *urls)
    return tuple("-" if value is None else str(value) for value in values)


def moment(time: float) -> str:
    """Format a time for people and programs, in UTC."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
