"""Requests to the one server that a store is on, over a connection that stays open."""

from __future__ import annotations

import re
import select
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit
from urllib.request import (
    HTTPDigestAuthHandler,
    HTTPPasswordMgrWithDefaultRealm,
    Request,
    parse_http_list,
    parse_keqv_list,
)

from pyoxigraph import QueryResultsFormat, RdfFormat, parse, parse_query_results

from rdfaspider.stores import Refused, StoreDown, StoreUnavailable

# Statuses that are about what was sent; all others are about the server or the way to it.
_REFUSALS = frozenset((400, 409, 413, 414, 415, 422))

# Of an error page, this much is kept.
_WORDS = 500


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """How to identify to a server: it has no repr, so that no log shows a password."""

    user: str = ""
    password: str = ""
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    certificates: str = ""  # a file of certificates to trust instead of the system's
    verify: bool = True
    timeout: float = 60.0


class Client:
    """Sends requests to `url` and below: one connection for each thread, opened when needed.

    A connection that the server has closed meanwhile is opened anew. One that ends in the midst of a
    request (StoreDown of the label `interrupted`) leaves open what became of it.
    """

    def __init__(self, url: str, access: Access | None = None) -> None:
        parts = urlsplit(url)
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise StoreUnavailable(f"{self.url} is not the URL of a server: http(s)://HOST/PATH.")
        access = access or Access(unquote(parts.username or ""), unquote(parts.password or ""))
        self._access = access
        self._place = (parts.hostname, parts.port)
        self._tls = _tls(access) if parts.scheme == "https" else None
        self._headers = {"User-Agent": "rdfaspider", **_credentials(access), **access.headers}
        self._local = threading.local()
        self._challenge: dict[str, str] = {}
        passwords = HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, self.url, access.user, access.password)
        self._digest = HTTPDigestAuthHandler(passwords)

    def request(
        self,
        method: str,
        path: str = "",
        body: bytes = b"",
        parameters: dict[str, str] | None = None,
        **headers: str,
    ) -> tuple[bytes, str]:
        """Return the body and the media type of the answer; Refused or StoreDown if it is an error.

        Headers are given as content_type="…".
        """
        target = self._target(path, parameters)
        with self._explained():
            response = self._exchange(method, target, body, headers)
            if response.status == 401 and self._is_challenged(response):
                response.read()
                response = self._exchange(method, target, body, headers)
            try:
                answer = response.read()
            except (ConnectionError, HTTPException) as error:
                raise self._interrupted(error) from error
        self._check(response.status, answer)
        return answer, response.headers.get_content_type()

    @contextmanager
    def stream(self, path: str = "", **headers: str) -> Iterator[HTTPResponse]:
        """Open an answer of any length, over a connection of its own."""
        with closing(self._connect()) as connection, self._explained():
            connection.request("GET", self._target(path, None), headers=self._named(headers))
            response = connection.getresponse()
            if response.status >= 300:
                self._check(response.status, response.read())
            yield response

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what goes wrong on the way to the server into StoreDown."""
        try:
            yield
        except StoreDown:
            raise
        except TimeoutError as error:
            self.close()
            raise StoreDown(f"{self.url} takes too long to answer.", "timeout") from error
        except (OSError, HTTPException) as error:
            self.close()
            raise StoreDown(f"{self.url} cannot be reached: {error}.", "connection") from error

    def close(self) -> None:
        """Close the connection of this thread."""
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def _target(self, path: str, parameters: dict[str, str] | None) -> str:
        url = self.url + path if path[:1] in ("", "/") else f"{self.url.rpartition('/')[0]}/{path}"
        return urlsplit(url).path + ("?" + urlencode(parameters) if parameters else "")

    def _named(self, headers: dict[str, str]) -> dict[str, str]:
        return {**self._headers, **{name.replace("_", "-"): v for name, v in headers.items()}}

    def _exchange(
        self, method: str, target: str, body: bytes, headers: dict[str, str]
    ) -> HTTPResponse:
        named = self._named(headers)
        if self._challenge:
            named["Authorization"] = self._answer(method, target)
        connection = self._opened()
        try:
            connection.request(method, target, body or None, named)
            return connection.getresponse()
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            raise self._interrupted(error) from error

    def _interrupted(self, error: Exception) -> StoreDown:
        self.close()
        sentence = f"{self.url} ended the connection in the midst of a request: {error!r}."
        return StoreDown(sentence, "interrupted")

    def _opened(self) -> HTTPConnection:
        """Return this thread's connection, a new one if there is none that lives."""
        connection: HTTPConnection | None = self._local.__dict__.get("connection")
        if connection is None or connection.sock is None or _has_ended(connection):
            self.close()
            connection = self._local.connection = self._connect()
            connection.connect()
        return connection

    def _connect(self) -> HTTPConnection:
        host, port = self._place
        timeout = self._access.timeout
        if self._tls is None:
            return HTTPConnection(host, port, timeout=timeout)
        return HTTPSConnection(host, port, timeout=timeout, context=self._tls)

    def _is_challenged(self, response: HTTPResponse) -> bool:
        """Tell whether the server wants a Digest that we have not sent, and remember its challenge."""
        for value in response.headers.get_all("WWW-Authenticate", ()):
            scheme, _, rest = value.partition(" ")
            if scheme.lower() == "digest" and self._access.user:
                challenge = parse_keqv_list(parse_http_list(rest))
                is_new = challenge.get("nonce") != self._challenge.get("nonce")
                self._challenge = challenge
                return is_new
        return False

    def _answer(self, method: str, target: str) -> str:
        origin = "/".join(self.url.split("/", 3)[:3])
        request = Request(origin + target, method=method)
        value = self._digest.get_authorization(request, self._challenge)
        return f"Digest {value}"

    def _check(self, status: int, answer: bytes) -> None:
        if status < 300:
            return
        words = re.sub(r"\s+", " ", answer[: 4 * _WORDS].decode("utf-8", "replace"))[:_WORDS]
        if status in _REFUSALS:
            raise Refused(status, words)
        raise StoreDown(f"{self.url} answers {status}: {words}", str(status))


def _has_ended(connection: HTTPConnection) -> bool:
    """Tell whether the server has closed a connection on which it owes nothing."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))


def _tls(access: Access) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=access.certificates or None)
    if not access.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _credentials(access: Access) -> dict[str, str]:
    if access.token:
        return {"Authorization": f"Bearer {access.token}"}
    if access.user:
        pair = f"{access.user}:{access.password}".encode()
        return {"Authorization": f"Basic {b64encode(pair).decode()}"}
    return {}


def query(client: Client, path: str, sparql: str, **parameters: str) -> Any:
    """Ask a SPARQL endpoint; a syntax error comes as SyntaxError, as from an embedded store."""
    try:
        answer, media_type = client.request(
            "POST",
            path,
            sparql.encode(),
            parameters=parameters,
            content_type="application/sparql-query; charset=utf-8",
            accept="application/sparql-results+json, application/n-triples;q=0.9",
        )
    except Refused as refusal:
        raise SyntaxError(refusal.words) from refusal
    if media_type == "application/n-triples":
        return (quad.triple for quad in parse(answer, RdfFormat.N_TRIPLES))
    return parse_query_results(answer, QueryResultsFormat.JSON)
