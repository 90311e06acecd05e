"""Any store that speaks SPARQL 1.1: by its Graph Store Protocol, or by Update.

Oxigraph, Fuseki, Virtuoso (which wants a Digest), Neptune and others have the former; QLever and
Blazegraph the latter. Both ask their queries where the server has them, which the endpoint's name
tells: beside `store`, `data` or `update` at `query`, beside Virtuoso's at `sparql`, and
otherwise at the endpoint itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from rdfaspider.stores import StoreDown
from rdfaspider.stores.changes import Change, removals, update
from rdfaspider.stores.provenance import PROV, removal_of_fetches
from rdfaspider.stores.selection import Selection
from rdfaspider.stores.sparql import Endpoint, quads_of, sizes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyoxigraph import Quad

    from rdfaspider.stores.http import Client

_QUERY = {
    "store": "query",
    "data": "query",
    "update": "query",
    "sparql-graph-crud-auth": "sparql",
    "sparql-auth": "sparql",
}
# Where updates are, if they are elsewhere.
_UPDATE = {"store": "update", "data": "update", "sparql-graph-crud-auth": "sparql-auth"}


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
        self._update(update(changes))

    def _update(self, text: bytes, path: str = "") -> None:
        kind = "application/sparql-update; charset=utf-8"
        self._client.request("POST", path, text, content_type=kind)

    def query(self, sparql: str) -> Any:
        return self._endpoint.ask_all(sparql)

    def quads(self) -> Iterator[Quad]:
        return self.select(Selection())

    def select(self, selection: Selection) -> Iterator[Quad]:
        return quads_of(self._endpoint.ask(selection.query()))

    def sizes(self, selection: Selection) -> Iterator[tuple[str, int]]:
        return sizes_of(self._endpoint.ask(selection.sizes()))

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class GraphStore(UpdateStore):
    """A Store behind the Graph Store Protocol: a request for each graph, which replaces it whole."""

    def write(self, changes: Sequence[Change]) -> None:
        for change in changes:
            parameters = {"graph": change.graph}
            if change.replaces and not change.quads:
                self._delete(parameters)
                continue
            method = "PUT" if change.replaces else "POST"
            kind = "application/n-triples"
            self._client.request(method, "", change.triples, parameters, content_type=kind)

    def _delete(self, parameters: dict[str, str]) -> None:
        # An empty one that was PUT would be among the graphs of some servers for ever.
        try:
            self._client.request("DELETE", "", b"", parameters)
        except StoreDown as error:
            if error.label != "404":
                raise

    def _forget_fetches(self, graphs: Sequence[str]) -> None:
        # By this protocol alone the graph of the whole crawl would have to be sent once more.
        pages = " ".join(f"<{graph}>" for graph in graphs)
        if self._endpoint.ask(
            f"ASK {{ VALUES ?page {{ {pages} }} GRAPH ?crawl {{ ?fetch <{PROV}generated> ?page }} }}"
        ):
            path = _UPDATE.get(self._client.url.rpartition("/")[2], "")
            self._update(removal_of_fetches(graphs).encode(), path)
