"""sitemap.xml: one file for a small host, an index of plain and compressed parts for a big one. And feed.xml,
the pages that changed last."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from rdfaspider.site.pages import Location
from rdfaspider.site.web import Web

# A part is small enough to be made quickly; the protocol allows 50,000 URLs.
PART = 1000
# An index is cut here, so that a host of billions of pages still answers at once.
PARTS = 1000
# Changes in a feed.
_LATEST = 20

_NAME = re.compile(r"/sitemap(?:-(0|[1-9][0-9]{0,5}))?\.xml(\.gz)?")
_SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def sitemap(web: Web, place: Location, at: float = 0.0) -> bytes | None:
    """Return the sitemap at a place as it is at a time, None if there is none."""
    match = _NAME.fullmatch(place.path)
    if not match or place.query or not web.parameters.sitemaps:
        return None
    parts = min(PARTS, -(-web.tree.count // PART))
    if match[1] is None and parts > 1:
        text = _index(place.origin, parts)
    elif int(match[1] or 0) < parts:
        text = _part(web, place, int(match[1] or 0), at)
    else:
        return None
    return gzip.compress(text.encode(), compresslevel=1, mtime=0) if match[2] else text.encode()


def _index(origin: str, parts: int) -> str:
    """List the parts, every second one compressed."""
    urls = (f"{origin}/sitemap-{part}.xml{'.gz' * (part % 2)}" for part in range(parts))
    return _document("sitemapindex", "sitemap", ((url, "") for url in urls))


def _part(web: Web, place: Location, part: int, at: float) -> str:
    """List the pages of one part that answer with content."""
    numbers = range(part * PART, min((part + 1) * PART, web.tree.count))
    return _document("urlset", "url", _entries(web, place, numbers, at))


def _entries(
    web: Web, place: Location, numbers: Iterable[int], at: float
) -> Iterator[tuple[str, str]]:
    """Yield the URL of each page that can be seen, and when it changed, "" if that is not said."""
    for index in numbers:
        if path := web.place_of(place.host, index, at):
            changed = web.history.lastmod(place.host, index, at)
            yield place.origin + path, "" if changed is None else _date(web, changed)


def _date(web: Web, at: float) -> str:
    """Return a time as the protocols write it."""
    moment = datetime.fromtimestamp(web.history.date(at), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _document(root: str, entry: str, urls: Iterable[tuple[str, str]]) -> str:
    entries = "".join(
        f"<{entry}><loc>{url}</loc>{date and f'<lastmod>{date}</lastmod>'}</{entry}>\n"
        for url, date in urls
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{_SPACE}">\n{entries}</{root}>\n'
    )


def feed(web: Web, place: Location, at: float) -> bytes | None:
    """Return the Atom feed at a place as it is at a time, None if there is none."""
    if place.path != "/feed.xml" or place.query or not web.parameters.feeds:
        return None
    latest = []
    for index in range(min(PART, web.tree.count)):
        if path := web.place_of(place.host, index, at):
            revision = web.history.revision(place.host, index, at)
            latest.append((web.history.changed(place.host, index, revision), place.origin + path))
    latest = sorted(latest, reverse=True)[:_LATEST]
    entries = "".join(
        f'<entry><id>{url}</id><title>{url}</title><link href="{url}"/>'
        f"<updated>{_date(web, changed)}</updated></entry>\n"
        for changed, url in latest
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<id>{place.origin}/feed.xml</id><title>{place.origin}</title>"
        f"<updated>{_date(web, latest[0][0] if latest else 0.0)}</updated>\n{entries}</feed>\n"
    ).encode()
