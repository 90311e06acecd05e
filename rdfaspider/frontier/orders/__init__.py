"""Orders: which waiting URLs of a host come next, and which ready host.

breadth      shallow pages first
roundrobin   one URL of each branch in turn, at every level (the RDFa Web Spider's XTrie)
topwindow    the leftmost leaf of each host, host after host (Tarantula)
leafwindow   a window over the leaves of each host, back and forth (Tarantula)
profit       the best pages first (WIRE)
topics       one URL of each topic in turn (WebParF)
harvest      where most triples are expected

order.py has what an order is; the two windows are in windows.py. To add one: a module, a row of `ORDERS`, a
choice of FRONTIER_ORDER (settings/declarations/frontier.py). What it is told of pages and links comes from
scheduler/answers/advice.py. An order of another package is named by its dotted path.
"""

from __future__ import annotations

from typing import cast

from rdfaspider.frontier.orders.breadth import Breadth
from rdfaspider.frontier.orders.harvest import HarvestOrder
from rdfaspider.frontier.orders.order import Order
from rdfaspider.frontier.orders.profit import Profit
from rdfaspider.frontier.orders.roundrobin import RoundRobin
from rdfaspider.frontier.orders.topics import Topics
from rdfaspider.frontier.orders.windows import LeafWindow, TopWindow
from rdfaspider.plugins import is_path, load

ORDERS: dict[str, type[Order]] = {
    "breadth": Breadth,
    "roundrobin": RoundRobin,
    "topwindow": TopWindow,
    "leafwindow": LeafWindow,
    "profit": Profit,
    "topics": Topics,
    "harvest": HarvestOrder,
}

# What the frontier asks of an order.
_NEEDS = tuple(name for name in vars(Order) if not name.startswith("_"))


def order_class(name: str) -> type[Order]:
    """Return the order with a name, or at a dotted path; ValueError if there is none."""
    if name in ORDERS:
        return ORDERS[name]
    if not is_path(name):
        raise ValueError(f"There is no order {name}: choose {', '.join(ORDERS)}.")
    return cast("type[Order]", load(name, "an order", _NEEDS, f"{Order.__module__}.Order"))
