"""Writes one request: where it goes, and its bytes."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from scrapy.utils.url import add_http_if_no_scheme

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
    """A server: connections to one place serve all its requests.

    One that is reached through a tunnel has the place of the proxy that makes it, and what that is shown as
    Proxy-Authorization. A proxy `is_proxy` where it is asked as one: then it may be at any address.
    """

    is_tls: bool
    host: str
    port: int
    proxy: Place | None = None
    authorization: bytes = b""
    is_proxy: bool = False

    @property
    def authority(self) -> bytes:
        """Return host and port as CONNECT names them."""
        name = self.host.rstrip(".")
        return (f"[{name}]:{self.port}" if ":" in name else f"{name}:{self.port}").encode()


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

    The URL is sent as it is. A user and password in it are sent as a header. A proxy gets the whole URL of a
    page without TLS, and of others only a server to make a tunnel to.
    """
    url, method, body = request.url, request.method, request.body
    parts = _URL.match(url)
    if parts is None:
        raise ValueError(f"{url} is not a URL of the web.")
    place, host, authorization = _server(parts[1])
    path = parts[2] if parts[2].startswith("/") else f"/{parts[2]}"
    headers = request.headers
    to_proxy: bytes | None = None
    if proxy := request.meta.get("proxy"):
        proxy = add_http_if_no_scheme(proxy)
        if not proxy.lower().startswith(("http://", "https://")):
            raise ValueError(
                f"A proxy is asked by http or https, not by {proxy.partition(':')[0]}."
            )
        through = _server(proxy.rstrip("/"))[0]._replace(is_proxy=True)
        to_proxy = headers.get(b"Proxy-Authorization")
        if place.is_tls:
            place = place._replace(proxy=through, authorization=to_proxy or b"")
            to_proxy = None
        else:
            place = through
            path = f"http://{host.decode()}{path}"
    line = f"{method} {path}"
    if not _LINE.fullmatch(line):
        raise ValueError(f"{method} {url} cannot be written in one line.")
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
    if to_proxy:
        lines.append(b"Proxy-Authorization: " + to_proxy)
    if body or method in _WITH_BODY:
        lines.append(b"Content-Length: %d" % len(body))
    lines += (b"", b"")
    head = b"\r\n".join(lines)
    if not _is_of_lines(head, len(lines) - 1) or not _is_of_lines(place.authorization, 0):
        raise ValueError(f"A header of the request for {url} has a line end or a zero in it.")
    return Wanted(place, head, body, is_last)


def tunnel_to(place: Place) -> Wanted:
    """Return what to ask the proxy of a place."""
    lines = [b"CONNECT " + place.authority + b" HTTP/1.1", b"Host: " + place.authority]
    if place.authorization:
        lines.append(b"Proxy-Authorization: " + place.authorization)
    return Wanted(place, b"\r\n".join((*lines, b"", b"")), b"", False)


def _is_of_lines(head: bytes, ends: int) -> bool:
    return head.count(b"\n") == ends and head.count(b"\r") == ends and b"\0" not in head


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
