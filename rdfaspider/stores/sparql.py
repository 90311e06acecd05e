"""Queries to SPARQL endpoints, over the union of all graphs wherever the server can be made to look there.

A page is a named graph. Most servers let a query without GRAPH look into all of them (RDF4J, GraphDB,
Virtuoso, QLever, and Oxigraph if asked to); Jena, and so Fuseki, looks into its default graph, where there
is nothing, but has a graph that stands for the union, <urn:x-arq:UnionGraph>. Others say nothing about it,
so `Endpoint` finds out by asking, once.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyoxigraph import Quad, QueryResultsFormat, RdfFormat, parse, parse_query_results

from rdfaspider.stores import Refused, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfaspider.stores.http import Client

# What rows and triples come as; some servers know only the older names.
_ROWS = frozenset(("application/sparql-results+json", "application/json"))
_TRIPLES = frozenset(("application/n-triples", "text/plain"))

# Oxigraph looks into all graphs with this; others ignore it.
_AS_UNION = {"union-default-graph": "true"}
_UNION = "urn:x-arq:UnionGraph"
_IS_JENA = f"ASK {{ GRAPH <{_UNION}> {{ ?s ?p ?o }} }}"
# One statement of a page that a pattern without GRAPH does not find.
_IS_BLIND = """ASK { { SELECT ?s ?p ?o { GRAPH ?g { ?s ?p ?o } } LIMIT 1 }
  FILTER NOT EXISTS { ?s ?p ?o } }"""


def query(client: Client, path: str, sparql: str, **parameters: str) -> Any:
    """Ask a SPARQL endpoint; a syntax error comes as SyntaxError, as from an embedded store.

    Rows and triples are read from the server as they are asked for.
    """
    try:
        answer, media_type = client.open(
            "POST",
            path,
            sparql.encode(),
            parameters=parameters,
            content_type="application/sparql-query; charset=utf-8",
            accept="application/sparql-results+json, application/n-triples;q=0.9",
        )
    except Refused as refusal:
        raise SyntaxError(refusal.words) from refusal
    if media_type in _ROWS:
        return parse_query_results(answer, QueryResultsFormat.JSON)
    if media_type in _TRIPLES:
        return (quad.triple for quad in parse(answer, RdfFormat.N_TRIPLES, lenient=True))
    answer.close()
    raise StoreUnavailable(
        f"{client.url} answers a query with {media_type}, which is not what a SPARQL server"
        " does: is STORE_URL right?"
    )


def quads_of(rows: Iterable[Any]) -> Iterator[Quad]:
    """Yield the quads of rows with ?s ?p ?o ?g."""
    for row in rows:
        yield Quad(row["s"], row["p"], row["o"], row["g"])


def sizes_of(rows: Iterable[Any]) -> Iterator[tuple[str, int]]:
    """Yield graph and number of rows with ?g ?n; RDF4J gives one without a graph if there is none."""
    for row in rows:
        if row["g"] is not None:
            yield row["g"].value, int(row["n"].value)


class Endpoint:
    """The place of a server that takes queries: `path` is relative to the client's URL.

    `hint` says after a query, in a sentence, what it could not see; it is empty if it saw everything.
    """

    def __init__(self, client: Client, path: str) -> None:
        self.hint = ""
        self._client = client
        self._path = path
        self._kind = ""

    def ask(self, sparql: str, **parameters: str) -> Any:
        """Ask a query as it is, where the server looks if nobody tells it otherwise."""
        return query(self._client, self._path, sparql, **parameters)

    def ask_all(self, sparql: str) -> Any:
        """Ask a query over the union of all graphs, unless it names those it is about."""
        if names_its_graphs(sparql):
            return self.ask(sparql)
        kind = self._find_out()
        has_graphs = "GRAPH" in _keywords(sparql)
        if kind == "jena":
            return self._ask_jena(sparql, has_graphs=has_graphs)
        if kind == "other" and not has_graphs:
            self.hint = (
                f"{self._client.url} has its pages in named graphs, where a query looks only if it"
                " says so: SELECT … { GRAPH ?page { … } }."
            )
        return self.ask(sparql, **_AS_UNION)

    def _find_out(self) -> str:
        """Return what patterns without GRAPH are matched with: the union, Jena's default graph, another."""
        if not self._kind:
            try:
                is_blind = bool(self.ask(_IS_BLIND, **_AS_UNION))
            except SyntaxError:  # of a server that knows less than SPARQL 1.1
                is_blind = False
            if is_blind:
                self._kind = "jena" if self.ask(_IS_JENA) else "other"
            else:
                self._kind = "union"
        return self._kind

    def _ask_jena(self, sparql: str, *, has_graphs: bool) -> Any:
        if not has_graphs:
            return self.ask(sparql, **{"default-graph-uri": _UNION})
        # With that parameter there would be no named graphs, so the query must say it.
        try:
            return self.ask(_within(sparql, _UNION))
        except SyntaxError:
            return self.ask(sparql)  # which tells the place of the error in what the user wrote


