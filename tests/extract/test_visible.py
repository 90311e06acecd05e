"""The text that a reader sees, of which the language is told and a sketch is made."""

from __future__ import annotations

from hashlib import sha1

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.extract import Extraction, Options, extract
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.pages.sketch import sketch_of

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


def test_nothing_is_found_out_unless_it_is_asked_for() -> None:
    facts = extract(PAGE.encode(), "http://a.test/").facts
    assert (facts.digest, facts.detected, facts.words, facts.sketch) == ("", "", 0, "")
    assert analysed(b"").facts.digest == ""


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
