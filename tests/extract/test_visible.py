"""The text that a browser shows: it is searched, its language is told and a sketch is made of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page, sync_playwright

from rdfaspider.extract import Extraction, Options, extract
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.pages.sketch import sketch_of

WORD = re.compile(r"\w+")
PAGE = """<html><head><title>no</title><style>no</style></head><body>One <b>two</b><script>no</script>
<p>three</p><noscript>no<noscript>no</noscript></noscript><template>no</template>four<!-- no -->
<svg><style>no</style><script>no<script>no</script></script><text>five</text></svg></body></html>"""


def analysed(body: bytes, content_type: str = "text/html") -> Extraction:
    return extract(body, "http://a.test/", content_type, Options(digest=True, analyse=True))


@pytest.mark.parametrize("content_type", ["text/html", "application/xhtml+xml"])
def test_what_is_not_seen_is_left_out(content_type: str) -> None:
    text = PAGE.replace("One", "One two three four five six seven eight nine ten eleven twelve")
    body = f"<!DOCTYPE html>{text}" if content_type == "text/html" else text
    facts = analysed(body.encode(), content_type).facts
    seen = "One two three four five six seven eight nine ten eleven twelve two three four five"
    assert not facts.errors and not facts.cuts
    assert facts.words == len(seen.split())
    assert bytes.fromhex(facts.sketch) == sketch_of(seen)[1]
    assert facts.detected == "en"
    assert facts.digest == sha1(body.encode()).hexdigest()


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ul><li>Recipe</li><li>Lemon</li></ul>", "Recipe Lemon"),
        ("<b>Re</b>cipe <i>f</i><em>or</em>", "Recipe for"),
        ("one<br/>two<hr/>three<img alt='x'/>four", "one two three four"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></table>d", "a b c d"),
        ("<div>a</div>b<p>c</p>d<h1>e</h1>", "a b c d e"),
        ("<a href='/x'>Wiki</a>s H<sub>2</sub>O sit<wbr/>uation", "Wikis H2O situation"),
        ("a<script>no</script>b<style>no</style>c<!-- no -->d", "abcd"),
        ("30<link rel='x' href='y'/>in 5<!-- -->%", "30in 5%"),
        ("a<noscript>no <p>no</p></noscript><p hidden=''>no <b>no</b></p>b", "ab"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢 kan"),
        ("<button>a</button><button>b</button>", "a b"),
        ("<p> a \n <span> b </span></p>", "a b"),
    ],
)
@pytest.mark.parametrize("content_type", ["text/html", "application/xhtml+xml"])
def test_words_are_parted_where_a_browser_shows_a_break(
    page: str, text: str, content_type: str
) -> None:
    space = 'xmlns="http://www.w3.org/1999/xhtml"'
    body = f"<html {space}><head><title>no</title></head><body>{page}</body></html>".encode()
    facts = extract(body, "http://a.test/", content_type, Options(text=100)).facts
    assert (facts.text, facts.cuts) == (text, {})


def test_as_much_text_is_given_as_was_asked_for() -> None:
    body = b"<style>" + b"p { color: red }" * 2000 + b"</style><p>" + b" \n" * 5000 + b"word " * 100
    assert extract(body, "http://a.test/", options=Options(text=12)).facts.text == "word word wo"


def test_nothing_is_found_out_unless_it_is_asked_for() -> None:
    facts = extract(PAGE.encode(), "http://a.test/").facts
    assert (facts.digest, facts.detected, facts.words, facts.sketch) == ("", "", 0, "")
    assert analysed(b"").facts.digest == ""


@pytest.fixture
def browser() -> Iterator[Page]:
    """A browser without scripts, which therefore shows what is for readers without them."""
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("no chromium: make .cache/chromium.ready installs it")
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = opened.new_context(java_script_enabled=False, offline=True).new_page()
        page.route("**/*", lambda route: route.abort())
        yield page
        opened.close()


def test_the_first_words_that_a_browser_shows_of_real_pages_are_there(
    browser: Page, vectors: Path
) -> None:
    for path in sorted((vectors / "pages").rglob("*.html")):
        body = path.read_bytes()
        text = extract(body, "http://a.test/", options=Options(text=5000)).facts.text
        page = re.sub("<noscript.*?</noscript>", "", body.decode(errors="replace"), flags=re.S)
        browser.set_content(page, wait_until="domcontentloaded")
        shown = WORD.findall(browser.inner_text("body"))
        found = set(WORD.findall(text))
        assert sum(word in found for word in shown[:300]) >= 0.98 * len(shown[:300]), path
        document = HtmlDocument(body, frozenset(), 1000)._tree
        code = {
            word for each in document.select("style,script") for word in WORD.findall(each.text)
        }
        code -= set(WORD.findall(document.select("body")[0].remove("style,script").text))
        assert code.isdisjoint(found), path


TAGS = ("noscript", "script", "style", "template", "svg", "p", "title", "math", "table")
pieces = st.lists(
    st.sampled_from([*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), "w "]),
    max_size=60,
)


@given(pieces)
def test_any_nesting_is_taken_apart(words: list[str]) -> None:
    document = HtmlDocument("".join(words).encode(), frozenset(), 1000)
    document.visible_text()
    for tag in ("noscript", "script", "style"):
        assert not document._tree.select(f"body {tag}")
