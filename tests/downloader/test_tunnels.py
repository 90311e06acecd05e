"""Proxies: what they are asked, tunnels through them, and proxies that do not do their work."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.compat import DownloadConnectionRefusedError, DownloadFailedError
from rdfaspider.downloader.failures import CertificateError, ConnectTimeoutError
from rdfaspider.middlewares.problems import problem_of
from rdfaspider.resolver import ForbiddenAddressError
from tests.downloader.conftest import Client, run, serving

if TYPE_CHECKING:
    from tests.downloader.conftest import Open

PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CREDENTIALS = {"Proxy-Authorization": "Basic YTpi"}


async def plainly(client: Client) -> None:
    while await client.read_request():
        await client.send(PAGE)


async def connect(client: Client, greeting: bytes = b"HTTP/1.1 200 Connected\r\n\r\n") -> None:
    """Connect a client with the server that it asks for."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
            writer.close()

    request = await client.read_request()
    host, _, port = request.split()[1].decode().rpartition(":")
    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    try:
        await client.send(greeting)
        await asyncio.gather(copy(client.reader, writer), copy(reader, client.writer))
    finally:
        writer.transport.abort()


def saying(answer: bytes) -> Callable[[Client], object]:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(answer)

    return talk


def test_a_page_without_tls_is_asked_of_the_proxy(fetching: Open) -> None:
    async def main() -> None:
        async with serving(plainly) as proxy, fetching(allow=()) as fetch:
            meta = {"proxy": proxy.origin}
            await fetch("http://example.org/a?b#c", meta=meta)
            await fetch("http://user:secret@example.net:81", meta=meta, headers=CREDENTIALS)
            first, second = proxy.requests
            assert first.startswith(b"GET http://example.org/a?b HTTP/1.1\r\nHost: example.org\r\n")
            assert b"Proxy-Authorization" not in first
            assert second.startswith(
                b"GET http://example.net:81/ HTTP/1.1\r\nHost: example.net:81\r\n"
            )
            assert b"\r\nProxy-Authorization: Basic YTpi\r\n" in second
            assert b"\r\nAuthorization: Basic dXNlcjpzZWNyZXQ=\r\n" in second
            assert len(proxy.clients) == 2, "no connection serves two servers"
            for named in (proxy.origin.removeprefix("http://"), f"{proxy.origin}/"):
                await fetch("http://example.org/d", meta={"proxy": named})
            with pytest.raises(ForbiddenAddressError):
                await fetch("http://127.0.0.1/", meta=meta)
            assert len(proxy.requests) == 4

    run(main())


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_page_reaches_the_proxy_itself(fetching: Open, tls: ssl.SSLContext, scheme: str) -> None:
    """It may be anywhere, but only as a proxy: a link to it, that no_proxy excepts, is guarded as any."""

    async def main() -> None:
        options: dict[str, Any] = {"ssl": tls} if scheme == "https" else {}
        async with (
            serving(plainly, **options) as proxy,
            fetching(names={"proxy.test": [["127.0.0.1"]]}, allow=()) as fetch,
        ):
            named = proxy.origin.replace("127.0.0.1", "proxy.test")
            await fetch("http://example.org/", meta={"proxy": named})
            with pytest.raises(ForbiddenAddressError):
                await fetch(f"{named}/secrets")
            assert len(proxy.requests) == 1

    run(main())


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "by TLS"])
def test_a_page_by_tls_comes_through_a_tunnel(
    fetching: Open, tls: ssl.SSLContext, is_tls: bool
) -> None:
    async def main() -> None:
        options: dict[str, Any] = {"ssl": tls} if is_tls else {}
        async with (
            serving(plainly, ssl=tls) as server,
            serving(connect, **options) as proxy,
            fetching() as fetch,
        ):
            for _ in range(3):
                response = await fetch(f"{server.origin}/a", meta={"proxy": proxy.origin})
                assert response.body == b"hello"
            place = server.origin.removeprefix("https://").encode()
            asked = b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (place, place)
            assert proxy.requests == [asked]
            await fetch(f"{server.origin}/b", meta={"proxy": proxy.origin}, headers=CREDENTIALS)
            assert b"\r\nProxy-Authorization: Basic YTpi\r\n" in proxy.requests[1]
            await fetch(f"{server.origin}/c")
            assert len(proxy.requests) == 2, "only for those who go by it"
            assert len(server.clients) == 3
            for token in ("a", "b"):
                bearer = {"Proxy-Authorization": f"Bearer {token}"}
                await fetch(f"{server.origin}/d", meta={"proxy": proxy.origin}, headers=bearer)
                told = f"\r\nProxy-Authorization: Bearer {token}\r\n".encode()
                assert told in proxy.requests[-1], "no tunnel serves two users"
            for request in server.requests:
                assert request.startswith(b"GET /")
                assert b"Proxy-Authorization" not in request

    run(main())


