from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from tests.conftest import Scrapy

PAGE = '<p about="/a" property="schema:name">One</p> <a href="/b">b</a>'
QUAD = '<http://a.test/a> <http://schema.org/name> "One" <http://a.test/> .\n'


def test_standard_input_with_a_base(scrapy: Scrapy) -> None:
    result = scrapy("extract", "-", "--base", "http://a.test/", stdin=PAGE)
    assert result.stdout == QUAD
    assert result.stderr == "1 triples, 1 links in http://a.test/\n"


def test_a_file(scrapy: Scrapy, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    assert scrapy("extract", "page.html", "--base", "http://a.test/").stdout == QUAD
    assert "<file:///" in scrapy("extract", "page.html").stdout


def test_turtle_and_json(scrapy: Scrapy) -> None:
    arguments = ("extract", "-", "--base", "http://a.test/", "--format")
    assert 'schema:name "One"' in scrapy(*arguments, "turtle", stdin=PAGE).stdout
    assert "http://a.test/a" in json.dumps(
        json.loads(scrapy(*arguments, "jsonld", stdin=PAGE).stdout)
    )


def test_a_url(scrapy: Scrapy) -> None:
    parameters = Parameters(rdfa=1, jsonld=0, microdata=0)
    with running(parameters) as origin:
        result = scrapy("extract", f"{origin}/")
    quads = Oracle(Web(parameters)).triples(f"{origin}/")
    assert len(result.stdout.splitlines()) == len(quads) > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.html"], "No such file"),
        (["http://127.0.0.1:1/"], "refused"),
        (["-", "--base", "nonsense"], "Not a URL"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, arguments: list[str], sentence: str
) -> None:
    result = scrapy("extract", *arguments)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_explain_says_what_was_found_and_dropped(scrapy: Scrapy) -> None:
    page = PAGE + '<p id="p" role="note"><a href="mailto:x">x</a><title>T</title>'
    arguments = ("extract", "-", "--base", "http://a.test/", "--explain")
    result = scrapy(*arguments, stdin=page, EXTRACT_ROLE=True)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "title T" in lines
    assert "links 1" in lines
    assert "rdfa 2 triples" in lines
    assert "left out: invalid_links 1" in lines
    assert "a crawl drops: role 1" in lines
