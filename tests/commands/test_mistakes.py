"""Mistakes of somebody who types `rdfaspider …` in an empty directory: each is answered by what to type."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider import __version__
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import open_store

Run = Callable[..., subprocess.CompletedProcess[str]]
PROJECT = Path(__file__).parents[2]
NO_SUCH = "http://no-such-name.invalid/"


@pytest.fixture
def rdfaspider(tmp_path: Path) -> Run:
    """Run `rdfaspider …` by a script of this name, as pip installs it."""
    script = tmp_path / "bin" / "rdfaspider"
    script.parent.mkdir()
    script.write_text("from rdfaspider.__main__ import main\nmain()\n")
    (tmp_path / "empty").mkdir()

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(script), *arguments],
            cwd=tmp_path / "empty",
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return run


CRAWL = ("crawl", "rdfa", "-a", "seeds=http://127.0.0.1:1/")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["crawl"], 2, "rdfaspider: error: give a spider: rdfa"),
        (["crawl", "rdf"], 1, "rdfaspider crawl: there is no spider rdf: did you mean rdfa?"),
        (["crawl", "x"], 1, "rdfaspider crawl: there is no spider x: rdfaspider list names them."),
        (
            ["crawl", "rdfa", "http://a.test/", "http://b.test/"],
            2,
            "URLs are given with -a: rdfaspider crawl rdfa -a seeds=http://a.test/,http://b.test/",
        ),
        (["crawl", "http://a.test/"], 2, "with -a: rdfaspider crawl rdfa -a seeds=http://a.test/"),
        ([*CRAWL, "-s", "SPIDER_MIDDLEWARES=x"], 2, "SPIDER_MIDDLEWARES must be a dictionary in"),
        (["sparql", "ASK {}", "-s", "FEEDS=x"], 2, "error: FEEDS must be a dictionary in JSON"),
        ([*CRAWL, "-s", "FEEDS"], 2, "Invalid -s value, use -s NAME=VALUE"),
        ([*CRAWL, "-s", "FRONTER_ORDER=x"], 1, "rdfaspider: FRONTER_ORDER is not a setting: did"),
        (["sparql", "ASK {}"], 1, "rdfaspider sparql: There is no store in crawl/store"),
        (["seeds", "add", "x"], 1, "rdfaspider crawl rdfa -a seeds=…."),
        (["report", "x"], 2, "  rdfaspider report [options]"),
    ],
)
def test_the_answer_is_what_to_type(
    rdfaspider: Run, arguments: list[str], code: int, sentence: str
) -> None:
    result = rdfaspider(*arguments)
    assert result.returncode == code
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert not re.search(r"scrapy [a-z]", result.stderr)


def test_help_and_version_name_the_program(rdfaspider: Run) -> None:
    for arguments in ([], ["crawl", "-h"], ["list", "-h"], ["nonsense"]):
        shown = rdfaspider(*arguments).stdout
        assert "rdfaspider" in shown
        assert not re.search(r"scrapy [a-z<]|\"scrapy", shown), arguments
    assert rdfaspider("version").stdout.startswith(f"rdfaspider {__version__}\nScrapy ")


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("SELECT ?n { ?s foo:name ?n }", "after SELECT ?n { ?s foo:name: Prefix not found."),
        ("SELECT ?n {\n ?s schema:name ?n ; }}", "in line 2, after ?s schema:name ?n ; }}."),
        ("SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o }", "contains a variable that is unbound."),
        ("nonsense {", "The query is wrong in line 1, "),
    ],
)
def test_a_wrong_query_is_answered_by_one_short_line(
    rdfaspider: Run, tmp_path: Path, query: str, fault: str
) -> None:
    with open_store(str(tmp_path / "empty" / "crawl" / "store")):
        pass
    result = rdfaspider("sparql", query)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.endswith(f"{fault}\n") or fault in result.stderr
    assert len(result.stderr) < 150


def test_queries_know_the_prefixes_that_search_knows(rdfaspider: Run, tmp_path: Path) -> None:
    page, name = NamedNode("http://a.test/"), NamedNode("http://schema.org/name")
    with open_store(str(tmp_path / "empty" / "crawl" / "store")) as store:
        store.replace(page.value, [Quad(page, name, Literal("one"), page)])
    for query in (
        "SELECT ?n { ?s schema:name ?n }",
        "PREFIX schema: <http://schema.org/> SELECT ?n { ?s schema:name ?n }",
        "PREFIX foaf: <http://schema.org/> SELECT ?n { ?s foaf:name ?n } # og:type",
    ):
        assert rdfaspider("sparql", query).stdout == "n\n---\none\n(1 row)\n"
    written = rdfaspider(
        "export", "--construct", "CONSTRUCT { ?s og:title ?n } { ?s schema:name ?n }"
    )
    assert '<http://ogp.me/ns#title> "one"' in written.stdout, written.stderr


@pytest.mark.slow
def test_a_seed_without_an_address_is_named_at_once_and_forgotten(rdfaspider: Run) -> None:
    contact = ("-s", "POLITENESS_CONTACT=mailto:me@a.test")
    mistyped = rdfaspider("crawl", "rdfa", "-a", f"seeds={NO_SUCH}", *contact)
    assert mistyped.returncode == 1
    assert f"The seed {NO_SUCH} cannot be fetched: its name has no address." in mistyped.stderr
    found = re.search(r"gave up, as no server answered, after 0:(\d\d),", mistyped.stderr)
    assert found, mistyped.stderr
    assert int(found[1]) < 15
    assert "Resume it:" not in mistyped.stderr
    with running(Parameters(levels=0)) as origin:
        right = rdfaspider("crawl", "rdfa", "-a", f"seeds={origin}/", "-s", "POLITENESS_DELAY=0")
    assert "1 URL = 1 done + 0 failed + 0 denied + 0 waiting" in right.stderr
    assert "Resuming" not in right.stderr


@pytest.mark.slow
def test_a_crawl_that_was_begun_before_is_not_forgotten(rdfaspider: Run) -> None:
    speed = ("-s", "POLITENESS_DELAY=0", "-s", "CLOSESPIDER_PAGECOUNT=1")
    with running(Parameters(levels=1, pages=2)) as origin:
        rdfaspider("crawl", "rdfa", "-a", f"seeds={origin}/", *speed)
    gone = rdfaspider("crawl", "rdfa", "-a", f"seeds={origin}/new", *speed)
    assert "run the same command to resume." in gone.stderr
    assert "Resume it: " in gone.stderr
    assert " 1 done" in rdfaspider("frontier").stdout
