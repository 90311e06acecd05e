"""What one page may cost: the bounds that keep a hostile page from costing seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Says how much of a page is read and how much may come out of it.

    Nothing is ever raised because of a limit: what lies beyond is left out and counted in
    ``Facts.cuts`` under the name of the limit.
    """

    body: int = 5_000_000  # bytes read of a page
    depth: int = 2_000  # open elements; trees of browsers stop at 512
    tags: int = 500_000  # tags parsed of a page, end tags included
    elements: int = 150_000  # elements with attributes worth a look
    attributes: int = 128  # attributes of one element
    prefixes: int = 2_000  # prefix declarations of a page
    iri: int = 8_192  # characters of one IRI
    literal: int = 1_000_000  # characters of one literal
    quads: int = 100_000  # quads of a page
    output: int = 20_000_000  # characters of all terms of a page, copies included
    links: int = (
        10_000  # different links of a page; how many of them are followed is for the crawl to say
    )
