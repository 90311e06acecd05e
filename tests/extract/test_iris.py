from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from rdfaspider.extract.triples.iris import Base, term

# RFC 3986, section 5.4
EXAMPLES = {
    "g:h": "g:h",
    "g": "http://a/b/c/g",
    "./g": "http://a/b/c/g",
    "g/": "http://a/b/c/g/",
    "/g": "http://a/g",
    "//g": "http://g",
    "?y": "http://a/b/c/d;p?y",
    "g?y": "http://a/b/c/g?y",
    "#s": "http://a/b/c/d;p?q#s",
    "g#s": "http://a/b/c/g#s",
    "g?y#s": "http://a/b/c/g?y#s",
    ";x": "http://a/b/c/;x",
    "g;x": "http://a/b/c/g;x",
    "g;x?y#s": "http://a/b/c/g;x?y#s",
    "": "http://a/b/c/d;p?q",
    ".": "http://a/b/c/",
    "./": "http://a/b/c/",
    "..": "http://a/b/",
    "../": "http://a/b/",
    "../g": "http://a/b/g",
    "../..": "http://a/",
    "../../": "http://a/",
    "../../g": "http://a/g",
    "../../../g": "http://a/g",
    "../../../../g": "http://a/g",
    "/./g": "http://a/g",
    "/../g": "http://a/g",
    "g.": "http://a/b/c/g.",
    ".g": "http://a/b/c/.g",
    "g..": "http://a/b/c/g..",
    "..g": "http://a/b/c/..g",
    "./../g": "http://a/b/g",
    "./g/.": "http://a/b/c/g/",
    "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h",
    "g;x=1/./y": "http://a/b/c/g;x=1/y",
    "g;x=1/../y": "http://a/b/c/y",
    "g?y/./x": "http://a/b/c/g?y/./x",
    "g?y/../x": "http://a/b/c/g?y/../x",
    "g#s/./x": "http://a/b/c/g#s/./x",
    "http://example.org": "http://example.org",
    "http://example.org/a/../b": "http://example.org/b",
}


@pytest.mark.parametrize(("reference", "target"), EXAMPLES.items())
def test_examples_of_rfc_3986(reference: str, target: str) -> None:
    assert Base("http://a/b/c/d;p?q#f", 100).resolve(reference) == target
    assert Base("http://a/b/c/d;p?q#f", 100).term(f" {reference}\n") == f"<{target}>"


@pytest.mark.parametrize(
    ("iri", "expected"),
    [
        ("http://a/x y", "<http://a/x%20y>"),
        ("http://a/100%", "<http://a/100%25>"),
        ("http://a/%C3%A9é", "<http://a/%C3%A9é>"),
        ("http://a/{x}|", "<http://a/%7Bx%7D%7C>"),
        ("http://[bad/", None),
        ("no scheme", None),
        ("http://a/" + "x" * 100, None),
    ],
)
def test_terms_are_valid_or_none(iri: str, expected: str | None) -> None:
    assert term(iri, 100) == expected


@given(
    st.text(alphabet="ab:/?#.%[]@é _-\\", max_size=20), st.sampled_from(["http://a/b/c", "urn:x:y"])
)
def test_a_term_is_always_a_valid_iri(reference: str, base: str) -> None:
    found = Base(base, 8192).term(reference)
    assert found is None or str(NamedNode(found[1:-1])) == found


@given(
    st.text(alphabet="ab:/?#.%é _-~", max_size=12),
    st.sampled_from(["http://a/b/c", "http://a", "http://a/x y", "http://a/b/../c?q", "urn:x:y"]),
)
def test_references_that_need_no_work_come_out_as_others(reference: str, base: str) -> None:
    resolved = Base(base, 8192).resolve(reference.strip(" \t\n\r\f"))
    assert Base(base, 8192).term(reference) == term(resolved, 8192)


def test_a_fragment_counts_with_its_page() -> None:
    assert Base("http://a/b", 12).term("#c") == "<http://a/b#c>"
    assert Base("http://a/b", 11).term("#c") is None
