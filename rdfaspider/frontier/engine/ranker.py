"""Computes the PageRank of all URLs of a frontier, beside the crawl.

It is a process of its own, of low priority: it reads the frontier as `scrapy graph` does, and a crawl feels
it no more than any other program. It ends with its parent. A kill loses the computation and nothing else.

Besides the ranks (tables/ranks.py) it writes the moves: the waiting URLs whose hint says something else, each
as one number, 256 times the URL's number plus the weight of its links.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.children import await_end_of_parent, read_task
from rdfaspider.frontier.engine.counters import Counters
from rdfaspider.frontier.engine.terms import order_of, shard_begun
from rdfaspider.frontier.orders import order_class
from rdfaspider.frontier.tables.database import Database
from rdfaspider.frontier.tables.links.edges import Edges
from rdfaspider.frontier.tables.ranks import Ranks, write_ranks
from rdfaspider.frontier.tables.trie import Trie, number_of, unpack_number
from rdfaspider.frontier.tables.waiting import entry_of
from rdfaspider.linkgraph import need_numpy
from rdfaspider.linkgraph.weights import ONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfaspider.frontier.orders.order import Order
    from rdfaspider.linkgraph.files.varints import Array

# Some 45 bytes of memory each: a gigabyte.
MOST_URLS = 22_000_000
# Added to the priority of the process: the greater the lower.
_NICE = 10
_NUMBER = 5  # bytes at the end of the key of a waiting URL


class Ranked(NamedTuple):
    """What was computed: how many URLs and links, and the moves."""

    urls: int
    links: int
    moves: array[int]


class _Source:
    """The links of an open frontier, as linkgraph/reading.py reads them."""

    def __init__(self, database: Database) -> None:
        self._trie = Trie(database)
        self.pages = Edges(database).all
        self.size = Counters(database).next_number

    def urls(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield nothing: the URLs keep their numbers."""
        return iter(())

    def numbers(self, keys: list[bytes]) -> list[int | None]:
        return [None if data is None else number_of(data) for data in self._trie.records(keys)]


def rank(
    database: Database,
    order: Order,
    path: Path,
    folder: Path,
    tell: Callable[[str], None] = lambda text: None,
) -> Ranked:
    """Compute and write the ranks of a frontier. `folder` is for files that the caller removes."""
    need_numpy()
    from rdfaspider.linkgraph.growing import rank_urls

    source = _Source(database)
    if source.size > MOST_URLS:
        raise ValueError(
            f"The crawl knows {source.size:,} URLs, too many to compute their PageRank while it runs"
            f" ({MOST_URLS:,} at most): the number of links decides."
        )
    last = Ranks(path)
    start = last.vector()
    last.close()
    ranking = rank_urls(source, folder, start, tell=tell)
    write_ranks(path, ranking)
    return Ranked(source.size, ranking.links, _moves(database, order, ranking.weights, tell))


def _moves(
    database: Database, order: Order, weights: Array, tell: Callable[[str], None]
) -> array[int]:
    """Return the moves, sorted by number. A seed counts as one link at least.

    A shard has not all links to its URLs: what others have told it of them is in their hints. So it moves
    URLs to the front only.
    """
    known, moves = weights.tobytes(), array("Q")
    if not order.reads_ranks:
        return moves
    is_part = shard_begun(database).total > 1
    for count, (key, value) in enumerate(database.waiting.pairs()):
        number = unpack_number(key[-_NUMBER:])
        if number < len(known):
            entry = entry_of(value)
            weight = known[number] if entry.depth else max(known[number], ONE)
            hint = order.ranked(entry.hint, weight)
            if hint > entry.hint or (hint < entry.hint and not is_part):
                moves.append(number << 8 | weight)
        if not count % 10_000:
            tell(f"{count:,} waiting URLs compared …")
    return array("Q", sorted(moves))


def main() -> None:
    """Rank the frontier that the task names, as a child; say what it took in a line of JSON."""
    path, folder = map(Path, json.loads(read_task()))
    os.nice(_NICE)
    ended = threading.Event()

    def watch() -> None:
        await_end_of_parent()
        ended.set()

    def tell(text: str) -> None:
        if ended.is_set():
            sys.exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        said: object = _run(path, folder, tell)
    except (OSError, ValueError, MemoryError) as error:
        said = str(error) or "There is not enough memory."
    print(json.dumps(said), flush=True)


def _run(path: Path, folder: Path, tell: Callable[[str], None]) -> dict[str, float]:
    database = Database(path, read_only=True)
    try:
        order = order_class(order_of(database) or "breadth")(database)
        ranked = rank(database, order, path, folder, tell)
    finally:
        database.close()
    moves = folder / "moves"
    moves.write_bytes(ranked.moves.tobytes())
    return {
        "urls": ranked.urls,
        "links": ranked.links,
        "moves": len(ranked.moves),
        "seconds": time.process_time(),
    }
