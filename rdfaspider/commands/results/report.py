"""`scrapy report`: how a crawl went over time, alone or against others; with --full, what it found."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rdfaspider.extensions.history.report import Crawl
    from rdfaspider.frontier import Counts
    from rdfaspider.report.gather import Places

_KINDS = (".svg", ".html", ".json")
# Bins shown, and the width of the longest bar.
_SHOWN, _WIDTH = 40, 40


class Command(CheckedCommand):
    summary = "Show how a crawl went: pages, URLs and bandwidth over time"
    description = (
        "Show the history of the crawl in JOBDIR, which may be running: how long, how many pages,"
        " how fast. -o draws pages per second, URLs discovered, bandwidth and triples over time as"
        " SVG or HTML, or writes the numbers as JSON. --against puts other crawls beside it. Only"
        " time spent crawling counts; stops between two runs are left out and marked. --full writes the"
        " report on what was found: structured data, vocabularies, sites, languages, copies and the link"
        " graph, as one HTML file, or as a directory with the numbers as CSV and JSON beside it."
        " --histogram shows the distribution of one column of the table of pages."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
        what = "directories of other crawls, or their histories"
        add("--against", **several, metavar="DIRECTORY", help=what)
        what = "bytes a second of the line: show the bandwidth as a share of it"
        add("--line", type=int, default=0, metavar="BYTES", help=what)
        add("--full", action="store_true", help="report on what was found")
        what = "how many pages have which value of a column of `scrapy pages`"
        add("--histogram", metavar="COLUMN", help=what)
        what = "with --histogram: how many sites, by a column of `scrapy pages --sites`"
        add("--sites", action="store_true", help=what)
        what = "a file .svg, .html or .json; with --full .html, or a directory (default: report)"
        add("-o", "--output", type=Path, metavar="FILE", help=what)
        what = "with --full: put the numbers into the crawl's store too, as RDF"
        add("--store", action="store_true", help=what)
        what = "with --full or --histogram: the directory of a shard; once for each shard"
        add("--frontier", action="append", metavar="DIR", help=what)

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        super().check_usage(args, opts)
        if opts.full:
            if opts.output and opts.output.suffix not in ("", ".html"):
                raise UsageError("--full -o wants a file that ends in .html, or a directory")
        elif opts.store or (opts.frontier and not opts.histogram):
            raise UsageError("--store and --frontier are for --full")
        elif opts.histogram:
            if opts.against or opts.output:
                raise UsageError("--histogram is printed, and of one crawl")
        elif opts.sites:
            raise UsageError("--sites is for --histogram")
        elif opts.output and opts.output.suffix not in _KINDS:
            raise UsageError(f"-o wants a file that ends in {', '.join(_KINDS)}")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.settings.places import jobdir_of, store_url

        if opts.full:
            self._write_full(opts)
            return
        if opts.histogram:
            self._show_histogram(opts)
            return
        crawls = [_crawl(str(jobdir_of(self.settings)), store_url(self.settings))]
        _show(crawls + [_crawl(name) for name in opts.against], opts.output, opts.line)

    def _show_histogram(self, opts: argparse.Namespace) -> None:
        from rdfaspider.report.gather import histogram_of, places_of
        from rdfaspider.terminal import StatusLine
        from rdfaspider.terminal.table import Table

        with StatusLine(sys.stderr) as line:
            places = places_of(self.settings, opts.frontier)
            bins, unknown = histogram_of(places, opts.histogram, opts.sites, line.show)
        noun = "sites" if opts.sites else "pages"
        most = max((count for _, count in bins), default=1)
        rows = ((name, f"{n:,}", "#" * max(1, _WIDTH * n // most)) for name, n in bins[:_SHOWN])
        sys.stdout.writelines(Table((opts.histogram, noun, ""), sys.stdout).lines(rows))
        rest = sum(count for _, count in bins[_SHOWN:])
        print(f"{rest:,} {noun} have other values, {unknown:,} have none.")

    def _write_full(self, opts: argparse.Namespace) -> None:
        from rdfaspider.report.files import json_of, write
        from rdfaspider.report.gather import Places, gather, places_of
        from rdfaspider.report.html import page
        from rdfaspider.report.sections import cards_of, lead_of, sections_of, title_of
        from rdfaspider.terminal import StatusLine

        places = [places_of(self.settings, opts.frontier), *map(Places.in_directory, opts.against)]
        with StatusLine(sys.stderr) as line:
            found = [gather(place, line.show) for place in places]
            line.show("Drawing …")
            sections = sections_of(found)
            about = title_of(found), lead_of(found), cards_of(found)
            text = page(*about, sections, json_of(found))
            path = write(opts.output or Path("report"), text, found, sections)
        print(f"The report is in {path}.")
        for crawl in found:
            for reason in crawl["missing"].values():
                print(f"{crawl['name']}: {reason}", file=sys.stderr)
        if opts.store:
            if found[0]["triples"] is None:
                raise ValueError("The store cannot be read, so its report is not put there.")
            _put(places[0], found[0])


def _put(places: Places, found: dict[str, Any]) -> None:
    from rdfaspider.report.rdf import GRAPH, quads_of
    from rdfaspider.stores import open_store

    with open_store(places.store, access=places.access) as store:
        store.replace(GRAPH, quads_of(found))
    print(f"Its numbers are in the store, in the graph {GRAPH}.")


def _crawl(name: str, store: str = "") -> Crawl:
    from rdfaspider.extensions.history import samples
    from rdfaspider.extensions.history.report import Crawl
    from rdfaspider.stores.kinds import held_in

    path = Path(name) if Path(name).is_file() else Path(name) / samples.NAME
    if not path.exists():
        raise ValueError(
            f"There is no history in {path}: run a crawl first, or name the crawl's directory"
            " with -s JOBDIR=DIRECTORY."
        )
    if not (found := samples.read(path)):
        raise ValueError(f"{path} is not the history of a crawl.")
    directory = path.parent
    if counts := _counts(directory):
        held = held_in(store or str(directory / "store"), directory / "outbox")
        found[-1] = samples.completed(found[-1], counts, held)
    return Crawl(name, found)


def _counts(directory: Path) -> Counts | None:
    """Return what the frontier of a crawl counts, None if it is on another machine."""
    from rdfaspider.frontier import FrontierUnavailable
    from rdfaspider.report.gather import Places, counts_of

    try:
        return counts_of(Places.in_directory(str(directory)))
    except FrontierUnavailable:
        return None


def _show(crawls: Sequence[Crawl], output: Path | None, line: float) -> None:
    from rdfaspider.extensions.history import report

    print(report.table(crawls, line))
    for crawl in crawls:
        _show_findings(crawl.name)
    if output:
        if output.suffix == ".json":
            text = report.numbers(crawls)
        else:
            text = (report.plot if output.suffix == ".svg" else report.page)(crawls, line)
        output.write_text(text, encoding="utf-8")
        print(f"\nThe report is in {output}.")


def _show_findings(name: str) -> None:
    """Print topics, what `scrapy pages --analyse` has found out, and what was left out, if there is any."""
    from rdfaspider.extensions import leftout
    from rdfaspider.extensions.summary.reasons import sentences
    from rdfaspider.pages import counts

    directory = Path(name).parent if Path(name).is_file() else Path(name)
    urls = _counts(directory)
    if urls and (topics := +Counter(urls.topics)):
        print(f"\nTopics of {name}: {counts.ranked(topics)}")
    found = counts.read(directory / "pages" / counts.NAME)
    reasons = sentences(*leftout.read(directory / leftout.NAME))
    for title, lines in (("Pages of", found.lines() if found else ()), ("Left out by", reasons)):
        if lines := list(lines):
            print(f"\n{title} {name}:", *lines, sep="\n  ")
