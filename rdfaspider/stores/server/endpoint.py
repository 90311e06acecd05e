"""Queries to SPARQL endpoints, over the union of all graphs wherever the server allows it.

A page is a named graph. On most servers a query without GRAPH looks into all of them (RDF4J, GraphDB,
Virtuoso, QLever, and Oxigraph if asked to). Jena, and so Fuseki, looks into its default graph, which is
empty, but has a graph that stands for the union, <urn:x-arq:UnionGraph>. `Endpoint` asks each server once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyoxigraph import Quad, QueryResultsFormat, RdfFormat, parse, parse_query_results

from rdfaspider.stores import Refused, StoreUnavailable
from rdfaspider.stores.queries import keywords, names_its_graphs, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfaspider.stores.server.http import Client

# Media types of rows and triples; some servers know only the older names.
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
    """Ask a SPARQL endpoint; raise SyntaxError for a wrong query, as an embedded store does.

    Rows and triples are read from the server as the caller consumes them.
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
    """Yield ?g and ?n of rows; if there is no graph, RDF4J gives one row without ?g."""
    for row in rows:
        if row["g"] is not None:
            yield row["g"].value, int(row["n"].value)


class Endpoint:
    """Where a server takes queries: `path` is relative to the client's URL.

    After a query, `hint` says in a sentence what it could not see; it is empty if it saw everything.
    """

    def __init__(self, client: Client, path: str) -> None:
        self.hint = ""
        self._client = client
        self._path = path
        self._kind = ""

    def ask(self, sparql: str, **parameters: str) -> Any:
        """Ask a query as it is, over the server's own default graph."""
        return query(self._client, self._path, sparql, **parameters)

    def ask_all(self, sparql: str) -> Any:
        """Ask a query over the union of all graphs, unless it names its graphs."""
        if names_its_graphs(sparql):
            return self.ask(sparql)
        kind = self._find_out()
        has_graphs = "GRAPH" in keywords(sparql)
        if kind == "jena":
            return self._ask_jena(sparql, has_graphs=has_graphs)
        if kind == "other" and not has_graphs:
            self.hint = (
                f"{self._client.url} has its pages in named graphs, where a query looks only if it"
                " says so: SELECT … { GRAPH ?page { … } }."
            )
        return self.ask(sparql, **_AS_UNION)

    def _find_out(self) -> str:
        """Return what a pattern without GRAPH sees: the `union`, `jena`'s default graph, or `other`."""
        if not self._kind:
            try:
                is_blind = bool(self.ask(_IS_BLIND, **_AS_UNION))
            except SyntaxError:  # the server does not know SPARQL 1.1
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
            return self.ask(within(sparql, _UNION))
        except SyntaxError:
            return self.ask(sparql)  # so that the error points into what the user wrote
