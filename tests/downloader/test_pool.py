"""Connections: to which addresses they are made, how many are kept and how long, and by TLS."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from contextlib import ExitStack
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest

from rdfaspider.compat import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
)
from rdfaspider.downloader import handler as handlers
from rdfaspider.downloader import options
from rdfaspider.downloader.failures import CertificateError, ConnectTimeoutError
from rdfaspider.middlewares.problems import is_shortage, problem_of
from rdfaspider.resolver import ForbiddenAddressError
from tests.downloader.conftest import Client, lead_to, run, serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.downloader.conftest import Open

PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


async def plainly(client: Client) -> None:
    while await client.read_request():
        await client.send(PAGE)


def test_a_connection_is_used_again(fetching: Open) -> None:
    async def main() -> None:
        async with serving(plainly) as server, fetching() as fetch:
            for number in range(5):
                response = await fetch(f"{server.origin}/{number}")
                assert response.body == b"hello"
                assert str(response.ip_address) == "127.0.0.1"
                assert response.protocol == "HTTP/1.1"
            assert len(server.clients) == 1

    run(main())


def test_only_the_connections_used_last_are_kept(
    fetching: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "MAX_IDLE", 3)

    async def main() -> None:
        async with fetching(allow=("127.0.0.0/8",)) as fetch, serving(plainly, "0.0.0.0") as server:
            port = server.origin.rpartition(":")[2]
            for host in range(1, 7):
                await fetch(f"http://127.0.0.{host}:{port}/")
            for host in (6, 5, 4):
                await fetch(f"http://127.0.0.{host}:{port}/")
            assert len(server.clients) == 6, "the last three are used again"
            assert [await client.until_closed() for client in server.clients[:3]] == [True] * 3
            await fetch(f"http://127.0.0.1:{port}/")
            assert len(server.clients) == 7

    run(main())


def test_connections_that_were_used_at_once_are_kept(fetching: Open) -> None:
    async def main() -> None:
        async with serving(plainly) as server, fetching() as fetch:
            for _ in range(3):
                await asyncio.gather(*(fetch(f"{server.origin}/{number}") for number in range(80)))
            assert len(server.clients) == 80

    run(main())


def test_idle_connections_are_not_used_for_long(
    fetching: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "MAX_IDLE_S", 1)

    async def main() -> None:
        async with serving(plainly) as server, fetching() as fetch:
            await fetch(f"{server.origin}/")
            await asyncio.sleep(2.1)
            await fetch(f"{server.origin}/")
            assert len(server.clients) == 2
            assert await server.clients[0].until_closed()

    run(main())


def test_a_handler_that_is_closed_leaves_no_connection(fetching: Open) -> None:
    async def main() -> None:
        async with serving(plainly) as server:
            async with fetching() as fetch:
                await fetch(f"{server.origin}/")
            assert await server.clients[0].until_closed()

    run(main())


def test_a_download_that_is_given_up_closes_its_connection(fetching: Open) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(PAGE[:-1])
        await asyncio.sleep(5)

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            download = asyncio.ensure_future(fetch(f"{server.origin}/"))
            await asyncio.sleep(0.2)
            download.cancel()
            with pytest.raises(asyncio.CancelledError):
                await download
            assert await server.clients[0].until_closed()

    run(main())


def test_a_handler_that_is_closed_fails_its_downloads(fetching: Open) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(PAGE[:-1])
        await asyncio.sleep(5)

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            download = asyncio.ensure_future(fetch(f"{server.origin}/", seconds=2))
            await asyncio.sleep(0.2)
            await fetch.handler.close()
            for each in (download, fetch(f"{server.origin}/")):
                with pytest.raises(DownloadFailedError, match="the downloader is closed"):
                    await each

    run(main())


def test_a_server_that_is_gone_refuses_where_a_connection_was_kept(fetching: Open) -> None:
    async def main() -> None:
        async with fetching() as fetch:
            async with serving(plainly) as server:
                await fetch(f"{server.origin}/")
                server.clients[0].writer.close()
            await asyncio.sleep(0.05)
            with pytest.raises(DownloadConnectionRefusedError):
                await fetch(f"{server.origin}/", seconds=2)

    run(main())


def test_forbidden_addresses_are_not_connected_to(fetching: Open) -> None:
    names = {
        "bad.example": [["127.0.0.1"]],
        "mixed.example": [["127.0.0.1", "::1", "127.0.0.2"]],
        "rebind.example": [["127.0.0.2"], ["127.0.0.1"]],
    }

    async def close(client: Client) -> None:
        await client.read_request()
        await client.send(PAGE.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))

    async def main() -> None:
        async with (
            serving(close, "0.0.0.0") as server,
            fetching(names=names, allow=("127.0.0.2",)) as fetch,
        ):
            port = server.origin.rpartition(":")[2]
            for host in ("127.0.0.1", "localhost", "2130706433", "bad.example"):
                with pytest.raises(ForbiddenAddressError):
                    await fetch(f"http://{host}:{port}/")
            assert not server.clients
            assert (await fetch(f"http://mixed.example:{port}/")).ip_address == ip_address(
                "127.0.0.2"
            )
            await fetch(f"http://rebind.example:{port}/")
            with pytest.raises(ForbiddenAddressError):
                await fetch(f"http://rebind.example:{port}/")
            assert len(server.clients) == 2

    run(main())


def test_the_next_address_is_tried_if_one_is_deaf_or_refuses(fetching: Open) -> None:
    names = {
        "two.example": [["127.0.0.3", "127.0.0.1"]],
        "deaf.example": [["127.0.0.4", "127.0.0.1"]],
    }

    async def main() -> None:
        async with (
            serving(plainly) as server,
            fetching(names=names, allow=("127.0.0.0/8",)) as fetch,
        ):
            port = int(server.origin.rpartition(":")[2])
            with ExitStack() as stack:
                deafen(stack, "127.0.0.4", port)
                for host in names:
                    response = await fetch(f"http://{host}:{port}/", seconds=60)
                    assert str(response.ip_address) == "127.0.0.1"

    run(main())


def test_the_first_address_is_tried_first(fetching: Open) -> None:
    """The frontier has put the host at its server."""
    names = {
        "four.example": [["127.0.0.1", "::1"]],
        "six.example": [["::1", "127.0.0.1"]],
        "old.example": [["::1", "127.0.0.2"]],
    }

    async def main() -> None:
        async with (
            fetching(names=names, allow=("127.0.0.0/8", "::1")) as fetch,
            serving(plainly) as server,
        ):
            port = int(server.origin.rpartition(":")[2])
            async with serving(plainly, "::1", port):
                for host in ("four.example", "six.example"):
                    response = await fetch(f"http://{host}:{port}/")
                    assert str(response.ip_address) == names[host][0][0]
            async with serving(plainly, "127.0.0.2", port):
                response = await fetch(f"http://old.example:{port}/")
                assert str(response.ip_address) == "127.0.0.2"

    run(main())


def deafen(stack: ExitStack, host: str, port: int = 0) -> int:
    """Listen where nobody can connect, as too many wait to be accepted; return the port."""
    listener = stack.enter_context(socket.socket())
    listener.bind((host, port))
    listener.listen(0)
    for _ in range(4):
        client = stack.enter_context(socket.socket())
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
    return int(listener.getsockname()[1])


def test_a_connection_has_its_time(fetching: Open) -> None:
    async def main() -> None:
        with ExitStack() as stack:
            port = deafen(stack, "127.0.0.1")
            async with fetching(FETCH_CONNECT_TIMEOUT=0.3) as fetch:
                with pytest.raises(ConnectTimeoutError):
                    await fetch(f"http://127.0.0.1:{port}/")

    run(main())


def test_why_there_is_no_connection_is_told(fetching: Open) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        async with fetching() as fetch:
            with pytest.raises(DownloadConnectionRefusedError) as refused:
                await fetch(f"http://127.0.0.1:{port}/")
            assert problem_of(refused.value) == "the connection is refused"
            assert not is_shortage(refused.value)
            with pytest.raises(CannotResolveHostError):
                await fetch("http://nowhere.example/")

    run(main())


def test_a_shortage_of_files_is_told_from_a_host_that_is_down(fetching: Open) -> None:
    async def main() -> None:
        async with serving(plainly) as server, fetching() as fetch:
            before = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
            try:
                with pytest.raises(DownloadConnectionRefusedError) as failed:
                    await fetch(f"{server.origin}/")
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, before)
            assert is_shortage(failed.value)
            assert (await fetch(f"{server.origin}/")).body == b"hello"

    run(main())


def test_pages_by_tls(fetching: Open, tls: ssl.SSLContext) -> None:
    async def main() -> None:
        async with serving(plainly, ssl=tls) as server, fetching() as fetch:
            for _ in range(3):
                response = await fetch(f"{server.origin}/")
                assert response.body == b"hello"
            assert len(server.clients) == 1

    run(main())


def test_a_certificate_is_valid_or_its_fault_is_told(fetching: Open, tls: ssl.SSLContext) -> None:
    async def main() -> None:
        async with (
            serving(plainly, ssl=tls) as server,
            fetching(DOWNLOAD_VERIFY_CERTIFICATES=True) as fetch,
        ):
            with pytest.raises(CertificateError, match="self-signed certificate"):
                await fetch(f"{server.origin}/")
            assert not server.requests

    run(main())


def test_what_is_no_tls_is_told(fetching: Open) -> None:
    async def talk(client: Client) -> None:
        await client.send(PAGE)

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            with pytest.raises(DownloadConnectionRefusedError) as failed:
                await fetch(server.origin.replace("http:", "https:"))
            assert problem_of(failed.value).startswith("TLS fails: ")

    run(main())


def test_who_hangs_up_amid_the_handshake_is_told(fetching: Open) -> None:
    async def talk(client: Client) -> None:
        """Hang up at once."""

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            with pytest.raises(DownloadConnectionRefusedError) as failed:
                await fetch(server.origin.replace("http:", "https:"))
            assert problem_of(failed.value) in (
                "The connection was cut while it was being made",
                "connection reset by peer",  # what came meanwhile was not read
            )

    run(main())


def test_no_name_is_looked_up_by_libcurl(fetching: Open) -> None:
    """It asks for the names that our resolver has, however a URL writes them."""
    names = {"xn--bcher-kva.example": [["127.0.0.1"]], "plain.example": [["127.0.0.1"]]}

    async def main() -> None:
        async with serving(plainly) as server, fetching(names=names) as fetch:
            port = server.origin.rpartition(":")[2]
            for host in ("bücher.example", "BÜCHER.example.", "Plain.Example", "plain.example."):
                response = await fetch(f"http://{host}:{port}/")
                assert str(response.ip_address) == "127.0.0.1"
            for host in ("%31%32%37.0.0.1", "a\\b.example"):
                with pytest.raises((CannotResolveHostError, ValueError)):
                    await fetch(f"http://{host}:{port}/")

    run(main())


def test_a_socket_is_opened_to_no_address_but_those_that_were_admitted(
    fetching: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever leads libcurl there."""
    names = {"site.example": [["127.0.0.2"], ["127.0.0.1"]]}

    async def main() -> None:
        async with (
            serving(plainly) as server,
            fetching(names=names, allow=("127.0.0.0/8",)) as fetch,
        ):
            lead_to(server, monkeypatch)
            with pytest.raises(DownloadFailedError, match=r"127.0.0.1 is no address of"):
                await fetch("http://site.example/")
            assert not server.clients
            await fetch("http://site.example/")
            assert len(server.clients) == 1

    run(main())


def test_libcurl_takes_nothing_from_the_environment(
    fetching: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ann password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def talk(client: Client) -> None:
        while await client.read_request():
            await client.send(PAGE.replace(b"\r\n", b"\r\nSet-Cookie: a=b\r\n", 1))

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            for _ in range(2):
                await fetch(f"{server.origin}/")
            place = server.origin.removeprefix("http://").encode()
            assert set(server.requests) == {b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % place}

    run(main())
