"""Download handlers of others: what a crawl with them stores is what it stores with ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest

from rdfaspider.urls import to_iri
from tests.conftest import Crawler

pytestmark = pytest.mark.slow

# What a page with these links leads to; %d is a server that only the handler may think public.
LINKS = ("named", "moved", "forbidden", "missing", "odd?q={x}|y", "http://127.0.0.2:%d/private")
NAME = '<p property="http://schema.org/name">%s</p>'


class Server(BaseHTTPRequestHandler):
    """Answers as the paths say, and notes who was asked for what."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.headers["Host"].partition(":")[0] + self.path)
        status, kind, headers, text = 200, "text/html", {}, NAME % self.path
        match self.path:
            case "/":
                _, port = cast("tuple[str, int]", self.server.server_address)
                links = [link % port if "%" in link else link for link in LINKS]
                text += "".join(f'<a href="{link}">x</a>' for link in links)
            case "/robots.txt":
                kind, text = "text/plain", "User-agent: *\nDisallow: /forbidden\n"
            case "/moved":
                status, text, headers = 302, "", {"Location": "/target"}
            case "/missing":
                status = 404
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(text)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Server.asked = []
    with ThreadingHTTPServer(("", 0), Server) as served:
        served.daemon_threads = True
        thread = Thread(target=served.serve_forever, args=(0.05,))
        thread.start()
        yield served
        served.shutdown()
        thread.join()


HANDLERS = '''
import asyncio
from http.client import HTTPConnection
from urllib.parse import urljoin, urlsplit

from scrapy.http import Headers
from scrapy.responsetypes import responsetypes
from twisted.internet.threads import deferToThread

from rdfaspider.resolver import installed_resolver
from rdfaspider.urls.hosts import host_and_port

def ask(request, url, address):
    parts = urlsplit(url)
    connection = HTTPConnection(address, parts.port, timeout=10)
    headers = {"Host": parts.netloc, "User-Agent": request.headers["User-Agent"].decode()}
    connection.request("GET", url[url.index("/", 8):], headers=headers)
    answer = connection.getresponse()
    headers, body = Headers(answer.getheaders()), answer.read()
    connection.close()
    kind = responsetypes.from_args(headers=headers, url=url, body=body)
    return kind(url, status=answer.status, headers=headers, body=body)

class Unguarded:
    lazy = True

    async def download_request(self, request):
        return await asyncio.to_thread(ask, request, request.url, urlsplit(request.url).hostname)

    async def close(self):
        pass

class Guarded(Unguarded):
    is_guarded = True

    async def download_request(self, request):
        address, *_ = await installed_resolver().resolve(*host_and_port(request.url), 10.0)
        return await asyncio.to_thread(ask, request, request.url, str(address))

class Old:
    """As handlers were until Scrapy 2.13."""

    def download_request(self, request, spider):
        assert spider.name == "rdfa"
        return deferToThread(ask, request, request.url, urlsplit(request.url).hostname)

class OldGuarded(Old):
    is_guarded = True

    def download_request(self, request, spider):
        installed_resolver().check_target(*host_and_port(request.url))  # only addresses are asked here
        return super().download_request(request, spider)

class Browser(Unguarded):
    """Does as browsers, if a middleware wants it: follows redirects, shows texts as HTML."""

    async def download_request(self, request):
        if not request.meta.get("playwright"):
            return await super().download_request(request)
        url = request.url
        while True:
            response = await asyncio.to_thread(ask, request, url, urlsplit(url).hostname)
            if b"Location" not in response.headers:
                break
            url = urljoin(url, response.headers["Location"].decode())
        url += "#top"
        if response.headers["Content-Type"] == b"text/plain":
            return response.replace(url=url, body=b"<html><pre>" + response.body + b"</pre></html>")
        return response.replace(url=url)

class Rendered:
    def process_request(self, request):
        request.meta["playwright"] = True
'''


FATES = {
    "": "done/page",
    "named": "done/page",
    "moved": "done/redirect",
    "target": "done/page",
    "forbidden": "denied/robots",
    "missing": "failed/404",
    "odd?q={x}|y": "done/page",
    "private": "denied/address",
}
OURS = "rdfaspider.downloader.handler.GuardedHttpDownloadHandler"


@pytest.mark.parametrize(
    "handler",
    [OURS, "own.Guarded", "own.OldGuarded", "own.Unguarded", "own.Old", "own.Browser"],
)
def test_a_crawl_stores_the_same_with_any_handler(
    handler: str, server: ThreadingHTTPServer, crawl: Crawler, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(HANDLERS)
    settings: dict[str, object] = {"DOWNLOAD_HANDLERS": json.dumps({"http": handler})}
    if is_unguarded := "Guarded" not in handler:
        settings["RESOLVER_ALLOW_UNGUARDED"] = 1
    if is_browser := handler == "own.Browser":
        settings["DOWNLOADER_MIDDLEWARES"] = '{"own.Rendered": 543}'
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    found = crawl(url, "-a", "scope=all", EXTRACT_PROCESSES=0, **settings)
    assert {url.split("/", 3)[3]: fate for url, fate in found.fates.items()} == FATES
    named = {(str(quad.graph_name), str(quad.object)) for quad in found.quads}
    pages = {path for path, fate in FATES.items() if fate == "done/page"}
    assert named == {(f"<{to_iri(url + path)}>", f'"/{path}"') for path in pages}
    # A browser has followed the redirect besides, without our knowledge.
    visits = ["robots.txt", *FATES, *["target"] * is_browser]
    visits = [visit for visit in visits if visit not in ("forbidden", "private")]
    assert sorted(Server.asked) == sorted(f"127.0.0.1/{visit}" for visit in visits)
    assert found.output.count("bypasses the address guard") == is_unguarded
