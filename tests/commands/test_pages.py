"""`scrapy pages` after a crawl, beside one, and without what it needs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.pages.analysis import TEXTS, Analysed, AnalysisTable, TextFacts
from rdfaspider.pages.nearcopies import find_near_copies
from rdfaspider.pages.row import KEY, Row, pack
from rdfaspider.pages.sketch import SIZE
from rdfaspider.pages.table import COLUMNS
from rdfaspider.site.answers import answer
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from tests.commands.conftest import AtTerminal, IntoHead
    from tests.conftest import Scrapy

pytestmark = pytest.mark.slow

FAST = {"POLITENESS_OFF_FOR_OWN_SERVERS": 1, "EXTRACT_PROCESSES": 0}
COPYING = Parameters(
    seed=3, levels=3, pages=5, duplicated=0.15, similar=0.15, missing=0.05, redirected=0.05
)


def crawled(scrapy: Scrapy, parameters: Parameters, **settings: object) -> tuple[str, str]:
    """Crawl a generated web; return its origin, and what the crawl has said."""
    with running(parameters) as url:
        done = scrapy("crawl", "rdfa", "-a", f"seeds={url}/", **{**FAST, **settings})
    assert done.returncode == 0, done.stderr
    return url, done.stderr


def records(scrapy: Scrapy, tmp_path: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    done = scrapy("pages", "-o", "pages.jsonl", *arguments)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "pages.jsonl").read_text().splitlines()
    assert f"{len(lines)} page" in done.stderr
    return {row["url"]: row for row in map(json.loads, lines)}


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.campaign), 2])
def test_a_crawl_has_a_row_for_each_url(scrapy: Scrapy, tmp_path: Path, workers: int) -> None:
    origin, said = crawled(scrapy, COPYING, WORKERS=workers)
    oracle = Oracle(Web(COPYING))
    reach = oracle.reachable([f"{origin}/"], 15)
    found = records(scrapy, tmp_path)
    assert found.keys() == reach.fetched.keys()
    copies: dict[str, set[str]] = {}
    for url, row in found.items():
        if url not in reach.pages:
            assert row["reason"] in ("404", "redirect") and "sha1" not in row
            continue
        page, sent = oracle.page(url), answer(oracle.web, url)
        assert page
        assert row["depth"] == reach.pages[url]
        assert (row["status"], row["reason"], row["state"]) == (200, "page", "done")
        assert (row["size"], row["content_type"]) == (len(sent.body), "text/html")
        assert (row["title"], row["language"]) == (page.title, page.language)
        assert row["links"] == len(page.links)
        assert row["triples"] == row[page.format] == 3
        copies.setdefault(row["sha1"], set()).add(url)
    by_number = {row["number"]: url for url, row in found.items()}
    assert len(by_number) == len(found)
    marked = {url for url, row in found.items() if "copy_of" in row}
    for same in copies.values():
        assert len(same - marked) == 1, "all but the first are marked"
        assert {by_number[found[url]["copy_of"]] for url in same & marked} <= same - marked
    assert marked and f"{len(marked)} pages are copies of others" in said


def test_links_of_copies_are_followed_once_if_asked_for(scrapy: Scrapy, tmp_path: Path) -> None:
    """The links of the generated web begin at the root, so that its copies lead nowhere else."""
    origin, said = crawled(scrapy, COPYING, FRONTIER_FOLLOW_COPIES=0)
    reach = Oracle(Web(COPYING)).reachable([f"{origin}/"], 15)
    assert records(scrapy, tmp_path).keys() == reach.fetched.keys()
    assert "links of pages whose body another page had: FRONTIER_FOLLOW_COPIES=False" in said


def test_near_copies_and_languages_are_found_in_the_archive(scrapy: Scrapy, tmp_path: Path) -> None:
    crawled(scrapy, COPYING, ARCHIVE=1)
    done = scrapy("pages", "--analyse", "--processes", "1")
    assert done.returncode == 0, done.stderr
    found = records(scrapy, tmp_path)
    pages = {url: row for url, row in found.items() if row["reason"] == "page"}
    assert all(row["detected"] == row["language"] for row in pages.values())
    assert all(row["words"] > 30 and row["certainty"] > 50 for row in pages.values())
    _compare_with_oracle(Oracle(Web(COPYING)), pages)
    again = scrapy("pages", "--analyse")
    assert f"0 texts analysed, {len(pages)} known already." in again.stdout
    counts = scrapy("pages", "--counts")
    near = sum(
        "copy_of" not in row and row.get("cluster", row["number"]) != row["number"]
        for row in pages.values()
    )
    assert f"{near} pages are near copies of others" in counts.stdout
    assert f"0 of {len(pages)} pages declare another language" in counts.stdout
    assert counts.stdout.splitlines()[0] in scrapy("report").stdout
    copied = records(scrapy, tmp_path, "--copies")
    assert copied.keys() == {
        url
        for url, row in pages.items()
        if "copy_of" in row or row.get("cluster", row["number"]) != row["number"]
    }
    kept = (tmp_path / "crawl" / "pages" / "counts.json").read_text()
    assert scrapy("pages", "--analyse", "--host", "nowhere.test").returncode == 0
    assert (tmp_path / "crawl" / "pages" / "counts.json").read_text() == kept
    french = records(scrapy, tmp_path, "--language", "fr-CA")
    assert french.keys() == {url for url, row in pages.items() if row["detected"] == "fr"}


def _compare_with_oracle(oracle: Oracle, pages: dict[str, dict[str, Any]]) -> None:
    """Compare clusters with the copies that the oracle knows, and with the exact similarity of texts."""
    known = {url: oracle.original(url) for url in pages}
    near = [url for url, of in known.items() if of and of[0] == "similar" and of[1] in pages]
    assert len(near) > 10
    assert sum("cluster" in pages[url] for url in near) > 0.8 * len(near)
    runs = {}
    for url in pages:
        document = HtmlDocument(answer(oracle.web, url).body, frozenset(), 10_000)
        words = document.visible_text().lower().split()
        runs[url] = frozenset(zip(words, words[1:], words[2:], strict=False))
    exact = {
        (one, other): len(runs[one] & runs[other]) / len(runs[one] | runs[other])
        for one, other in combinations(pages, 2)
    }
    found = {pair for pair in exact if len({pages[url].get("cluster", url) for url in pair}) == 1}
    alike = {
        pair for pair, share in exact.items() if share >= 0.8 and runs[pair[0]] != runs[pair[1]]
    }
    assert len(found & alike) / len(alike) > 0.9
    assert sum(exact[pair] >= 0.5 for pair in found) / len(found) > 0.97


def test_what_is_found_out_during_the_crawl_needs_no_archive(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    crawled(scrapy, COPYING, PAGES_ANALYSE="during", EXTRACT_PROCESSES=1)
    before = records(scrapy, tmp_path)
    pages = {url: row for url, row in before.items() if row["reason"] == "page"}
    assert all(row["detected"] == row["language"] and row["words"] for row in pages.values())
    assert not any("cluster" in row for row in pages.values())
    done = scrapy("pages", "--analyse")
    assert done.returncode == 0, done.stderr
    assert f"0 texts analysed, {len(pages)} known already." in done.stdout
    found = records(scrapy, tmp_path)
    _compare_with_oracle(Oracle(Web(COPYING)), {url: found[url] for url in pages})


def test_an_analysis_that_was_killed_goes_on(scrapy: Scrapy, tmp_path: Path) -> None:
    parameters = Parameters(seed=3, levels=3, pages=9)
    crawled(scrapy, parameters, ARCHIVE=1)
    command = [sys.executable, "-m", "rdfaspider", "pages", "--analyse", "--processes", "1"]
    position = tmp_path / "crawl" / "pages" / "position.json"
    with subprocess.Popen(command, cwd=tmp_path) as process:
        deadline = time.monotonic() + 60
        while not position.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.kill()
    done = scrapy("pages", "--analyse")
    assert done.returncode == 0, done.stderr
    found = records(scrapy, tmp_path)
    assert len(found) == 820 and all("words" in row for row in found.values())
    assert not position.exists()


def test_files_have_all_fields(scrapy: Scrapy, tmp_path: Path) -> None:
    crawled(scrapy, Parameters(levels=2, missing=0.2, duplicated=0.2))
    rows = records(scrapy, tmp_path)
    for name in ("pages.parquet", "pages.csv", "pages.csv.gz"):
        assert scrapy("pages", "-o", name).returncode == 0
    plain = (tmp_path / "pages.csv").read_bytes()
    assert gzip.decompress((tmp_path / "pages.csv.gz").read_bytes()) == plain
    lines = {row["url"]: row for row in csv.DictReader(io.StringIO(plain.decode()))}
    assert {
        url: {name: str(value) for name, value in row.items()} for url, row in rows.items()
    } == {url: {n: v for n, v in line.items() if v} for url, line in lines.items()}
    table = parquet.read_table(tmp_path / "pages.parquet")
    assert table.column_names == list(COLUMNS)
    kinds = {field.name: str(field.type) for field in table.schema}
    assert {kinds[name] for name, kind in COLUMNS.items() if kind == "whole"} == {"int64"}
    assert (kinds["fetched"], kinds["similarity"]) == ("timestamp[ms, tz=UTC]", "float")
    for row in table.to_pylist():
        expected = rows[row["url"]]
        for name in ("fetched", "modified"):
            if row[name] is not None:
                row[name] = row[name].strftime("%Y-%m-%dT%H:%M:%SZ")
        assert {name: value for name, value in row.items() if value is not None} == expected


@pytest.fixture
def frontier(tmp_path: Path) -> LocalFrontier:
    """Return the frontier of a crawl with some pages, open."""
    path = str(tmp_path / "crawl" / "frontier")
    frontier = LocalFrontier(path, politeness=Politeness(delay=0.0, at_once=999))
    frontier.put([f"http://{host}.test/{number}" for host in "ab" for number in range(100)])
    while (taken := frontier.take(0.0)) is not None:
        row = Row(200, "page", 1_790_000_000, size=5, title="\x1b[31mred\nß", language="en")
        frontier.finish(taken, "done", 0.0, row=pack(row, taken.url.encode()[:20].ljust(20)))
    return frontier


def test_pages_of_a_running_crawl_are_shown_in_parts(
    frontier: LocalFrontier, scrapy: Scrapy, at_terminal: AtTerminal, into_head: IntoHead
) -> None:
    with frontier:
        shown = scrapy("pages", "--most", "10")
        assert shown.returncode == 0, shown.stderr
        assert "(10 rows)" in shown.stdout and "--skip 10" in shown.stdout
        rest = scrapy("pages", "--skip", "195").stdout
        assert "(5 rows)" in rest and "--skip" not in rest
        assert "(50 rows)" in scrapy("pages", "--host", "b.test").stdout
        assert "a.test" not in scrapy("pages", "--host", "b.test").stdout
        assert "(0 rows)" in scrapy("pages", "--status", "404").stdout
        screen = at_terminal("pages", columns=100)
        assert "\x1b[31m" not in screen.text and max(map(len, screen.lines)) <= 100
        head = into_head("pages", "--most", "200")
        assert (head.code, head.errors) == (0, "")


def test_a_crawl_without_rows(scrapy: Scrapy) -> None:
    crawled(scrapy, Parameters(levels=1), PAGES=0)
    assert "(0 rows)" in scrapy("pages").stdout
    assert "no archive" in scrapy("pages", "--analyse").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "pages.xlsx"], "-o wants a file that ends in .parquet, .csv, .jsonl"),
        (["--most", "-1"], "--most takes a number from 0 on"),
        (["--analyse", "--processes", "0"], "--processes takes a number from 1 on"),
        (["--host", "http://a.test/people"], "--host takes a host or domain such as example.org"),
        (["--host", "a.test:8123"], "--host takes a host or domain such as example.org"),
        (["--host", "a.test/people"], "--host takes a host or domain such as example.org"),
        (["nowhere"], "There is no frontier in nowhere"),
        (["unix:crawl.sock"], "name the directory"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    frontier: LocalFrontier, scrapy: Scrapy, arguments: list[str], words: str
) -> None:
    frontier.close()
    done = scrapy("pages", *arguments)
    assert done.returncode == 1
    assert words in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_is_not_installed_is_said_in_a_sentence(
    frontier: LocalFrontier, tmp_path: Path
) -> None:
    frontier.close()
    cases = (
        ("pyarrow", ["pages", "-o", "pages.parquet"], "Parquet needs pyarrow"),
        ("numpy", ["pages", "--analyse"], "Near copies need numpy"),
        ("numpy pyarrow pycld2 py3langid", ["pages", "-o", "pages.csv"], "200 pages written"),
        (
            "pycld2 py3langid",
            ["crawl", "rdfa", "-s", "PAGES_ANALYSE=during", "-a", "seeds=http://127.0.0.1:65001/"],
            "There is no detector of languages",
        ),
    )
    for missing, arguments, words in cases:
        program = (
            f"import sys; sys.modules.update(dict.fromkeys({missing.split()}))\n"
            f"from rdfaspider.__main__ import main; sys.argv[1:] = {arguments}; main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert words in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def test_a_damaged_analysis_is_refused(
    frontier: LocalFrontier, scrapy: Scrapy, tmp_path: Path
) -> None:
    frontier.close()
    texts = tmp_path / "crawl" / "pages" / "texts"
    texts.mkdir(parents=True)
    (texts / "000001.sst").write_bytes(b"x")
    done = scrapy("pages")
    assert done.returncode == 1
    assert "delete the directory" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["frontier", "frontier-1"])
def test_a_replicated_crawl_is_read_from_the_copy_in_its_directory(
    frontier: LocalFrontier, scrapy: Scrapy, tmp_path: Path, name: str
) -> None:
    frontier.close()
    (tmp_path / "crawl" / "frontier").rename(tmp_path / "crawl" / name)
    done = scrapy("pages", "--host", "b.test", FRONTIER_URL="redis://127.0.0.1:1/0")
    assert "(50 rows)" in done.stdout, done.stderr


def test_a_cluster_goes_over_all_shards_that_are_named(scrapy: Scrapy, tmp_path: Path) -> None:
    """Analyse two similar pages, each of a shard of its own."""
    sketch = bytes(range(256)) * (SIZE // 256) + bytes(SIZE % 256)
    analysed = []
    for number in range(2):
        path = str(tmp_path / f"shard{number}")
        with LocalFrontier(path, politeness=Politeness(delay=0.0), shard=(number, 2)) as frontier:
            frontier.put([f"http://shard{number}.test/"])
            taken = frontier.take(0.0)
            assert taken is not None
            digest = bytes([number + 1]) * 20
            row = pack(Row(200, "page", 1_790_000_000 + number, size=5), digest)
            frontier.finish(taken, "done", 0.0, row=row)
            analysed.append(Analysed(digest[:KEY], TextFacts("en", 99, 50), sketch, number + 1))
    directory = tmp_path / "crawl" / "pages"
    directory.mkdir(parents=True)
    with AnalysisTable(directory / TEXTS) as table:
        table.put(analysed)
        assert find_near_copies(table, directory) == 2
    both = [*records(scrapy, tmp_path, "shard0", "shard1").values()]
    assert [row["similarity"] for row in both] == [1.0, 1.0]
    assert len({row["cluster"] for row in both}) == 1
    alone = [*records(scrapy, tmp_path, "shard1").values()]
    assert [(row.get("cluster"), row.get("similarity")) for row in alone] == [(None, None)]
