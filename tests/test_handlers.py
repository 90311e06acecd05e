"""Download handlers of others: what a crawl with them stores is what it stores with ours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from threading import Thread
from typing import Any, cast

import pytest

from rdfaspider.stores import open_store
from rdfaspider.urls import to_iri
from tests.conftest import PROJECT, Crawler, Scrapy

pytestmark = pytest.mark.slow

# What a page with these links leads to; %d is a server that only the handler may think public.
LINKS = ("named", "moved", "forbidden", "missing", "odd?q={x}|y", "http://127.0.0.2:%d/private")
NAME = '<p property="http://schema.org/name">%s</p>'


# What is there only when the script has run.
SCRIPTED = """<!doctype html><title>Scripted</title><script>
const data = document.createElement("script"), link = document.createElement("a");
data.type = "application/ld+json";
data.textContent = JSON.stringify({"@id": "#it", "http://schema.org/name": "by a script"});
[link.href, link.textContent] = ["/moved", "x"];
onload = () => document.body.append(data, link);
</script>"""


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
            case "/scripted":
                text = SCRIPTED
            case "/moved":
                status, text, headers = 302, "", {"Location": "/target"}
            case "/missing":
                status = 404
        if self.path == "/named":
            headers["ETag"] = '"1"'
            if self.headers["If-None-Match"]:
                status, text = 304, ""
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

from rdfaspider.resolver import Resolver, installed_resolver
from rdfaspider.urls.hosts import host_and_port

class Names(Resolver):
    """Knows a name that nobody else does."""

    @staticmethod
    def look_up(name):
        if name != "named.test":
            raise OSError(name)
        return ["127.0.0.1"]

def ask(request, url, address):
    parts = urlsplit(url)
    connection = HTTPConnection(address, parts.port, timeout=10)
    headers = {"Host": parts.netloc, "User-Agent": request.headers["User-Agent"].decode()}
    if "If-None-Match" in request.headers:
        headers["If-None-Match"] = request.headers["If-None-Match"].decode()
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
        if response.status == 304:
            raise OSError("net::ERR_ABORTED")
        url = url.replace("{", "%7B") + "#top"
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


@pytest.mark.parametrize("handler", ["own.Unguarded", "own.Browser"])
def test_pages_are_visited_again(
    handler: str, server: ThreadingHTTPServer, scrapy: Scrapy, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(HANDLERS)
    for _ in range(2):
        done = scrapy(
            *("crawl", "rdfa", "-a", f"seeds=http://127.0.0.1:{server.server_address[1]}/named"),
            DOWNLOAD_HANDLERS=json.dumps({"http": handler}),
            DOWNLOADER_MIDDLEWARES='{"own.Rendered": 543}',
            RESOLVER_ALLOW_UNGUARDED=1,
            FRONTIER_REVISIT=1,
            FRONTIER_REVISIT_DUE=1,
            FRONTIER_REVISIT_EVERY=1,
            FRONTIER_REVISIT_SHORTEST=1,
            FRONTIER_REVISIT_LONGEST=1,
        )
        assert done.returncode == 0, done.stderr
        time.sleep(1.5)
    assert "1 page visited again" in done.stderr and "failed in" not in done.stderr


ASKING = """
from pathlib import Path
from scrapy import Request
from rdfaspider.spiders import RdfaSpider

class Asking(RdfaSpider):
    name = "asking"

    async def start(self):
        yield Request(self.seeds.urls[0] + "named", callback=self.ask)

    def ask(self, response):
        private = response.url.replace("127.0.0.1", "127.0.0.2")
        yield Request(private, callback=self.ask, errback=self.fail)

    def fail(self, failure):
        Path("failure.txt").write_text(type(failure.value).__name__)
"""


def test_a_spiders_own_requests_are_refused_too(
    server: ThreadingHTTPServer, scrapy: Scrapy, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(HANDLERS + ASKING)
    scrapy(
        *("crawl", "asking", "-a", f"seeds=http://127.0.0.1:{server.server_address[1]}/"),
        SPIDER_MODULES="own",
        ROBOTS_OBEY=0,  # else that of its robots.txt is refused
        DOWNLOAD_HANDLERS='{"http": "own.Unguarded"}',
        RESOLVER_ALLOW_UNGUARDED=1,
    )
    assert (tmp_path / "failure.txt").read_text() == "ForbiddenAddressError"
    assert "127.0.0.1/named" in Server.asked and "127.0.0.2/named" not in Server.asked


def test_a_private_host_is_refused_though_there_is_a_proxy(
    server: ThreadingHTTPServer, scrapy: Scrapy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler may not use the proxy."""
    (tmp_path / "own.py").write_text(HANDLERS)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    done = scrapy(
        *("crawl", "rdfa", "-a", f"seeds=http://named.test:{server.server_address[1]}/"),
        DOWNLOAD_HANDLERS='{"http": "own.Unguarded"}',
        TWISTED_DNS_RESOLVER="own.Names",
        RESOLVER_ALLOW_UNGUARDED=1,
        ROBOTS_OBEY=0,
    )
    assert "1 at an address that is not public" in done.stderr
    assert not Server.asked


