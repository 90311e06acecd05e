"""How a crawl was begun, which it keeps: its order, its window, its depth, and the limits of its last run."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.sharding import Shard

if TYPE_CHECKING:
    from rdfaspider.frontier.tables.database import Database


class Window(NamedTuple):
    """How wide the window of an order is, 0 for as wide as it comes, and what comes first in it."""

    size: int = 0
    ranking: str = "off"

    def __str__(self) -> str:
        return f"FRONTIER_WINDOW={self.size} and FRONTIER_RANKING={self.ranking}"


# The orders that have a window, and what may come first in it.
WITH_WINDOW = ("topwindow", "leafwindow")
RANKINGS = ("off", "profit")


def keep_window(database: Database, order: str, size: int | None, ranking: str | None) -> None:
    """Note the window of a crawl, or what is asked for of it; None is as begun.

    Raise ValueError if it was begun with another one, or has none.
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
    """Return the window of a crawl."""
    noted = database.meta.get(b"window")
    return Window() if noted is None else Window(*json.loads(noted))


def keep_shard(database: Database, shard: Shard) -> None:
    """Note which shard of a crawl this is; ValueError if it is another one."""
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
    """Note how a crawl is run and return its limits, within the depth that it was begun with.

    Raise ValueError if it was begun otherwise and cannot go on like this.
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


def limits_of(database: Database, otherwise: FrontierLimits) -> FrontierLimits:
    """Return the limits of the last run of a crawl.

    One that an earlier version began has noted its depth only; the other limits are `otherwise`.
    """
    noted, deepest = database.meta.get(b"limits"), database.meta.get(b"depth")
    if noted is not None:
        return FrontierLimits(**json.loads(noted))
    return otherwise if deepest is None else otherwise.within(int(deepest))
