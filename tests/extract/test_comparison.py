"""Two graphs are compared whatever their blank nodes are called, and the list of differences is short."""

from __future__ import annotations

import random

import pytest
from pyoxigraph import RdfFormat, Triple, parse

from rdfaspider.extract import reference
from rdfaspider.extract.triples.comparison import differences

PREFIX = "@prefix : <http://a.test/> .\n"


def graph(text: str) -> list[Triple]:
    return [quad.triple for quad in parse((PREFIX + text).encode(), RdfFormat.TURTLE)]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (":a :p _:x . _:x :q 1 .", ":a :p _:y . _:y :q 1 ."),
        ("_:a :p _:b . _:c :p _:d .", "_:d :p _:a . _:b :p _:c ."),  # two alike
        ("_:a :p _:b . _:b :p _:c . _:c :p _:a .", "_:x :p _:z . _:z :p _:y . _:y :p _:x ."),
        (':a :p "x"@EN .', ':a :p "x"@en .'),
        (
            ':a :p "<b a=\\"1\\" c=\\"2\\"/>"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral> .',
            ':a :p "<b c=\\"2\\" a=\\"1\\"></b>"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral> .',
        ),
    ],
)
def test_isomorphic_graphs_are_the_same(ours: str, theirs: str) -> None:
    assert not differences(graph(ours), graph(theirs))


def test_one_ring_is_not_two() -> None:
    six = " ".join(f"_:n{number} :p _:n{(number + 1) % 6} ." for number in range(6))
    three = " ".join(f"_:{ring}{n} :p _:{ring}{(n + 1) % 3} ." for ring in "ab" for n in range(3))
    assert differences(graph(six), graph(three))


def test_only_what_differs_is_listed() -> None:
    rest = "_:a :knows _:b . _:b :name 'B' . _:a :name 'A' ."
    found = differences(graph(rest + "_:b :age 3 ."), graph(rest + "_:b :age 4 . _:a :old true ."))
    assert [line.split(" ", 1)[1][:22] for line in found.ours] == ['<http://a.test/age> "3']
    assert len(found.theirs) == 2
    # Theirs are shown with our labels.
    assert found.ours[0].split()[0] in {line.split()[0] for line in found.theirs}


@pytest.mark.parametrize("seed", range(20))
def test_removed_triples_are_found_in_any_graph(seed: int) -> None:
    seeded = random.Random(seed)
    nodes = [f"_:n{number}" for number in range(6)]
    triples = {
        f"{seeded.choice(nodes)} :p{seeded.randrange(3)} {seeded.choice([*nodes, '1', '2'])} ."
        for _ in range(20)
    }
    kept = seeded.sample(sorted(triples), len(triples) - 1)
    new = dict(zip(nodes, seeded.sample(nodes, len(nodes)), strict=True))
    renamed = [" ".join(new.get(word, word) for word in line.split()) for line in kept]
    found = differences(graph("\n".join(triples)), graph("\n".join(renamed)))
    assert len(found.ours) == len(found.theirs) + 1


def test_many_blank_nodes_do_not_take_long() -> None:
    many = " ".join(f"_:n{number} :p _:m{number} ." for number in range(3000))
    found = differences(graph(many), graph(many + ":a :p :b ."))
    assert "<http://a.test/a> <http://a.test/p> <http://a.test/b>" in found.theirs


def test_without_pyrdfa3_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'rdfaspider\[reference\]'"):
        reference.check("pyrdfa3")
