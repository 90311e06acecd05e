"""sitemap.xml: one file for a small host, an index of plain and compressed parts for a big one."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable

from rdfaspider.site.pages import Location
from rdfaspider.site.parameters import SEEN
from rdfaspider.site.web import Web

# A part is small enough to be made quickly; the protocol allows 50,000 URLs.
PART = 1000
# An index is cut here, so that a host of billions of pages still answers at once.
PARTS = 1000

_NAME = re.compile(r"/sitemap(?:-(0|[1-9][0-9]{0,5}))?\.xml(\.gz)?")
_SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def sitemap(web: Web, place: Location) -> bytes | None:
    """Return the sitemap at a place, None if there is none."""
    match = _NAME.fullmatch(place.path)
    if not match or place.query or not web.parameters.sitemaps:
        return None
    parts = min(PARTS, -(-web.tree.count // PART))
    if match[1] is None and parts > 1:
        text = _index(place.origin, parts)
    elif int(match[1] or 0) < parts:
        text = _part(web, place, int(match[1] or 0))
    else:
        return None
    return gzip.compress(text.encode(), compresslevel=1, mtime=0) if match[2] else text.encode()


def _index(origin: str, parts: int) -> str:
    """List the parts, every second one compressed."""
    urls = (f"{origin}/sitemap-{part}.xml{'.gz' * (part % 2)}" for part in range(parts))
    return _document("sitemapindex", "sitemap", urls)


def _part(web: Web, place: Location, part: int) -> str:
    """List the pages of one part that answer with content."""
    numbers = range(part * PART, min((part + 1) * PART, web.tree.count))
    return _document(
        "urlset",
        "url",
        (
            place.origin + web.path(index)
            for index in numbers
            if web.fate(place.host, index) in SEEN
        ),
    )


def _document(root: str, entry: str, urls: Iterable[str]) -> str:
    entries = "".join(f"<{entry}><loc>{url}</loc></{entry}>\n" for url in urls)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{_SPACE}">\n{entries}</{root}>\n'
    )
