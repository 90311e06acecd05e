"""What is read off the text of a query; how servers are asked is in test_contract.py."""

from __future__ import annotations

import pytest

from rdfaspider.stores.queries import (
    calls_service,
    in_order_of_query,
    names_its_graphs,
    read_query,
    with_columns,
    within,
)


@pytest.mark.parametrize(
    ("sparql", "expected"),
    [
        ("SELECT ?s FROM <http://a/> { ?s ?p ?o }", True),
        ("select ?s from named<http://a/>{ graph ?g { ?s ?p ?o } }", True),
        ("SELECT ?from { ?from ?p ?o } # FROM <http://a/>", False),
        ('SELECT ?s { ?s ?p \'FROM\', "FROM", \'\'\'it\'s FROM\'\'\', """FROM \\"""""" }', False),
        ("PREFIX from: <http://FROM/#> SELECT ?s { ?s from:x 'x'@from ; a from:FROM }", False),
        ("SELECT ?s { ?s ?p ?o FILTER(?o < 3 && ?o > 1) }", False),
        ("SELECT ?s { ?s <http://a/FROM#FROM> 'it\\'s FROM' }", False),
    ],
)
def test_a_query_that_names_its_graphs_is_known(sparql: str, expected: bool) -> None:
    assert names_its_graphs(sparql) is expected


@pytest.mark.parametrize(
    ("sparql", "expected"),
    [
        ("SELECT * { ?c ?a $b }", ["c", "a", "b"]),
        ("select distinct*{ ?b ?a ?c. }", ["b", "a", "c"]),
        ("# ?a ?b\nSELECT REDUCED * { ?c <http://a/?a> ?b , ?a }", ["c", "b", "a"]),
        # The store knows better what an expression is called and where it stands.
        ("SELECT ?b (COUNT(*) AS ?a) ?c { ?c ?x ?b } GROUP BY ?b ?c", ["a", "b", "c"]),
    ],
)
def test_all_variables_come_as_they_appear(sparql: str, expected: list[str]) -> None:
    assert in_order_of_query(sparql, ["a", "b", "c"]) == expected


@pytest.mark.parametrize(
    ("sparql", "expected"),
    [
        ("SELECT ?s { ?s ?p ?o }", "SELECT ?s { GRAPH <u:x> { ?s ?p ?o } }"),
        (
            "SELECT (EXISTS { ?a ?b '}' } AS ?x) WHERE { ?s ?p ?o # }\n} LIMIT 1",
            "SELECT (EXISTS { ?a ?b '}' } AS ?x) WHERE { GRAPH <u:x> { ?s ?p ?o # }\n} } LIMIT 1",
        ),
        (
            "CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }",
            "CONSTRUCT { ?s ?p ?o } WHERE { GRAPH <u:x> { GRAPH ?g { ?s ?p ?o } } }",
        ),
        ("DESCRIBE <http://a/>", "DESCRIBE <http://a/>"),
        ("SELECT ?s { ?s ?p", "SELECT ?s { ?s ?p"),
    ],
)
def test_a_pattern_is_put_into_a_graph(sparql: str, expected: str) -> None:
    assert within(sparql, "u:x") == expected


def test_a_query_without_braces_is_none_the_less_one() -> None:
    assert read_query("DESCRIBE <http://a/>") == "DESCRIBE <http://a/>"
    with pytest.raises(ValueError, match="nonsense is neither a query nor a file"):
        read_query("nonsense")
    with pytest.raises(ValueError, match="neither a query nor a file"):
        read_query("x" * 5000)


@pytest.mark.parametrize(
    "sparql",
    [
        "SELECT * { SERVICE <http://a.test/> { ?s ?p ?o } }",
        "SELECT * { ?a ?b 1 .service silent ?x{ ?s ?p ?o } }",
        "PREFIX a: <http://a.test/> SELECT * {SERVICE a:b{ ?s ?p ?o } }",
        "SELECT * { SERVICE#>\n?x#'\n{ ?s ?p ?o } FILTER(?a<?b)}",
        "SELECT * { FILTER(?a<?b)SERVICE#>\n?x { ?s ?p ?o } }",
        r"SELECT * { \u0053ERVICE <http://a.test/> { ?s ?p ?o } }",
        r"SELECT * { \U00000053ERVICE <http://a.test/> { ?s ?p ?o } }",
        "SELECT * { # '''\nSERVICE <http://a.test/> { } # '''\n}",
        "SELECT * { ?s ?p true SERVICE <> { ?s ?p ?o } }",
        "SELECT * { ?s <http://a.test/#> ?o SERVICE <http://a.test/> { ?s ?p ?o } }",
        "SELECT * { ?s ?p 'a # b' SERVICE <http://a.test/> { ?s ?p ?o } }",
        "SELECT * { ?s ?p '''\n# ''' SERVICE <http://a.test/> { ?s ?p ?o } }",
        r"SELECT * { # \u000A SERVICE <http://a.test/> { ?s ?p ?o } }",
        "# a\rSELECT * { SERVICE <http://a.test/> { ?s ?p ?o } }",
    ],
)
def test_a_call_of_another_server_is_seen(sparql: str) -> None:
    assert calls_service(sparql)


@pytest.mark.parametrize(
    "sparql",
    [
        "SELECT * { ?s ?service ?o { ?o ?p ?q } }",
        "SELECT * { ?s schema:service ?o { ?o ?p ?q } }",
        "SELECT * { ?s ?p 'service' }",
        "SELECT ?service { GRAPH ?service { ?s ?p ?o } }",
        "PREFIX service: <http://a.test/service/> SELECT * { ?s service:x ?o }",
        "# SERVICE <http://a.test/>\n{ ?s ?p ?o }",
        "SELECT * { ?s ?p ?o # don't ask # SERVICE <http://a.test/> { ?s ?p ?o }\n}",
    ],
)
def test_a_name_is_no_call(sparql: str) -> None:
    assert not calls_service(sparql)


@pytest.mark.parametrize(
    ("sparql", "expected"),
    [
        ("SELECT * { ?s ?p ?o }", "SELECT  ?s ?p ?o  { ?s ?p ?o }"),
        ("select distinct *{ ?s ?p ?o }", "select distinct  ?s ?p ?o { ?s ?p ?o }"),
        ("SELECT ?o { ?s ?p ?o }", "SELECT ?o { ?s ?p ?o }"),
        (
            "SELECT (COUNT(*) AS ?o) { SELECT * { ?s ?p ?o } }",
            "SELECT (COUNT(*) AS ?o) { SELECT * { ?s ?p ?o } }",
        ),
    ],
)
def test_a_star_becomes_columns_as_they_appear(sparql: str, expected: str) -> None:
    assert with_columns(sparql, ["o", "p", "s"]) == expected