@pytest.mark.parametrize(
    "greeting",
    [
        b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
    ids=["closing", "empty", "chunked"],
)
def test_what_a_proxy_says_of_its_answer_does_not_matter(
    fetching: Open, tls: ssl.SSLContext, greeting: bytes
) -> None:
    async def main() -> None:
        async with (
            serving(plainly, ssl=tls) as server,
            serving(lambda client: connect(client, greeting)) as proxy,
            fetching() as fetch,
        ):
            response = await fetch(server.origin, meta={"proxy": proxy.origin})
            assert response.body == b"hello"

    run(main())


@pytest.mark.parametrize(
    ("answer", "kind", "problem"),
    [
        (
            b"HTTP/1.1 407 Who are you?\r\nContent-Length: 3\r\n\r\nno!",
            DownloadConnectionRefusedError,
            "The proxy answers 407 to CONNECT",
        ),
        (
            b"HTTP/1.1 502 Bad Gateway\r\n\r\n",
            DownloadConnectionRefusedError,
            "The proxy answers 502 to CONNECT",
        ),
        (
            b"HTTP/1.1 200 OK\r\n\r\nThis is no TLS.",
            DownloadConnectionRefusedError,
            "The connection was cut while it was being made|TLS fails: .*",
        ),
        (
            b"HTTP/1.1 200 OK\r\n\r\n",
            DownloadConnectionRefusedError,
            "The connection was cut while it was being made|connection reset by peer",
        ),
        (b"SSH-2.0-OpenSSH\r\n", DownloadFailedError, "Invalid response header"),
        (
            b"HTTP/1.1 200 OK\r\nA: " + b"b" * 100_000,
            DownloadFailedError,
            "CONNECT response too large",
        ),
        (b"", DownloadFailedError, "Proxy CONNECT aborted"),
    ],
    ids=["credentials", "no server", "no TLS", "hangs up later", "no HTTP", "long", "hangs up"],
)
def test_a_proxy_that_makes_no_tunnel(
    fetching: Open, answer: bytes, kind: type[Exception], problem: str
) -> None:
    async def main() -> None:
        async with serving(saying(answer)) as proxy, fetching() as fetch:  # type: ignore[arg-type]
            with pytest.raises(kind) as failed:
                await fetch("https://example.org/", meta={"proxy": proxy.origin})
            assert re.fullmatch(problem, problem_of(failed.value))
            assert all([await client.until_closed() for client in proxy.clients])

    run(main())


def test_a_tunnel_has_its_time(fetching: Open) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.drip(b"")

    async def main() -> None:
        async with (
            serving(talk) as proxy,
            fetching(FETCH_CONNECT_TIMEOUT=0.3) as fetch,
        ):
            began = monotonic()
            with pytest.raises(ConnectTimeoutError):
                await fetch("https://example.org/", meta={"proxy": proxy.origin})
            assert monotonic() - began < 9, "unset it would be 10"
            assert await proxy.clients[0].until_closed()

    run(main())


def test_the_certificate_is_that_of_the_server(fetching: Open, tls: ssl.SSLContext) -> None:
    async def main() -> None:
        async with (
            serving(plainly, ssl=tls) as server,
            serving(connect) as proxy,
            fetching(DOWNLOAD_VERIFY_CERTIFICATES=True) as fetch,
        ):
            with pytest.raises(CertificateError):
                await fetch(server.origin, meta={"proxy": proxy.origin})

    run(main())


class Socks:
    """A proxy of SOCKS version 5 that answers itself; knows which servers it was asked for, and by whom."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.users: list[bytes] = []

    async def __call__(self, client: Client) -> None:
        reader = client.reader
        methods = await reader.readexactly((await reader.readexactly(2))[1])
        if 2 in methods:
            await client.send(b"\x05\x02")
            _, size = await reader.readexactly(2)
            user = await reader.readexactly(size)
            self.users.append(user + b":" + await reader.readexactly((await reader.read(1))[0]))
            await client.send(b"\x01\x00")
        else:
            await client.send(b"\x05\x00")
        kind = (await reader.readexactly(4))[3]
        if kind == 1:
            self.asked.append(".".join(map(str, await reader.readexactly(4))))
        else:
            size = (await reader.readexactly(1))[0]
            self.asked.append((await reader.readexactly(size)).decode())
        await reader.readexactly(2)
        await client.send(b"\x05\x00\x00\x01\x7f\0\0\x01\0\0")
        request = await reader.readuntil(b"\r\n\r\n")
        client.requests.append(request)
        await client.send(PAGE)


@pytest.mark.parametrize(
    ("scheme", "asked"), [("socks5h", "site.example"), ("socks5", "93.184.216.34")]
)
def test_a_page_comes_by_socks(fetching: Open, scheme: str, asked: str) -> None:
    names = {"site.example": [["93.184.216.34"]], "bad.example": [["10.0.0.1"]]}

    async def main() -> None:
        socks = Socks()
        async with serving(socks) as proxy, fetching(names=names, allow=()) as fetch:
            meta = {"proxy": proxy.origin.replace("http", scheme)}
            response = await fetch("http://site.example/a", meta=meta)
            assert (response.body, socks.asked) == (b"hello", [asked])
            assert proxy.requests[0].startswith(b"GET /a HTTP/1.1\r\nHost: site.example\r\n")
            await fetch("http://site.example/a", meta=meta, headers=CREDENTIALS)
            assert socks.users == [b"a:b"]
            assert b"Proxy-Authorization" not in proxy.requests[1]
            refused = ["http://127.0.0.1/", "http://[::1]/", "https://169.254.169.254/"]
            if scheme == "socks5":
                refused.append("http://bad.example/")
            for url in refused:
                with pytest.raises(ForbiddenAddressError):
                    await fetch(url, meta=meta)
            assert len(proxy.clients) == 2

    run(main())


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_of_another_kind_is_not_asked(fetching: Open, scheme: str) -> None:
    async def main() -> None:
        async with serving(plainly) as proxy, fetching() as fetch:
            named = proxy.origin.replace("http:", "ftp:")
            with pytest.raises(ValueError) as failed:
                await fetch(f"{scheme}://example.org/", meta={"proxy": named})
            words = "A proxy is asked by http, https or SOCKS, not by ftp"
            assert problem_of(failed.value) == words
            assert not proxy.clients

    run(main())


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_credentials_with_a_line_end_are_not_sent(fetching: Open, scheme: str) -> None:
    async def main() -> None:
        async with serving(connect) as proxy, fetching() as fetch:
            headers = {"Proxy-Authorization": "Basic YTpi\r\nX: y"}
            with pytest.raises(ValueError, match="line end"):
                await fetch(
                    f"{scheme}://example.org/", meta={"proxy": proxy.origin}, headers=headers
                )
            assert not proxy.requests

    run(main())
