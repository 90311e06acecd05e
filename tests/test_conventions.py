"""What users of Scrapy know: a project of their own on top of this one, and Scrapy's switches."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import open_store

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parent.parent
ROBOTS = b"User-agent: *\nDisallow: /private\n"


class Site(BaseHTTPRequestHandler):
    """Members only: who posts the form gets a cookie, without which there are no pages."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self._note()
        if self.path == "/robots.txt":
            self._answer(200, ROBOTS, "text/plain")
        elif self.path == "/cookie":
            self._answer(200, page(self.path), cookie="seen=yes")
        elif self.path.startswith("/open"):
            self._answer(200, page(self.path))
        elif self.path == "/locked":
            token = base64.b64encode(b"ann:secret").decode()
            is_known = self.headers["Authorization"] == f"Basic {token}"
            self._answer(200 if is_known else 401, page(self.path))
        else:
            is_member = "session=ann" in self.headers.get("Cookie", "")
            self._answer(200 if is_member else 403, page(self.path))

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"]))
        self._note()
        if form == b"user=ann&password=secret":
            self._answer(302, b"", cookie="session=ann", location="/welcome")
        else:
            self._answer(403, b"")

    def _note(self) -> None:
        self.server.visits.append((monotonic(), f"{self.command} {self.path}", dict(self.headers)))

    def _answer(
        self,
        status: int,
        body: bytes,
        kind: str = "text/html",
        cookie: str = "",
        location: str = "",
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if cookie:
            self.send_header("Set-Cookie", f"{cookie}; Path=/")
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Site)
        self.visits: list[tuple[float, str, dict[str, str]]] = []
        self.origin = f"http://127.0.0.1:{self.server_port}"

    @property
    def asked(self) -> list[str]:
        return [request for _, request, _ in self.visits]

    def headers_of(self, request: str) -> dict[str, str]:
        return next(headers for _, asked, headers in self.visits if asked == request)


def page(path: str) -> bytes:
    links = {"/": ("/a", "/b"), "/cookie": ("/open",), "/open": ("/open2", "/private/x")}
    anchors = "".join(f"<a href='{link}'>x</a>" for link in links.get(path, ()))
    return (
        f"<html lang=en><title>Page {path}</title><body vocab='http://schema.org/'"
        f" typeof=WebPage><h1 property=name>{path}</h1>{anchors}"
    ).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running_server:
        thread = Thread(target=running_server.serve_forever, args=(0.05,))
        thread.start()
        yield running_server
        running_server.shutdown()
        thread.join()


SETTINGS = """
from rdfaspider.settings import *

BOT_NAME = "members"
SPIDER_MODULES = ["members.spiders"]
NEWSPIDER_MODULE = "members.spiders"
COOKIES_ENABLED = True
POLITENESS_DELAY = 0.2
ITEM_PIPELINES = {"members.pipelines.Titles": 300}
"""

PIPELINES = """
import json
from itemadapter import ItemAdapter

class Titles:
    def open_spider(self):
        self.file = open("titles.jl", "w")

    def close_spider(self):
        self.file.close()

    def process_item(self, item):
        item = ItemAdapter(item)
        self.file.write(json.dumps([item.get("url"), item.get("title"), item.get("triples")]) + "\\n")
        return item.item
"""

SPIDERS = """
import scrapy
from rdfaspider.spiders import RdfaSpider

class Members(RdfaSpider):
    name = "members"

    async def start(self):
        form = {"user": "ann", "password": "secret"}
        login = self.seeds.urls[0] + "login"
        yield scrapy.FormRequest(login, formdata=form, callback=self.logged_in)

    def logged_in(self, response):
        assert response.url.endswith("/welcome"), response
        for url in self.seeds.urls:
            yield scrapy.Request(url)

    def parse(self, response, **kwargs):
        yield from super().parse(response, **kwargs)
        yield {"url": response.url, "heading": response.css("h1::text").get()}
        for number in range(3):
            yield response.follow(f"/details?{number}", self.details, cb_kwargs={"of": response.url})
        yield response.follow("/private", self.details)

    def details(self, response, of):
        yield {"url": response.url, "of": of}

class Plain(scrapy.Spider):
    name = "plain"

    def parse(self, response):
        yield {"url": response.url}
"""


@pytest.fixture
def members(tmp_path: Path) -> Path:
    """Return a Scrapy project whose settings import ours."""
    package = tmp_path / "members"
    (package / "spiders").mkdir(parents=True)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = members.settings\n")
    (package / "__init__.py").touch()
    (package / "settings.py").write_text(SETTINGS)
    (package / "pipelines.py").write_text(PIPELINES)
    (package / "spiders" / "__init__.py").touch()
    (package / "spiders" / "members.py").write_text(SPIDERS)
    return tmp_path


