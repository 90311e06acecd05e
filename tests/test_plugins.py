"""Orders, rules, filters, extractors and stores of other packages, by their dotted paths."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.extract import Limits, Options, extract
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.orders import order_class
from rdfaspider.frontier.orders.order import Order
from rdfaspider.plugins import load
from rdfaspider.scheduler.control.exclusions import check_rule
from rdfaspider.settings.declarations import DECLARED
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import StoreUnavailable, open_store
from rdfaspider.stores.kinds import shown
from rdfaspider.urls import Filters
from tests.conftest import Scrapy
from tests.frontier.served import ServiceProcess

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[1] / "examples" / "ownparts" / "ownparts.py"
MINE = "examples.ownparts.ownparts"
WEB = Parameters(seed=4, levels=2, pages=3, links_inside=4)
PARTS = {
    "FRONTIER_ORDER": "ownparts.DeepFirst",
    "URLS_REJECT": "python:ownparts.is_print_view",
    "FILTER_DROP": "empty: ownparts.is_empty",
    "EXTRACT_FORMATS": "rdfa,ownparts.title",
    "PAGES_COLUMNS": "scripts: ownparts.scripts,age: ownparts.Ages",
    "STORE_URL": "python:ownparts.SqliteStore:triples.sqlite",
    "POLITENESS_DELAY": 0,
    "POLITENESS_AT_ONCE": 8,
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return an empty directory with the example's module in it."""
    (tmp_path / "ownparts.py").write_text(EXAMPLE.read_text())
    return tmp_path


def titles(directory: Path) -> int:
    with sqlite3.connect(directory / "triples.sqlite") as rows:
        query = "SELECT COUNT(DISTINCT graph) FROM quads WHERE instr(triple, '/dc/terms/title>')"
        found = rows.execute(query).fetchone()[0]
    rows.close()
    return int(found)


@pytest.mark.parametrize("more", [{}, {"WORKERS": 2}], ids=["one process", "workers"])
def test_a_crawl_uses_parts_of_another_package(
    scrapy: Scrapy, project: Path, more: dict[str, object]
) -> None:
    with running(WEB) as url:
        done = scrapy("crawl", "rdfa", "-a", f"seeds={url}", **PARTS, **more)
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    assert titles(project) > 8
    assert scrapy("pages").stdout.split()[:2] == ["scripts", "age"]
    again = scrapy("crawl", "rdfa")  # the name on disk is not enough to import code
    assert again.returncode != 0
    assert "set FRONTIER_ORDER=ownparts.DeepFirst to go on" in again.stderr


