"""The initial contexts of RDFa 1.1: the prefixes and terms that need no declaration."""

from __future__ import annotations

import json

from rdfaspider.extract.datafiles import read_data

_DATA = json.loads(read_data("initial-context.json"))

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFA = "http://www.w3.org/ns/rdfa#"
XSD = "http://www.w3.org/2001/XMLSchema#"
XHTML_VOCABULARY = "http://www.w3.org/1999/xhtml/vocab#"

PREFIXES: dict[str, str] = _DATA["prefixes"]
TERMS: dict[str, str] = _DATA["terms"]
LINK_TYPES: dict[str, str] = _DATA["xhtml_terms"]  # all the terms of RDFa 1.0
XHTML_TERMS: dict[str, str] = {**TERMS, **LINK_TYPES}
