"""A thing and a page, as a store has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdfaspider.items import Page, Source
from rdfaspider.search.looking import look_at_page, look_at_thing
from rdfaspider.stores import open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.provenance import crawl_graph, provenance
from tests.search.conftest import SCHEMA, A, B, triples
from tests.stores.conftest import url_of

CAKE = f"{A}#cake"
RECORD = Source("urn:uuid:0-1", "a.warc.gz", 1234, 567, "sha1:x", 1_700_000_000.0)


@pytest.fixture(params=["oxigraph", "rdf4j"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    url = url_of(request.param, request, tmp_path)
    author = f"<{CAKE}> <{SCHEMA}author> _:ann .\n".encode()
    cake = triples(CAKE, "Recipe", name="Lemon cake") + author + triples("_:ann", name="Ann")
    other = triples(CAKE, name="That cake") + f"<{B}> <{SCHEMA}mentions> <{CAKE}> .\n".encode()
    page = Page(A, 0, status=200, fetched=1_700_000_001.0, source=RECORD)
    page.nquads = b"x\n"
    crawl = crawl_graph("crawl")
    with open_store(url) as store:
        store.write([Change(A, cake, 4), Change(B, other, 2)])
        store.write(Change.adding(provenance(page, A, crawl, 0.0)))
    return url


def test_a_thing_has_what_each_page_says_of_it(url: str) -> None:
    with open_store(url, read_only=True) as store:
        found = look_at_thing(store, CAKE)
    said = {page["page"]: page for page in found["pages"]}
    assert set(said) == {A, B}
    assert [each["predicate"] for each in said[A]["said"]] == [
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
        f"{SCHEMA}author",
        f"{SCHEMA}name",
    ]
    ((author,),) = (e["values"] for e in said[A]["said"] if e["predicate"] == f"{SCHEMA}author")
    assert author == {
        "kind": "blank",
        "said": [
            {"predicate": f"{SCHEMA}name", "values": [{"kind": "literal", "value": "Ann"}]},
        ],
    }
    assert found["mentions"] == [
        {"page": B, "subject": {"kind": "iri", "value": B}, "predicate": f"{SCHEMA}mentions"}
    ]
    (fetch,) = said[A]["fetches"]
    assert fetch["time"].startswith("2023-11-14T22:13:20")
    assert fetch["status"] == "200"
    assert said[A]["record"]["file"] == "a.warc.gz"
    assert said[A]["record"]["offset"] == "1234"
    assert (said[B]["fetches"], said[B]["record"]) == ([], None)


def test_a_page_has_its_things(url: str) -> None:
    with open_store(url, read_only=True) as store:
        found = look_at_page(store, A)
        nothing = look_at_page(store, "http://nowhere.test/")
    assert found["statements"] == 4
    assert [each["thing"]["value"] for each in found["things"]] == [CAKE]
    assert nothing["things"] == []


@pytest.mark.parametrize("iri", ["", "x", "http://a/> } #", "http://a b", 'http://"', "javascript"])
def test_what_is_no_iri_does_not_reach_a_query(url: str, iri: str) -> None:
    with open_store(url, read_only=True) as store, pytest.raises(ValueError, match="not an IRI"):
        look_at_thing(store, iri)


def test_rings_and_many_statements_end(tmp_path: Path) -> None:
    ring = f"_:a <{SCHEMA}knows> _:b .\n_:b <{SCHEMA}knows> _:a .\n".encode()
    many = b"".join(triples(f"{B}#x", name=str(number)) for number in range(900))
    with open_store(str(tmp_path / "store")) as store:
        store.write([Change(A, ring, 2), Change(B, many, 900)])
        assert len(look_at_page(store, A)["things"]) == 1
        found = look_at_page(store, B)
        assert found["is_cut"]
        assert len(found["things"][0]["said"][0]["values"]) == 500
