"""What one page may cost: the bounds that keep a hostile page from costing seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Says how much of a page is read and how much may come out of it.

    Nothing is ever raised because of a limit: what lies beyond is left out and counted in
    ``Facts.cuts`` under the name of the limit.
    """

    body: int = 5_000_000  # bytes read of a page
    tags: int = 500_000  # tags parsed of a page, end tags included
    elements: int = 100_000  # elements with attributes worth a look
    attributes: int = 128  # attributes of one element of XML
    prefixes: int = 2_000  # prefix declarations of a page
    iri: int = 8_192  # characters of one IRI
    literal: int = 1_000_000  # characters of one literal
    quads: int = 100_000  # quads of a page
    output: int = 20_000_000  # characters of all terms of a page, copies included
    links: int = 10_000  # different links of a page; the crawl says how many of them are followed


# Start tags with attributes, and what has none: comments, and elements that hold text alone.
_ROOT_OR_TEXT = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|textarea|title)\b.*?(?:</\1|\Z)"
    rb"|(?P<root><(?=(?:html|body)[\t\n\f\r /]))",
    re.I | re.S,
)
_ROOTS = 10  # start tags of html and body in a page


def without_tags(body: bytes, limit: int) -> bytes:
    """Return a page up to where it has more tags than the limit allows."""
    if body.count(b"<") <= limit:
        return body
    return body[: len(body) - len(body.split(b"<", limit + 1)[-1]) - 1]


def without_roots(body: bytes) -> tuple[bytes, int]:
    """Return a page without the attributes of too many html and body tags, and how many tags lost them.

    All go to one element, and each is compared with those that it has: a start tag too many becomes an
    end tag, which has no attributes.
    """
    lowered = body.lower()
    if lowered.count(b"<html") + lowered.count(b"<body") <= _ROOTS:
        return body, 0
    found = [each.end() for each in _ROOT_OR_TEXT.finditer(body) if each["root"]]
    places = found[_ROOTS:]
    parts = [body[start:end] for start, end in zip([0, *places], [*places, None], strict=True)]
    return b"/".join(parts), len(places)
