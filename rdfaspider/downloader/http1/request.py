"""Writes one request: where it goes, and its bytes."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from scrapy import Request

# Everything up to the path, which has no fragment.
_URL: Final = re.compile(r"([A-Za-z]+://[^/?#]*)([^#]*)")
# A request line that a space, a control or a line end does not break.
_LINE: Final = re.compile(r"[A-Z0-9!#$%&'*+.^_`|~-]+ [^\x00-\x20\x7f]+")

# How long the body is and who is asked is written by us.
_OURS: Final = frozenset(
    (b"Host", b"Content-Length", b"Transfer-Encoding", b"Proxy-Authorization", b"Expect")
)
_WITH_BODY: Final = frozenset(("POST", "PUT", "PATCH"))


class Place(NamedTuple):
    """A server: connections to one place serve all its requests."""

    is_tls: bool
    host: str
    port: int


class Wanted(NamedTuple):
    """A request as it is sent; `is_last` tells that no other may follow over its connection."""

    place: Place
    head: bytes
    body: bytes
    is_last: bool

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Return the headers as they are sent."""
        lines = self.head.split(b"\r\n")[1:-2]
        return tuple((name, value) for name, _, value in (line.partition(b": ") for line in lines))


def wanted(request: Request) -> Wanted:
    """Return what to send for a request of Scrapy; raise ValueError if it cannot be sent.

    The URL is sent as it is. A user and password in it are sent as a header.
    """
    url, method, body = request.url, request.method, request.body
    parts = _URL.match(url)
    if parts is None:
        raise ValueError(f"{url} is not a URL of the web.")
    place, host, authorization = _server(parts[1])
    path = parts[2]
    line = f"{method} {path}" if path.startswith("/") else f"{method} /{path}"
    if not _LINE.fullmatch(line):
        raise ValueError(f"{method} {url} cannot be written in one line.")
    headers = request.headers
    given: bytes | None = headers.get(b"Host") if dict.__contains__(headers, b"Host") else None
    lines = [line.encode() + b" HTTP/1.1", b"Host: " + (host if given is None else given)]
    is_last = False
    for name, values in dict.items(headers):
        if name in _OURS or (authorization and name == b"Authorization"):
            continue
        is_last |= name == b"Connection" and b"close" in b",".join(values).lower()
        lines += [name + b": " + value for value in values]
    if authorization:
        lines.append(authorization)
    if body or method in _WITH_BODY:
        lines.append(b"Content-Length: %d" % len(body))
    lines += (b"", b"")
    head = b"\r\n".join(lines)
    ends = len(lines) - 1
    if head.count(b"\n") != ends or head.count(b"\r") != ends or b"\0" in head:
        raise ValueError(f"A header of the request for {url} has a line end or a zero in it.")
    return Wanted(place, head, body, is_last)


@lru_cache(maxsize=4_096)
def _server(origin: str) -> tuple[Place, bytes, bytes]:
    """Return the place of a URL without its path, its Host header, and one that authorises, if any."""
    host, port = host_and_port(origin)
    parts = urlsplit(origin)
    is_tls = parts.scheme == "https"
    # The dot of the root is part of the name, but servers and certificates are named without.
    named = host.rstrip(".")
    header = f"[{named}]" if ":" in named else named
    if port != (443 if is_tls else 80):
        header += f":{port}"
    return (
        Place(is_tls, host, port),
        header.encode(),
        _authorization(parts.username, parts.password),
    )


def _authorization(user: str | None, password: str | None) -> bytes:
    if not user and not password:
        return b""
    pair = f"{unquote(user or '')}:{unquote(password or '')}"
    try:
        packed = pair.encode("latin-1")
    except UnicodeEncodeError:
        packed = pair.encode()
    return b"Authorization: Basic " + b64encode(packed)
