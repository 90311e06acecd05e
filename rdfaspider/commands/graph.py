"""`scrapy graph`: the links between the pages of a crawl, their ranks, their structure, as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from rdfaspider.frontier.views.graph import CrawlGraph
    from rdfaspider.linkgraph.structure import Degrees
    from rdfaspider.terminal import StatusLine

_ACTIONS = ("rank", "structure")
_FORMATS = ("edges", "nquads", "ascii", "names", "parquet", "graphml")
_ENDINGS = {".tsv": "edges", ".nq": "nquads", ".graph-txt": "ascii", ".txt": "names"}
_ENDINGS |= {".parquet": "parquet", ".graphml": "graphml"}
_PACKED = (".gz", ".bz2", ".zst")


class Command(CheckedCommand):
    arguments = "[URL | rank | structure] [options]"
    summary = "Show the links between the pages of a crawl, their ranks and structure; export them"
    description = (
        "Show the link graph of the crawl in JOBDIR: how many pages and links. With a URL, show the links"
        " from and to it. rank shows the pages, or with --hosts the hosts, that have the highest"
        " PageRank; structure shows components, the bow tie, degrees and depths. -o writes the graph:"
        " .tsv (an edge list), .nq, .parquet, .graph-txt (WebGraph's ASCII form) and .txt (the URLs of"
        " its pages), .graphml (the hosts). The graph is built from the frontier, beside a running crawl"
        " as of now, and again when the crawl has gone on."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--hosts", action="store_true", help="rank hosts instead of pages")
        add("-n", "--most", type=int, default=10, metavar="N", help="how many rows (default: 10)")
        add("-o", "--output", metavar="FILE", help="write the graph to a file, or - for edges")
        add("--format", choices=_FORMATS, help="the format, if the file's name does not say it")
        add("--kept", action="store_true", help="use the graph built last, even if it is old")
        frontier: dict[str, Any] = {"action": "append", "metavar": "DIR"}
        add("--frontier", **frontier, help="the directory of a shard; once for each shard")

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) > 1 or (args and opts.output) or (opts.hosts and args != ["rank"]):
            raise UsageError("scrapy graph takes one URL, rank [--hosts], structure, or -o FILE")
        if opts.most < 0:
            raise UsageError(f"--most must be 0 or more, not {opts.most}")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.linkgraph import need_numpy
        from rdfaspider.settings.places import frontiers_of, jobdir_of
        from rdfaspider.terminal import StatusLine

        need_numpy()
        kind = _format_of(opts.output, opts.format) if opts.output else ""
        from rdfaspider.frontier.views.graph import CrawlGraph

        folder = jobdir_of(self.settings) / "linkgraph"
        paths = opts.frontier or frontiers_of(self.settings)
        with (
            StatusLine(sys.stderr) as line,
            CrawlGraph(paths, folder, is_kept=opts.kept, tell=line.show) as crawl,
        ):
            _warn(crawl)
            if opts.output:
                _export(crawl, opts.output, kind, line)
            else:
                lines = _lines(crawl, args, opts)
                for text in lines:
                    print(text)


def _warn(crawl: CrawlGraph) -> None:
    if crawl.is_old:
        print("The crawl has gone on since this graph was built.", file=sys.stderr)
    elif crawl.is_running:
        print("The crawl is running: this is its graph as of now.", file=sys.stderr)
    if not crawl.graph.about.get("pages"):
        print(
            "No page has its links on record: they are kept of pages fetched with LINKGRAPH=1.",
            file=sys.stderr,
        )


def _lines(crawl: CrawlGraph, args: list[str], opts: argparse.Namespace) -> Iterable[str]:
    if not args:
        return _summary(crawl, opts.most)
    if args == ["structure"]:
        return _structure(crawl)
    if args == ["rank"]:
        return _ranked_hosts(crawl, opts.most) if opts.hosts else _ranked(crawl, opts.most)
    return _page(crawl, args[0], opts.most)


def _summary(crawl: CrawlGraph, most: int) -> Iterator[str]:
    from rdfaspider.linkgraph.edges import KINDS
    from rdfaspider.terminal import escaped, plural

    about = crawl.graph.about
    pages = about.get("pages", 0)
    yield (
        f"{plural(about['nodes'], 'URL')} on {plural(len(crawl.graph.hosts), 'host')},"
        f" {plural(pages, 'page')} of them with links"
    )
    kinds = ", ".join(f"{about.get(kind, 0):,} {kind}" for kind in KINDS[::-1] if about.get(kind))
    yield f"{plural(about['links'], 'link')}{': ' + kinds if kinds else ''}"
    yield (
        f"{about.get('outside', 0):,} links out of the crawl, {about.get('beyond', 0):,} to URLs beyond its"
        f" limits, {about.get('media', 0):,} embedded media"
    )
    size = crawl.graph.outward.size + crawl.graph.inward.size
    if about["links"]:
        yield f"{size:,} bytes in both directions, {size / about['links'] / 2:.2f} a link and direction"
    domains = list(about.get("domains", {}).items())[:most]
    if domains:
        yield "most links out of the crawl:"
        yield from (f"{count:>9,}  {escaped(domain)}" for domain, count in domains)


def _page(crawl: CrawlGraph, text: str, most: int) -> Iterator[str]:
    from rdfaspider.urls import normalise, without_userinfo

    url = normalise(text)
    node, links = crawl.find(url)
    yield without_userinfo(url)
    if node is None:
        yield "  found after the graph was built"
        return
    graph = crawl.graph
    yield f"  depth      {graph.depths[node]}"
    if links is None:
        yield "  no links on record: it is not done, or was fetched without LINKGRAPH"
    else:
        yield f"  outside    {_counted(links.outside, most) or 'none'}"
        yield f"  media      {links.media:,}"
    if (ranks := crawl.known_ranks()) is not None:
        rank = ranks.pagerank[node]
        place = int((ranks.pagerank > rank).sum()) + 1
        yield f"  PageRank   {rank:.3e}, place {place:,} of {graph.nodes:,}"
        yield f"  HITS       hub {ranks.hubs[node]:.3e}, authority {ranks.authorities[node]:.3e}"
    for name, adjacency in (("links in", graph.inward), ("links out", graph.outward)):
        yield from _ends(crawl, name, *adjacency.row(node), most)


def _ends(crawl: CrawlGraph, name: str, ends: Any, kinds: Any, most: int) -> Iterator[str]:
    from collections import Counter

    from rdfaspider.linkgraph.edges import KINDS
    from rdfaspider.urls import without_userinfo

    counts = Counter(KINDS[kind] for kind in kinds.tolist())
    yield f"  {name:<10} {_counted(counts, len(KINDS)) or 'none'}"
    for url, kind in zip(crawl.names(ends[:most]), kinds[:most].tolist(), strict=True):
        yield f"    {KINDS[kind]:<10} {without_userinfo(url)}"
    if len(ends) > most:
        yield f"    and {len(ends) - most:,} more (-n N)"


def _counted(counts: dict[str, int], most: int) -> str:
    from collections import Counter

    from rdfaspider.terminal import escaped

    those = Counter(counts).most_common(most)
    shown = ", ".join(f"{count:,} {escaped(name)}" for name, count in those)
    return f"{shown}, …" if len(counts) > most else shown


def _ranked(crawl: CrawlGraph, most: int) -> Iterator[str]:
    import numpy as np

    from rdfaspider.urls import without_userinfo

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


def _ranked_hosts(crawl: CrawlGraph, most: int) -> Iterator[str]:
    import numpy as np

    values = crawl.host_values()
    best = np.argsort(-values["rank"], kind="stable")[:most]
    yield f"{'rank':>10} {'page ranks':>10} {'pages':>9} {'in':>9} {'out':>9}  host"
    for host in best.tolist():
        yield (
            f"{values['rank'][host]:>10.3e} {values['page_ranks'][host]:>10.3e}"
            f" {values['pages'][host]:>9,} {values['links_in'][host]:>9,}"
            f" {values['links_out'][host]:>9,}  {crawl.graph.hosts[host]}"
        )


def _structure(crawl: CrawlGraph) -> Iterator[str]:
    found = crawl.structure()
    total = crawl.graph.nodes or 1
    yield f"weak components    {found.weak:,}, the largest with {found.largest_weak:,} URLs"
    number = "not counted, too large" if found.strong is None else f"{found.strong:,}"
    yield f"strong components  {number}, the largest with {found.tie.core:,} URLs"
    names = ("core", "into it", "out of it", "tendrils", "disconnected")
    shown = [
        f"{name} {size:,} ({size / total:.1%})" for name, size in zip(names, found.tie, strict=True)
    ]
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
            f", from {law.start:,} on like a power of -{law.exponent:.2f} ({law.pages:,} URLs, distance"
            f" {law.distance:.3f})"
        )
    return text


def _format_of(name: str, wanted: str | None) -> str:
    if wanted:
        return wanted
    plain = name
    for ending in _PACKED:
        plain = plain.removesuffix(ending)
    known = _ENDINGS.get(Path(plain).suffix, "edges" if name == "-" else None)
    if known is None:
        raise ValueError(
            f"{name[:200]} does not say its format by its ending: give --format {'|'.join(_FORMATS)}."
        )
    return known


def _export(crawl: CrawlGraph, name: str, kind: str, line: StatusLine) -> None:
    from contextlib import nullcontext

    from rdfaspider.linkgraph import export
    from rdfaspider.stores.dump import create
    from rdfaspider.terminal import plural
    from rdfaspider.terminal.data import output_of

    graph, names = crawl.graph, crawl.names
    if kind == "parquet":
        if name == "-" or name.endswith(_PACKED):
            raise ValueError("Parquet is written to a file, and compresses itself.")
        part = Path(f"{name}.part")
        written = _watched(export.write_parquet(graph, names, part), line)
        part.replace(name)
    else:
        with nullcontext(output_of(sys.stdout)) if name == "-" else create(name) as file:
            if kind == "graphml":
                export.write_graphml(graph.hosts, crawl.host_links, crawl.host_values(), file)
                written = len(crawl.host_links.counts)
            elif kind == "ascii":
                written = _watched(export.write_ascii(graph, file), line)
            else:
                write = {"edges": export.write_edges, "nquads": export.write_nquads}
                write |= {"names": export.write_names}
                written = _watched(write[kind](graph, names, file), line)
    print(f"{plural(written, 'URL' if kind == 'names' else 'link')} written.", file=sys.stderr)


def _watched(steps: Iterable[int], line: StatusLine) -> int:
    written = 0
    for step in steps:
        written += step
        line.show(f"{written:,} written …")
    return written