def test_a_service_and_its_workers_have_the_order_of_another_package(
    scrapy: Scrapy, project: Path
) -> None:
    fast = {"POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 8}
    with running(WEB) as url, ServiceProcess(project, "ownparts.DeepFirst", fast) as service:
        other = scrapy("crawl", "rdfa", "-a", f"seeds={url}", FRONTIER_URL=service.url)
        assert "set FRONTIER_ORDER=ownparts.DeepFirst to go on" in other.stderr
        told = {**PARTS, "FRONTIER_URL": service.url}
        done = scrapy("crawl", "rdfa", "-a", f"seeds={url}", **told)
        assert done.returncode == 0, done.stderr
        looked = scrapy("frontier", FRONTIER_URL=service.url)  # imports nothing
        assert "the order is ownparts.DeepFirst" in looked.stdout
    assert titles(project) > 8


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("FRONTIER_ORDER", "no.such.Order", "cannot be an order: there is no module no on the"),
        ("FRONTIER_ORDER", f"{MINE}.No", f"{MINE} has no No"),
        ("FRONTIER_ORDER", f"{MINE}.title", "it has no advice"),
        ("FRONTIER_ORDER", f"{MINE}.title", "extend rdfaspider.frontier.orders.order.Order"),
        ("FRONTIER_ORDER", f"{MINE}.TITLE", "it is neither a function nor a class"),
        ("EXTRACT_FORMATS", f"rdfa,{MINE}.no", "cannot be an extractor"),
        ("FILTER_DROP", f"mine: {MINE}.no", "cannot be a filter"),
        ("PAGES_COLUMNS", "mine: no.such.column", "cannot be a column: there is no module no on"),
        ("PAGES_COLUMNS", f"mine: {MINE}.SqliteStore", "cannot be a column"),
        ("PAGES_COLUMNS", f"mine: {MINE}.is_print_view.x", "cannot be a column"),
        ("PAGES_COLUMNS", f"url: {MINE}.scripts", "There is a column url already"),
        ("PAGES_COLUMNS", f"mine: {MINE}.title", "annotate what it returns, as -> int"),
        ("PAGES_COLUMNS", f"{MINE}.scripts", "Not a column (name: package.module.function)"),
        ("URLS_REJECT", f"python:{MINE}.no", "cannot be a rule"),
        ("URLS_ACCEPT", "python:no dots", "is not a dotted path"),
        ("STORE_URL", f"python:{MINE}.title:x", "it has no write, query"),
        ("STORE_URL", "python:", "is not a dotted path"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence(name: str, value: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}=.*[^.]\\.$") as error:
        DECLARED[name].read(value)
    assert words in str(error.value)


def test_a_module_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "failing.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match=r"\(ZeroDivisionError: division by zero\)"):
        load("failing.Order", "an order")


def test_an_extractor_is_contained_and_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "extractors.py").write_text(
        "from pyoxigraph import BlankNode, Literal, NamedNode, Triple\n"
        "P = NamedNode('http://a.test/p')\n"
        "def a_failing(body, url, content_type):\n"
        "    yield Triple(BlankNode('x'), P, Literal('kept'))\n"
        "    raise KeyError('here')\n"
        "def endless(body, url, content_type):\n"
        "    while True:\n"
        "        yield Triple(BlankNode(), P, BlankNode('x'))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    formats = frozenset(("rdfa", "extractors.a_failing", "extractors.endless"))
    page = b'<p property="schema:name">A</p>'
    options = Options(formats=formats, limits=Limits(quads=100))
    found = extract(page, "http://a.test/", options=options)
    assert found.facts.quads["rdfa"] == 1
    assert found.facts.quads["extractors.a_failing"] == 1
    assert "KeyError: 'here'" in found.facts.errors["extractors.a_failing"]
    assert found.facts.cuts["quads"] == 1
    assert len(found.quads) == 100
    # Blank nodes have labels of the page, and those of two extractors are not the same.
    named = {quad.subject for quad in found.quads if "kept" in str(quad.object)}
    assert named.isdisjoint(quad.object for quad in found.quads)
    assert not any("_:x " in str(quad) for quad in found.quads)


def test_a_rule_is_a_function() -> None:
    filters = Filters(reject=[f"python:{MINE}.is_print_view"])
    assert filters.admit("http://a.test/a?print=1") == ("http://a.test/a?print=1", "python")
    assert filters.admit("http://a.test/a") == ("http://a.test/a", "")


def test_what_is_excluded_while_a_crawl_runs_imports_nothing() -> None:
    with pytest.raises(ValueError, match="Not a rule"):
        check_rule(f"python:{MINE}.is_print_view")


def test_an_order_may_learn_as_ours_do() -> None:
    assert order_class(f"{MINE}.DeepFirst").advice == ""
    assert order_class("rdfaspider.frontier.orders.harvest.HarvestOrder").advice == "harvest"


class Counting(Order):
    """Remembers how often a host got ready."""

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        self.count = int(self._meta.get(b"count") or b"0")

    def urgency(self, host: Host) -> float:
        self.count += 1
        return host.turn

    def save(self, batch: WriteBatch) -> None:
        batch.put(b"count", b"%d" % self.count, self._meta.handle)


def test_what_an_order_saves_survives_a_kill(tmp_path: Path) -> None:
    frontier = LocalFrontier(str(tmp_path), order=f"{__name__}.Counting", now=0.0)
    frontier.put(["http://a.test/"])
    assert frontier.take(0.0)
    frontier.abandon()
    with LocalFrontier(str(tmp_path), order=f"{__name__}.Counting", now=0.0) as frontier:
        assert isinstance(frontier._order, Counting)
        assert frontier._order.count


def test_a_store_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be a store"):
        open_store("python:no.such.Store:x")
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        open_store(f"python:{MINE}.SqliteStore:{tmp_path}/no/such/directory")
    assert shown("python:a.b:http://u:secret@host/") == "python:a.b:http://…@host/"
