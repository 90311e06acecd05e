"""How a crawl was begun, which it keeps: its order, its depth, and the limits of its last run."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rdfaspider.frontier.limits import FrontierLimits

if TYPE_CHECKING:
    from rdfaspider.frontier.database import Database


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
