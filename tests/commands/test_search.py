"""`scrapy search`, on an index that a crawl has kept, and on one that is made from the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.search.index import Index, PageWords
from rdfaspider.search.reading import Reader
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores import open_store
from tests.search.conftest import CAKE, SCHEMA, TART, A, B, changes, triples

if TYPE_CHECKING:
    from tests.conftest import Scrapy

pytestmark = pytest.mark.slow


@pytest.fixture
def index(tmp_path: Path) -> None:
    with Index(tmp_path / "crawl" / "search") as index:
        index.put([CAKE, TART])


def test_words_and_a_type_find_things(scrapy: Scrapy, index: None) -> None:
    result = scrapy("search", "lemon", "--type", "schema:Recipe")
    assert result.returncode == 0, result.stderr
    assert result.stdout == (
        "Lemon cake  [schema:Recipe]\n"
        f"  {A}#cake\n"
        f"  {A}\n"
        "  With much butter\n"
        "Apple tart  [schema:Recipe]\n"
        f"  {B}#tart\n"
        f"  {B}\n"
        "  A lemon or two on top\n"
        "2 of 2 matches.\n"
    )


def test_types_are_asked_for_and_left_out_with_their_subclasses(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    kinds = {"Hotel": "Lemon Inn", "LocalBusiness": "Lemon Ltd", "Person": "Ann Lemon"}
    pages = [
        PageWords(f"http://{kind}.test/", triples(f"http://{kind}.test/#it", kind, name=name))
        for kind, name in kinds.items()
    ]
    with Index(tmp_path / "crawl" / "search") as index:
        index.put(pages)

    def found(*options: str) -> list[str]:
        lines = scrapy("search", "lemon", "--json", *options).stdout.splitlines()
        return sorted(json.loads(line)["name"] for line in lines)

    assert found("--type", "Organization") == ["Lemon Inn", "Lemon Ltd"]
    both = found("--type", "https://schema.org/Hotel", "--type", "schema:Person")
    assert both == ["Ann Lemon", "Lemon Inn"]
    assert found("--not-type", "Person", "--not-type", "Hotel") == ["Lemon Ltd"]


def test_json_has_a_line_for_each_thing(scrapy: Scrapy, index: None) -> None:
    result = scrapy("search", "lemon", "--json", "-n", "1")
    (line,) = result.stdout.splitlines()
    found = json.loads(line)
    assert (found["name"], found["page"], found["types"]) == ("Lemon cake", A, [f"{SCHEMA}Recipe"])


def test_lists(scrapy: Scrapy, index: None) -> None:
    assert scrapy("search", "--types").stdout == (
        f"           2  {SCHEMA}Recipe\n           1  {SCHEMA}Person\n"
    )
    assert f"3  {SCHEMA}name" in scrapy("search", "--predicates").stdout
    assert f"2  {SCHEMA}\n" in scrapy("search", "--vocabularies", "--host", "b.test").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("zzz",), 1, "Nothing was found."),
        (("lemon", "--type", "Zebra"), 1, "Nothing was found."),
        (("lemon", "--type", "nope:X"), 1, "The prefix 'nope' is unknown"),
        (("lemon", "-n", "0"), 2, "--most must be"),
        ((), 2, "give words"),
        (("lemon", "--host", "x"), 2, "--host goes with"),
        (("!!",), 1, "Give words to search for"),
    ],
)
def test_what_is_not_found_or_wrong_has_a_sentence(
    scrapy: Scrapy, index: None, arguments: tuple[str, ...], code: int, said: str
) -> None:
    result = scrapy("search", *arguments)
    assert said in result.stdout + result.stderr
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr


def test_control_characters_do_not_reach_the_terminal(scrapy: Scrapy, tmp_path: Path) -> None:
    with Index(tmp_path / "crawl" / "search") as index:
        index.put([PageWords(f"{A}\u202e", triples(A, name="evil \\u001B[31m \\u202E lemon"))])
    shown = scrapy("search", "lemon").stdout
    assert "lemon" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_an_index_is_made_from_the_store(scrapy: Scrapy, tmp_path: Path) -> None:
    before = scrapy("search", "lemon")
    assert before.returncode == 1
    assert "scrapy search --rebuild" in before.stderr
    with open_store(str(tmp_path / "crawl" / "store")) as store:
        store.write(changes(CAKE, TART))
    assert scrapy("search", "--rebuild").stdout == "2 pages indexed.\n"
    assert "Lemon cake" in scrapy("search", "lemon").stdout


WEB = Parameters(hosts=3, levels=2, pages=3, links_across=2, missing=0.1)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.timeout(180)
def test_a_crawl_keeps_an_index_and_a_removal_clears_it(
    scrapy: Scrapy, tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(WEB) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        crawl = scrapy(
            *("crawl", "rdfa", "-a", f"seeds={Web(WEB).url(0, 0)}", "-a", "scope=all"),
            SEARCH=1,
            WORKERS=workers,
            POLITENESS_DELAY=0,
            POLITENESS_SERVER_DELAY=0,
            FRONTIER_RETRIES=0,
        )
    assert crawl.returncode == 0, crawl.stderr
    assert "search index" not in crawl.stderr
    jobdir = tmp_path / "crawl"
    with open_store(str(jobdir / "store"), read_only=True) as store:
        query = (
            "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s a ?t } FILTER(STRSTARTS(STR(?g), 'http')) }"
        )
        ((typed,),) = ((int(row["n"].value),) for row in store.query(query))
        pages = store.query("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")
        graphs = {row["g"].value for row in pages if row["g"].value.startswith("http")}
    with Reader(jobdir) as reader:
        indexed, _ = reader.size()
        assert sum(term.uses for term in reader.types()) == typed > 0
        assert indexed >= len(graphs) > 10
        titled = [each for each in reader.search("ferry").results if each.subject == each.page]
        assert titled, "the titles and texts of pages are indexed"
    (host,) = {Web(WEB).url(0, 0).split("/")[2]}
    assert scrapy("remove", "--host", host, "--yes").returncode == 0
    with Reader(jobdir) as reader:
        assert reader.vocabularies(host) == []
        assert 0 < reader.size()[0] < indexed