def scrapy_in(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_project_of_its_own_logs_in_and_adds_to_pages(members: Path, server: Server) -> None:
    assert scrapy_in(members, "list").stdout == "members\nplain\n"
    crawl = ["crawl", "members", "-a", f"seeds={server.origin}/", "-s", "STATS_DUMP=1"]
    result = scrapy_in(members, *crawl, "-o", "items.jl")
    assert result.returncode == 0, result.stderr
    assert "ERROR" not in result.stderr

    # robots.txt, the form, where it leads to; then the pages, as a member.
    assert server.asked[:3] == ["GET /robots.txt", "POST /login", "GET /welcome"]
    pages = {f"{server.origin}{path}" for path in ("/", "/a", "/b")}
    with open_store(str(members / "crawl" / "store"), read_only=True) as store:
        graphs = store.query("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")
        assert {row["g"].value for row in graphs} == pages

    items = lines_of(members / "items.jl")
    assert {item["url"] for item in items if "triples" in item} == pages
    assert {item["heading"] for item in items if "heading" in item} == {"/", "/a", "/b"}
    # Each of the spider's own requests was made once, as Scrapy filters them.
    details = [item["url"] for item in items if "of" in item]
    assert sorted(details) == [f"{server.origin}/details?{number}" for number in range(3)]
    assert sorted(request for request in server.asked if "details" in request) == [
        f"GET /details?{number}" for number in range(3)
    ]
    assert "GET /private" not in server.asked, "robots.txt holds for them too"
    moments = [moment for moment, request, _ in server.visits if "details" in request]
    assert min(after - first for first, after in pairwise(moments)) > 0.09, "and the delay"

    # Its pipeline stood between extraction and store.
    titles = lines_of(members / "titles.jl")
    assert [f"{server.origin}/", "Page /", 3] in titles
    assert [f"{server.origin}/", None, None] in titles


def test_parse_leaves_pipelines_of_users_alone_unless_asked(members: Path, server: Server) -> None:
    parse = ["parse", f"{server.origin}/open", "--spider=members", "--nocolour"]
    result = scrapy_in(members, *parse)
    assert f"'url': '{server.origin}/open'" in result.stdout, result.stderr
    assert "'triples': 3" in result.stdout
    assert "'heading': '/open'" in result.stdout
    assert not (members / "titles.jl").exists()
    assert scrapy_in(members, *parse, "--pipelines").returncode == 0
    assert [f"{server.origin}/open", "Page /open", 3] in lines_of(members / "titles.jl")
    assert not (members / "crawl").exists()


def test_a_crawl_that_is_resumed_logs_in_again(members: Path, server: Server) -> None:
    for seed in ("/", "/c"):
        seeds = f"{server.origin}{seed}"
        if seed == "/c":
            text = (members / "members" / "spiders" / "members.py").read_text()
            text = text.replace('self.seeds.urls[0] + "login"', f'"{server.origin}/login"')
            (members / "members" / "spiders" / "members.py").write_text(text)
        result = scrapy_in(members, "crawl", "members", "-a", f"seeds={seeds}")
        assert result.returncode == 0, result.stderr
    assert server.asked.count("POST /login") == 2
    assert server.asked.count("GET /") == server.asked.count("GET /c") == 1


def test_a_plain_spider_of_such_a_project(members: Path, server: Server) -> None:
    urls = f"start_urls={server.origin}/open"
    spider = members / "members" / "spiders" / "members.py"
    spider.write_text(
        spider.read_text().replace('"plain"', f'"plain"\n    {urls[:11]}["{urls[11:]}"]')
    )
    result = scrapy_in(members, "crawl", "plain", "-o", "items.jl")
    assert result.returncode == 0, result.stderr
    assert lines_of(members / "items.jl") == [{"url": f"{server.origin}/open"}]
    assert server.asked == ["GET /robots.txt", "GET /open"]
    assert not (members / "crawl").exists()


@pytest.mark.parametrize("is_on", [True, False])
def test_cookies_are_kept_if_asked_for(crawl: Crawler, server: Server, is_on: bool) -> None:
    found = crawl(f"{server.origin}/cookie", COOKIES_ENABLED=int(is_on))
    assert len(found.pages) == 3
    assert server.headers_of("GET /open").get("Cookie") == ("seen=yes" if is_on else None)


def test_the_cache_answers_instead_of_the_server(
    crawl: Crawler, server: Server, tmp_path: Path
) -> None:
    settings = {"HTTPCACHE_ENABLED": 1, "STATS_DUMP": 1}
    first = crawl(f"{server.origin}/open", JOBDIR="first", **settings)
    before = len(server.visits)
    assert before
    second = crawl(f"{server.origin}/open", JOBDIR="second", **settings)
    assert second.fates == first.fates
    assert second.quads == first.quads
    assert len(server.visits) == before
    assert "'httpcache/hit': 3" in second.output, "robots.txt and two pages"
    assert (tmp_path / ".scrapy" / "httpcache" / "rdfa").is_dir()


def test_a_password_is_sent_if_asked_for(crawl: Crawler, server: Server) -> None:
    url = f"{server.origin}/locked"
    assert crawl(url, JOBDIR="without").fates == {url: "failed/401"}
    domain = server.origin.removeprefix("http://")
    login = {"HTTPAUTH_USER": "ann", "HTTPAUTH_PASS": "secret", "HTTPAUTH_DOMAIN": domain}
    assert crawl(url, JOBDIR="with", **login).fates == {url: "done/page"}


MIDDLEWARE = """
class Stamp:
    def process_request(self, request):
        request.headers["X-Stamp"] = "mine"
"""


def test_a_middleware_of_a_user_is_added_to_ours(
    crawl: Crawler, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "stamps.py").write_text(MIDDLEWARE)
    found = crawl(f"{server.origin}/open", DOWNLOADER_MIDDLEWARES='{"stamps.Stamp": 543}')
    assert found.fates[f"{server.origin}/private/x"] == "denied/robots"
    assert server.headers_of("GET /open2")["X-Stamp"] == "mine"


def test_throttling_waits_as_long_as_the_host_takes(crawl: Crawler, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with running(Parameters(levels=1, pages=4, latency=0.3), log=log) as origin:
        found = crawl(f"{origin}/", AUTOTHROTTLE_ENABLED=1, POLITENESS_AT_ONCE=1)
    assert "AUTOTHROTTLE_ENABLED sets POLITENESS_LATENCY_FACTOR to 1." in found.output
    times = [float(line.split()[0]) for line in log.read_text().splitlines()]
    # From answer to answer: a pause as long as the last one took, and the next one.
    assert min(after - first for first, after in list(pairwise(times))[1:]) > 0.5


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("DOWNLOAD_SLOTS", '{"127.0.0.1": {"delay": 5}}', "POLITENESS_DELAY"),
        ("ROBOTSTXT_OBEY", 0, "ROBOTS_OBEY"),
        ("DUPEFILTER_CLASS", "scrapy.dupefilters.BaseDupeFilter", "the frontier knows each URL"),
        ("DEPTH_LIMIT", 1, "DEPTH_LIMIT sets FRONTIER_DEPTH to 1."),
        ("RETRY_ENABLED", 0, "RETRY_TIMES sets FRONTIER_RETRIES to 0."),
    ],
)
def test_what_means_something_else_here_is_told(
    scrapy: Scrapy, server: Server, setting: str, value: object, sentence: str
) -> None:
    result = scrapy("crawl", "rdfa", "-a", f"seeds={server.origin}/open2", **{setting: value})
    assert result.returncode == 0, result.stderr
    assert sentence in result.stderr


