"""The link graph: which page links to which, and what follows from that.

While a crawl runs, its frontier keeps the links of each page by numbers (edges.py, which needs nothing but
Python). Afterwards `compact` makes a graph of them in a directory of its own: pages in the order of their
keys, links in both directions (WIRE keeps such a graph for its link analysis; row W9). The rest reads that:

    edges       the links of one page as bytes
    weights     what links pass on, as a byte
    pages       the URLs of frontiers to the pages of a graph
    reading     the links of frontiers as arrays
    compact     these links to a graph
    graph       the directory of a graph, and its pages; hosts the graph of hosts
    growing     PageRank of a crawl that goes on
    files/      adjacency, rows: the links in compact files and as plain arrays; sorting, varints, arrays
    measures/   ranks (PageRank, HITS), components (bow tie), degrees (power laws), reach, structure
    export      edge lists, WebGraph's ASCII form, Parquet, GraphML, N-Quads

`scrapy graph` (commands/results/graph.py) and the report show the results.

Memory holds a few vectors with a place for each page. Links are read from disk in pieces, so a graph may
be larger than memory. All results are the same in each run. Everything but edges and weights needs numpy
(`pip install rdfaspider[analysis]`).
"""

from __future__ import annotations

from importlib.util import find_spec


def need_numpy() -> None:
    """Raise ValueError with a sentence if numpy is not installed."""
    if find_spec("numpy") is None:
        raise ValueError(
            "numpy, which analyses the link graph, is not installed: pip install 'rdfaspider[analysis]'."
        )
