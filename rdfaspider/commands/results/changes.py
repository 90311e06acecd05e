"""`scrapy changes`: which triples the visits of a crawl found added and removed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from rdfaspider.stores.stream.patch import Patch

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Command(CheckedCommand):
    summary = "Show which triples were added and removed, and pages as they were"
    description = (
        "Show what the visits of the crawl in JOBDIR have changed, a line for each page and visit; the"
        " crawl may be running. It needs a crawl with -s STORE_CHANGES=1. --patch writes the triples as"
        " RDF Patch, --graph as N-Quads, and --sparql answers a query over these. --page URL --at DATE"
        " prints the graph of a page as it was on a date, from the changes or else from the archive."
        " A date is 2026-11-16, 2026-11-16T10:30 (UTC if it names no zone), or a time ago: 90s, 30m,"
        " 12h, 7d, 2w."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--since", metavar="DATE", help="only changes found from then on")
        add("--until", metavar="DATE", help="only changes found until then")
        add("--page", metavar="URL", help="only changes of this page")
        add("--at", metavar="DATE", help="with --page: print its graph as it was")
        add("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--patch", action="store_true", help="write RDF Patch")
        form.add_argument("--graph", action="store_true", help="write N-Quads, to be queried")
        form.add_argument("--sparql", metavar="QUERY", help="query the changes, as text or file")

    def work(self, args: list[str], opts: argparse.Namespace) -> int | None:
        from rdfaspider.settings.places import jobdir_of

        directory = jobdir_of(self.settings) / "changes"
        graph = _graph_of(opts.page) if opts.page else ""
        since, until = (_seconds(text) if text else None for text in (opts.since, opts.until))
        if opts.at:
            if not graph:
                raise ValueError("--at DATE needs the page: --page URL.")
            return self._print_at(directory, opts.page, graph, opts.at)
        _check(directory)
        if opts.sparql and opts.follow:
            raise ValueError("A query is answered once: use --sparql without --follow.")
        found = _patches(directory, since or 0.0, opts.follow)
        wanted = (
            patch
            for patch in found
            if (not graph or patch.page == graph)
            and (since is None or patch.time >= since)
            and (until is None or patch.time <= until)
        )
        if opts.sparql:
            _query(wanted, opts.sparql)
        elif opts.patch or opts.graph:
            _write(wanted, is_patch=opts.patch)
        else:
            _show(wanted, with_triples=bool(graph))
        return None

    def _print_at(self, directory: Path, url: str, graph: str, at: str) -> int:
        from rdfaspider.settings.places import jobdir_of
        from rdfaspider.stores.stream import is_there, version_at
        from rdfaspider.terminal.data import output_of

        moment = _seconds(at)
        try:
            if not is_there(directory):
                raise ValueError(f"There is no stream of changes in {directory.parent}.")
            lines = version_at(directory, graph, moment)
        except ValueError as error:
            archive = jobdir_of(self.settings) / "archive"
            if not archive.is_dir():
                raise
            return self._print_archived(archive, url, moment, error)
        if lines is None:
            raise ValueError(f"The crawl had not visited {url} by {_shown(moment)}.")
        output = output_of(sys.stdout)
        output.write(b"".join(b"%b <%b> .\n" % (line, graph.encode()) for line in lines))
        output.flush()
        return 0

    def _print_archived(self, archive: Path, url: str, moment: float, error: ValueError) -> int:
        from datetime import UTC, datetime

        from rdfaspider.commands.results.archive import print_quads
        from rdfaspider.terminal import complain

        date = datetime.fromtimestamp(moment, UTC).strftime("%Y%m%d%H%M%S")
        complain(self.name, f"{error} This is from the archive.")
        return print_quads(archive, url, date, self.settings)


def _graph_of(url: str) -> str:
    from rdfaspider.urls import normalise, to_iri

    return to_iri(normalise(url))


def _check(directory: Path) -> None:
    from rdfaspider.stores.stream import is_there

    if not is_there(directory):
        raise ValueError(
            f"There is no stream of changes in {directory.parent}: crawl with -s STORE_CHANGES=1, or name"
            " the crawl's directory with -s JOBDIR=DIRECTORY."
        )


def _seconds(text: str) -> float:
    """Return the time that a date names, or that was so long ago; ValueError if it is neither."""
    import re
    from datetime import UTC, datetime
    from time import time

    if ago := re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhdw])", text):
        return max(time() - float(ago[1]) * _UNITS[ago[2]], 0.0)
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text[:40]} is no date: give 2026-11-16, 2026-11-16T10:30, or a time ago such as 12h."
        ) from None


def _shown(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _patches(directory: Path, since: float, follows: bool) -> Iterator[Patch]:
    from rdfaspider.stores.stream.files import follow, read

    return follow(directory, since) if follows else read(directory, since)


def _write(patches: Iterator[Patch], *, is_patch: bool) -> None:
    from rdfaspider.stores.stream.graph import nquads
    from rdfaspider.terminal.data import output_of

    output = output_of(sys.stdout)
    try:
        for patch in patches:
            output.write(patch.text() if is_patch else nquads(patch))
            output.flush()
    except KeyboardInterrupt:  # that is how --follow ends
        return


def _show(patches: Iterator[Patch], *, with_triples: bool) -> None:
    """Print a line for each change, as wide as the terminal, and its triples if asked for."""
    from rdfaspider.terminal import columns, cut, escaped

    encoding, width = sys.stdout.encoding or "utf-8", columns(sys.stdout)

    def show(line: str) -> None:
        line = escaped(line, encoding)
        print(line if width is None else cut(line, width, encoding), flush=True)

    try:
        for patch in patches:
            size = f"+{len(patch.added)} -{len(patch.removed)}"
            why = "new" if patch.is_first else patch.cause
            show(f"{_shown(patch.time)}  {size:<9} {why and f'{why} '}{patch.page}")
            for mark, lines in (("-", patch.removed), ("+", patch.added)):
                for line in lines if with_triples else ():
                    show(f"  {mark} {line.decode()} .")
    except KeyboardInterrupt:  # that is how --follow ends
        return


def _query(patches: Iterator[Patch], text: str) -> None:
    from pyoxigraph import RdfFormat, Store

    from rdfaspider.commands.results._store import query_in
    from rdfaspider.commands.results.sparql import write_results
    from rdfaspider.stores.embedded.oxigraph import ask
    from rdfaspider.stores.stream.graph import nquads

    query, store = query_in(text), Store()
    for patch in patches:
        store.load(nquads(patch), RdfFormat.N_QUADS, lenient=True)
    write_results(ask(store, query), query, None)
