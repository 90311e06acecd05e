"""`scrapy validate`: hold the pages of a crawl against shapes."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from pyoxigraph import Quad

    from rdfaspider.report.validation import Findings, Shapes
    from rdfaspider.stores import PageStore

_SAMPLE = 1_000
# Rows of a table; the rest is summed up.
_ROWS = 20


class Command(CheckedCommand):
    arguments = "[options] SHAPES"
    summary = "Hold the pages of a crawl against shapes (SHACL)"
    description = (
        "Check the triples of each page in the store of the crawl in JOBDIR against the shapes of a file"
        " (Turtle, JSON-LD, …), each page by itself, and count what is wrong by host and by shape."
        f" {_SAMPLE:,} pages are checked, always the same of a store, or as many as --sample says; --all"
        " checks every page. The exit code is 1 if a page violates a shape."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--sample", type=int, metavar="N", help="check so many pages")
        which.add_argument("--all", action="store_true", help="check every page")
        several: dict[str, Any] = {"action": "append", "default": []}
        add("--host", **several, metavar="HOST", help="only the pages of this host")
        add(
            "-o",
            "--output",
            metavar="FILE",
            help="write the reports of SHACL too, as N-Quads (.nq) or TriG (.trig), each in the graph of"
            " its page",
        )

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        super().check_usage(args, opts)
        if len(args) != 1:
            raise UsageError("give one file with shapes")
        if opts.sample is not None and opts.sample < 1:
            raise UsageError("--sample wants a number of pages, at least 1")

    def work(self, args: list[str], opts: argparse.Namespace) -> int:
        from rdfaspider.commands.results._store import open_to_read
        from rdfaspider.report.validation import Findings, Shapes, chosen
        from rdfaspider.stores.selection import Selection

        shapes = Shapes(Path(args[0]))
        selection = Selection.of(hosts=opts.host)
        most = 0 if opts.all else opts.sample or _SAMPLE
        findings = Findings()
        with ExitStack() as stack:
            store = stack.enter_context(open_to_read(self.settings, self.name))
            pages, number, findings.too_large = chosen(store, selection, most)
            reports = _checked(store, shapes, pages, findings)
            if opts.output:
                _write(reports, opts.output)
            else:
                for _ in reports:
                    pass
        _show(findings, number)
        return int(findings.severities["Violation"] > 0)


def _checked(
    store: PageStore, shapes: Shapes, pages: list[str], findings: Findings
) -> Iterator[Quad]:
    """Check pages; yield the reports on those with findings."""
    from rdfaspider.report.validation import graphs_of, report_quads
    from rdfaspider.terminal import StatusLine

    with StatusLine(sys.stderr) as line:
        for count, (page, quads) in enumerate(graphs_of(store, pages), 1):
            line.show(f"{count:,} of {len(pages):,} pages checked …")
            try:
                found, report = shapes.check(quads)
            except (TimeoutError, RecursionError, MemoryError):
                findings.unchecked += 1
                continue
            findings.add(page, found)
            if found:
                yield from report_quads(page, report)


def _write(reports: Iterator[Quad], name: str) -> None:
    from rdfaspider.stores.dump import create, format_of, write

    kind = format_of(name, None)
    if not kind.has_graphs:
        raise ValueError(f"{name}: reports are told apart by graphs; name a file .nq or .trig.")
    with create(name) as output:
        write(reports, output, kind)
    print(f"The reports are in {name}.", file=sys.stderr)


def _show(findings: Findings, number: int) -> None:
    from rdfaspider.terminal import number_of, plural

    checked, faulty = findings.pages.total(), findings.faulty.total()
    verb = number_of("violates/violate", faulty)
    print(f"{checked:,} of {plural(number, 'page')} checked; {faulty:,} {verb} a shape.")
    for count, why in (
        (findings.too_large, "left out: too many triples."),
        (findings.unchecked, "given up: it takes too long to check."),
    ):
        if count:
            print(f"{count:,} {number_of('page/pages was/were', count)} {why}")
    if not findings.findings:
        return
    print()
    _table(
        ("host", "pages", "violating", "violations", "warnings", "infos"),
        [
            (name, findings.pages[name], findings.faulty[name], *map(counts.get, _SEVERITIES))
            for name, counts in sorted(
                findings.results.items(), key=lambda item: (-item[1].total(), item[0])
            )
        ],
    )
    print()
    _table(
        ("number", "severity", "constraint", "path", "shape", "for example"),
        [
            (count, each.severity, each.constraint, _short(each.path), _short(each.shape), example)
            for each, count in findings.findings.most_common()
            for example in (findings.examples[each],)
        ],
    )


_SEVERITIES = ("Violation", "Warning", "Info")


def _table(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    from rdfaspider.terminal.table import Table

    texts = (
        [f"{cell:,}" if isinstance(cell, int) else str(cell or 0) for cell in row] for row in rows
    )
    sys.stdout.writelines(Table(names, sys.stdout).lines(islice(texts, _ROWS)))
    if len(rows) > _ROWS:
        print(f"… and {len(rows) - _ROWS:,} more")


def _short(iri: str) -> str:
    return iri.rpartition("#")[2].rpartition("/")[2] or iri
