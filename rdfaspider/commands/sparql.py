"""`scrapy sparql`: ask the store of a crawl."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

_FORMATS = ("table", "json", "csv", "tsv", "xml", "turtle", "ntriples")


class Command(CheckedCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options] 'QUERY' | FILE | -"

    def short_desc(self) -> str:
        return "Query the triples of a crawl with SPARQL"

    def long_desc(self) -> str:
        return (
            "Ask the store of a crawl a SPARQL query, given as text, as a file or on standard"
            " input (-). A query sees all pages at once; GRAPH ?page { … } tells which page says"
            " what. The crawl is the one in JOBDIR (-s JOBDIR=DIRECTORY)."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--format",
            choices=_FORMATS,
            default=None,
            help="table, json, csv, tsv or xml for rows; turtle or ntriples for CONSTRUCT and"
            " DESCRIBE (default: table, turtle)",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("give one query: as text, as the name of a file, or - to read it")
        from rdfaspider.pipelines.store import store_access, store_url
        from rdfaspider.stores import open_store

        assert self.settings is not None
        url, access = store_url(self.settings), store_access(self.settings)
        try:
            with open_store(url, read_only=True, access=access) as store:
                _write(store.query(_query(args[0])), opts.format)
        except (SyntaxError, ValueError, OSError) as error:
            print(f"scrapy sparql: {error}", file=sys.stderr)
            self.exitcode = 1


def _query(argument: str) -> str:
    if argument == "-":
        return sys.stdin.read()
    # No query without a space or a brace is valid, and hardly any file name has a brace.
    if "{" not in argument and Path(argument).is_file():
        return Path(argument).read_text(encoding="utf-8")
    return argument


def _write(results: Any, requested: str | None) -> None:
    from pyoxigraph import QueryBoolean, QueryResultsFormat, QuerySolutions, RdfFormat, serialize

    rdf = {"turtle": RdfFormat.TURTLE, "ntriples": RdfFormat.N_TRIPLES}
    rows = {
        "json": QueryResultsFormat.JSON,
        "csv": QueryResultsFormat.CSV,
        "tsv": QueryResultsFormat.TSV,
        "xml": QueryResultsFormat.XML,
    }
    output = sys.stdout.buffer
    if not isinstance(results, QueryBoolean | QuerySolutions):
        if requested not in (None, *rdf):
            raise ValueError(f"A graph cannot be written as {requested}: use turtle or ntriples.")
        serialize(results, output, rdf[requested or "turtle"])
    elif requested in rdf:
        raise ValueError(
            f"Rows cannot be written as {requested}: use table, json, csv, tsv or xml."
        )
    elif requested in rows:
        results.serialize(output, rows[requested])
    elif isinstance(results, QueryBoolean):
        print("yes" if results else "no")
    elif isinstance(results, QuerySolutions):
        names = [variable.value for variable in results.variables]
        sys.stdout.writelines(_table(names, ([_plain(term) for term in row] for row in results)))
    output.flush()


def _plain(term: Any) -> str:
    """Write a term as people read it: the IRI, or the literal without quotes and datatype."""
    return "" if term is None else str(term.value)


def _table(names: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    cells = [names, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(names))]
    for number, row in enumerate(cells):
        yield "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() + "\n"
        if number == 0:
            yield "  ".join("-" * width for width in widths) + "\n"
    yield f"({len(cells) - 1:,} rows)\n"
