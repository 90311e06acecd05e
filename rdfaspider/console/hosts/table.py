"""The table of hosts: searched, sorted, a page at a time.

Each order of the table is one pass over all hosts, of which the first rows are kept. So memory does not grow
with the crawl, and millions of hosts can be listed. Of up to 50,000 hosts all are kept, and one scan of the
frontier serves every order. A scan is made again when it is old; the more it costs, the longer it is kept, so
that all scans together take at most half a percent of a core.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfaspider.console.hosts.scans import Scan
    from rdfaspider.frontier import HostView

SORTS = ("name", "waiting", "in_flight", "done", "failed", "delay", "ready")
# Rows kept of an order, rows of a page, orders kept.
_ROWS, _PAGE, _ORDERS = 5_000, 50, 8
# Hosts that are all kept, and how many are looked at before others get their turn.
_KEPT, _SLICE = 50_000, 2_000
# Seconds for which a scan is kept: at least, and for each second that it took.
_FRESH, _PATIENCE = 5.0, 200.0
_WHY = attrgetter("why")
_ADDRESS = re.compile(r"the server \S+,")


@dataclass
class HostTable:
    """The first rows of one order, with sums over all hosts.

    `reasons` counts why hosts wait.
    """

    rows: list[HostView] = field(default_factory=list)
    found: int = 0
    total: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    made: float = 0.0
    cost: float = 0.0

    @property
    def is_fresh(self) -> bool:
        return _is_fresh(self.made, self.cost)


Order = tuple[str, str, bool]


class HostTables:
    """Tables by search text, column and direction. `scan` begins a scan of all hosts."""

    def __init__(self, scan: Callable[[], Scan[HostView]]) -> None:
        self._scan = scan
        self._made: OrderedDict[Order, HostTable] = OrderedDict()
        self._making: dict[Order, asyncio.Task[HostTable]] = {}
        self._scanned: list[HostView] | None = None
        self._scanned_at = self._scan_cost = 0.0

    async def page(self, search: str, sort: str, descending: bool, offset: int) -> dict[str, Any]:
        """Return one page of a table; ValueError if there is no such column."""
        if sort not in SORTS:
            raise ValueError(f"There is no column {sort[:20]}: choose one of {', '.join(SORTS)}.")
        table = await self.table((search.strip().lower()[:200], sort, descending))
        offset = max(0, offset)
        return {
            "rows": table.rows[offset : offset + _PAGE],
            "offset": offset,
            "found": table.found,
            "listed": len(table.rows),
            "total": table.total,
            "reasons": table.reasons.most_common(12),
            "age": round(monotonic() - table.made, 1),
        }

    async def table(self, order: Order = ("", "waiting", True)) -> HostTable:
        """Return a table, a kept one if it is fresh."""
        kept = self._made.get(order)
        if kept is not None and kept.is_fresh:
            self._made.move_to_end(order)
            return kept
        if order not in self._making:  # all who ask meanwhile get the same one
            task = asyncio.get_running_loop().create_task(self._make(order))
            self._making[order] = task
            task.add_done_callback(lambda _: self._making.pop(order, None))
        return await asyncio.shield(self._making[order])

    async def _make(self, order: Order) -> HostTable:
        search, sort, descending = order
        table = HostTable()
        async for part in self._all():
            _add(table, part, search)
            if len(table.rows) > 2 * _ROWS:
                _cut(table, sort, descending=descending)
        _cut(table, sort, descending=descending)
        table.cost, table.made = self._scan_cost, self._scanned_at
        self._made[order] = table
        while len(self._made) > _ORDERS:
            self._made.popitem(last=False)
        return table

    async def _all(self) -> AsyncIterator[list[HostView]]:
        """Yield all hosts in parts: of the latest scan if that is fresh, else of a new one."""
        if self._scanned is not None and _is_fresh(self._scanned_at, self._scan_cost):
            rows = self._scanned
            for start in range(0, len(rows), _SLICE):
                yield rows[start : start + _SLICE]
                await asyncio.sleep(0)
            return
        scan = self._scan()
        kept: list[HostView] = []
        async for part in scan:
            if len(kept) <= _KEPT:
                kept += part
            yield part
        self._scanned = kept if len(kept) <= _KEPT else None
        self._scanned_at, self._scan_cost = monotonic(), scan.spent


def _is_fresh(made: float, cost: float) -> bool:
    return monotonic() - made < max(_FRESH, _PATIENCE * cost)


def _add(table: HostTable, hosts: list[HostView], search: str) -> None:
    table.total += len(hosts)
    for why, count in Counter(map(_WHY, hosts)).items():
        table.reasons[_ADDRESS.sub("a server", why) if why.startswith("shares") else why] += count
    found = [host for host in hosts if search in host.name] if search else hosts
    table.found += len(found)
    table.rows += found


def _cut(table: HostTable, sort: str, *, descending: bool) -> None:
    """Sort the rows, and drop those behind the last page."""
    table.rows.sort(key=attrgetter("name"))
    if sort != "name" or descending:
        table.rows.sort(key=attrgetter(sort), reverse=descending)
    del table.rows[_ROWS:]
