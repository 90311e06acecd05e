from __future__ import annotations

import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Store, parse, serialize

from rdfaspider.stores.changes import Change, digest, update

GRAPH = "http://site.test/a"
NODES = st.sampled_from([BlankNode(f"n{number}") for number in range(4)])
PREDICATES = st.sampled_from([NamedNode(f"http://site.test/p{number}") for number in range(2)])
VALUES = st.one_of(NODES, st.text(max_size=5).map(Literal), PREDICATES)
QUADS = st.lists(st.builds(Quad, st.one_of(NODES, PREDICATES), PREDICATES, VALUES), max_size=12)


@given(QUADS, st.permutations(range(4)), st.randoms(use_true_random=False))
def test_a_digest_knows_neither_labels_nor_order(
    quads: list[Quad], labels: list[int], chance: object
) -> None:
    def renamed(term: object) -> object:
        if isinstance(term, BlankNode):
            return BlankNode(f"m{labels[int(term.value[1:])]}")
        return term

    others = [Quad(renamed(q.subject), q.predicate, renamed(q.object)) for q in quads]  # type: ignore[arg-type]
    chance.shuffle(others)  # type: ignore[attr-defined]
    assert digest(quads) == digest(others)


@given(QUADS, st.builds(Quad, NODES, PREDICATES, VALUES))
def test_a_digest_sees_one_more_triple(quads: list[Quad], more: Quad) -> None:
    distinct = list(dict.fromkeys(quads))
    if more not in distinct:
        assert digest(distinct) != digest([*distinct, more])


def test_a_digest_sees_what_is_said_of_which_node() -> None:
    p, q = NamedNode("http://site.test/p"), NamedNode("http://site.test/q")
    a, b = BlankNode("a"), BlankNode("b")
    one = [Quad(a, p, Literal("1")), Quad(a, q, Literal("2")), Quad(b, p, Literal("3"))]
    two = [Quad(a, p, Literal("1")), Quad(b, q, Literal("2")), Quad(b, p, Literal("3"))]
    assert digest(one) != digest(two)


def test_a_hostile_graph_costs_no_more_than_its_size() -> None:
    nodes = [BlankNode(f"n{number}") for number in range(60)]
    p = NamedNode("http://site.test/p")
    clique = [Quad(a, p, b) for a, b in product(nodes, nodes) if a != b]
    before = time.process_time()
    digest(clique)
    assert time.process_time() - before < 2


@given(QUADS)
def test_nquads_and_update_say_the_same(quads: list[Quad]) -> None:
    change = Change.replacing(GRAPH, quads)
    lines = set(parse(change.nquads(), RdfFormat.N_QUADS))
    assert {(q.predicate, str(q.object)) for q in lines} == {
        (q.predicate, str(q.object)) for q in quads
    }
    assert all(quad.graph_name == NamedNode(GRAPH) for quad in lines)
    store = Store()
    store.update(update([change]).decode())
    assert len(store) == len(set(quads))
    store.update(update([change._replace(lines=b"", quads=0)]).decode())
    assert len(store) == 0


def lenient(iri: str) -> Quad:
    """Make a quad as a careless pipeline does, with an IRI that is none."""
    text = f"<http://site.test/s> <http://site.test/p> <{iri}> <{GRAPH}> ."
    quad: Quad = next(iter(parse(text, RdfFormat.N_QUADS, lenient=True)))
    return quad


@pytest.mark.parametrize(
    "iri",
    [
        r"http://site.test/x\u000Ay",
        r"http://site.test/x .\u000Ay",
        r"http://site.test/x .\u000A<http://site.test/a> <http://site.test/b> 'c",
        r"http://site.test/\u000A",
    ],
)
def test_a_line_feed_in_an_iri_is_refused(iri: str) -> None:
    good = Quad(NamedNode(GRAPH), NamedNode(GRAPH), Literal("a\nb"), NamedNode(GRAPH))
    lines = serialize([good, lenient(iri)], format=RdfFormat.N_QUADS) or b""
    with pytest.raises((ValueError, SyntaxError), match=r"invalid IRI|Parser error"):
        Change.of_page(GRAPH, lines)
    with pytest.raises(ValueError, match=f"The graph {GRAPH} has an invalid IRI"):
        Change.replacing(GRAPH, [good, lenient(iri)])


def test_the_last_line_of_a_page_needs_no_end() -> None:
    line = f'<{GRAPH}> <{GRAPH}> "a" <{GRAPH}> .'.encode()
    change = Change.of_page(GRAPH, line)
    assert change == Change.of_page(GRAPH, line + b"\n").unnamed()
    assert change.quads == 1


def test_a_change_is_the_same_in_both_forms() -> None:
    graph = "http://site.test/_:a"  # in the text of one form only
    page = Change.of_page(graph, f'<{graph}> <{graph}> "a . <b>" <{graph}> .\n'.encode())
    assert page.is_named
    assert not page.unnamed().is_named
    assert page.triples == page.unnamed().lines == f'<{graph}> <{graph}> "a . <b>" .\n'.encode()
    assert page.nquads() == page.unnamed().nquads()
    assert page.digest() == page.unnamed().digest()
    assert page.has_content_of(page.unnamed())
    assert not page.has_content_of(Change.of_page(graph, page.lines.replace(b"a .", b"b .")))


@given(QUADS, st.sampled_from([GRAPH, "http://site.test/other"]), st.randoms())
def test_a_page_as_lines_is_the_same_change(quads: list[Quad], name: str, chance: object) -> None:
    """Also where the lines name another graph than the one they are for."""
    named = [Quad(q.subject, q.predicate, q.object, NamedNode(name)) for q in quads]
    lines = serialize(named, format=RdfFormat.N_QUADS) or b""
    change = Change.of_page(GRAPH, lines)
    assert change.unnamed() == Change.replacing(GRAPH, quads)
    chance.shuffle(named)  # type: ignore[attr-defined]
    others = Change.of_page(GRAPH, serialize(named, format=RdfFormat.N_QUADS) or b"")
    assert others.digest() == change.digest()
    more = Quad(NamedNode(GRAPH), NamedNode(GRAPH), NamedNode(GRAPH), NamedNode(name))
    larger = Change.of_page(GRAPH, serialize([*named, more], format=RdfFormat.N_QUADS) or b"")
    assert larger.digest() != change.digest()
