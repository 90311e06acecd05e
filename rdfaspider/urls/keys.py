"""URLs as keys of the trie: the host first and turned round, so that a site is a prefix.

    https://www.example.org/a/b?q      org,example,www)/a/b?q
    http://www.example.org/            org,example,www:80)/
    http://example.org:8000/           org,example:8000)/
    https://example.org:8000/          org,example:8000s)/
    http://127.0.0.1:8000/             127.0.0.1:8000)/
    https://user:word@example.org/     org,example@user:word)/

A key has everything its URL has, and the conversion back is exact. The host is what comes before the port,
the user and the `)`: it has one clock, for all its services and users.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rdfaspider.urls.hosts import split_port

if TYPE_CHECKING:
    from collections.abc import Iterable

_HOST = re.compile(rb"\[[^]]*\]|[^:@)]*")
_QUERY = ord("?")
_DEFAULT_PORT = {"http": "80", "https": ""}

# Where a key may be cut: labels of the host, then the path's segments, then the query's parts.
CUTS = frozenset(b",)/?&")

# Pages link mostly within a few hosts, so each is converted once. A dict that is emptied when it is full is
# faster than one that knows which of its many hosts was used last.
_REMEMBERED = 65_536
_host_keys: dict[str, bytes] = {}
_origins: dict[bytes, str] = {}


def to_key(url: str) -> bytes:
    """Return the key of a normalised URL; ValueError if it is none."""
    # The shortest scheme is http://, and a host has at least one character.
    slash = url.index("/", 8)
    origin = url[:slash]
    host = _host_keys.get(origin)
    return (host or _host_key(origin)) + url[slash:].encode("ascii")


def to_keys(urls: Iterable[str]) -> list[bytes]:
    """Return the keys of normalised URLs; ValueError if one is none."""
    keys: list[bytes] = []
    origin, host = "", b""
    for url in urls:
        # Neighbours among the links of a page are mostly of one host.
        if not host or not url.startswith(origin):
            slash = url.index("/", 8)
            origin = url[: slash + 1]
            host = _host_keys.get(url[:slash]) or _host_key(url[:slash])
        keys.append(host + url[len(origin) - 1 :].encode("ascii"))
    return keys


def to_url(key: bytes) -> str:
    """Return the URL of a key."""
    slash = key.index(b"/")
    host = key[:slash]
    return (_origins.get(host) or _origin(host)) + key[slash:].decode("ascii")


def prefix_of(text: str) -> bytes:
    """Return the prefix of all keys below a normalised URL, a host or a domain; ValueError if it is none."""
    return to_key(text) if "://" in text else to_key(f"https://{text.lower().strip('.')}/")[:-2]


def host_of(key: bytes) -> bytes:
    """Return the host of a key: `org,example,www`, without port and user."""
    return _HOST.match(key)[0]  # type: ignore[index]


def host_name(host: bytes) -> str:
    """Return the name of a host as people write it. A table of hosts needs all of them, so this is fast."""
    parts = host.decode("ascii").split(",")
    parts.reverse()
    name = ".".join(parts)
    return _with_commas(name) if "%" in name else name


def is_dynamic(key: bytes) -> bool:
    """Tell whether the page is made by a query."""
    return _QUERY in key  # for bytes in bytes, Python raises an error first, and forgets it


def folders_of(key: bytes) -> int:
    """Return how many folders of its host lead to a page: 1 for /a/b."""
    return key.partition(b"?")[0].count(b"/") - 1


def _host_key(origin: str) -> bytes:
    scheme, _, authority = origin.partition("://")
    if scheme not in _DEFAULT_PORT:
        raise ValueError(f"Not an http or https URL: {origin[:80]!r}.")
    user, at, place = authority.rpartition("@")
    name, port = split_port(place)
    tag = port + ("s" if scheme == "https" else "") if port else _DEFAULT_PORT[scheme]
    host = f"{_turn(name)}{':' + tag if tag else ''}{at}{user})".encode("ascii")
    if len(_host_keys) >= _REMEMBERED:
        _host_keys.clear()
    _host_keys[origin] = host
    return host


def _origin(host: bytes) -> str:
    place, at, user = host[:-1].decode("ascii").partition("@")
    name, tag = split_port(place)
    scheme = "https" if not tag or tag.endswith("s") else "http"
    port = "" if tag in ("", "80") else ":" + tag.removesuffix("s")
    origin = f"{scheme}://{user}{at}{_turn_back(name)}{port}"
    if len(_origins) >= _REMEMBERED:
        _origins.clear()
    _origins[host] = origin
    return origin


def _turn(name: str) -> str:
    # An address has its root first already. A comma is legal in a host, so it is escaped.
    if name.startswith("[") or name.replace(".", "").isdecimal():
        return name
    return ",".join(reversed(name.replace(",", "%2C").replace(")", "%29").split(".")))


def _turn_back(name: str) -> str:
    return _with_commas(".".join(name.split(",")[::-1]))


def _with_commas(name: str) -> str:
    return name.replace("%2C", ",").replace("%29", ")")


def parent_of(prefix: bytes) -> bytes:
    """Return the prefix one step above."""
    for place in range(len(prefix) - 2, -1, -1):
        if prefix[place] in CUTS:
            return prefix[: place + 1]
    return b""
