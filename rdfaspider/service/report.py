"""A served crawl as people see it: its workers, and what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.service.shards.frontier import ShardedFrontier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.service.client import ServedFrontier


def lines(frontier: ServedFrontier | ShardedFrontier) -> Iterator[str]:
    """Yield what to tell of the workers."""
    workers = frontier.workers()
    told = ", ".join(f"{name}={value}" for name, value in frontier.told.items() if name != "state")
    state = {"run": "run", "pause": "are paused", "stop": "are told to stop"}[frontier.state]
    shards = f", over {frontier.total} shards" if isinstance(frontier, ShardedFrontier) else ""
    told = f", with {told}" if told else ""
    yield f"The workers {state}{told}; the order is {frontier.order}{shards}."
    if not workers:
        yield "No worker is there."
        return
    yield f"{'worker':40} {'holds':>7} {'ended':>9} {'heard of':>10}"
    for worker in workers:
        heard = f"{worker.silent:.0f} s ago"
        yield f"{worker.name:40} {worker.held:7,} {worker.ended:9,} {heard:>10}"
