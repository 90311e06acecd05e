"""Why URLs ended, in words for people; the stats keep the names that programs read."""

from __future__ import annotations

import re

from rdfaspider.terminal import number_of

# For one and for more: what is done, what failed, what was denied.
_WORDS = {
    "page": "page/pages",
    "redirect": "redirect/redirects",
    "sitemap": "sitemap/sitemaps",
    "type": "of another type",
    "CannotResolveHostError": "without an address",
    "CertificateError": "with a certificate that is not valid",
    "ConnectTimeoutError": "not connected in time",
    "DownloadConnectionRefusedError": "connection/connections refused",
    "DownloadFailedError": "broken answer/answers",
    "DownloadTimeoutError": "not complete in time",
    "FirstByteTimeoutError": "not answered in time",
    "ResponseDataLossError": "cut short",
    "UnsupportedURLSchemeError": "with an unknown scheme",
    "redirects": "redirected too often",
    "size": "too large",
    "status": "with an invalid status",
    "address": "at an address that is not public",
    "robots": "by robots.txt",
    "unreachable": "without a robots.txt that can be fetched",
}
_FAILED = {"redirect": "redirected to nowhere"}
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")


def in_words(state: str, label: str, count: int) -> str:
    """Return `3 pages` or `1 connection refused` for a counter `frontier/STATE/LABEL`."""
    if label.isdecimal():
        return f"{count:,} with status {label}"
    words = (_FAILED.get(label) if state == "failed" else None) or _WORDS.get(label)
    return f"{count:,} {number_of(words, count) if words else _spelt_out(label)}"


def _spelt_out(label: str) -> str:
    """Return the name of a class as words, and any other label as it is."""
    if not label[:1].isupper():
        return label
    parts = _PART.findall(label)
    return " ".join(part if part.isupper() else part.lower() for part in parts) or label
