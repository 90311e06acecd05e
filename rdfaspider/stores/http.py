"""Requests to the one server that a store is on, over a connection that stays open."""

from __future__ import annotations

import re
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import unescape
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote, urlencode, urlsplit
from urllib.request import (
    HTTPDigestAuthHandler,
    HTTPPasswordMgrWithDefaultRealm,
    Request,
    parse_http_list,
    parse_keqv_list,
)

from rdfaspider.stores import Refused, StoreDown, StoreUnavailable
from rdfaspider.stores.access import Access, credentials, tls

if TYPE_CHECKING:
    from email.message import Message

    from _typeshed import WriteableBuffer

__all__ = ["Access", "Client"]

# Statuses that are about what was sent; all others are about the server or the way to it.
_REFUSALS = frozenset((400, 409, 413, 414, 415, 422))

# Of an error page, this much is kept, without the tags.
_WORDS = 500
_MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^<>]*>", re.IGNORECASE | re.DOTALL)

# Bytes read at once of an answer of any length.
_BUFFER = 1 << 16


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
        access = access or Access()
        if not (access.user or access.password or access.token):
            user, password = unquote(parts.username or ""), unquote(parts.password or "")
            access = replace(access, user=user, password=password)
        self._access = access
        self._place = (parts.hostname, parts.port)
        self._tls = tls(access) if parts.scheme == "https" else None
        self._headers = {"User-Agent": "rdfaspider", **credentials(access), **access.headers}
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
        self._check(response.status, answer, response.headers)
        return answer, response.headers.get_content_type()

    def open(
        self,
        method: str,
        path: str = "",
        body: bytes = b"",
        parameters: dict[str, str] | None = None,
        **headers: str,
    ) -> tuple[BinaryIO, str]:
        """Return an answer of any length, to be read and closed, and its media type.

        It has a connection of its own; what goes wrong while it is read is a StoreDown too.
        """
        target = self._target(path, parameters)
        connection = self._connect()
        try:
            with self._explained():
                response = self._ask(connection, method, target, body, headers)
                if response.status == 401 and self._is_challenged(response):
                    response.read()
                    response = self._ask(connection, method, target, body, headers)
                if response.status >= 300:
                    self._check(response.status, response.read(), response.headers)
        except BaseException:
            connection.close()
            raise
        answer = BufferedReader(_Body(self, connection, response), _BUFFER)
        return answer, response.headers.get_content_type()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what goes wrong on the way to the server into StoreDown."""
        try:
            yield
        except StoreDown:
            raise
        except TimeoutError as error:
            self.close()
            raise StoreDown(
                f"{self.url} takes too long to answer: more than {self._access.timeout:g} seconds"
                " (STORE_TIMEOUT).",
                "timeout",
            ) from error
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
        connection = self._opened()
        try:
            return self._ask(connection, method, target, body, headers)
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            raise self._interrupted(error) from error

    def _ask(
        self,
        connection: HTTPConnection,
        method: str,
        target: str,
        body: bytes,
        headers: dict[str, str],
    ) -> HTTPResponse:
        named = self._named(headers)
        if self._challenge:
            named["Authorization"] = self._answer(method, target)
        connection.request(method, target, body or None, named)
        return connection.getresponse()

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

    def _check(self, status: int, answer: bytes, headers: Message) -> None:
        if status < 300:
            return
        words = answer[: 16 * _WORDS].decode("utf-8", "replace")
        if headers.get_content_type() == "text/html":
            words = unescape(_MARKUP.sub(" ", words))
        words = " ".join(words.split())[:_WORDS]
        if status in _REFUSALS:
            raise Refused(status, words)
        advice = " Are STORE_USER and STORE_PASSWORD right?" if status in (401, 403) else ""
        raise StoreDown(f"{self.url} answers {status}: {words}{advice}", str(status))


class _Body(RawIOBase):
    """The body of an answer, read bit by bit; its connection is closed with it."""

    def __init__(self, client: Client, connection: HTTPConnection, response: HTTPResponse) -> None:
        self._client = client
        self._connection = connection
        self._response = response

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        with self._client._explained():
            count = self._response.readinto(buffer)
            if not count and self._response.length:  # http.client takes a torn body for a whole one
                raise IncompleteRead(b"", self._response.length)
        return count

    def close(self) -> None:
        self._connection.close()
        super().close()


def _has_ended(connection: HTTPConnection) -> bool:
    """Tell whether the server has closed a connection on which it owes nothing."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
