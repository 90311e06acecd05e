"""Extraction: one page's bytes to its links, its quads and the facts about it.

``extract`` is a pure function: it fetches nothing, writes nothing, keeps nothing between pages and
never raises, whatever the bytes are: each reader fails alone (``containment``). HTML is parsed once,
to a flat list of elements (``document``). Each reader walks that list: ``facts``, ``links``, ``rdfa``,
``jsonld``, ``microdata``. RDF documents go to ``rdf``. All statements of a page end up in one graph
(``triples``), each once.

``extraction`` has what to look for and what was found, ``reading`` is the function. A crawl has its
pages read by other processes, so that is imported when it is first asked for.

``own`` calls extractors that others wrote; ``reference`` asks pyRdfa3, to compare.

``contexts`` has the prefixes that need no declaration, ``datafiles`` reads the files of ``data/``,
``files`` joins the links of pages on disk, ``percentencoding`` encodes the queries of links, ``pool``
runs ``extract`` in other processes, and ``worker`` is what runs there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdfaspider.extract.document.limits import Limits
from rdfaspider.extract.extraction import Extraction, Options
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.own import FORMATS

if TYPE_CHECKING:
    from rdfaspider.extract.reading import compare, extract

__all__ = ["FORMATS", "Extraction", "Facts", "Limits", "Options", "compare", "extract"]


def __getattr__(name: str) -> Any:
    """Return a function of `reading`, which has all readers imported."""
    if name not in ("compare", "extract"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rdfaspider.extract import reading

    found = globals()[name] = getattr(reading, name)
    return found
