"""Reads a sitemap, in whatever state it is: the URLs that it lists (sitemaps.org).

A sitemap is XML or a text of one URL a line, perhaps compressed by gzip; an index lists sitemaps in
place of pages. The XML is searched for its tags and not parsed: there are no entities to expand and
nothing to fetch, what is not well-formed gives its URLs all the same, and the time is linear.
"""

from __future__ import annotations

import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rdfaspider.urls import as_linked, normalise
from rdfaspider.urls.hosts import authority

if TYPE_CHECKING:
    from collections.abc import Iterator

# What sitemaps.org allows one file to have, unpacked.
MAX_BYTES = 50 * 1024 * 1024
MAX_URLS = 50_000
# Octets of one URL: sitemaps.org wants fewer than 2,048 characters.
_MAX_LENGTH = 8_192

_COMMENT = re.compile(rb"<!--(?s:.*?)(?:-->|\Z)")
# The first tag that is neither a declaration nor an instruction; its prefix is that of <loc>.
_ROOT = re.compile(rb"<(?:([A-Za-z][\w.-]*+):)?(urlset|sitemapindex)(?=[\s>])")
_HEAD = 65_536  # octets in which it is looked for
_LINE = re.compile(rb"(?m)^[ \t]*+([^\s<>]++)[ \t]*+\r?$")
# What may stand around or inside a value: marks of CDATA, a byte order mark, a zero-width space.
_MARKS = re.compile(rb"<!\[CDATA\[|\]\]>|\xef\xbb\xbf|\xe2\x80\x8b")
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}));", re.A)
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a sitemap lists: pages, or sitemaps if it `is_index`; and whether some were left out.

    `dates` says when pages changed, in seconds since the epoch. If all dates are equal, they are the date of
    the sitemap and say nothing.
    """

    urls: list[str]
    is_index: bool = False
    cut: bool = False
    dates: dict[str, float] = field(default_factory=dict)


def read_sitemap(
    body: bytes, url: str, *, owner: str = "", most: int = MAX_URLS, limit: int = MAX_BYTES
) -> Sitemap:
    """Return the different URLs, normalised, of the first `most` entries of a sitemap.

    No more than `limit` octets of it are unpacked and read. A sitemap speaks for its own host, and
    for that of `owner`, the URL whose robots.txt names it; URLs of other hosts are passed over, as
    is what is no URL. There are no bad sitemaps.
    """
    text, cut = _text(body, limit)
    root = _ROOT.search(text, 0, _HEAD)
    hosts = {authority(place) for place in (url, owner) if place}
    found: dict[str, None] = {}
    dates: dict[str, float] = {}
    entries = _entries(text, root[1]) if root else ((m[1], b"") for m in _LINE.finditer(text))
    for number, (written, changed) in enumerate(entries):
        if number == most:
            cut = True
            break
        if (listed := url_of(written, url)) and authority(listed) in hosts:
            found[listed] = None
            if changed and (date := date_of(changed)) is not None:
                dates[listed] = date
    if len(dates) > 1 and len(set(dates.values())) == 1:
        dates = {}
    return Sitemap(list(found), root is not None and root[2] == b"sitemapindex", cut, dates)


def _text(body: bytes, limit: int) -> tuple[bytes, bool]:
    """Return the text of a sitemap, unpacked, in UTF-8 and without comments, and if it was cut."""
    if body.startswith(b"\x1f\x8b"):
        body = unpack(body, limit + 1)
    cut = len(body) > limit
    if cut:
        # A line cut short would be another URL; an element cut short has no end and is no match.
        body = body[: body.rfind(b"\n", 0, limit) + 1] or body[:limit]
    if body.startswith((BOM_UTF16_BE, BOM_UTF16_LE)):
        body = body.decode("utf-16", "replace").encode()
    return _COMMENT.sub(b"", body.removeprefix(BOM_UTF8)), cut


def unpack(body: bytes, limit: int) -> bytes:
    """Return up to `limit` octets of a gzip file; of a broken one what comes before the break."""
    parts = []
    while body and limit > 0:  # a file may be several in a row
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(body, limit)
        except zlib.error:
            break
        parts.append(part)
        limit -= len(part)
        body = member.unused_data if member.eof else b""
    return b"".join(parts)


def _entries(text: bytes, prefix: bytes | None) -> Iterator[tuple[bytes, bytes]]:
    """Yield what stands in the sitemap's own <loc>, and in the <lastmod> of the same entry.

    <image:loc> and its like are no pages.
    """
    name = re.escape(prefix) + b":" if prefix else b""
    tags = re.compile(
        rb"<%b(loc|lastmod|url|sitemap)(?:\s[^<>]*+)?>((?:[^<]|<!\[CDATA\[)*+)(?=<)|</%b(?:url|sitemap)\s*+>"
        % (name, name)
    )
    loc: bytes | None = None
    date = b""
    for tag in tags.finditer(text):
        if tag[1] == b"lastmod":
            date = tag[2]
            continue
        if tag[1] in (b"url", b"sitemap") and not tag[2].strip():
            continue  # the usual entry, whose URL is in its <loc>
        if loc is not None:
            yield loc, date
            date = b""
        loc = tag[2]  # None at the end of an entry
        if loc is None:
            date = b""
    if loc is not None:
        yield loc, date


def date_of(written: bytes) -> float | None:
    """Return the time that a date in the style of ISO 8601 names, None if it is none. A day begins in UTC."""
    text = value_of(written)[:40]
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None


def value_of(written: bytes) -> str:
    """Return the text of an element without marks of CDATA and the white space around it."""
    return _MARKS.sub(b"", written).decode("utf-8", "replace").strip()


def url_of(written: bytes, base: str) -> str:
    """Return the URL in a text, "" if there is none; the scheme may be missing before the host of `base`."""
    text = value_of(written)
    if text.startswith(f"{authority(base)}/"):
        text = f"{base.partition(':')[0]}://{text}"
    if not text.lower().startswith(("http://", "https://")) or len(text) > _MAX_LENGTH:
        return ""
    try:
        return as_linked(normalise(_ENTITY.sub(_character, text), base), base)
    except ValueError:
        return ""


def _character(entity: re.Match[str]) -> str:
    name, decimal, hexadecimal = entity.groups()
    if name:
        return _ENTITIES[name]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(number) if number < 0x110000 else entity[0]
