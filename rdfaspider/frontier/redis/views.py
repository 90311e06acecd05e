"""Hosts as people see them, from their records in Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import HostView
from rdfaspider.frontier.hosts import Host

if TYPE_CHECKING:
    from rdfaspider.frontier.politeness import Politeness


def view(row: list[Any], politeness: Politeness, now: float, offset: float) -> HostView:
    """Return what the script `hosts` says of one; `offset` is from the caller's time to that of Redis."""
    waiting, flying, later = map(int, row[1:4])
    clock, blocked = float(row[6]) - offset, float(row[7]) - offset
    host = Host(row[0], 0)
    host.done, host.failed = int(row[4]), int(row[5])
    host.crawl_delay, host.latency = float(row[8]), float(row[9])
    ready = max(clock, blocked)
    if flying >= politeness.at_once:
        why = "is being fetched from"
    elif not waiting:
        why = "waits to try again" if later else "has nothing waiting"
    elif ready <= now:
        why = "is ready"
    else:
        why = "was told to wait" if blocked > clock else "keeps its delay"
    return HostView(
        name=host.name,
        waiting=waiting + later,
        in_flight=flying,
        done=host.done,
        failed=host.failed,
        delay=politeness.pause(host),
        ready=ready,
        why=why,
    )
