"""`scrapy sparql`: ask the store of a crawl."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from pyoxigraph import QuerySolutions

_FOR_ROWS = ("table", "json", "csv", "tsv", "xml")
_FOR_GRAPHS = ("turtle", "ntriples")
# So many blank nodes get a short name; it has to be remembered.
_NODES = 100_000


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
            " what. On a terminal a table is as wide as the terminal; nothing else is cut. The"
            " crawl is the one in JOBDIR (-s JOBDIR=DIRECTORY)."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--format",
            metavar="FORMAT",
            help="table, json, csv, tsv or xml for rows; turtle or ntriples for CONSTRUCT and"
            " DESCRIBE (default: table, turtle)",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("give one query: as text, as the name of a file, or - to read it")
        from rdfaspider.terminal import exit_code_of

        self.exitcode = exit_code_of("sparql", lambda: self._ask(args[0], opts.format))

    def _ask(self, argument: str, requested: str | None) -> None:
        from rdfaspider.pipelines.store import store_access, store_url
        from rdfaspider.stores import open_store
        from rdfaspider.stores.queries import read_query

        if requested not in (None, *_FOR_ROWS, *_FOR_GRAPHS):
            names = ", ".join((*_FOR_ROWS, *_FOR_GRAPHS))
            raise ValueError(f"There is no format {requested}: take one of {names}.")
        assert self.settings is not None
        url, access = store_url(self.settings), store_access(self.settings)
        query = read_query(argument)
        with open_store(url, read_only=True, access=access) as store:
            results = store.query(query)
            if store.hint:
                print(f"scrapy sparql: {store.hint}", file=sys.stderr)
            _write(results, query, requested)


def _write(results: Any, query: str, requested: str | None) -> None:
    from pyoxigraph import QueryBoolean, QueryResultsFormat, QuerySolutions, RdfFormat, serialize

    from rdfaspider.terminal.data import output_of

    output = output_of(sys.stdout)
    if not isinstance(results, QueryBoolean | QuerySolutions):
        if requested not in (None, *_FOR_GRAPHS):
            raise ValueError(f"A graph cannot be written as {requested}: use turtle or ntriples.")
        kind = RdfFormat.N_TRIPLES if requested == "ntriples" else RdfFormat.TURTLE
        serialize(results, output, kind)
    elif requested in _FOR_GRAPHS:
        raise ValueError(
            f"Rows cannot be written as {requested}: use table, json, csv, tsv or xml."
        )
    elif requested not in (None, "table"):
        formats = {
            "json": QueryResultsFormat.JSON,
            "csv": QueryResultsFormat.CSV,
            "tsv": QueryResultsFormat.TSV,
            "xml": QueryResultsFormat.XML,
        }
        results.serialize(output, formats[requested])
    elif isinstance(results, QueryBoolean):
        print("yes" if results else "no")
    else:
        _write_table(results, query)
    output.flush()


def _write_table(solutions: QuerySolutions, query: str) -> None:
    from rdfaspider.stores.queries import in_order_of_query
    from rdfaspider.terminal.table import Table

    names = in_order_of_query(query, [variable.value for variable in solutions.variables])
    plain = _writer_of_terms()
    rows = ([plain(solution[name]) for name in names] for solution in solutions)
    table = Table(names, sys.stdout, remedy=": --format csv has them whole")
    sys.stdout.writelines(table.lines(rows))


def _writer_of_terms() -> Callable[[Any], str]:
    """Return what writes terms as people read them: no quotes, no datatypes, blank nodes as `_:b0`."""
    from pyoxigraph import BlankNode, Triple

    nodes: dict[str, str] = {}

    def plain(term: Any) -> str:
        if term is None:
            return ""
        if isinstance(term, BlankNode):
            if term.value not in nodes and len(nodes) < _NODES:
                nodes[term.value] = f"_:b{len(nodes)}"
            return nodes.get(term.value) or f"_:{term.value}"
        return str(term) if isinstance(term, Triple) else str(term.value)

    return plain
