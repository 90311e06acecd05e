"""RDFa 1.1, and 1.0: the attributes of a page as triples.

processor    the processing sequence of RDFa Core over a document
rdfa10       where RDFa 1.0 differs, and which of the two a page is written in
names        what terms, CURIEs and IRIs mean, by what is declared
context      what an element hands down to its children
patterns     rdfa:copy, vocabulary: what vocabularies say of each other
"""

from __future__ import annotations

from rdfaspider.extract.rdfa.processor import ATTRIBUTES, Processor, is_worth

__all__ = ["ATTRIBUTES", "Processor", "is_worth"]
