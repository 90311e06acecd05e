"""The simulator: crawls of webs that do not exist, in virtual time, to compare orders.

    web = GeneratedWeb(Shape("sections"), seed=1)
    with simulated("harvest") as frontier:
        run = crawl(frontier, web, fetches=20_000)
    run.harvest                         gain of a fetch
    plot({"harvest": run}).encode()     curves as SVG

drive.py  crawls a web by any frontier; `simulated` opens one on disk, which is gone afterwards
web.py    generated and recorded webs; plot.py  curves
inmemory.py  baselines: bandit.py Anthelion's way, and scored.py the best score first
pagerank.py  how early a crawl finds the pages of high PageRank
"""

from __future__ import annotations

from rdfaspider.simulator.drive import ORDERS, Real, Run, crawl, simulated
from rdfaspider.simulator.pagerank import plot_ranks, rank_table, ranks_of
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
    "plot_ranks",
    "rank_table",
    "ranks_of",
    "simulated",
    "table",
]
