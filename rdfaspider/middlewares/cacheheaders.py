"""What the headers of an answer say for the next visit: validators, and how long it is fresh."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rdfaspider.robots.feeds import mail_date

if TYPE_CHECKING:
    from scrapy.http.headers import Headers

# A server may ask not to be asked again for this long; one that asks for more is not believed.
LONGEST_FRESH = 7 * 86_400.0

# As RFC 9110 has it; nobody sends longer ones, and all of them are kept.
_ETAG = re.compile(rb'(?:W/)?"[!#-~]{1,200}"')
_MAX_AGE = re.compile(rb'(?:^|[\s,;])max-age\s*=\s*"?(\d{1,12})')


def validators_of(headers: Headers) -> tuple[str, str]:
    """Return ETag and Last-Modified, "" for one that is missing or is none."""
    etag = _last(headers, b"Etag")
    modified = _last(headers, b"Last-Modified")
    is_date = len(modified) < 40 and modified.isascii() and mail_date(modified) is not None
    return (
        etag.decode("ascii") if _ETAG.fullmatch(etag) else "",
        modified.decode("ascii") if is_date else "",
    )


def is_conditional(headers: Headers) -> bool:
    """Return whether a request asks only for what has changed: to others, 304 is no answer."""
    return b"If-None-Match" in headers or b"If-Modified-Since" in headers


def fresh_seconds(headers: Headers) -> float:
    """Return for how long Cache-Control says that the page stays as it is; 0 if it does not say."""
    control = b",".join(headers.getlist(b"Cache-Control")).lower()
    found = _MAX_AGE.search(control)
    if not found or b"no-cache" in control or b"no-store" in control:
        return 0.0
    age = _last(headers, b"Age")
    left = float(found[1]) - (float(age) if age.isdigit() and len(age) < 12 else 0.0)
    return min(max(left, 0.0), LONGEST_FRESH)


def _last(headers: Headers, name: bytes) -> bytes:
    """Return the last value of a header, whose name is given as Scrapy writes it."""
    values: list[bytes] | None = dict.get(headers, name)
    return values[-1].strip() if values else b""
