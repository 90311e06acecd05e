"""Stores on a server, over HTTP.

`Client` (`http.py`) sends requests over connections that it keeps open, with the credentials of `Access`
(`access.py`), and turns every failure into `StoreDown` (try again) or `Refused` (never again). On it stand
the SPARQL 1.1 stores (`graphstore.py`), which query through `Endpoint` (`endpoint.py`), and RDF4J
(`rdf4j.py`). A crawl reaches all of them through the outbox. `stores/kinds.py` opens each by its URL.
"""
