"""What libcurl is told of a request: where it goes, and its lines."""

from __future__ import annotations

import re
from base64 import b64decode
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

import pycurl  # type: ignore[import-untyped]
from scrapy.utils.url import add_http_if_no_scheme

from rdfaspider.resolver.addresses import canonical, literal
from rdfaspider.urls import without_userinfo

if TYPE_CHECKING:
    from scrapy import Request

    Options = list[tuple[int, int | str | bytes | list[bytes]]]

# Everything up to the path, which has no fragment.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9]*://[^/?#]*)([^#]*)")
# A request line that a space, a control or a line end does not break.
_LINE = re.compile(r"[A-Z0-9!#$%&'*+.^_`|~-]+ [^\x00-\x20\x7f]+")

# How long the body is and who is asked is written by libcurl.
_OURS = frozenset(
    (b"Host", b"Content-Length", b"Transfer-Encoding", b"Proxy-Authorization", b"Expect")
)
# libcurl adds these unless they are named.
_ADDED = (b"Accept", b"Content-Type", b"Expect")
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))

_PORTS = {"http": 80, "https": 443}
_PROXIES = frozenset(("http", "https", "socks4", "socks4a", "socks5", "socks5h"))
# With these the names of servers are looked up here, and only the address is told.
_ASKED_BY_ADDRESS = frozenset(("socks4", "socks5"))


class Server(NamedTuple):
    """A host and a port to connect to; a proxy may be at any address."""

    host: str
    port: int
    name: str  # as libcurl has it: a literal address in the usual form, no dot at the end
    is_proxy: bool = False


class Wanted(NamedTuple):
    """A request for libcurl.

    headers   as they are sent, but for a user and password
    servers   those whose addresses libcurl needs
    options   what it is told besides
    """

    url: str
    headers: list[tuple[bytes, bytes]]
    servers: tuple[Server, ...]
    options: Options


def wanted(request: Request) -> Wanted:
    """Return what to ask for a request of Scrapy; raise ValueError if it cannot be sent.

    The URL is sent as it is, without a user and password.
    """
    url, method, body = request.url, request.method, request.body
    parts = _URL.match(url)
    if parts is None:
        raise ValueError(f"{url} is not a URL of the web.")
    origin, server, host, login = _origin(parts[1])
    path = parts[2] if parts[2].startswith("/") else f"/{parts[2]}"
    if not _LINE.fullmatch(f"{method} {path}"):
        raise ValueError(f"{method} {url} cannot be written in one line.")
    given = request.headers
    named = dict.get(given, b"Host")
    headers = [(b"Host", named[-1] if named else host)]
    options: Options = []
    for name, values in dict.items(given):
        if name in _OURS or (login and name == b"Authorization"):
            continue
        headers += [(name, value) for value in values]
        if name == b"Connection" and b"close" in b",".join(values).lower():
            options.append((pycurl.FORBID_REUSE, 1))
    if any(b"\0" in part for part in login or ()):
        raise ValueError(f"The user or password of {without_userinfo(url)} has a zero in it.")
    if login:
        options += ((pycurl.USERNAME, login[0]), (pycurl.PASSWORD, login[1]))
    if method == "HEAD":
        options.append((pycurl.NOBODY, 1))
    elif body or method in _WITH_BODY:
        headers.append((b"Content-Length", b"%d" % len(body)))
        options += ((pycurl.POSTFIELDS, body), (pycurl.CUSTOMREQUEST, method))
    elif method != "GET":
        options.append((pycurl.CUSTOMREQUEST, method))
    if method not in ("GET", "HEAD"):
        # libcurl sends a request once more if a kept connection ends without an answer.
        options.append((pycurl.FRESH_CONNECT, 1))
    # One without a value is marked by a semicolon, one that is not sent by nothing.
    lines = [name + b": " + value if value else name + b";" for name, value in headers]
    lines += [name + b":" for name in _ADDED if not dict.__contains__(given, name)]
    options.append((pycurl.HTTPHEADER, lines))
    to_proxy = b",".join(dict.get(given, b"Proxy-Authorization", ()))
    text = b"\n".join((*lines, to_proxy))
    if text.count(b"\n") != len(lines) or b"\r" in text or b"\0" in text:
        raise ValueError(f"A header of the request for {url} has a line end or a zero in it.")
    servers: tuple[Server, ...] = (server,)
    if proxy := request.meta.get("proxy"):
        servers = _by_proxy(proxy, to_proxy, server, url, options)
    return Wanted(origin + path, headers, servers, options)


def _by_proxy(
    proxy: str, authorization: bytes, server: Server, url: str, options: Options
) -> tuple[Server, ...]:
    """Add the options of a proxy; return the servers whose addresses are needed."""
    proxy = add_http_if_no_scheme(proxy)
    scheme = proxy.partition(":")[0].lower()
    parts = _URL.match(proxy)
    if scheme not in _PROXIES or parts is None:
        raise ValueError(f"A proxy is asked by http, https or SOCKS, not by {scheme}.")
    origin, through, _, login = _origin(parts[1])
    options.append((pycurl.PROXY, origin))
    if not url.startswith("https:") and scheme in ("http", "https"):
        # Else all servers would be asked over one connection.
        options.append((pycurl.FORBID_REUSE, 1))
    kind, _, pair = authorization.partition(b" ")
    if kind.lower() == b"basic":
        user, _, password = b64decode(pair).partition(b":")
        login = user, password
    elif authorization:
        # libcurl does not see whether a kept tunnel was made with another one.
        lines = [b"Proxy-Connection:", b"Proxy-Authorization: " + authorization]
        options += ((pycurl.PROXYHEADER, lines), (pycurl.FRESH_CONNECT, 1))
        options.append((pycurl.FORBID_REUSE, 1))
    if login:
        options += ((pycurl.PROXYUSERNAME, login[0]), (pycurl.PROXYPASSWORD, login[1]))
    through = through._replace(is_proxy=True)
    return (through, server) if scheme in _ASKED_BY_ADDRESS else (through,)


@lru_cache(maxsize=4_096)
def _origin(text: str) -> tuple[str, Server, bytes, tuple[bytes, bytes] | None]:
    """Return scheme and authority of a URL for libcurl, its server, its Host header, user and password."""
    parts = urlsplit(text)
    host, default = parts.hostname or "", _PORTS.get(parts.scheme, 1080)
    port = parts.port or default
    if "%" in host and ":" not in host:  # libcurl would decode it, behind the guard's back
        raise ValueError(f"{host} is no name of a host.")
    # The dot of the root is part of the name, but servers and certificates are named without.
    named = host.rstrip(".")
    header = _bracketed(named)
    if port != default:
        header += f":{port}"
    login = unquote_to_bytes(parts.username or ""), unquote_to_bytes(parts.password or "")
    addresses = literal(host)
    name = _bracketed(str(addresses[0]) if len(addresses) == 1 else canonical(host))
    return (
        f"{parts.scheme}://{name}:{port}",
        Server(host, port, name),
        header.encode(),
        login if any(login) else None,
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
