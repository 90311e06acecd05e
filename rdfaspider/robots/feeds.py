"""Reads a feed, RSS or Atom, in whatever state it is: which pages are new or have changed, and when.

As in sitemaps.py, the XML is searched for its tags and not parsed: there are no entities to expand and
nothing to fetch, and the time is linear.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from functools import lru_cache
from urllib.parse import urljoin

from rdfaspider.robots.sitemaps import Sitemap, date_of, read_sitemap, url_of, value_of
from rdfaspider.urls.hosts import authority

# Entries that are read, and octets of a feed; real ones have some tens.
_MOST = 1_000
_LIMIT = 4 << 20

MEDIA_TYPES = ("application/atom+xml", "application/rss+xml")

_ROOT = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*+(?:<[?!][^>]*+>\s*+)*+<(rss|feed|rdf:RDF)(?=[\s>])")
_ENTRY = re.compile(rb"<(?:item|entry)(?=[\s>])")
# RSS has the URL in the element, Atom in an attribute.
_LINK = re.compile(rb"<link(\s[^<>]*+)?>((?:[^<]|<!\[CDATA\[)*+)")
_GUID = re.compile(rb"<guid(?:\s[^<>]*+)?>((?:[^<]|<!\[CDATA\[)*+)")
_HREF = re.compile(rb"""\shref\s*=\s*["']([^"'<>]*+)["']""")
_OTHER = re.compile(rb"""\srel\s*=\s*["'](?!alternate["'])""")
_DATE = re.compile(rb"<(updated|published|pubDate|dc:date)(?:\s[^<>]*+)?>([^<]*+)<")
_ORDER = (b"updated", b"pubDate", b"dc:date", b"published")


def is_feed(content_type: str, body: bytes) -> bool:
    """Return whether an answer is a feed; many are sent as plain XML.

    RSS 1.0 sent so is a document in RDF/XML, and read as such.
    """
    kind = content_type.partition(";")[0].strip().lower()
    return kind in MEDIA_TYPES or (kind.endswith("/xml") and _root(body) in (b"rss", b"feed"))


def _root(body: bytes) -> bytes:
    root = _ROOT.match(body[:4096])
    return root[1] if root else b""


def read_listing(body: bytes, url: str, *, owner: str, most: int) -> Sitemap:
    """Return the pages that a sitemap lists; a feed may stand in place of one."""
    if not _root(body):
        return read_sitemap(body, url, owner=owner, most=most)
    pages = dict(read_feed(body, url)[:most])
    return Sitemap(list(pages), dates={page: date for page, date in pages.items() if date})


def read_feed(body: bytes, url: str) -> list[tuple[str, float | None]]:
    """Return the pages of a feed's own host, normalised, each with the time of its last change, if known."""
    found: dict[str, float | None] = {}
    for entry in _ENTRY.split(body[:_LIMIT], _MOST)[1:]:
        page = _link(entry, url)
        if page and authority(page) == authority(url):
            found.setdefault(page, _date(entry))
    return list(found.items())


def _link(entry: bytes, base: str) -> str:
    for link in _LINK.finditer(entry):
        attributes = link[1] or b""
        href = _HREF.search(attributes)
        if _OTHER.search(attributes):
            continue
        if page := _page(href[1] if href else link[2], base):
            return page
    guid = _GUID.search(entry)  # often the page, even where the feed denies it
    return url_of(guid[1], base) if guid else ""


def _page(written: bytes, base: str) -> str:
    """Return the URL of a page, which may be relative."""
    text = value_of(written)
    if not text or text.lower().startswith(("http://", "https://")):
        return url_of(written, base)
    try:
        return url_of(urljoin(base, text).encode(), base)
    except ValueError:
        return ""


def _date(entry: bytes) -> float | None:
    dates = dict(_DATE.findall(entry))
    for name in _ORDER:
        if name in dates and (date := date_of(dates[name]) or mail_date(dates[name])):
            return date
    return None


@lru_cache(maxsize=256)
def mail_date(written: bytes | None) -> float | None:
    """Return the time in a date as e-mail, HTTP and RSS have them, None if it has none."""
    try:
        text = (written or b"").strip()[:64].decode("ascii", "replace")
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
