"""Searching what a crawl has found: words and a type in, things with their names and pages out.

A full-text index (SQLite's FTS5) is kept beside the store while the crawl writes, for any kind of store:

things.py    what a page says, as things with names, types and words
index.py     the database: its tables, and how pages come in and leave
sink.py      stands in front of the crawl's sink, and indexes what passes
rebuild.py   fills the index from a store and an archive
words.py     what a user types, as a query of FTS5; types by IRI, prefix or last word
classes.py   which types are below others
reading.py   searches, and lists types, predicates and vocabularies; never writes
looking.py   one thing or page as the store has it: what is said, by which page, when

The index holds nothing that cannot be had again: statements come from the store, the texts of pages from the
archive or when they are fetched. So a damaged index is deleted, and rebuilt (rebuild.py).
"""

from __future__ import annotations

# The index in the directory of a crawl.
FOLDER = "search"
