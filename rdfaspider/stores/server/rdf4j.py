"""A repository of an RDF4J server (GraphDB speaks the same protocol), over its REST interface."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

from pyoxigraph import RdfFormat, parse

from rdfaspider.stores import Refused, StoreDown, StoreUnavailable
from rdfaspider.stores.changes import insertion, update
from rdfaspider.stores.server.endpoint import Endpoint
from rdfaspider.stores.server.graphstore import UpdateStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyoxigraph import Quad

    from rdfaspider.stores.changes import Change
    from rdfaspider.stores.server.http import Client

# Configurations of repositories. Most writes replace a graph: without an index that begins with the context
# (c), each would scan the whole store. After each removal LmdbStore looks for other uses of the object, and
# would scan for that without an index that begins with the object (o).
_SAILS = {
    "native": """config:sail.type "openrdf:NativeStore" ;
       config:native.tripleIndexes "spoc,posc,cspo\"""",
    "lmdb": """config:sail.type "rdf4j:LmdbStore" ;
       <http://rdf4j.org/config/sail/lmdb#tripleIndexes> "spoc,posc,cspo,ospc\"""",
}
_CONFIGURATION = """\
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix config: <tag:rdf4j.org,2023:config/> .
[] a config:Repository ; config:rep.id "%s" ; rdfs:label "%s" ;
   config:rep.impl [ config:rep.type "openrdf:SailRepository" ;
     config:sail.impl [ %s ] ] .
"""


class Rdf4jStore(UpdateStore):
    """A store on an RDF4J server; the client's URL is the repository's.

    The first write creates the repository if it is missing, as a `native` or `lmdb` store (`sail`). Its
    label contains `owner`, a token by which a crawl knows the repositories it created. The changes of a
    call are one SPARQL Update, which is one transaction of the server. Statements are never PUT or
    DELETEd, because without a context such a request empties the repository; only `drop` removes it.
    """

    def __init__(self, client: Client, sail: str = "native", owner: str = "") -> None:
        super().__init__(client)
        self._endpoint, self._updates = Endpoint(client, "", is_plain=True), "/statements"
        self._exists = False
        self._is_lmdb = False
        self._label = f"rdfaspider {owner}".strip()
        self._name = client.url.rpartition("/repositories/")[2]
        if not re.fullmatch(r"[\w.-]+", self._name, re.ASCII):
            raise StoreUnavailable(
                f"{client.url} is not the URL of a repository:"
                " rdf4j+http://HOST/rdf4j-server/repositories/NAME."
            )
        if sail not in _SAILS:
            raise StoreUnavailable(
                f"RDF4J has no store of the kind {sail!r}: say ?sail=native or ?sail=lmdb."
            )
        self._sail = sail

    def create(self) -> bool:
        body = (_CONFIGURATION % (self._name, self._label, _SAILS[self._sail])).encode()
        is_new = True
        try:
            self._client.request("PUT", body=body, content_type="text/turtle")
        except Refused as refusal:
            if refusal.status != 409:
                raise
            is_new = False
        self._is_lmdb = b"LmdbStore" in (body if is_new else self._configuration())
        self._exists = True
        return is_new

    def is_own(self) -> bool:
        """Tell whether the owner of this store created the repository, as far as the server tells."""
        configuration = self._configuration()
        return not configuration or f'"{self._label}"'.encode() in configuration

    def _configuration(self) -> bytes:
        """Return the configuration of the repository; nothing if the server does not tell."""
        try:
            return self._client.request("GET", "/config", accept="text/turtle")[0]
        except Refused:
            return b""
        except StoreDown as error:
            if error.label in ("404", "405", "406", "500", "501"):
                return b""
            raise

    def drop(self) -> None:
        """Remove the repository with all its content, if it exists."""
        self._exists = False
        try:
            self._client.request("DELETE")
        except Refused as refusal:
            if refusal.status != 400:
                raise
        except StoreDown as error:
            if error.label != "404":
                raise

    def write(self, changes: Sequence[Change]) -> None:
        if not self._exists:
            self.create()
        if not any(change.replaces for change in changes):
            self._post(changes)
            return
        self._update(update(changes) if self._is_lmdb else _update(changes))

    def _post(self, changes: Sequence[Change]) -> None:
        # The server knows gzip by its first bytes.
        body = gzip.compress(b"".join(change.nquads() for change in changes), 1)
        self._client.request("POST", "/statements", body, content_type="application/n-quads")

    def query(self, sparql: str) -> Any:
        return self._endpoint.ask(sparql)  # which looks into all graphs

    def quads(self) -> Iterator[Quad]:
        answer, _ = self._client.open("GET", "/statements", accept="application/n-quads")
        with answer:
            yield from parse(answer, RdfFormat.N_QUADS)

    def count(self) -> int:
        return int(self._client.request("GET", "/size")[0])


def _update(changes: Sequence[Change]) -> bytes:
    """Return one SPARQL Update that applies all changes to a NativeStore.

    A NativeStore scans everything to CLEAR, DROP or PUT a graph that does not exist. It writes new pages
    ten times as fast when a pattern, which uses the index, finds what to remove. An LmdbStore drops
    quickly, and need not read the values of what it removes, which a kill may have lost.
    """
    graphs = " ".join(f"<{change.graph}>" for change in changes if change.replaces)
    removal = (
        "DELETE { GRAPH ?graph { ?s ?p ?o } }\n"
        f"WHERE {{ VALUES ?graph {{ {graphs} }} GRAPH ?graph {{ ?s ?p ?o }} }} ;\n"
    )
    return removal.encode() + insertion(changes)
