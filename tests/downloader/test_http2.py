"""Pages by HTTP/2: from a real server, by TLS, into an archive that other tools read."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import socket
import ssl
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.archive.warc.reader import files_of
from rdfaspider.compat import DownloadCancelledError, DownloadFailedError
from rdfaspider.downloader.failures import CertificateError
from tests.archive.judges import validate_by_fastwarc
from tests.downloader.conftest import Client, run, serving

if TYPE_CHECKING:
    from tests.conftest import Scrapy
    from tests.downloader.conftest import Open

PROJECT = Path(__file__).parents[2]
CONFIGURATION = """
daemon off;
master_process off;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ }}
http {{
    types {{ text/html html; }}
    log_format line '$connection $server_protocol $request_method $uri $http_user_agent';
    access_log {directory}/access.log line;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl http2;
        ssl_certificate {certificate};
        ssl_certificate_key {certificate};
        root {directory}/site;
    }}
}}
"""
PAGE = b"<!DOCTYPE html><title>Two</title><p property='dc:title'>x</p><a href='b.html'>b</a>"
LARGE = 3_000_000


class Nginx:
    """A server that speaks HTTP/2, and its log."""

    def __init__(self, directory: Path, origin: str) -> None:
        self.directory = directory
        self.origin = origin

    @property
    def log(self) -> list[list[str]]:
        """Return connection, protocol, method, path and user agent of each request."""
        lines = (self.directory / "access.log").read_text().splitlines()
        return [line.split(" ", 4) for line in lines]


def is_open(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@pytest.fixture
def nginx(tmp_path_factory: pytest.TempPathFactory, certificate: Path) -> Iterator[Nginx]:
    program = shutil.which("nginx") or str(PROJECT / ".cache/nginx/usr/sbin/nginx")
    if not Path(program).exists():
        pytest.skip("no nginx: run sh tests/nginx.sh")
    directory = tmp_path_factory.mktemp("nginx")
    (directory / "site").mkdir()
    for name in ("a.html", "b.html"):
        (directory / "site" / name).write_bytes(PAGE)
    (directory / "site" / "large.html").write_bytes(b"x" * LARGE)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"directory": directory, "port": port, "certificate": certificate}
    (directory / "nginx.conf").write_text(CONFIGURATION.format(**settings))
    command = [program, "-p", str(directory), "-c", str(directory / "nginx.conf")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            while not is_open(port):
                assert server.poll() is None, (directory / "error.log").read_text()
            yield Nginx(directory, f"https://127.0.0.1:{port}")
        finally:
            server.terminate()


def test_pages_come_by_http_2_over_one_connection(fetching: Open, nginx: Nginx) -> None:
    async def main() -> None:
        async with fetching() as fetch:
            response = await fetch(f"{nginx.origin}/a.html", headers={"User-Agent": "us/1"})
            assert (response.status, response.protocol, response.body) == (200, "HTTP/2", PAGE)
            assert response.headers[b"Content-Type"] == b"text/html"
            assert str(response.ip_address) == "127.0.0.1"
            again = (fetch(f"{nginx.origin}/b.html") for _ in range(5))
            assert {each.body for each in await asyncio.gather(*again)} == {PAGE}
            await asyncio.sleep(1.5)  # libcurl looks after a second whether a connection is alive
            assert (await fetch(f"{nginx.origin}/none.html", method="HEAD")).status == 404
            posted = await fetch(f"{nginx.origin}/a.html", method="POST", body=b"x" * 100_000)
            assert posted.status == 405

    run(main())
    connections = [connection for connection, *_ in nginx.log]
    assert len({*connections[:-1]}) == 1
    assert connections[-1] != connections[0], "what must not be sent twice has its own"
    assert {protocol for _, protocol, *_ in nginx.log} == {"HTTP/2.0"}
    assert nginx.log[0][2:] == ["GET", "/a.html", "us/1"]
    assert [method for _, _, method, *_ in nginx.log[-2:]] == ["HEAD", "POST"]


def test_the_size_is_limited_by_http_2_too(fetching: Open, nginx: Nginx) -> None:
    async def main() -> None:
        async with fetching(EXTRACT_MAX_BYTES=200_000, DOWNLOAD_MAXSIZE=1_000_000) as fetch:
            with pytest.raises(DownloadCancelledError):
                await fetch(f"{nginx.origin}/large.html")
            response = await fetch(
                f"{nginx.origin}/large.html", meta={"depth": 0, "download_maxsize": 0}
            )
            assert len(response.body) == 200_001
            assert (await fetch(f"{nginx.origin}/a.html")).body == PAGE

    run(main())


def test_a_certificate_is_valid_where_that_is_demanded(fetching: Open, nginx: Nginx) -> None:
    async def main() -> None:
        async with fetching(DOWNLOAD_VERIFY_CERTIFICATES=True) as fetch:
            with pytest.raises(CertificateError, match="self-signed certificate"):
                await fetch(f"{nginx.origin}/a.html")

    run(main())
    assert not nginx.log


GOAWAY, RST_STREAM, SETTINGS, HEADERS = 7, 3, 4, 1
REFUSED_STREAM, HTTP_1_1_REQUIRED = 7, 13


def frame(kind: int, flags: int, stream: int, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data))[1:] + struct.pack(">BBI", kind, flags, stream) + data


# What a server sends on a connection instead of an answer, None to hang up.
REFUSALS: dict[str, Callable[[int], bytes]] = {
    "refused": lambda stream: frame(RST_STREAM, 0, stream, struct.pack(">I", REFUSED_STREAM)),
    "1.1": lambda stream: frame(RST_STREAM, 0, stream, struct.pack(">I", HTTP_1_1_REQUIRED)),
    "going away": lambda stream: frame(GOAWAY, 0, 0, struct.pack(">II", max(stream - 2, 0), 0)),
    "hung up": lambda stream: b"",
}


@pytest.fixture
def refusing(certificate: Path) -> Callable[[str, int], Any]:
    """Return what opens a server that answers the first request, and refuses some that follow."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    tls.set_alpn_protocols(["h2", "http/1.1"])

    def opened(refusal: str, times: int) -> Any:
        asked = 0

        async def talk(client: Client) -> None:
            nonlocal asked
            if client.writer.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
                while await client.read_request():
                    await client.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                return
            await client.reader.readexactly(24)
            await client.send(frame(SETTINGS, 0, 0))
            while True:
                head = await client.reader.readexactly(9)
                await client.reader.readexactly(int.from_bytes(head[:3], "big"))
                if head[3] != HEADERS:
                    continue
                client.requests.append(head)
                asked += 1
                stream = int.from_bytes(head[5:], "big")
                if asked == 1 or asked > 1 + times:
                    await client.send(frame(HEADERS, 5, stream, b"\x88"))  # 200, no body
                    continue
                await client.send(REFUSALS[refusal](stream))
                if refusal in ("going away", "hung up"):
                    return

        async def until_the_end(client: Client) -> None:
            with suppress(asyncio.IncompleteReadError):
                await talk(client)

        return serving(until_the_end, ssl=tls)

    return opened


