"""Microdata: the items of a page as triples.

items      Microdata to RDF, second edition, over a document
scopes     which properties belong to which item
registry   where vocabularies begin, and which properties imply others
"""

from __future__ import annotations

from rdfaspider.extract.microdata.items import ATTRIBUTES, is_worth, read

__all__ = ["ATTRIBUTES", "is_worth", "read"]
