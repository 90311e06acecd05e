"""The link graph of a crawl as text for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from rdfaspider.frontier.views.urls import COUNTED
from rdfaspider.linkgraph.edges import KINDS
from rdfaspider.terminal import escaped, plural
from rdfaspider.urls.iris import without_userinfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rdfaspider.frontier.views.graph import CrawlGraph
    from rdfaspider.linkgraph.measures.structure import Degrees


def summary_lines(crawl: CrawlGraph, most: int) -> Iterator[str]:
    """Yield how many pages and links there are."""
    about = crawl.graph.about
    yield (
        f"{plural(about['nodes'], 'URL')} on {plural(len(crawl.graph.hosts), 'host')},"
        f" links on record of {plural(about.get('pages', 0), 'page')}"
    )
    kinds = ", ".join(f"{about.get(kind, 0):,} {kind}" for kind in KINDS[::-1] if about.get(kind))
    yield f"{plural(about['links'], 'link')}{': ' + kinds if kinds else ''}"
    yield (
        f"{plural(about.get('outside', 0), 'link')} out of the crawl,"
        f" {about.get('beyond', 0):,} to URLs beyond its limits, {about.get('media', 0):,} media"
        f"{_media(about.get('media_of_pages', {}))}"
    )
    if unfollowed := about.get("unfollowed", 0):
        yield f"{plural(unfollowed, 'nofollow link')} to URLs that the crawl does not have"
    size = crawl.graph.outward.size + crawl.graph.inward.size
    if about["links"]:
        yield f"{size:,} bytes in both directions, {size / about['links'] / 2:.2f} a link and direction"
    domains = list(about.get("domains", {}).items())[:most]
    if domains:
        yield "most links out of the crawl:"
        yield from (f"{count:>9,}  {escaped(domain)}" for domain, count in domains)


def _media(media_of_pages: Mapping[str, Mapping[str, int]]) -> str:
    kinds = {
        kind: sum(int(count) * found for count, found in pages.items())
        for kind, pages in media_of_pages.items()
    }
    return f" ({_counted(kinds, len(kinds))})" if kinds else ""


def page_lines(crawl: CrawlGraph, url: str, most: int) -> Iterator[str]:
    """Yield the links of one page, at a normalised URL."""
    node, links = crawl.find(url)
    yield without_userinfo(url)
    if node is None:
        yield "  found after the graph was built"
        return
    graph = crawl.graph
    yield f"  state      {COUNTED[int(graph.states[node])]}, depth {graph.depths[node]}"
    if links is None:
        yield (
            "  no links on record: it is not done, they are in the inbox, or it was fetched without"
            " LINKGRAPH"
        )
    else:
        yield f"  outside    {_counted(links.outside, most) or 'none'}"
        yield f"  media      {_counted(links.media, len(links.media)) or 'none'}"
    if (ranks := crawl.known_ranks()) is not None:
        rank = ranks.pagerank[node]
        place = int((ranks.pagerank > rank).sum()) + 1
        yield f"  PageRank   {rank:.3e}, place {place:,} of {graph.nodes:,}"
        yield f"  HITS       hub {ranks.hubs[node]:.3e}, authority {ranks.authorities[node]:.3e}"
    for name, adjacency in (("links in", graph.inward), ("links out", graph.outward)):
        yield from _ends(crawl, name, *adjacency.row(node), most)


def _ends(crawl: CrawlGraph, name: str, ends: Any, kinds: Any, most: int) -> Iterator[str]:
    counts = Counter(KINDS[kind] for kind in kinds.tolist())
    yield f"  {name:<10} {_counted(counts, len(KINDS)) or 'none'}"
    for url, kind in zip(crawl.names(ends[:most]), kinds[:most].tolist(), strict=True):
        yield f"    {KINDS[kind]:<10} {without_userinfo(url)}"
    if len(ends) > most:
        yield f"    and {len(ends) - most:,} more (-n N)"


def _counted(counts: dict[str, int], most: int) -> str:
    those = Counter(counts).most_common(most)
    shown = ", ".join(f"{count:,} {escaped(name)}" for name, count in those)
    return f"{shown}, …" if len(counts) > most else shown


def rank_lines(crawl: CrawlGraph, most: int) -> Iterator[str]:
    """Yield the pages of highest PageRank."""

    ranks = crawl.ranks()
    outward, inward = crawl.rows
    best = np.argsort(-ranks.pagerank, kind="stable")[:most]
    yield f"{'PageRank':>10} {'hub':>10} {'authority':>10} {'in':>7} {'out':>7}  URL"
    for node, url in zip(best.tolist(), crawl.names(best), strict=True):
        yield (
            f"{ranks.pagerank[node]:>10.3e} {ranks.hubs[node]:>10.3e}"
            f" {ranks.authorities[node]:>10.3e} {inward.degrees[node]:>7,}"
            f" {outward.degrees[node]:>7,}  {without_userinfo(url)}"
        )


def host_lines(crawl: CrawlGraph, most: int) -> Iterator[str]:
    """Yield the hosts of highest rank."""
    values = crawl.host_values()
    best = np.argsort(-values["rank"], kind="stable")[:most]
    yield f"{'rank':>10} {'page ranks':>10} {'pages':>9} {'in':>9} {'out':>9}  host"
    for host in best.tolist():
        yield (
            f"{values['rank'][host]:>10.3e} {values['page_ranks'][host]:>10.3e}"
            f" {values['pages'][host]:>9,} {values['links_in'][host]:>9,}"
            f" {values['links_out'][host]:>9,}  {crawl.graph.hosts[host]}"
        )


def structure_lines(crawl: CrawlGraph) -> Iterator[str]:
    """Yield components, the bow tie, degrees and distances."""
    found = crawl.structure()
    total = crawl.graph.nodes or 1
    yield f"weak components    {found.weak:,}, the largest with {plural(found.largest_weak, 'URL')}"
    if found.strong is None:
        yield "strong components  not counted: too many links outside the largest"
    elif found.tie is not None:
        yield f"strong components  {found.strong:,}, the largest with {plural(found.tie.core, 'URL')}"
    if found.tie is not None:
        names = ("core", "into it", "out of it", "tendrils", "disconnected")
        parts = zip(names, found.tie, strict=True)
        shown = [f"{name} {size:,} ({size / total:.1%})" for name, size in parts]
        yield f"bow tie            {', '.join(shown)}"
    yield f"links in           {_degrees(found.inward)}"
    yield f"links out          {_degrees(found.outward)}"
    yield f"answered           {found.reciprocity:.1%} of the links to other pages"
    levels = ", ".join(f"{count:,}" for count in found.levels)
    yield f"by distance        {levels} from the seeds, {found.unreached:,} not reached"


def _degrees(degrees: Degrees) -> str:
    law = degrees.law
    text = f"at most {degrees.most:,}, {degrees.mean:.1f} on average"
    if law is not None:
        text += (
            f", from {law.start:,} on like a power of -{law.exponent:.2f}"
            f" ({plural(law.pages, 'URL')}, distance {law.distance:.3f})"
        )
    return text
