from __future__ import annotations

import pytest
from pyoxigraph import Quad, RdfFormat, parse

from rdfaspider.focus.objectives import objective

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
PAGE = f"""\
<http://x.test/#p> {TYPE} <https://schema.org/Product> <http://x.test/> .
<http://x.test/#p> <https://schema.org/name> "Chair" <http://x.test/> .
<http://x.test/#p> <http://purl.org/dc/terms/title> "Chair" <http://x.test/> .
<http://x.test/#q> {TYPE} <http://xmlns.com/foaf/0.1/Person> <http://x.test/> .
<http://x.test/#q> <http://xmlns.com/foaf/0.1/name> "Anna" <http://x.test/> .
""".encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("any", 5.0),
        ("new", 5.0),
        ("vocabulary:http://schema.org/", 2.0),
        ("vocabulary:https://schema.org/", 2.0),
        ("vocabulary:http://xmlns.com/foaf/0.1/", 2.0),
        ("vocabulary:http://unheard.test/", 0.0),
        ("type:http://schema.org/Product", 3.0),
        ("type:http://schema.org/Prod", 0.0),
    ],
)
def test_the_gain_of_a_page(text: str, expected: float) -> None:
    quads = [quad for quad in parse(PAGE, RdfFormat.N_QUADS) if isinstance(quad, Quad)]
    assert objective(text).gain(quads) == expected
    assert objective(text).gain([]) == 0.0


def test_only_what_is_new_counts_if_it_is_known() -> None:
    assert objective("new").gain([], new=3) == 3.0
    assert objective("any").gain([], new=3) == 0.0


@pytest.mark.parametrize("text", ["", "all", "any:", "type", "type:", "type:Product", "new:3"])
def test_what_is_no_objective_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no objective"):
        objective(text)
