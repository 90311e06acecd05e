"""`scrapy pages`: the table of pages of a crawl, and the analysis of their texts."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from typing import Any

    from rdfaspider.frontier.views.reader import FrontierReader
    from rdfaspider.pages.files import Writer
    from rdfaspider.pages.table import Columns, PageRecord, Rows
    from rdfaspider.terminal import StatusLine

# What a table on the screen has; files have all columns.
_SHOWN = ("status", "size", "language", "detected", "triples", "copy_of", "cluster", "url", "title")
_SHOWN_OF_SITES = ("pages", "bytes", "statuses", "triples", "declared", "first", "last", "host")


class Command(CheckedCommand):
    arguments = "[options] [FRONTIER …]"
    summary = "Show or export what is known of pages and sites; find near copies and languages"
    description = (
        "Show the pages of the crawl in JOBDIR, which may be running, with what is known of each: status,"
        " type, size, title, language, triples, and of which page it is a copy. --sites shows the sums of"
        " each host instead. -o writes all columns to a file: Parquet, CSV or JSON lines, by its name."
        " --counts sums up copies, languages and topics. --analyse"
        " reads the crawl's archive, detects the language of each page, and finds near copies; it goes on"
        " where it was interrupted. If a crawl is divided into shards, name their frontiers."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-o", "--output", metavar="FILE", help="a file .parquet, .csv or .jsonl, also .csv.gz")
        add("--host", metavar="HOST", help="only the pages of this host or domain")
        add("--status", metavar="NUMBER", type=int, help="only answers with this status")
        add(
            "--language",
            metavar="LANGUAGE",
            help="only pages that declare it, or are written in it",
        )
        add("--topic", metavar="TOPIC", help="only pages about it or one of its sub-topics")
        add("--copies", action="store_true", help="only copies and near copies")
        add("--sites", action="store_true", help="a row for each host, with the sums of its pages")
        add("--sort", metavar="COLUMN", help="the largest of a column first, or texts from A to Z")
        add("--most", metavar="NUMBER", type=int, default=50, help="rows to show (default: 50)")
        add("--skip", metavar="NUMBER", type=int, default=0, help="rows to leave out before them")
        add("--counts", action="store_true", help="sums of copies, languages and topics")
        add("--analyse", action="store_true", help="read the archive: languages and near copies")
        add("--processes", metavar="NUMBER", type=int, help="processes that read the archive")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.frontier.views.pages import table_of
        from rdfaspider.pages.files import writer_for

        for name in ("most", "skip"):
            if getattr(opts, name) < 0:
                raise ValueError(f"--{name} takes a number from 0 on, not {getattr(opts, name)}.")
        write = writer_for(opts.output) if opts.output else None
        if opts.analyse:
            self._analyse(args, opts)
        if opts.analyse and write is None:
            return
        with ExitStack() as stack:
            readers = self._readers(args, stack)
            records = self._records(readers, opts, stack)
            if opts.counts:
                _show_counts(records)
                return
            columns, rows = table_of(readers, records, opts.sites)
            if opts.sort:
                rows = _sorted(columns, rows, opts.sort, None if write else opts.skip + opts.most)
            if write is not None:
                _export(columns, rows, opts.output, write)
            else:
                has_topics = any(reader.counts().topics for reader in readers)
                _show(columns, rows, opts, has_topics=has_topics)

    @property
    def _directory(self) -> Path:
        from rdfaspider.settings.places import jobdir_of

        return jobdir_of(self.settings) / "pages"

    def _readers(self, args: list[str], stack: ExitStack) -> list[FrontierReader]:
        from rdfaspider.frontier import is_shared
        from rdfaspider.frontier.views.reader import FrontierReader
        from rdfaspider.secrets import without_secrets
        from rdfaspider.settings.places import frontier_url, frontiers_of

        paths = args or [frontier_url(self.settings)]
        with suppress(ValueError):  # else it is refused below
            paths = args or frontiers_of(self.settings)
        for path in filter(is_shared, paths):
            raise ValueError(
                f"The rows of pages are in the directory of a frontier, not at {without_secrets(path)}: name"
                " the directory, or those of all shards, on the machine of the service."
            )
        return [stack.enter_context(FrontierReader(path, delay=0.0)) for path in paths]

    def _records(
        self, readers: list[FrontierReader], opts: argparse.Namespace | None, stack: ExitStack
    ) -> Iterator[PageRecord]:
        """Return the records that the options ask for, or all."""
        from rdfaspider.frontier.views.pages import records_of
        from rdfaspider.pages.analysis import open_analysis
        from rdfaspider.pages.table import Selection

        prefix = _prefix(opts.host) if opts is not None and opts.host else b""
        if (table := open_analysis(self._directory)) is not None:
            stack.enter_context(table)
        records = records_of([reader.pages for reader in readers], table, prefix)
        if opts is None:
            return records
        return filter(Selection(opts.status, opts.language, opts.copies, opts.topic).has, records)

    def _analyse(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.pages import counts
        from rdfaspider.pipelines.analysis import Analysis
        from rdfaspider.terminal import StatusLine

        with StatusLine(sys.stderr) as line, ExitStack() as stack:
            analysis = Analysis(self.settings, self._directory, opts.processes, line.show)
            readers = self._readers(args, stack)
            analysis.run(chain.from_iterable(reader.pages.ended() for reader in readers))
            found = counts.count(_watched(self._records(readers, None, stack), line))
        counts.save(found, self._directory / counts.NAME)
        for sentence in (*analysis.lines(), *found.lines()):
            print(sentence)


def _prefix(name: str) -> bytes:
    """Return the beginning of the keys of a host or domain; ValueError if it is something else."""
    from rdfaspider.urls.hosts import split_port
    from rdfaspider.urls.keys import prefix_of

    is_host = not any(each in "/@?# " for each in name) and not split_port(name)[1]
    if not is_host or not name.isascii() or not name.strip("."):
        raise ValueError(
            f"--host takes a host or domain such as example.org, without port and path, not {name[:80]}."
        )
    return prefix_of(name)


def _sorted(columns: Columns, rows: Rows, name: str, most: int | None) -> Rows:
    """Return the rows by a column, and no more than one beyond `most`; unknown values come last."""
    from heapq import nlargest, nsmallest

    from rdfaspider.pages.table import place_of

    place = place_of(name, columns)
    is_text = columns[name] == "text"
    choose, size = nsmallest if is_text else nlargest, sys.maxsize if most is None else most + 1
    return choose(size, rows, key=lambda row: ((row[place] is None) == is_text, row[place]))


def _watched(
    rows: Iterable[Any], line: StatusLine, count: list[int] | None = None
) -> Iterator[Any]:
    """Yield the rows, show how many there were, and count them."""
    for number, row in enumerate(rows, start=1):
        line.show(f"{number:,} rows …")
        if count is not None:
            count[0] = number
        yield row


def _export(columns: Columns, rows: Rows, name: str, write: Writer) -> None:
    from rdfaspider.stores.dump import create
    from rdfaspider.terminal import StatusLine, plural

    count, noun = [0], "page" if "url" in columns else "site"
    with StatusLine(sys.stderr) as line, create(name) as file:
        write(_watched(rows, line, count), columns, file)
    print(f"{plural(count[0], noun)} written to {name}.", file=sys.stderr)


def _show(columns: Columns, rows: Rows, opts: argparse.Namespace, *, has_topics: bool) -> None:
    from rdfaspider.pages.files import plain
    from rdfaspider.pages.table import COLUMNS
    from rdfaspider.terminal.table import Table

    own = [name for name in columns if name not in COLUMNS] + ["topic"] * has_topics
    shown = list(_SHOWN_OF_SITES if opts.sites else (*own, *_SHOWN))
    if opts.sort in shown:
        shown.remove(opts.sort)
    if opts.sort:
        shown.insert(0, opts.sort)
    places = [(list(columns).index(name), columns[name]) for name in shown]
    table, rows = Table(shown, sys.stdout, remedy=": -o FILE writes them whole"), iter(rows)
    cells = (
        ["" if row[place] is None else str(plain(row[place], kind)) for place, kind in places]
        for row in islice(rows, opts.skip, opts.skip + opts.most)
    )
    for line in table.lines(cells):
        sys.stdout.write(line)
    if next(rows, None) is not None:
        print(f"There are more: --skip {opts.skip + opts.most}, or -o FILE for all.")


def _show_counts(records: Iterable[PageRecord]) -> None:
    from rdfaspider.pages import counts
    from rdfaspider.terminal import StatusLine

    with StatusLine(sys.stderr) as line:
        found = counts.count(_watched(records, line))
    for sentence in found.lines():
        print(sentence)
