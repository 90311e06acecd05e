"""`scrapy graph`: the links between the pages of a crawl, their ranks, their structure, as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from rdfaspider.frontier.views.graph import CrawlGraph
    from rdfaspider.terminal import StatusLine

_FORMATS = ("edges", "nquads", "ascii", "names", "parquet", "graphml")
_ENDINGS = {".tsv": "edges", ".nq": "nquads", ".graph-txt": "ascii", ".txt": "names"}
_ENDINGS |= {".parquet": "parquet", ".graphml": "graphml"}
_NONE = "No page has its links on record: they are kept of pages fetched with LINKGRAPH=1."
_NONE_YET = (
    "The graph has no links yet: they are in the crawl's inbox, and come in while it goes on."
)
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
                for text in _lines(crawl, args, opts):
                    print(text)


def _warn(crawl: CrawlGraph) -> None:
    from rdfaspider.terminal import number_of

    if crawl.missing:
        some = f"{', '.join(map(str, crawl.missing[:5]))}{', …' if len(crawl.missing) > 5 else ''}"
        text = number_of(f"shard/shards {some} of it is/are missing", len(crawl.missing))
        print(f"This is a part of the crawl: {text} (--frontier DIR).", file=sys.stderr)
    if crawl.is_old:
        print("The crawl has gone on since this graph was built.", file=sys.stderr)
    elif crawl.is_running:
        print("The crawl is running: this is its graph as of now.", file=sys.stderr)
    if not crawl.graph.about.get("pages"):
        print(_NONE_YET if crawl.has_arriving() else _NONE, file=sys.stderr)


def _lines(crawl: CrawlGraph, args: list[str], opts: argparse.Namespace) -> Iterable[str]:
    from rdfaspider.frontier.views import graphtext
    from rdfaspider.urls import normalise

    if not args:
        return graphtext.summary_lines(crawl, opts.most)
    if args == ["structure"]:
        return graphtext.structure_lines(crawl)
    if args == ["rank"]:
        show = graphtext.host_lines if opts.hosts else graphtext.rank_lines
        return show(crawl, opts.most)
    return graphtext.page_lines(crawl, normalise(args[0]), opts.most)


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
        try:
            written = _watched(export.write_parquet(graph, names, part), line)
            part.replace(name)
        finally:
            part.unlink(missing_ok=True)
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
