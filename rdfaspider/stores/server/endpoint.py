"""Queries to SPARQL endpoints, over the union of all graphs wherever the server allows it.

A page is a named graph. On most servers a query without GRAPH looks into all of them (RDF4J, GraphDB,
Virtuoso, QLever, and Oxigraph if asked to). Jena, and so Fuseki, looks into its default graph, which is
empty, but has a graph that stands for the union, <urn:x-arq:UnionGraph>. `Endpoint` asks each server once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import urlencode

from pyoxigraph import (
    QueryResultsFormat,
    QuerySolutions,
    RdfFormat,
    Variable,
    parse,
    parse_query_results,
)

from rdfaspider.stores import Refused, StoreUnavailable
from rdfaspider.stores.queries import keywords, names_its_graphs, within

if TYPE_CHECKING:
    from rdfaspider.stores.server.http import Client

# Media types of rows and triples; some servers know only the older names.
_ROWS = ("application/sparql-results+json", "application/json")
_TRIPLES = ("application/n-triples", "text/plain")
# Queries that are answered with triples; to others Virtuoso would answer with triples as rows.
_GRAPH_FORMS = {"CONSTRUCT", "DESCRIBE"}
# On Virtuoso: the variable of an answer to ASK, and a blank node, whose label is not valid.
_ASKED = [Variable("__ASK_RETVAL")]
_NODE, _VALID_NODE = b'"bnode", "value": "nodeID://', b'"bnode", "value": "'

# Oxigraph looks into all graphs with this; others ignore it.
_AS_UNION = {"union-default-graph": "true"}
_UNION = "urn:x-arq:UnionGraph"
_IS_JENA = f"ASK {{ GRAPH <{_UNION}> {{ ?s ?p ?o }} }}"
# One statement of a page that a pattern without GRAPH does not find.
_IS_BLIND = """ASK { { SELECT ?s ?p ?o { GRAPH ?g { ?s ?p ?o } } LIMIT 1 }
  FILTER NOT EXISTS { ?s ?p ?o } }"""


class Endpoint:
    """Where a server takes queries: `path` is relative to the client's URL.

    A query is sent as a form, or as it `is_plain`: Virtuoso never answers the latter, and RDF4J takes no form
    over 200 kB. After a query, `hint` says in a sentence what it could not see; it is empty if it saw
    everything.
    """

    def __init__(self, client: Client, path: str, *, is_plain: bool = False) -> None:
        self.hint = ""
        self._client = client
        self._path = path
        self._is_plain = is_plain
        self._kind = ""

    def ask(self, sparql: str, **parameters: str) -> Any:
        """Ask a query as it is, over the server's own default graph.

        Raise SyntaxError for a wrong query, as an embedded store does. Rows and triples are read from the
        server as the caller consumes them.
        """
        form = urlencode({"query": sparql, **parameters})
        kind = "sparql-query" if self._is_plain else "x-www-form-urlencoded"
        try:
            answer, media_type = self._client.open(
                "POST",
                self._path,
                (sparql if self._is_plain else form).encode(),
                content_type=f"application/{kind}; charset=utf-8",
                accept=_TRIPLES[0] if keywords(sparql) & _GRAPH_FORMS else _ROWS[0],
            )
        except Refused as refusal:
            raise SyntaxError(refusal.words) from refusal
        if media_type in _ROWS:
            body = cast("BinaryIO", _VirtuosoLabels(answer))
            return _of_virtuoso(parse_query_results(body, QueryResultsFormat.JSON))
        if media_type in _TRIPLES:
            return (quad.triple for quad in parse(answer, RdfFormat.N_TRIPLES, lenient=True))
        answer.close()
        raise StoreUnavailable(
            f"{self._client.url} answers a query with {media_type}, which is not what a SPARQL server"
            " does: is STORE_URL right?"
        )

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


class _VirtuosoLabels:
    """The body of an answer, with valid labels of blank nodes."""

    def __init__(self, body: BinaryIO) -> None:
        self._body = body
        self._rest = b""  # which may be the beginning of a blank node

    def read(self, size: int) -> bytes:
        wanted = size - len(self._rest)
        data = self._body.read(wanted)
        text = (self._rest + data).replace(_NODE, _VALID_NODE)
        end = len(text) if len(data) < wanted else len(text) - len(_NODE) + 1
        self._rest = text[end:]
        return text[:end]


def _of_virtuoso(results: Any) -> Any:
    """Return the results of a query; Virtuoso answers ASK with a row or none."""
    if isinstance(results, QuerySolutions) and results.variables == _ASKED:
        answer = b'{"head": {}, "boolean": %b}' % (b"true" if any(results) else b"false")
        return parse_query_results(answer, QueryResultsFormat.JSON)
    return results
