"""URLs as keys of an index: SURT, in the form that replay tools look for.

    http://www.Example.org/A/?b=2&a=1      org,example)/a?a=1&b=2

Case, `www`, the scheme, its usual port, the order of the query and ids of sessions do not count, so one key
stands for what is most likely one page. The rules are those of the Wayback Machine.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes, urlsplit

_WWW = re.compile(r"^www\d*\.")
_SLASHES = re.compile("//+")
_UNSAFE = re.compile(r"[^!-~]")
_ESCAPED = [
    chr(byte) if 0x20 < byte < 0x7F and byte not in b"#%" else f"%{byte:02x}" for byte in range(256)
]
_USUAL = {"http": 80, "https": 443}
_IN_PATH = (
    re.compile(r"^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$"),
    re.compile(r"^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$"),
)
_IN_QUERY = (
    re.compile(r"^(.*?)(?:jsessionid=[0-9a-z]{32})(?:&(.*))?$"),
    re.compile(r"^(.*?)(?:phpsessid=[0-9a-z]{32})(?:&(.*))?$"),
    re.compile(r"^(.*?)(?:sid=[0-9a-z]{32})(?:&(.*))?$"),
    re.compile(r"^(.*?)(?:aspsessionid[a-z]{8}=[a-z]{24})(?:&(.*))?$"),
    re.compile(r"^(.*?)(?:cfid=[^&]+&cftoken=[^&]+)(?:&(.*))?$"),
)


def key_of(url: str) -> str:
    """Return the key of a URL in its normal form; ValueError if it is none."""
    slash = url.find("/", 8)  # http:// is the shortest scheme, and no host is empty
    if slash < 0:
        url, slash = f"{url}/", len(url)
    path, mark, query = url[slash:].partition("#")[0].partition("?")
    path = _plain(path).lower()
    if "(" in path:
        for rule in _IN_PATH:
            path = rule.sub(r"\1\2", path)
    if "//" in path:
        path = _SLASHES.sub("/", path)
    query = _query(_plain(query).lower()) if mark else ""
    return f"{_service(url[:slash])}{path.rstrip('/') or '/'}{query}"


@lru_cache(65_536)
def _service(origin: str) -> str:
    """Return the beginning of a key."""
    parts = urlsplit(origin)
    host, port = parts.hostname, parts.port
    if not host or parts.scheme not in _USUAL:
        raise ValueError(f"{origin[:200]} is not a URL.")
    if ":" not in host:  # else it is an address of IPv6
        host = ",".join(reversed(_WWW.sub("", host.strip("."), count=1).split(".")))
    return f"{host})" if port in (None, _USUAL[parts.scheme]) else f"{host}:{port})"


def _plain(text: str) -> str:
    """Return a text with only those characters escaped that must be."""
    if "%" not in text and _UNSAFE.search(text) is None:
        return text
    raw, plain = b"", text.encode("utf-8", "surrogatepass")
    while plain != raw:
        raw, plain = plain, unquote_to_bytes(plain)
    return "".join(_ESCAPED[byte] for byte in plain)


def _query(query: str) -> str:
    if "id" in query:
        for rule in _IN_QUERY:
            query = rule.sub(lambda found: found[1] + (found[2] or ""), query)
    if "&" in query:
        query = "&".join(sorted(query.split("&"), key=lambda part: part.partition("=")))
    return f"?{query}" if query else ""