def read_query(argument: str) -> str:
    """Return the query that a user named: as text, as a file, or - for standard input."""
    if argument == "-":
        return sys.stdin.read()
    # No query without a space or a brace is valid, and hardly any file name has a brace.
    if "{" in argument:
        return argument
    try:
        return Path(argument).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{argument} is not a text in UTF-8: {error}.") from error
    except OSError as error:
        if len(argument.split()) > 1:
            return argument
        raise ValueError(
            f"{argument or 'Nothing'} is neither a query nor a file that can be read: {error.strerror}."
        ) from error


# Nothing in a comment, an IRI or a string is a keyword, nor is a variable or a name with a prefix.
_TOKEN = re.compile(
    r"""\#[^\n\r]* | <[^<>"{}|^`\\\x00-\x20]*>
      | \"\"\"(?:[^\\]|\\.)*?\"\"\" | '''(?:[^\\]|\\.)*?'''
      | "(?:[^"\\\n\r]|\\.)*" | '(?:[^'\\\n\r]|\\.)*'
      | (?P<word> [?$]\w+ | @?[\w.%:-]+ | [{}()] )""",
    re.VERBOSE | re.DOTALL,
)

_STAR = re.compile(r"SELECT(?:\s+(?:DISTINCT|REDUCED))?\s*\*", re.IGNORECASE)


def _words(sparql: str) -> Iterator[tuple[str, int]]:
    """Yield the names and brackets of a query with their places."""
    for token in _TOKEN.finditer(sparql):
        if token["word"]:
            yield token["word"], token.start()


def _keywords(sparql: str) -> set[str]:
    return {word.upper() for word, _ in _words(sparql)}


def names_its_graphs(sparql: str) -> bool:
    """Tell whether a query says by FROM what it is about; then the union of all graphs it is not."""
    return "FROM" in _keywords(sparql)


def in_order_of_query(sparql: str, names: list[str]) -> list[str]:
    """Return the names of the variables of rows in the order of SELECT; of SELECT *, as they appear.

    Stores differ in the order they have them in then.
    """
    selects = (place for word, place in _words(sparql) if word.upper() == "SELECT")
    if not _STAR.match(sparql, next(selects, 0)):
        return names
    first = {word[1:]: place for word, place in reversed([*_words(sparql)]) if word[0] in "?$"}
    return sorted(names, key=lambda name: first.get(name, len(sparql)))


def _within(sparql: str, graph: str) -> str:
    """Return the query with its whole pattern inside GRAPH <graph>; a GRAPH inside goes on to count."""
    groups = list(_groups(sparql))
    # The first group of CONSTRUCT is its template; a CONSTRUCT WHERE, which has none, has no GRAPH either.
    number = 1 if "CONSTRUCT" in _keywords(sparql) else 0
    if len(groups) <= number:
        return sparql
    start, end = groups[number]
    return f"{sparql[:start]}{{ GRAPH <{graph}> {sparql[start:end]} }}{sparql[end:]}"


def _groups(sparql: str) -> Iterator[tuple[int, int]]:
    """Yield where the groups { … } begin and end that are neither in a group nor in parentheses."""
    depth, start = 0, -1
    for word, place in _words(sparql):
        if word in "({":
            if not depth:
                start = place
            depth += 1
        elif word in ")}":
            depth -= 1
            if not depth and word == "}":
                yield start, place + 1
