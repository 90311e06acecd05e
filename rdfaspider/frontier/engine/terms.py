"""The terms on which a crawl began, which it keeps: order, window, depth, and the limits of its last run."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.sharding import Shard

if TYPE_CHECKING:
    from rdfaspider.frontier.tables.database import Database


class Window(NamedTuple):
    """Width of an order's window, 0 for automatic, and what comes first in it."""

    size: int = 0
    ranking: str = "off"

    def __str__(self) -> str:
        return f"FRONTIER_WINDOW={self.size} and FRONTIER_RANKING={self.ranking}"


# The orders that have a window, and the rankings within it.
WITH_WINDOW = ("topwindow", "leafwindow")
RANKINGS = ("off", "profit")


def keep_window(database: Database, order: str, size: int | None, ranking: str | None) -> None:
    """Store the window of a new crawl, or check the one asked for; None keeps that of the crawl.

    Raise ValueError if the crawl has another window, or its order has none.
    """
    if size is None and ranking is None:
        return
    if order not in WITH_WINDOW:
        raise ValueError(
            f"The order {order} has no window: FRONTIER_WINDOW and FRONTIER_RANKING are for the orders"
            f" {' and '.join(WITH_WINDOW)}."
        )
    if ranking not in (None, *RANKINGS):
        raise ValueError(f"There is no ranking {ranking}: choose {' or '.join(RANKINGS)}.")
    if size is not None and size < 0:
        raise ValueError(f"FRONTIER_WINDOW must be 0 or more, not {size}.")
    begun = window_of(database)
    wanted = Window(
        begun.size if size is None else size, begun.ranking if ranking is None else ranking
    )
    if database.meta.get(b"order") is None:
        database.meta[b"window"] = json.dumps(wanted).encode()
    elif wanted != begun:
        raise ValueError(
            f"This crawl was begun with {begun} and cannot go on with {wanted}: begin a new one with -s"
            " JOBDIR=DIRECTORY."
        )


def window_of(database: Database) -> Window:
    noted = database.meta.get(b"window")
    return Window() if noted is None else Window(*json.loads(noted))


def keep_shard(database: Database, shard: Shard) -> None:
    """Store which shard of a crawl this is; ValueError if it was begun as another one."""
    begun = shard_begun(database)
    if database.meta.get(b"order") is None:
        database.meta[b"shard"] = str(shard).encode()
    elif begun != shard:
        raise ValueError(
            f"This frontier was begun as shard {begun} of its crawl and cannot go on as {shard}: serve it"
            f" with --shard {begun}, or begin a new one with -s JOBDIR=DIRECTORY."
        )


def shard_begun(database: Database) -> Shard:
    """Return which shard of a crawl a frontier was begun as."""
    return Shard.parse((database.meta.get(b"shard") or b"1/1").decode())


def keep_terms(database: Database, order: str, limits: FrontierLimits) -> FrontierLimits:
    """Store the terms of a crawl and return its limits, within the depth it was begun with.

    Raise ValueError if it was begun on terms that exclude these.
    """
    meta = database.meta
    begun = meta.get(b"order")
    if begun is None:
        meta[b"order"] = order.encode()
    elif begun.decode() != order:
        raise ValueError(
            f"This crawl was begun with the order {begun.decode()} and cannot go on with {order}:"
            " begin a new one with -s JOBDIR=DIRECTORY."
        )
    deepest = meta.get(b"depth")
    if deepest is None:
        meta[b"depth"] = str(limits.depth).encode()
    elif limits.depth > int(deepest) and not limits.as_begun:
        raise ValueError(
            f"This crawl was begun with depth {int(deepest)}, and what lies deeper was not kept: to go"
            f" {limits.depth} deep, begin a new one with -s JOBDIR=DIRECTORY."
        )
    else:
        limits = limits.within(int(deepest))
    meta[b"limits"] = json.dumps(asdict(limits)).encode()
    return limits


def order_of(database: Database) -> str | None:
    """Return the order of a crawl, None if it has none yet."""
    order = database.meta.get(b"order")
    return None if order is None else order.decode()


def limits_of(database: Database) -> FrontierLimits:
    """Return the limits of the last run of a crawl."""
    return FrontierLimits(**json.loads(database.meta.get(b"limits") or b"{}"))
