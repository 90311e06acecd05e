"""The link graph of a crawl: built from its frontiers when they have changed, with what is computed of it."""

from __future__ import annotations

import fcntl
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rdfaspider.closable import Closable
from rdfaspider.frontier.views.links import LinkReader
from rdfaspider.linkgraph.compact import Compaction
from rdfaspider.linkgraph.files.arrays import create
from rdfaspider.linkgraph.files.rows import Rows
from rdfaspider.linkgraph.graph import Graph, read_about
from rdfaspider.linkgraph.hosts import HostLinks, host_links, host_rank, host_sums
from rdfaspider.linkgraph.measures.ranks import Power, hits, pagerank
from rdfaspider.linkgraph.measures.structure import Structure, structure_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rdfaspider.frontier.sharding import Shard
    from rdfaspider.linkgraph.edges import Links
    from rdfaspider.linkgraph.files.varints import Array


class Ranks(NamedTuple):
    """PageRank, and how good a hub and an authority each page is."""

    pagerank: Array
    hubs: Array
    authorities: Array


class CrawlGraph(Closable):
    """The graph of the frontiers in some directories, the shards of one crawl.

    `folder` has the graph; it is built again if the crawl has gone on since, unless it `is_kept`. `missing`
    are the shards that are not given, counted from 1.
    """

    def __init__(
        self,
        paths: Sequence[str],
        folder: Path,
        *,
        is_kept: bool = False,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._tell = tell
        self._stack = ExitStack()
        try:
            readers = [self._stack.enter_context(LinkReader(path)) for path in paths]
            self._readers = sorted(readers, key=lambda reader: reader.shard)
            self.missing = _missing([reader.shard for reader in readers])
            self._lock(folder)
            self.is_running = any(reader.is_running for reader in self._readers)
            stamp = [reader.stamp for reader in self._readers]
            known = (read_about(folder) or {}).get("stamp", [])
            self.is_old = known != stamp
            # The names of pages are read from the shards that the graph was built from.
            is_of_these = [shard for shard, *_ in known] == [shard for shard, _ in stamp]
            if self.is_old and not (is_kept and is_of_these):
                Compaction(self._readers, folder, tell).run(stamp=stamp)
                self.is_old = False
            self.graph = self._stack.enter_context(Graph(folder))
        except BaseException:
            self._stack.close()
            raise

    def _lock(self, folder: Path) -> None:
        """Keep other commands out; ValueError if one is at work."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = self._stack.enter_context(folder.with_name(f"{folder.name}.lock").open("w"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"Another command uses {folder}: wait until it ends.") from None

    def has_arriving(self) -> bool:
        """Return whether links are in an inbox, and come into the graph later."""
        return any(reader.has_arriving() for reader in self._readers)

    # --- pages ---

    def find(self, url: str) -> tuple[int | None, Links | None]:
        """Return a page and its links as on record now; ValueError if the crawl does not know its URL."""
        for shard, reader in enumerate(self._readers):
            if (number := reader.number(url)) is not None:
                return self.graph.node(shard, number), reader.links(number)
        raise ValueError(f"{url} is not known to this crawl.")

    def names(self, nodes: Array) -> list[str]:
        """Return the URLs of pages."""
        shards, numbers = self.graph.places(nodes)
        urls = [""] * len(nodes)
        for shard, reader in enumerate(self._readers):
            mine = np.flatnonzero(shards == shard)
            mine = mine[np.argsort(numbers[mine], kind="stable")]
            found = reader.urls_of(numbers[mine].tolist())
            for place, url in zip(mine.tolist(), found, strict=True):
                urls[place] = url
        return urls

    # --- what is computed ---

    @cached_property
    def rows(self) -> tuple[Rows, Rows]:
        """The rows of the graph, outward and inward; their files are removed in the end."""
        both = []
        for name, adjacency in (("out", self.graph.outward), ("in", self.graph.inward)):
            self._tell(f"Unpacking {adjacency.links:,} links, {name} …")
            path = self.graph.folder / f"{name}.rows"
            self._stack.callback(path.unlink, missing_ok=True)
            both.append(self._stack.enter_context(Rows.expand(adjacency, path)))
        return both[0], both[1]

    def ranks(self) -> Ranks:
        """Return the ranks of all pages, computed once for a graph; an interrupted run is resumed."""
        if (known := self.known_ranks()) is not None:
            return known
        outward, inward = self.rows
        if (rank := self._known("pagerank")) is None:
            rank = pagerank(inward, outward.degrees, self._power("PageRank"))
            self._keep("pagerank", rank)
        hubs, authorities = hits(inward, outward, self._power("HITS"))
        self._keep("hubs", hubs)
        self._keep("authorities", authorities)
        for name in ("PageRank", "HITS"):
            self._saved(name).unlink(missing_ok=True)
        return Ranks(rank, hubs, authorities)

    def known_ranks(self) -> Ranks | None:
        """Return the ranks if they were computed for this graph."""
        known = [vector for name in Ranks._fields if (vector := self._known(name)) is not None]
        return Ranks(*known) if len(known) == len(Ranks._fields) else None

    def _known(self, name: str) -> Array | None:
        with suppress(OSError):
            vector = np.fromfile(self.graph.folder / f"{name}.f64", np.float64)
            return vector if len(vector) == self.graph.nodes else None
        return None

    def _keep(self, name: str, vector: Array) -> None:
        create(self.graph.folder / f"{name}.f64", vector)

    def _power(self, name: str) -> Power:
        """Return the terms of an iteration, which is told and saved as it goes."""

        def tell(iteration: int, change: float) -> None:
            self._tell(f"{name}, iteration {iteration}: changes by {change:.1e} …")

        return Power(saved=self._saved(name), tell=tell)

    def _saved(self, name: str) -> Path:
        return self.graph.folder / f"{name}.saved"

    def structure(self) -> Structure:
        outward, inward = self.rows
        seeds = np.flatnonzero(np.asarray(self.graph.depths) == 0)
        return structure_of(outward, inward, seeds, self._tell)

    @cached_property
    def host_links(self) -> HostLinks:
        return host_links(self.rows[0], self.graph.host_of_each, len(self.graph.hosts))

    def host_values(self) -> dict[str, Array]:
        """Return pages, links in and out to other hosts, rank, and sums of the scores of pages, by host."""
        graph, links = self.graph, self.host_links
        hosts = len(graph.hosts)
        between = links.sources != links.targets
        counts = links.counts[between]
        pages = np.bincount(graph.host_of_each, minlength=hosts)
        ranks = self.ranks()
        sums = (
            host_sums(graph.host_of_each, each, hosts)
            for each in (ranks.pagerank, ranks.hubs, ranks.authorities)
        )
        return {
            "pages": pages,
            "links_in": _summed(links.targets[between], counts, hosts),
            "links_out": _summed(links.sources[between], counts, hosts),
            "rank": host_rank(links, hosts),
            **dict(zip(("page_ranks", "page_hubs", "page_authorities"), sums, strict=True)),
        }

    def close(self) -> None:
        self._stack.close()


def _missing(shards: list[Shard]) -> list[int]:
    """Return which shards of a crawl are not among these, counted from 1."""
    total = max((shard.total for shard in shards), default=0)
    return sorted({*range(1, total + 1)} - {shard.number + 1 for shard in shards})


def _summed(places: Array, counts: Array, size: int) -> Array:
    return np.bincount(places, weights=counts, minlength=size).astype(np.int64)
