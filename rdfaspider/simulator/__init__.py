"""The simulator: crawls of webs that do not exist, in virtual time, to compare orders.

    web = GeneratedWeb(Shape("sections"), seed=1)
    run = crawl(simulated("harvest", seed=1), web, fetches=20_000)
    run.harvest                         gain of a fetch
    plot({"harvest": run}).encode()     curves as SVG

`simulated` makes a frontier in memory (memory.py); `crawl` takes any frontier (drive.py).
"""

from __future__ import annotations

from rdfaspider.simulator.choosers import ORDERS, simulated
from rdfaspider.simulator.drive import Real, Run, crawl
from rdfaspider.simulator.plot import plot, table
from rdfaspider.simulator.web import WEBS, GeneratedWeb, RecordedWeb, Shape

__all__ = [
    "ORDERS",
    "WEBS",
    "GeneratedWeb",
    "Real",
    "RecordedWeb",
    "Run",
    "Shape",
    "crawl",
    "plot",
    "simulated",
    "table",
]
