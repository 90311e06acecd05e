"""Any store that speaks SPARQL 1.1: by its Graph Store Protocol, or by Update.

Oxigraph, Fuseki, Virtuoso (which wants a Digest), Neptune and others have the former; QLever and
Blazegraph the latter. Both ask their queries where the server has them, which the endpoint's name
tells: beside `store`, `data` or `update` at `query`, beside Virtuoso's at `sparql`, and
otherwise at the endpoint itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pyoxigraph import Quad

from rdfaspider.stores.changes import Change, update
from rdfaspider.stores.sparql import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rdfaspider.stores.http import Client

_QUERY = {
    "store": "query",
    "data": "query",
    "update": "query",
    "sparql-graph-crud-auth": "sparql",
    "sparql-auth": "sparql",
}


class UpdateStore:
    """A Store behind a SPARQL Update endpoint: all changes of a call are one request."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._endpoint = Endpoint(client, _QUERY.get(client.url.rpartition("/")[2], ""))

    @property
    def hint(self) -> str:
        """What the last query could not see, in a sentence."""
        return self._endpoint.hint

    def create(self) -> bool:
        return False

    def replace(self, graph: str, quads: Iterable[Quad]) -> bool:
        self.write([Change.replacing(graph, quads)])
        return True

    def add(self, quads: Iterable[Quad]) -> None:
        self.write(Change.adding(quads))

    def write(self, changes: Sequence[Change]) -> None:
        kind = "application/sparql-update; charset=utf-8"
        self._client.request("POST", "", update(changes), content_type=kind)

    def query(self, sparql: str) -> Any:
        return self._endpoint.ask_all(sparql)

    def quads(self) -> Iterator[Quad]:
        for row in self._endpoint.ask("SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }"):
            yield Quad(row["s"], row["p"], row["o"], row["g"])

    def count(self) -> int:
        (row,) = self._endpoint.ask("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }")
        return int(row["n"].value)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class GraphStore(UpdateStore):
    """A Store behind the Graph Store Protocol: a request for each graph, which replaces it whole."""

    def write(self, changes: Sequence[Change]) -> None:
        for change in changes:
            method = "PUT" if change.replaces else "POST"
            parameters = {"graph": change.graph}
            kind = "application/n-triples"
            self._client.request(method, "", change.triples, parameters, content_type=kind)