def example_of(package: str) -> str:
    """Return the example with a package in the documentation, or skip where it is not installed."""
    pytest.importorskip(package, reason=f"no {package}: make test installs it")
    text = (PROJECT / "docs" / "resolver.md").read_text()
    (block,) = [
        block
        for block in re.findall(r"(?:(?:    .*)?\n)+", text)
        if package in block and "class" in block
    ]
    return dedent(block)


@pytest.mark.parametrize("name", ["Guarded", "GuardedImpersonate"])
def test_a_guarded_handler_connects_to_the_addresses_that_the_guard_admits(
    name: str, server: ThreadingHTTPServer, scrapy: Scrapy, crawl: Crawler, tmp_path: Path
) -> None:
    source = HANDLERS + (example_of("scrapy_impersonate") if name != "Guarded" else "")
    (tmp_path / "own.py").write_text(source)
    url = f"http://named.test:{server.server_address[1]}/"
    settings: dict[str, object] = {
        "DOWNLOAD_HANDLERS": f'{{"http": "own.{name}"}}',
        "TWISTED_DNS_RESOLVER": "own.Names",
        "EXTRACT_PROCESSES": 0,
    }
    refused = scrapy("crawl", "rdfa", "-a", f"seeds={url}", JOBDIR="refused", **settings)
    assert "1 at an address that is not public" in refused.stderr and Server.asked == []
    allowed = crawl(f"{url},http://none.test/x", RESOLVER_ALLOW="named.test", **settings)
    paths = {url.split("/", 3)[3]: fate for url, fate in allowed.fates.items()}
    others = {"x": "failed/CannotResolveHostError"}
    assert paths == {path: fate for path, fate in FATES.items() if path != "private"} | others
    assert {visit.split("/")[0] for visit in Server.asked} == {"named.test"}


def test_a_handler_with_the_tls_of_a_browser_may_be_let_in(
    server: ThreadingHTTPServer, crawl: Crawler
) -> None:
    pytest.importorskip("scrapy_impersonate", reason="no scrapy-impersonate")
    found = crawl(
        f"http://127.0.0.1:{server.server_address[1]}/",
        DOWNLOAD_HANDLERS='{"http": "scrapy_impersonate.ImpersonateDownloadHandler"}',
        DOWNLOADER_MIDDLEWARES='{"scrapy_impersonate.RandomBrowserMiddleware": 1000}',
        IMPERSONATE_BROWSERS="chrome",
        RESOLVER_ALLOW_UNGUARDED=1,
    )
    assert list(found.fates.values()).count("done/page") == 4
    assert found.output.count("bypasses the address guard") == 1


CHROMIUM = json.dumps(
    {
        "executable_path": shutil.which("chromium"),
        "args": ["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
    }
)


def names_in(store: Path) -> set[tuple[str, str]]:
    """Return which pages say which names."""
    query = "SELECT ?page ?name { GRAPH ?page { ?thing <http://schema.org/name> ?name } }"
    with open_store(str(store), read_only=True) as opened:
        return {(row["page"].value, row["name"].value) for row in opened.query(query)}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_browser_reads_pages_as_their_scripts_leave_them(
    workers: int,
    server: ThreadingHTTPServer,
    scrapy: Scrapy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("no chromium: make .cache/chromium.ready installs it")
    settings = example_of("scrapy_playwright")
    (tmp_path / "myproject.py").write_text(f"from rdfaspider.settings import *\n\n{settings}")
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "myproject")
    url = f"http://127.0.0.1:{server.server_address[1]}"
    done = scrapy(
        *("crawl", "rdfa", "-a", f"seeds={url}/scripted,{url}/forbidden"),
        PLAYWRIGHT_LAUNCH_OPTIONS=CHROMIUM,
        WORKERS=workers,
        POLITENESS_DELAY=0,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("bypasses the address guard") == 1
    assert "2 pages, 1 redirect" in done.stderr and "1 by robots.txt" in done.stderr
    assert names_in(tmp_path / "crawl" / "store") == {
        (f"{url}/scripted", "by a script"),
        (f"{url}/target", "/target"),
    }


SPIDER = """
import scrapy

class Other(scrapy.Spider):
    name = "other"

    async def start(self):
        yield scrapy.Request(self.url, meta={"playwright": True})

    def parse(self, response):
        print(response.meta["rdfaspider"].found)
        yield from response.follow_all(css="a", meta={"playwright": True}, callback=self.end)

    def end(self, response):
        pass
"""


def test_the_add_on_reads_what_a_browser_shows_in_another_project(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    pytest.importorskip("scrapy_playwright", reason="no scrapy-playwright")
    if shutil.which("chromium") is None:
        pytest.skip("no chromium: make .cache/chromium.ready installs it")
    (tmp_path / "other.py").write_text(SPIDER)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    options = (
        ("ADDONS", '{"rdfaspider.Addon": 300}'),
        ("DOWNLOAD_HANDLERS", json.dumps({"http": handler})),
        ("PLAYWRIGHT_LAUNCH_OPTIONS", CHROMIUM),
    )
    command = [sys.executable, "-m", "scrapy", "runspider", "other.py", "-a", f"url={url}/scripted"]
    for name, value in options:
        command += ["-s", f"{name}={value}"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "'jsonld': 1" in done.stdout, done.stderr
    assert names_in(tmp_path / "store") == {
        (f"{url}/scripted", "by a script"),
        (f"{url}/target", "/target"),
    }
