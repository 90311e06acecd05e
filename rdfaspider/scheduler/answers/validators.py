"""Conditional requests: which visits ask only for what has changed, and whose answers are believed.

A server that gets back the validators it sent may answer 304, and the page costs a header instead of a body.
Some servers send validators that do not follow their pages. One visit in twenty therefore asks without them
and compares: the same validators with another graph are a lie, with the same graph a hit; other validators
with the same graph are a false alarm, which costs a body and nothing else. The counts of a host are a note
with the frontier, so they survive. A host that has lied is asked without validators, until its hits outweigh
its lies again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.urls import host

if TYPE_CHECKING:
    from rdfaspider.frontier import Frontier, Taken
    from rdfaspider.items import Page

# One visit in this many asks without validators.
CHECKED = 20
# Hits that outweigh a lie.
_WEIGHT = 50
# Hosts in memory.
_REMEMBERED = 10_000


class Record(NamedTuple):
    """What the validators of a host were worth."""

    hits: int = 0
    lies: int = 0
    alarms: int = 0

    @property
    def is_trusted(self) -> bool:
        return self.hits >= _WEIGHT * self.lies


class Validators:
    """The conditions of requests, and what is known of hosts."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._records: OrderedDict[str, Record] = OrderedDict()

    def conditions(self, taken: Taken) -> dict[str, str]:
        """Return the headers that make a request conditional, none if it is to be answered in full."""
        visit = taken.visit
        # A page that was missing may have been cleared since, so that 304 would leave it empty.
        if visit is None or visit.misses or not (visit.etag or visit.last_modified):
            return {}
        if _is_check(taken.url, visit.time) or not self.record(host(taken.url)).is_trusted:
            return {}
        headers = {"If-None-Match": visit.etag, "If-Modified-Since": visit.last_modified}
        return {name: value for name, value in headers.items() if value}

    def learn(self, taken: Taken, page: Page) -> str:
        """Compare what was said with what was found; return hit, lie, alarm, or "" if nothing is known."""
        visit = taken.visit
        if visit is None or visit.misses or not page.is_read or page.changed is None:
            return ""
        if visit.etag and page.etag:
            is_same = visit.etag == page.etag
        elif visit.last_modified and page.last_modified and not (visit.etag or page.etag):
            is_same = visit.last_modified == page.last_modified
        else:
            return ""
        if not is_same and page.changed:
            return ""
        found = "alarm" if not is_same else "lie" if page.changed else "hit"
        self._count(host(page.url), found)
        return found

    def record(self, name: str) -> Record:
        known = self._records.pop(name, None)
        if known is None:
            try:
                known = Record(*map(int, (self._frontier.note(_note(name)) or b"0 0 0").split()))
            except (FrontierUnavailable, ValueError, TypeError):
                known = Record()
        self._records[name] = known
        if len(self._records) > _REMEMBERED:
            self._records.popitem(last=False)
        return known

    def _count(self, name: str, found: str) -> None:
        hits, lies, alarms = self.record(name)
        new = Record(hits + (found == "hit"), lies + (found == "lie"), alarms + (found == "alarm"))
        self._records[name] = new
        self._frontier.set_note(_note(name), b"%d %d %d" % new)


def _note(name: str) -> str:
    return f"validators {name}"


def _is_check(url: str, time: float) -> bool:
    """Tell whether this visit is one of those that ask without validators; the same for each try of it."""
    return crc32(f"{url} {time:.3f}".encode()) % CHECKED == 0