@pytest.mark.parametrize("refusal", ["refused", "1.1", "going away"])
def test_a_request_that_is_refused_is_sent_again(
    fetching: Open, refusing: Callable[[str, int], Any], refusal: str
) -> None:
    async def main() -> None:
        async with refusing(refusal, 1) as server, fetching() as fetch:
            for _ in range(3):
                assert (await fetch(f"{server.origin}/", seconds=5)).status == 200
            assert len(server.requests) == 4

    run(main())


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("refusal", ["refused", "going away", "hung up"])
def test_a_request_is_sent_again_a_few_times_if_that_does_no_harm(
    fetching: Open, refusing: Callable[[str, int], Any], refusal: str, method: str
) -> None:
    async def main() -> None:
        async with refusing(refusal, 99) as server, fetching() as fetch:
            await fetch(f"{server.origin}/")
            with pytest.raises(DownloadFailedError, match=r"hangs up|tried 5 times"):
                await fetch(f"{server.origin}/", seconds=5, method=method)
            if refusal == "hung up":
                assert len(server.requests) == 2, "the server may have done it"
            else:
                assert 2 <= len(server.requests) <= 10

    run(main())


def test_an_archive_says_by_which_protocol_a_page_came(
    scrapy: Scrapy, nginx: Nginx, tmp_path: Path
) -> None:
    seed = f"{nginx.origin}/a.html"
    done = scrapy("crawl", "rdfa", "-a", f"seeds={seed}", ARCHIVE=1, POLITENESS_DELAY=0.1)
    assert done.returncode == 0, done.stderr
    assert "2 done" in done.stderr
    archive = tmp_path / "crawl" / "archive"
    text = b"".join(gzip.decompress(path.read_bytes()) for path in files_of(archive))
    assert text.count(b"\r\nWARC-Protocol: h2\r\n") >= 3, "robots.txt and two pages"
    assert b"\r\n\r\nHTTP/1.1 200 \r\nserver: nginx" in text.replace(b"HTTP/1.1 200 OK", b"")
    validate_by_fastwarc(archive)
    assert scrapy("archive", seed).stdout == PAGE.decode()
