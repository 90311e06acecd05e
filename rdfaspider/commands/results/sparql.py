"""`scrapy sparql`: ask the store of a crawl."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from pyoxigraph import QuerySolutions

_FOR_ROWS = ("table", "json", "csv", "tsv", "xml")
_FOR_GRAPHS = ("turtle", "ntriples")
# At most this many blank nodes get a short name, which takes memory.
_NODES = 100_000


class Command(CheckedCommand):
    arguments = "[options] 'QUERY' | FILE | -"
    summary = "Query the triples of a crawl with SPARQL"
    description = (
        "Query the store of the crawl in JOBDIR with SPARQL; also while it runs, if it has a console"
        " (CONSOLE_PORT). The query is given as text, as a file or on standard input (-). It sees all"
        " pages at once; GRAPH ?page { … } tells which page says what. Well-known prefixes, such as"
        " schema: and foaf:, need no declaration. A table on a terminal is cut to its width; nothing"
        " else is cut."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--format",
            metavar="FORMAT",
            help="table, json, csv, tsv or xml for rows; turtle or ntriples for CONSTRUCT and"
            " DESCRIBE (default: table, turtle)",
        )

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("give one query: as text, as the name of a file, or - to read it")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.commands.results._store import open_to_read, query_in
        from rdfaspider.terminal import complain

        if opts.format not in (None, *_FOR_ROWS, *_FOR_GRAPHS):
            names = ", ".join((*_FOR_ROWS, *_FOR_GRAPHS))
            raise ValueError(f"There is no format {opts.format}: choose one of {names}.")
        query = query_in(args[0])
        with open_to_read(self.settings, self.name) as store:
            results = store.query(query)
            if store.hint:
                complain(self.name, store.hint)
            write_results(results, query, opts.format)


def write_results(results: Any, query: str, requested: str | None) -> None:
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
        results.serialize(output, getattr(QueryResultsFormat, requested.upper()))
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
    """Return a function that writes terms for people: no quotes or datatypes, blank nodes as `_:b0`."""
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
