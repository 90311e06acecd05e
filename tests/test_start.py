"""docs/start.md, followed word for word: its blocks are pasted in an empty directory and lead to triples.

Only the addresses are other ones: a generated web for https://example.org/, and a real RDF4J server. What
`pip install` names is all that the environment has.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.environments import PROJECT, built, installed
from tests.stores.conftest import rdf4j_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WEB = Parameters(seed=2, levels=2, pages=2)  # 7 pages of 3 triples
SITE = "https://example.org/"
RDF4J = "http://127.0.0.1:8080/rdf4j-server/repositories"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INSTALL = re.compile(r"pip install 'path/to/rdfaspider\[(\w+)\]'\n")

# Runs cells as a notebook does: names stay, and the value of a last expression is shown.
KERNEL = """
import ast, json, sys
names = {"__name__": "__main__"}
for cell in json.load(sys.stdin):
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if value is not None:
            print(repr(value))
"""
# What somebody had before: items, callbacks and a pipeline, and nothing of ours.
SPIDER = """
import scrapy
from shop.items import Book

class BooksSpider(scrapy.Spider):
    name = "books"
    start_urls = ["{site}"]

    def parse(self, response):
        yield Book(url=response.url, title=response.css("title::text").get())
        yield from response.follow_all(css="a", callback=self.parse)
"""
ITEMS = """
import scrapy

class Book(scrapy.Item):
    url = scrapy.Field()
    title = scrapy.Field()
"""
PIPELINE = """
class Titles:
    def process_item(self, item):
        with open("titles.txt", "a") as file:
            file.write(item["title"] + "\\n")
        return item
"""
SETTINGS = """
ITEM_PIPELINES = {"shop.pipelines.Titles": 300}
DOWNLOAD_DELAY = 0
CONCURRENT_REQUESTS_PER_DOMAIN = 4
"""


class Block(NamedTuple):
    language: str
    text: str


class Newcomer:
    """Somebody in an empty directory, with an environment that the page tells how to fill."""

    def __init__(self, home: Path, wheel: Path, addresses: dict[str, str]) -> None:
        self.home = home
        self.wheel = wheel
        self.addresses = addresses
        self.environment = home.parent / "environment"

    def blocks(self, heading: str) -> list[Block]:
        """Return the blocks of a section of the page, with our addresses for those of the page."""
        page = (PROJECT / "docs" / "start.md").read_text(encoding="utf-8")
        _, _, rest = page.partition(f"\n## {heading}\n")
        section = rest.partition("\n## ")[0]
        for there, ours in self.addresses.items():
            section = section.replace(there, ours)
        return [Block(*found) for found in _BLOCK.findall(section)]

    def installs(self, block: Block) -> str:
        """Do what `pip install` does, without the network."""
        found = _INSTALL.fullmatch(block.text)
        assert block.language == "bash"
        assert found, block.text
        return installed(self.environment, self.wheel, found[1])

    def runs(self, command: str) -> str:
        """Paste a command; return what is printed to both streams."""
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.home,
            env=self._variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}"
        assert "Traceback" not in done.stdout, done.stdout
        assert "ERROR" not in done.stdout, done.stdout
        return done.stdout

    def pastes(self, block: Block) -> str:
        assert block.language == "bash", block
        return self.runs(block.text)

    def evaluates(self, cells: list[Block]) -> str:
        assert {cell.language for cell in cells} == {"python"}
        done = subprocess.run(
            [str(self.environment / "bin" / "python"), "-c", KERNEL],
            cwd=self.home,
            env=self._variables(),
            input=json.dumps([cell.text for cell in cells]),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _variables(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SCRAPY", "PYTHON", "VIRTUAL_ENV"))
        }
        return {**kept, "PATH": f"{self.environment / 'bin'}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with running(WEB) as url:
        yield f"{url}/"


@pytest.fixture
def newcomer(tmp_path: Path, wheel: Path, web: str) -> Newcomer:
    (tmp_path / "home").mkdir()
    return Newcomer(tmp_path / "home", wheel, {SITE: web})


def test_somebody_with_a_scrapy_project(newcomer: Newcomer, web: str) -> None:
    install, addon, crawl, ask, callback = newcomer.blocks("You have a Scrapy project")
    newcomer.installs(install)
    newcomer.runs("scrapy startproject shop .")
    shop = newcomer.home / "shop"
    (shop / "items.py").write_text(ITEMS)
    (shop / "pipelines.py").write_text(PIPELINE)
    (shop / "spiders" / "books.py").write_text(SPIDER.format(site=web))
    with (shop / "settings.py").open("a") as settings:
        settings.write(SETTINGS + addon.text)

    log = newcomer.pastes(crawl)
    # Scrapy gets a start page twice if a page links to it.
    assert re.search(r"[78] pages were read; 21 triples of them are new, in \./store\.", log), log
    assert len((newcomer.home / "titles.txt").read_text().splitlines()) in (7, 8)
    answer = newcomer.pastes(ask)
    assert "http://schema.org/Book" in answer
    assert "21 triples" in answer
    assert (newcomer.home / "all.ttl").stat().st_size > 500
    # The hint at the end of the log can be pasted as well.
    (hint,) = re.findall(r"Query them: (.+)", log)
    assert "http://schema.org/Book" in newcomer.runs(hint)

    without = SPIDER.format(site=web).partition("    def parse")[0]
    (shop / "spiders" / "books.py").write_text(without + indent(callback.text, "    "))
    assert f"{web} has 3 triples" in newcomer.pastes(crawl)


def test_somebody_with_a_notebook(newcomer: Newcomer, web: str) -> None:
    install, *cells = newcomer.blocks("You have a notebook and rdflib")
    newcomer.installs(install)
    shown = newcomer.evaluates(cells)
    assert shown.startswith("3\n"), "the triples of the front page"
    assert f"<{web}ulysses>" in shown
    assert "http://schema.org/Book Ulysses" in shown
    assert "http://schema.org/Organization" in shown
    assert "scrapy" not in newcomer.runs("ls ../environment/lib/python*/site-packages").lower()


def test_somebody_with_an_rdf4j_server(newcomer: Newcomer, web: str, tmp_path: Path) -> None:
    with rdf4j_server(tmp_path / "rdf4j") as (_, repositories):
        newcomer.addresses[RDF4J] = repositories
        install, extract, crawl, ask = newcomer.blocks("You have an RDF4J server")
        newcomer.installs(install)
        assert "3 triples" in newcomer.pastes(extract)
        log = newcomer.pastes(crawl)
        assert "7 URLs = 7 done + 0 failed + 0 denied + 0 waiting" in log
        counts = re.findall(rf"^{re.escape(web)}\S*,3\r?$", newcomer.pastes(ask), re.MULTILINE)
        assert len(counts) == 7
        (hint,) = re.findall(r"Query it: (.+)", log)
        assert "http://schema.org/Book" in newcomer.runs(hint)
