"""Requests to the server of a store, over connections that stay open."""

from __future__ import annotations

import re
import select
from contextlib import contextmanager
from dataclasses import replace
from html import unescape
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from io import BufferedReader, RawIOBase
from threading import get_ident
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
from rdfaspider.stores.server.access import Access, credentials, tls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse

    from _typeshed import WriteableBuffer

# Statuses that blame the data; all others blame the server or the way to it.
_REFUSALS = frozenset((400, 409, 413, 414, 415, 422))

# Characters kept of an error page, without its tags.
_WORDS = 500
_MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^<>]*>", re.IGNORECASE | re.DOTALL)

# Bytes read at a time of an answer of any length.
_BUFFER = 1 << 16


class Client:
    """Sends requests to `url` and below, with one connection per thread, opened when needed.

    A connection that the server has closed meanwhile is opened again. If one ends during a request
    (StoreDown with the label `interrupted`), the server may or may not have carried it out.
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
        self._origin = "/".join(self.url.split("/", 3)[:3])
        self._place = (parts.hostname, parts.port)
        self._tls = tls(access) if parts.scheme == "https" else None
        self._headers = {"User-Agent": "rdfaspider", **credentials(access), **access.headers}
        self._connections: dict[int, HTTPConnection] = {}  # by thread
        self._challenge: dict[str, str] = {}
        passwords = HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, self._origin, access.user, access.password)
        self._digest = HTTPDigestAuthHandler(passwords)

    def request(
        self,
        method: str,
        path: str = "",
        body: bytes = b"",
        parameters: dict[str, str] | None = None,
        **headers: str,
    ) -> tuple[bytes, str]:
        """Return the body and the media type of the answer; raise Refused or StoreDown on an error.

        Headers are given as content_type="…".
        """
        target = self._target(path, parameters)
        with self._explained():
            connection = self._opened()
            try:
                response = self._exchange(connection, method, target, body, headers)
                answer = response.read()
            except TimeoutError:
                raise
            except (OSError, HTTPException) as error:
                self._drop(get_ident())
                sentence = f"{self.url} ended the connection in the midst of a request: {error!r}."
                raise StoreDown(sentence, "interrupted") from error
        self._check(response, answer)
        return answer, response.headers.get_content_type()

    def open(
        self,
        method: str,
        path: str = "",
        body: bytes = b"",
        parameters: dict[str, str] | None = None,
        **headers: str,
    ) -> tuple[BinaryIO, str]:
        """Return an answer of any length, which the caller reads and closes, and its media type.

        It has its own connection. A failure while it is read is a StoreDown too.
        """
        target = self._target(path, parameters)
        connection = self._connect()
        try:
            with self._explained():
                response = self._exchange(connection, method, target, body, headers)
                if response.status >= 300:
                    self._check(response, response.read())
        except BaseException:
            connection.close()
            raise
        answer = BufferedReader(_Body(self, connection, response), _BUFFER)
        return answer, response.headers.get_content_type()

    def close(self) -> None:
        """Close the connections of all threads; none may be in a request."""
        for thread in [*self._connections]:
            self._drop(thread)

    def _drop(self, thread: int) -> None:
        connection = self._connections.pop(thread, None)
        if connection is not None:
            connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn a failure on the way to the server into StoreDown."""
        try:
            yield
        except StoreDown:
            raise
        except TimeoutError as error:
            self._drop(get_ident())
            raise StoreDown(
                f"{self.url} takes too long to answer: more than {self._access.timeout:g} seconds"
                " (STORE_TIMEOUT).",
                "timeout",
            ) from error
        except (OSError, HTTPException) as error:
            self._drop(get_ident())
            raise StoreDown(f"{self.url} cannot be reached: {error}.", "connection") from error

    def _target(self, path: str, parameters: dict[str, str] | None) -> str:
        url = self.url + path if path[:1] in ("", "/") else f"{self.url.rpartition('/')[0]}/{path}"
        return urlsplit(url).path + ("?" + urlencode(parameters) if parameters else "")

    def _exchange(
        self,
        connection: HTTPConnection,
        method: str,
        target: str,
        body: bytes,
        headers: dict[str, str],
    ) -> HTTPResponse:
        """Return the answer to a request, which is sent again if the server asks for a Digest.

        Virtuoso does so only if a request comes without credentials.
        """
        named = self._headers | {name.replace("_", "-"): text for name, text in headers.items()}

        def send() -> HTTPResponse:
            if self._challenge:
                named["Authorization"] = self._authorization(method, target)
            connection.request(method, target, body or None, named)
            return connection.getresponse()

        response = send()
        if response.status == 401 and "WWW-Authenticate" not in response.headers:
            response.read()
            named.pop("Authorization", None)
            response = send()
        if response.status == 401 and self._is_challenged(response):
            response.read()
            response = send()
        return response

    def _opened(self) -> HTTPConnection:
        """Return this thread's connection, or a new one if the server has closed that."""
        thread = get_ident()
        connection = self._connections.get(thread)
        if connection is None or connection.sock is None or _has_ended(connection):
            self._drop(thread)
            connection = self._connections[thread] = self._connect()
            connection.connect()
        return connection

    def _connect(self) -> HTTPConnection:
        host, port = self._place
        timeout = self._access.timeout
        if self._tls is None:
            return HTTPConnection(host, port, timeout=timeout)
        return HTTPSConnection(host, port, timeout=timeout, context=self._tls)

    def _is_challenged(self, response: HTTPResponse) -> bool:
        """Remember the server's Digest challenge, and tell whether it is a new one."""
        for value in response.headers.get_all("WWW-Authenticate", ()):
            scheme, _, rest = value.partition(" ")
            if scheme.lower() == "digest" and self._access.user:
                challenge = parse_keqv_list(parse_http_list(rest))
                is_new = challenge.get("nonce") != self._challenge.get("nonce")
                self._challenge = challenge
                return is_new
        return False

    def _authorization(self, method: str, target: str) -> str:
        request = Request(self._origin + target, method=method)
        return f"Digest {self._digest.get_authorization(request, self._challenge)}"

    def _check(self, response: HTTPResponse, answer: bytes) -> None:
        status = response.status
        if status < 300:
            return
        words = answer[: 16 * _WORDS].decode("utf-8", "replace")
        if response.headers.get_content_type() == "text/html":
            words = unescape(_MARKUP.sub(" ", words))
        words = " ".join(words.split())[:_WORDS]
        if status in _REFUSALS:
            raise Refused(status, words)
        advice = " Are STORE_USER and STORE_PASSWORD right?" if status in (401, 403) else ""
        raise StoreDown(f"{self.url} answers {status}: {words}{advice}", str(status), words)


class _Body(RawIOBase):
    """The body of an answer, read piece by piece; closing it closes its connection."""

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
    """Tell whether the server has closed an idle connection."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
