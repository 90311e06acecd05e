"""Pages by HTTP/2: from a real server, by TLS, into an archive that other tools read."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scrapy.exceptions import DownloadCancelledError

from rdfaspider.archive.warc.reader import files_of
from rdfaspider.downloader.failures import CertificateError
from tests.archive.judges import validate_by_fastwarc
from tests.downloader.conftest import run

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
    assert len({connection for connection, *_ in nginx.log}) == 1
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
