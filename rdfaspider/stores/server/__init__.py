"""Stores on a server, over HTTP.

`Client` (`http.py`) sends requests over connections that it keeps open, with the credentials of `Access`
(`access.py`), and turns every failure into `StoreDown` (try again) or `Refused` (never again). On it stand
the SPARQL 1.1 stores (`graphstore.py`), which query through `Endpoint` (`endpoint.py`), and RDF4J
(`rdf4j.py`). A crawl reaches all of them through the outbox. Which kinds of server there are is said in
`stores/__init__.py` (`SERVERS`); `open_server` makes a store of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from rdfaspider.stores import PageStore
    from rdfaspider.stores.server.access import Access
    from rdfaspider.stores.server.rdf4j import Rdf4jStore


def open_server(kind: str, url: str, access: Access | None) -> PageStore:
    """Open the store at a URL: `rdf4j`, `gsp` or `update`."""
    from rdfaspider.stores.server.graphstore import GraphStore, UpdateStore
    from rdfaspider.stores.server.http import Client

    if kind == "rdf4j":
        return open_repository(url, access)
    return (GraphStore if kind == "gsp" else UpdateStore)(Client(url, access))


def open_repository(url: str, access: Access | None, owner: str = "") -> Rdf4jStore:
    """Open an RDF4J repository; one that has to be created is marked with `owner`."""
    from rdfaspider.stores.server.http import Client
    from rdfaspider.stores.server.rdf4j import Rdf4jStore

    sail = parse_qs(urlsplit(url).query).get("sail", ["native"])[0]
    return Rdf4jStore(Client(url, access), sail, owner)