def test_settings_without_effect_say_so_in_one_crawl(scrapy: Scrapy, server: Server) -> None:
    result = scrapy(
        "crawl",
        "rdfa",
        "-a",
        f"seeds={server.origin}/locked",
        REDIRECT_ENABLED=0,
        REDIRECT_MAX_TIMES=1,
        METAREFRESH_ENABLED=0,
        DEPTH_PRIORITY=1,
        DOWNLOAD_DELAY=0,
        HTTPERROR_ALLOWED_CODES="401",
        RETRY_HTTP_CODES="401",
        RETRY_TIMES=1,
        FRONTIER_RETRY_DELAY=0.1,
    )
    for sentence in (
        "REDIRECT_ENABLED has no effect on a crawl of the frontier: the target of a redirect",
        "REDIRECT_MAX_TIMES has no effect on a crawl of the frontier: a chain of more than",
        "METAREFRESH_ENABLED has no effect on a crawl of the frontier: the target of a refresh",
        "DEPTH_PRIORITY has no effect on a crawl of the frontier: FRONTIER_ORDER",
        "DOWNLOAD_DELAY=0 has no effect: POLITENESS_DELAY=1 is longer; set that one.",
        "HTTPERROR_ALLOWED_CODES has no effect on this spider: the parse of a spider that",
    ):
        assert sentence in result.stderr
    assert server.asked.count("GET /locked") == 2, "RETRY_HTTP_CODES has an effect"


def test_the_limit_of_depth_holds(crawl: Crawler, server: Server) -> None:
    found = crawl(f"{server.origin}/cookie", DEPTH_LIMIT=1)
    assert found.pages == {f"{server.origin}/cookie", f"{server.origin}/open"}
