"""Seeds out of an earlier crawl: `crawl:DIRECTORY?most=1000` (WebParF, section IV.A; row P9).

They are the pages with the most triples in its store. For a crawl with topics they are the best hubs of each
topic in turn, from its frontier; for a crawl whose store is elsewhere the best hubs of all. Nothing in the
directory is changed.
"""

from __future__ import annotations

import re
from heapq import nlargest
from itertools import chain, islice, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider import rocksdb
from rdfaspider.stores.embedded.oxigraph import OxigraphStore
from rdfaspider.stores.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEME = "crawl:"
_MOST = 1000
_USAGE = "write crawl:DIRECTORY or crawl:DIRECTORY?most=NUMBER"


def read_earlier(argument: str) -> Iterator[tuple[str, str]]:
    """Yield the seeds that an argument asks for, each with its topic, "" if it has none.

    Raise ValueError, or an OSError of the store or the frontier, with a sentence if there are none.
    """
    directory, most = _parse(argument)
    frontier, store = directory / "frontier", directory / "store"
    has_frontier, has_store = rocksdb.is_there(frontier), rocksdb.is_there(store)
    if not (has_frontier or has_store):
        raise ValueError(
            f"There is no crawl in {directory}: it has neither a frontier nor a store; {_USAGE}."
        )
    hubs: dict[str, list[str]] = {}
    if has_frontier:
        from rdfaspider.frontier.views.reader import FrontierReader  # most crawls have other seeds

        with FrontierReader(str(frontier), delay=0.0) as reader:
            if reader.order == "topics" or not has_store:
                hubs = reader.hubs(most)
    if hubs:
        pairs = ([(url, topic) for url in urls] for topic, urls in hubs.items())
        turns = chain.from_iterable(zip_longest(*pairs))
        yield from islice((pair for pair in turns if pair is not None), most)
    elif has_store:
        yield from ((url, "") for url in _richest(store, most))
    else:
        raise ValueError(f"The crawl in {directory} has no pages yet: it cannot give any seeds.")


def _parse(argument: str) -> tuple[Path, int]:
    """Return the directory and the number of an argument."""
    name, mark, options = argument.removeprefix(SCHEME).partition("?")
    if not name:
        raise ValueError(f"{argument[:200]} names no directory: {_USAGE}.")
    if not mark:
        return Path(name), _MOST
    found = re.fullmatch(r"most=([0-9]{1,9})", options)
    if found is None or not int(found[1]):
        raise ValueError(f"{argument[:200]} is wrong after the question mark: {_USAGE}, 1 or more.")
    return Path(name), int(found[1])


def _richest(path: Path, most: int) -> list[str]:
    """Return the pages with the most triples in a store, the richest first."""
    with OxigraphStore(str(path), read_only=True) as store:
        pages = (
            (graph, count)
            for graph, count in store.sizes(Selection())
            if graph.startswith(("http://", "https://"))
        )
        return [graph for graph, _ in nlargest(most, pages, key=itemgetter(1))]
