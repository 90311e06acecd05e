"""JSON-LD in pages: what authors write, what contexts mean, and what hostile blocks cost."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.extract import Extraction, Limits, Options, extract
from rdfaspider.extract.jsonld import text as jsontext

URL = "http://site.example/dir/page.html"
SCHEMA = "http://schema.org/"
OPTIONS = Options(formats=frozenset(("jsonld",)))
SECONDS = 10.0  # each hostile block takes under four on an idle core; a quadratic one takes minutes


def read(*texts: str, kind: str = "application/ld+json", options: Options = OPTIONS) -> Extraction:
    scripts = "".join(f'<script type="{kind}">{text}</script>' for text in texts)
    return extract(f"<!DOCTYPE html><title>x</title>{scripts}".encode(), URL, options=options)


def lines(value: Any) -> set[str]:
    """Returns the triples of a block, its blank nodes all written as _:b."""
    text = value if isinstance(value, str) else json.dumps(value)
    found = set()
    for quad in read(text).quads:
        words = str(quad.triple).split(" ")
        found.add(" ".join("_:b" if word.startswith("_:") else word for word in words))
    return found


@pytest.mark.parametrize(
    "link",
    [
        "http://schema.org",
        "https://schema.org/",
        "https://www.schema.org",
        "HTTP://Schema.org/",
        "schema.org",
        "//schema.org",
        " https://schema.org ",
        "https://schema.org/Product",
        "https://schema.org/docs/jsonldcontext.jsonld",
    ],
)
def test_schema_org_is_known_by_all_its_names(link: str) -> None:
    assert lines({"@context": link, "name": "x"}) == {f'_:b <{SCHEMA}name> "x"'}


@pytest.mark.parametrize("link", ["https://schema.organic/", "https://notschema.org/"])
def test_other_hosts_are_not_schema_org(link: str) -> None:
    assert read(json.dumps({"@context": link, "name": "x"})).quads == []


def test_schema_org_coerces_links_and_dates() -> None:
    block = {
        "@context": "https://schema.org",
        "url": "/a",
        "datePublished": "2020-01-01",
        "name": "http://site.example/b",
        "schema:sku": 1,
    }
    assert lines(block) == {
        f"_:b <{SCHEMA}url> <http://site.example/a>",
        f'_:b <{SCHEMA}datePublished> "2020-01-01"^^<{SCHEMA}Date>',
        f'_:b <{SCHEMA}name> "http://site.example/b"',
        f'_:b <{SCHEMA}sku> "1"^^<http://www.w3.org/2001/XMLSchema#integer>',
    }


def test_activitystreams_and_security_are_bundled() -> None:
    block = {
        "@context": ["https://www.w3.org/ns/activitystreams", "https://w3id.org/security/v1"],
        "id": "http://e/u",
        "inbox": "http://e/in",
        "publicKey": {"id": "http://e/k"},
    }
    assert lines(block) == {
        "<http://e/u> <http://www.w3.org/ns/ldp#inbox> <http://e/in>",
        "<http://e/u> <https://w3id.org/security#publicKey> <http://e/k>",
    }


def test_a_vocabulary_stands_for_a_context() -> None:
    block = {"@context": "http://xmlns.com/foaf/0.1/", "name": "x"}
    assert lines(block) == {'_:b <http://xmlns.com/foaf/0.1/name> "x"'}


def test_unknown_context_is_counted_and_costs_only_what_it_explains() -> None:
    block = {"@context": "http://e/unknown", "@type": "T", "name": "x", "http://e/p": "y"}
    extraction = read(json.dumps(block))
    assert [str(quad.predicate) for quad in extraction.quads] == ["<http://e/p>"]
    assert extraction.facts.cuts == {"jsonld unknown context": 1}


def test_unknown_context_beside_a_known_one_costs_nothing() -> None:
    block = {"@context": ["https://schema.org", "http://e/unknown"], "name": "x"}
    assert lines(block) == {f'_:b <{SCHEMA}name> "x"'}


@pytest.mark.parametrize(
    "text",
    [
        '<!-- {"http://e/p": "x"} -->',
        '//<![CDATA[\n{"http://e/p": "x"}\n//]]>',
        '/* <![CDATA[ */ {"http://e/p": "x"} /* ]]> */',
        '\ufeff{"http://e/p": "x"};',
        '{"http://e/p": ["x",],}',
        '{"http://e/p": "x", // why\n}',
        '/* what */ {"http://e/p": "x"}',
        '<!-- why --> {"http://e/p": "x"} <!-- end -->',
        '{"http://e/p": <!-- why --> "x"}',
        '//<![CDATA[ {"http://e/p": [["x"]]} //]]>',
        '<![CDATA[{"http://e/p": "x"}]]>',
        '{"http://e/p": "x",,"http://e/q": [],}',
        '{,"http://e/p": [,"x",,];};',
        '\u2028{\u00a0"http://e/p"\u200b:\u2003"x"\ufeff}',
        '{"http://e/q": []"http://e/p": "x"}',
        "{'http://e/p': 'x'}",
        '# why\n{"http://e/p": "x"}',
    ],
)
def test_usual_mistakes_are_repaired_and_counted(text: str) -> None:
    assert lines(text) == {'_:b <http://e/p> "x"'}
    assert read(text).facts.warnings == {"RepairedJson": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"http://e/p": "it\'s"}', "it's"),
        ('{"http://e/p": "a\nb"}', "a\nb"),
        (r'{"http://e/p": "\ud800"}', "\ufffd"),
        (r'{"http://e/p": "a\u0000"}', "a\x00"),
        ('{"http://e/p": "//, ]", }', "//, ]"),
        ('<!-- {"http://e/p": "a --> b"} -->', "a --> b"),
        (
            '{"http://e/p": "\u00a0,,;\u2028<!-- x -->[]{}]]>#\u200b",, }',
            "\u00a0,,;\u2028<!-- x -->[]{}]]>#\u200b",
        ),
        (r"{'http://e/p': 'it\'s \"x\"'}", 'it\'s "x"'),
        (r'{"http://e/p": "C:\\",,}', "C:\\"),
        ('{"http://e/p": "x", "http://e/p": "y"}', "y"),
    ],
)
def test_strings_come_through(text: str, value: str) -> None:
    assert [quad.object.value for quad in read(text).quads] == [value]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "kind", ["APPLICATION/LD+JSON", "application/ld+json; profile=x", " application/ld+json "]
)
def test_type_is_read_as_a_media_type(kind: str) -> None:
    assert len(read('{"http://e/p": 1}', kind=kind).quads) == 1
    assert read('{"http://e/p": 1}', kind="application/json").quads == []


def test_a_bad_block_costs_no_other() -> None:
    extraction = read('{"http://e/p": 1}', "{", '{"@id": 5, "http://e/p": 2}', '{"http://e/p": 3}')
    assert sorted(quad.object.value for quad in extraction.quads) == ["1", "2", "3"]  # type: ignore[union-attr]
    assert extraction.facts.cuts == {"jsonld syntax": 1, "jsonld invalid": 1}


def test_blank_nodes_differ_between_blocks_and_not_between_runs() -> None:
    texts = ('{"@id": "_:a", "http://e/p": 1}', '{"@id": "_:a", "http://e/p": {"http://e/p": 2}}')
    quads = read(*texts).quads
    assert len({str(quad.subject) for quad in quads}) == 3
    assert quads == read(*texts).quads


def test_named_graphs_become_statements_of_the_page() -> None:
    block = {"@id": "http://e/g", "@graph": [{"@id": "http://e/s", "http://e/p": "x"}]}
    (quad,) = read(json.dumps(block)).quads
    assert str(quad) == f'<http://e/s> <http://e/p> "x" <{URL}>'


def test_addresses_are_encoded_as_a_browser_does() -> None:
    block = {"@context": "https://schema.org", "image": ["http://e/a b.jpg"], "@id": "/c d"}
    (line,) = lines(block)
    assert line == f"<http://site.example/c%20d> <{SCHEMA}image> <http://e/a%20b.jpg>"


def test_limits_hold_for_terms_and_statements() -> None:
    text = json.dumps([{"http://e/p": "x" * n} for n in range(1, 20)])
    options = Options(formats=frozenset(("jsonld",)), limits=Limits(quads=5, literal=10))
    extraction = read(text, options=options)
    assert len(extraction.quads) == 5
    assert extraction.facts.cuts == {"quads": 1}
    few = read(json.dumps({"http://e/p": ["x" * 11, "x"]}), options=options)
    assert few.facts.cuts == {"literal": 1}
    assert len(few.quads) == 1


def nested(start: str, middle: str, end: str, depth: int = 100_000) -> str:
    return start * depth + middle + end * depth


def shallow(start: str, end: str) -> str:
    """Returns a block of many values that are each nested as deep as is allowed."""
    one = nested(start, "{}", end, 28)
    return f"[{','.join([one] * (1_000_000 // len(one)))}]"


TERMS = {f"t{n}": f"http://e/{n}" for n in range(900)}
SCOPED = {name: {"@id": iri, "@context": {"x": "http://e/x"}} for name, iri in TERMS.items()}
HOSTILE: dict[str, tuple[str, str]] = {
    "arrays": (nested("[", "", "]"), "jsonld syntax"),
    "objects": (nested('{"http://e/p":', "1", "}"), "jsonld syntax"),
    "open arrays": ("[" * 100_000, "jsonld syntax"),
    "deep": (nested('{"http://e/p":', "1", "}", 300), "jsonld depth"),
    "deep contexts": (
        nested('{"@context":{"p":{"@id":"http://e/p","@context":', "{}", "}}}", 100),
        "jsonld depth",
    ),
    "graphs": (shallow('{"@graph":[', "]}"), ""),
    "included": (shallow('{"@included":', "}"), ""),
    "huge number": (f'{{"http://e/p": {"9" * 1_000_000}}}', ""),
    "huge exponent": (f'{{"http://e/p": 1e{"9" * 100_000}}}', ""),
    "terms in a chain": (
        json.dumps({"@context": {f"a{n}": f"a{n + 1}:x" for n in range(50_000)}, "a0": 1}),
        "jsonld contexts",
    ),
    "many contexts": (
        json.dumps({"@context": ["https://schema.org"] * 100_000}),
        "jsonld contexts",
    ),
    "growing base": (json.dumps({"@context": [{"@base": "a/b/"}] * 100_000}), "jsonld contexts"),
    "changes of context": (
        json.dumps({"@context": TERMS, "@graph": [{"@context": {}, "t1": 1}] * 20_000}),
        "jsonld contexts",
    ),
    "scoped contexts": (
        json.dumps({"@context": SCOPED, "@graph": [{"@type": list(SCOPED)}] * 100}),
        "jsonld contexts",
    ),
    "long names": (
        json.dumps(
            {"@context": {"p": f"http://e/{'x' * 8_000}/"}, **{f"p:{n}": 1 for n in range(9_999)}}
        ),
        "output",
    ),
    "faults": (json.dumps([{"@id": 5}] * 100_000), "jsonld invalid"),
    "open string": ('"' + '\\"' * 1_000_000, "jsonld syntax"),
    "open comments": ("/*" * 1_000_000, "jsonld syntax"),
    "long literal": (f'{{"http://e/p": "{"x" * 4_000_000}"}}', "literal"),
    "numbers": (json.dumps({"http://e/p": list(range(300_000))}), "quads"),
    "too many values": (json.dumps([1] * 1_000_000), "jsonld size"),
    "context of itself": ('{"@context": {"@import": "http://e/x"}}', "jsonld unknown context"),
}


@pytest.mark.parametrize(("text", "cut"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_block_ends_and_says_what_was_cut(text: str, cut: str) -> None:
    start = time.process_time()
    extraction = read(text, '{"http://e/p": "after"}')
    assert time.process_time() - start < SECONDS
    assert not cut or extraction.facts.cuts[cut]
    is_full = cut in ("output", "quads")
    assert is_full or any(quad.object.value == "after" for quad in extraction.quads)  # type: ignore[union-attr]


def test_only_so_many_blocks_are_read() -> None:
    block = '{"@context": "https://schema.org", "name": "x"}'
    start = time.process_time()
    extraction = read(*[block] * 40_000)
    assert time.process_time() - start < SECONDS
    assert extraction.facts.cuts == {"jsonld blocks": 1}
    assert len(extraction.quads) == 2_000


def test_nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    read('{"@context": "https://schema.org", "name": "x"}')  # the bundled context is read once

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it must not be opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    links = ["https://schema.org", "file:///etc/passwd", "http://127.0.0.1/", "http://e/c"]
    for link in links:
        read(json.dumps({"@context": link, "name": "x"}))
        read(json.dumps({"@context": {"@import": link}, "name": "x"}))


@given(st.text())
def test_no_text_raises(text: str) -> None:
    read(text)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["@id", "@type", "@context", "@graph", "@value", "@list", "@reverse", "name"]
            ),
            inner,
            max_size=3,
        )
    ),
)


@given(JSON)
def test_no_json_raises(value: Any) -> None:
    read(json.dumps({"@context": "https://schema.org", "@graph": value}))
    read(json.dumps(value))


@given(JSON)
def test_repair_leaves_good_json_alone(value: Any) -> None:
    text = json.dumps(value)
    assert jsontext.loads(jsontext.repaired(text)) == jsontext.loads(text)
