"""What a page says, as things."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.search.things import Thing, read
from tests.search.conftest import SCHEMA, A, triples

NAME = f"<{SCHEMA}name>"


def test_a_thing_has_its_name_types_and_words() -> None:
    said = read(A, triples(f"{A}#x", "Recipe", description="Much butter", name="Cake"))
    assert said.things == [Thing(f"{A}#x", "Cake", (f"{SCHEMA}Recipe",), "Much butter")]
    assert said.predicates[f"{SCHEMA}name"] == 1
    assert said.predicates.total() == 3


def test_the_best_name_wins_and_the_others_are_words() -> None:
    label = b'<%s#x> <http://www.w3.org/2000/01/rdf-schema#label> "label" .\n' % A.encode()
    for order in (label + triples(f"{A}#x", name="name"), triples(f"{A}#x", name="name") + label):
        (thing,) = read(A, order).things
        assert (thing.name, thing.words) == ("name", "label")


def test_words_of_blank_nodes_belong_to_the_thing_that_leads_to_them() -> None:
    link = f"<{A}#x> <{SCHEMA}author> _:a .\n_:a <{SCHEMA}address> _:b .\n".encode()
    said = read(
        A,
        link
        + triples(f"{A}#x", name="Cake")
        + triples("_:a", "Person", name="Ann")
        + triples("_:b", city="Rome"),
    )
    assert said.things == [
        Thing(f"{A}#x", "Cake", (), "Ann · Rome"),
        Thing("", "Ann", (f"{SCHEMA}Person",), "Rome"),
    ]


def test_blank_nodes_in_a_ring_end() -> None:
    ring = f"_:a <{SCHEMA}knows> _:b .\n_:b <{SCHEMA}knows> _:a .\n".encode()
    said = read(A, ring + triples("_:a", name="Ann") + triples("_:b", name="Bob"))
    assert [thing.words for thing in said.things] == ["Bob", "Ann"]


def test_a_page_has_its_title_and_text() -> None:
    assert read(A, b"", "Title", "The\n text").things == [Thing(A, "Title", (), "The text")]
    (thing,) = read(A, triples(A, "WebPage", headline="Headline"), "Title", "Text").things
    assert thing == Thing(A, "Title", (f"{SCHEMA}WebPage",), "Headline · Text")
    (thing,) = read(A, triples(A, name="Name"), "Title", "Text").things
    assert thing == Thing(A, "Name", (), "Text")


def test_numbers_dates_and_tags_are_no_words() -> None:
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    html = "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML"
    text = (
        f'<{A}> <{SCHEMA}a> "42"^^<{integer}> .\n'
        f'<{A}> <{SCHEMA}b> "<b onclick=x>bold</b> text"^^<{html}> .\n'
        f'<{A}> <{SCHEMA}c> "<5 minutes"@en .\n'
    )
    (thing,) = read(A, text.encode()).things
    assert thing.words == "bold text · <5 minutes"


def test_a_hostile_page_is_cut() -> None:
    many = b"".join(triples(f"{A}#{number}", name="x" * 5000) for number in range(2000))
    said = read(A, many)
    assert len(said.things) <= 1000
    assert all(len(thing.name) <= 200 for thing in said.things)
    long = b"".join(triples(A, **{f"p{number}": f"{number} " + "x" * 9000}) for number in range(99))
    assert sum(len(thing.words) for thing in read(A, long).things) <= 20_000


def test_what_cannot_be_parsed_ends_the_page() -> None:
    said = read(A, triples(A, name="fine") + b"broken\n" + triples(f"{A}#x", name="lost"))
    assert [thing.name for thing in said.things] == ["fine"]


@given(st.text(max_size=50), st.text(max_size=50))
def test_marks_and_control_characters_never_get_in(title: str, text: str) -> None:
    for thing in read(A, b"", title, text).things:
        assert not any(ord(letter) < 32 for letter in thing.name + thing.words)
