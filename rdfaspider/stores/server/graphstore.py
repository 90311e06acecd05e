"""Stores that speak SPARQL 1.1, by the Graph Store Protocol or by Update.

Oxigraph, Fuseki, Virtuoso (which wants a Digest), Neptune and others have the former; QLever and
Blazegraph the latter. The name of the endpoint tells where queries go: beside `store`, `data` or
`update` to `query`, beside Virtuoso's to `sparql`, otherwise to the endpoint itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyoxigraph import Quad

from rdfaspider.stores import PageStore, StoreDown
from rdfaspider.stores.changes import TEST, insertion, removals, update
from rdfaspider.stores.provenance import PROV, removal_of_fetches
from rdfaspider.stores.selection import Selection
from rdfaspider.stores.server.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rdfaspider.stores.changes import Change
    from rdfaspider.stores.server.http import Client

_QUERY = {
    "store": "query",
    "data": "query",
    "update": "query",
    "sparql-graph-crud-auth": "sparql",
    "sparql-auth": "sparql",
}
# Where updates go, if not to the endpoint itself.
_UPDATE = {"store": "update", "data": "update", "sparql-graph-crud-auth": "sparql-auth"}


class UpdateStore(PageStore):
    """A store behind a SPARQL Update endpoint: all changes of a call are one request."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._endpoint = Endpoint(client, _QUERY.get(client.url.rpartition("/")[2], ""))
        self._updates = ""  # the path of the endpoint for updates

    @property
    def hint(self) -> str:
        return self._endpoint.hint

    def write(self, changes: Sequence[Change]) -> None:
        self._update(update(changes))

    def test(self) -> None:
        self._update(insertion([TEST]) + f";\nDROP SILENT GRAPH <{TEST.graph}>".encode())

    def _update(self, text: bytes) -> None:
        kind = "application/sparql-update; charset=utf-8"  # without a charset RDF4J reads Latin-1
        self._client.request("POST", self._updates, text, content_type=kind)

    def query(self, sparql: str) -> Any:
        return self._endpoint.ask_all(sparql)

    def quads(self) -> Iterator[Quad]:
        return self.select(Selection())

    def select(self, selection: Selection) -> Iterator[Quad]:
        rows = self._endpoint.ask(selection.query())
        return (Quad(row["s"], row["p"], row["o"], row["g"]) for row in rows)

    def sizes(self, selection: Selection) -> Iterator[tuple[str, int]]:
        rows = self._endpoint.ask(selection.sizes())
        # If there is no graph, RDF4J gives one row without ?g.
        return ((row["g"].value, int(row["n"].value)) for row in rows if row["g"] is not None)

    def remove(self, graphs: Iterable[str]) -> None:
        for changes in removals(graphs):
            self._forget_fetches([change.graph for change in changes])
            self.write(changes)

    def _forget_fetches(self, graphs: Sequence[str]) -> None:
        self._update(removal_of_fetches(graphs).encode())

    def count(self) -> int:
        (row,) = self._endpoint.ask("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }")
        return int(row["n"].value)

    def close(self) -> None:
        self._client.close()


class GraphStore(UpdateStore):
    """A store behind the Graph Store Protocol: one request per graph, which replaces it whole."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._updates = _UPDATE.get(client.url.rpartition("/")[2], "")

    def write(self, changes: Sequence[Change]) -> None:
        for change in changes:
            parameters = {"graph": change.graph}
            if change.replaces and not change.quads:
                self._delete(parameters)
                continue
            method = "PUT" if change.replaces else "POST"
            kind = "application/n-triples"
            self._client.request(method, "", change.triples, parameters, content_type=kind)

    def test(self) -> None:
        if self._updates:
            super().test()
        else:  # it may take no updates
            PageStore.test(self)

    def _delete(self, parameters: dict[str, str]) -> None:
        # Some servers would list an empty graph that was PUT for ever.
        try:
            self._client.request("DELETE", "", b"", parameters)
        except StoreDown as error:
            if error.label != "404":
                raise

    def _forget_fetches(self, graphs: Sequence[str]) -> None:
        # With this protocol alone, the graph of the whole crawl would have to be sent again.
        pages = " ".join(f"<{graph}>" for graph in graphs)
        if self._endpoint.ask(
            f"ASK {{ VALUES ?page {{ {pages} }} GRAPH ?crawl {{ ?fetch <{PROV}generated> ?page }} }}"
        ):
            super()._forget_fetches(graphs)
