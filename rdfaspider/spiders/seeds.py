"""Seeds: the URLs a crawl starts from, as given on the command line.

`crawl:DIRECTORY?most=1000` names an earlier crawl (WebParF, section IV.A; row P9). Its seeds are the
pages with the most triples in its store. For a crawl with topics they are the best hubs of each topic in
turn, from its frontier; for a crawl whose store is elsewhere the best hubs of all. Nothing in the directory
is changed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain, islice, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider import rocksdb
from rdfaspider.focus.topics import read_topics
from rdfaspider.secrets import without_secrets
from rdfaspider.stores.embedded.oxigraph import OxigraphStore
from rdfaspider.stores.selection import Selection
from rdfaspider.urls.seedfile import BadSeeds, read_seed_lines, usable_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)

_SCHEME = "crawl:"
_MOST = 1000
_USAGE = "write crawl:DIRECTORY or crawl:DIRECTORY?most=NUMBER"


@dataclass(frozen=True, slots=True)
class Seeds:
    """The good URLs of an argument, normalised and without repeats, and how many were bad.

    `topics` has the topic of each seed that comes from a topics file or from an earlier crawl with topics.
    """

    urls: tuple[str, ...]
    bad: int
    topics: Mapping[str, str] = field(default_factory=dict)

    def with_hubs(self, hubs: Mapping[str, str]) -> Seeds:
        """Return these seeds and the hubs of a topics file."""
        return Seeds(tuple(dict.fromkeys((*self.urls, *hubs))), self.bad, {**self.topics, **hubs})


def read_hubs(topics_file: str) -> dict[str, str]:
    """Return the seeds in a topics file, each with its topic; of two topics the first counts."""
    hubs: dict[str, str] = {}
    try:
        for topic in read_topics(Path(topics_file)) if topics_file else ():
            for url in topic.seeds:
                hubs.setdefault(url, topic.name)
    except ValueError as error:
        raise UsageError(f"FRONTIER_TOPICS is wrong: {error}") from error
    return hubs


def read_seeds(argument: str | None) -> Seeds:
    """Read seeds: `URL[,URL…]`, a file with one URL per line, `-` for standard input, or the pages of an
    earlier crawl, `crawl:DIRECTORY`."""
    if not argument:
        raise UsageError(
            "No seeds: say where to start with -a seeds=URL[,URL…], -a seeds=FILE"
            " (one URL per line), -a seeds=- (standard input) or -a seeds=crawl:DIRECTORY (an earlier crawl),"
            " name seeds in the file of FRONTIER_TOPICS, or read them from Redis with"
            " -s SEEDS_URL=redis://HOST:PORT/0."
        )
    bad = BadSeeds(logger.warning)
    topics: dict[str, str] = {}
    try:
        if argument.startswith(_SCHEME):
            topics = dict(_read_earlier(argument))
            lines: Iterable[tuple[str, str]] = ((argument[:200], url) for url in topics)
        else:
            lines = read_seed_lines(argument)
        urls = tuple(dict.fromkeys(usable_seeds(lines, bad)))
        bad.sum_up()
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    if not urls:
        shown = without_secrets(argument[:200])
        raise UsageError(f"No usable seed in {shown}: {bad.count:,} bad, none good.")
    return Seeds(urls, bad.count, {url: topics[url] for url in urls if topics.get(url)})


def _read_earlier(argument: str) -> Iterator[tuple[str, str]]:
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
    name, mark, options = argument.removeprefix(_SCHEME).partition("?")
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
