from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from rdfaspider.urls import as_linked, normalise, to_iri, without_userinfo


@pytest.mark.parametrize(
    ("url", "iri"),
    [
        ("http://a.test/b?c=d%20e", "http://a.test/b?c=d%20e"),
        ("http://a.test/100%", "http://a.test/100%25"),
        ("http://a.test/?q={x}|y^z", "http://a.test/?q=%7Bx%7D%7Cy%5Ez"),
        ("http://a.test/[x]", "http://a.test/%5Bx%5D"),
        ("http://[::1]/[x]", "http://[::1]/%5Bx%5D"),
        ("http://a.test/%zz%41", "http://a.test/%25zz%41"),
        ("http://me:secret@a.test:8080/b", "http://a.test:8080/b"),
        ("http://secret@[::1]/b@c", "http://[::1]/b@c"),
        ("http://me:p@ss@a.test/", "http://a.test/"),
        ("http://a.test/@me?mail=you@b.test", "http://a.test/@me?mail=you@b.test"),
    ],
)
def test_examples(url: str, iri: str) -> None:
    assert to_iri(url) == iri
    NamedNode(iri)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20))
def test_every_normalised_url_has_a_name(path: str) -> None:
    try:
        url = normalise(f"http://a.test/{path}")
    except ValueError:
        return
    assert to_iri(to_iri(url)) == to_iri(url)
    NamedNode(to_iri(url))


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("http://me:secret@a.test", "http://a.test"),
        ("http://a.test?q=x://me@b", "http://a.test?q=x://me@b"),
        ("http://a.test#x@y", "http://a.test#x@y"),
        ("mailto:me@a.test", "mailto:me@a.test"),
    ],
)
def test_a_password_is_left_out_of_any_url(url: str, public: str) -> None:
    assert without_userinfo(url) == public


@pytest.mark.parametrize(
    ("url", "page", "expected"),
    [
        ("http://admin:pass7@victim.test/x", "http://a.test/", "http://victim.test/x"),
        ("http://admin@a.test/x", "http://a.test/", "http://a.test/x"),
        ("http://me:mine@a.test/x", "http://me:mine@a.test/y", "http://me:mine@a.test/x"),
        ("http://me:mine@b.test/x", "http://me:mine@a.test/y", "http://b.test/x"),
        ("http://a.test/@me", "http://a.test/", "http://a.test/@me"),
    ],
)
def test_a_page_cannot_make_the_crawl_send_passwords(url: str, page: str, expected: str) -> None:
    assert as_linked(url, page) == expected
