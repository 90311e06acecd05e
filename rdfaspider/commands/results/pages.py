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
    from collections.abc import Iterable, Iterator, Sequence

    from rdfaspider.frontier.views.reader import FrontierReader
    from rdfaspider.pages.files import Writer
    from rdfaspider.pages.table import PageRecord
    from rdfaspider.terminal import StatusLine

# What a table on the screen has; files have all fields.
_SHOWN = ("status", "size", "language", "detected", "triples", "copy_of", "cluster", "url", "title")
_HOSTS = 20


class Command(CheckedCommand):
    arguments = "[options] [FRONTIER …]"
    summary = "Show or export what is known of pages; find near copies and languages"
    description = (
        "Show the pages of the crawl in JOBDIR, which may be running, with what is known of each: status,"
        " type, size, title, language, triples, and of which page it is a copy. -o writes all fields to a"
        " file: Parquet, CSV or JSON lines, by its name. --counts sums up copies and languages. --analyse"
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
        add("--copies", action="store_true", help="only copies and near copies")
        add("--most", metavar="NUMBER", type=int, default=50, help="pages to show (default: 50)")
        add("--skip", metavar="NUMBER", type=int, default=0, help="pages to leave out before them")
        add("--counts", action="store_true", help="copies, near copies and languages, by host")
        add("--analyse", action="store_true", help="read the archive: languages and near copies")
        add("--processes", metavar="NUMBER", type=int, help="processes that read the archive")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
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
            records = self._records(args, opts, stack)
            if write is not None:
                _export(records, opts.output, write)
            elif opts.counts:
                _show_counts(records)
            else:
                _show(records, opts.most, opts.skip)

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
        self, args: list[str], opts: argparse.Namespace | None, stack: ExitStack
    ) -> Iterator[PageRecord]:
        """Return the records that the options ask for, or all."""
        from rdfaspider.pages.analysis import open_analysis
        from rdfaspider.pages.table import Selection, join

        prefix = _prefix(opts.host) if opts is not None and opts.host else b""
        readers = self._readers(args, stack)
        if (table := open_analysis(self._directory)) is not None:
            stack.enter_context(table)
        views = [reader.pages for reader in readers]

        def first_with(digests: Sequence[bytes]) -> list[int | None]:
            """Look in all shards: copies of a text may be on hosts of several."""
            found = [view.first_with(digests) for view in views]
            return [
                next((number for number in each if number is not None), None)
                for each in zip(*found, strict=True)
            ]

        each = (join(view.ended(prefix), table, first_with) for view in views)
        records = chain.from_iterable(each)
        if opts is None:
            return records
        return filter(Selection(opts.status, opts.language, opts.copies).has, records)

    def _analyse(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.pages import counts
        from rdfaspider.pipelines.analysis import Analysis
        from rdfaspider.terminal import StatusLine

        with StatusLine(sys.stderr) as line, ExitStack() as stack:
            analysis = Analysis(self.settings, self._directory, opts.processes, line.show)
            ended = [reader.pages.ended() for reader in self._readers(args, stack)]
            analysis.run(chain.from_iterable(ended))
            found = counts.count(_watched(self._records(args, None, stack), line))
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


def _watched(
    records: Iterable[PageRecord], line: StatusLine, count: list[int] | None = None
) -> Iterator[PageRecord]:
    """Yield the records, show how many there were, and count them."""
    for number, record in enumerate(records, start=1):
        line.show(f"{number:,} pages …")
        if count is not None:
            count[0] = number
        yield record


def _export(records: Iterable[PageRecord], name: str, write: Writer) -> None:
    from rdfaspider.stores.dump import create
    from rdfaspider.terminal import StatusLine, plural

    count = [0]
    with StatusLine(sys.stderr) as line, create(name) as file:
        write(_watched(records, line, count), file)
    print(f"{plural(count[0], 'page')} written to {name}.", file=sys.stderr)


def _show(records: Iterator[PageRecord], most: int, skip: int) -> None:
    from rdfaspider.terminal.table import Table

    table = Table(_SHOWN, sys.stdout, remedy=": -o FILE writes them whole")
    rows = (
        ["" if (value := getattr(record, name)) is None else str(value) for name in _SHOWN]
        for record in islice(records, skip, skip + most)
    )
    for line in table.lines(rows):
        sys.stdout.write(line)
    if next(records, None) is not None:
        print(f"There are more: --skip {skip + most}, or -o FILE for all.")


def _show_counts(records: Iterator[PageRecord]) -> None:
    from heapq import nlargest

    from rdfaspider.pages.counts import PageCounts, count_by_host
    from rdfaspider.terminal import StatusLine
    from rdfaspider.terminal.table import Table

    total, hosts = PageCounts(), 0

    def by_host(line: StatusLine) -> Iterator[tuple[int, str, PageCounts]]:
        nonlocal hosts
        for name, counts in count_by_host(_watched(records, line)):
            hosts += 1
            total.merge(counts)
            yield counts.pages, name, counts

    with StatusLine(sys.stderr) as line:
        largest = nlargest(_HOSTS, by_host(line), key=lambda each: each[:2])
    for sentence in total.lines():
        print(sentence)
    names = ("pages", "copies", "near copies", "declared", "detected", "differ", "host")
    rows = (
        [
            *(f"{number:,}" for number in (count.pages, count.copies, count.near_copies)),
            *(" ".join(name for name, _ in each.most_common(3)) for each in count.languages),
            f"{count.other:,}",
            name,
        ]
        for _, name, count in largest
    )
    for text in Table(names, sys.stdout).lines(rows):
        sys.stdout.write(text)
    if hosts > _HOSTS:
        print(f"{hosts - _HOSTS:,} more hosts; -o FILE has all pages.")
