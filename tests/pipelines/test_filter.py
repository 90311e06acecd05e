from __future__ import annotations

import pytest
from hypothesis import given, strategies
from pyoxigraph import BlankNode, Literal, NamedNode, Quad
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from rdfaspider import settings
from rdfaspider.items import Page
from rdfaspider.pipelines.filter import FilterPipeline, Rule, Rules, reason_to_drop

XHV = "http://www.w3.org/1999/xhtml/vocab#"
NAME = NamedNode("http://schema.org/name")
PAGE = NamedNode("http://a.test/")


def pipeline(rules: list[str] | None = None) -> FilterPipeline:
    stats = MemoryStatsCollector(get_crawler())
    texts = settings.FILTER_DROP if rules is None else rules
    return FilterPipeline(stats, Rules(texts), 20)


def filtered(filter_: FilterPipeline, *quads: Quad) -> list[Quad]:
    page = Page("http://a.test/", 0)
    page.quads = quads
    return list(filter_.process_item(page).quads)


# Good ones, those that a rule is about or seems to be, and long ones.
LINES = [
    line.encode() + b" <http://a.test/> .\n"
    for line in (
        '<http://a.test/> <http://schema.org/name> "a name"@en',
        '_:a <http://schema.org/name> "1"^^<http://www.w3.org/2001/XMLSchema#integer>',
        f"<http://a.test/> <{XHV}icon> <http://a.test/icon>",
        f"<http://a.test/> <{XHV}next> <{XHV}icon>",
        f'<http://a.test/> <http://schema.org/name> " <{XHV}icon> x"',
        '<http://a.test/> <http://schema.org/name> "' + "é" * 25 + '"',
        '<http://a.test/> <http://schema.org/name> "' + "\\n" * 15 + '"',
    )
]

GOOD = Quad(PAGE, NAME, Literal("a name"), PAGE)


def test_what_is_meant_stays() -> None:
    linked = Quad(PAGE, NamedNode(XHV + "next"), NamedNode("http://a.test/2"), PAGE)
    nodes = Quad(BlankNode("x"), NAME, BlankNode("y"), PAGE)
    assert filtered(pipeline(), GOOD, linked, nodes) == [GOOD, linked, nodes]


@pytest.mark.parametrize(
    ("quad", "reason"),
    [
        (Quad(PAGE, NamedNode(XHV + "stylesheet"), NamedNode("http://a.test/x.css")), "stylesheet"),
        (Quad(PAGE, NamedNode(XHV + "icon"), NamedNode("http://a.test/x.ico")), "icon"),
        (Quad(BlankNode("b"), NamedNode(XHV + "role"), NamedNode(XHV + "button")), "role"),
        (Quad(PAGE, NAME, Literal("x" * 21)), "literal"),
    ],
)
def test_what_is_implied_or_monstrous_goes_and_is_counted(quad: Quad, reason: str) -> None:
    filter_ = pipeline()
    assert filtered(filter_, quad, GOOD) == [GOOD]
    assert filter_.stats.get_value(f"filter/dropped/{reason}") == 1


def test_an_iri_that_a_store_would_refuse_goes() -> None:
    from pyoxigraph import RdfFormat, parse

    line = b"<http://a.test/> <http://schema.org/url> <http://a.test/a b> .\n"
    (quad,) = parse(line, RdfFormat.N_QUADS, lenient=True)
    filter_ = pipeline()
    assert filtered(filter_, quad, GOOD) == [GOOD]
    assert filter_.stats.get_value("filter/dropped/iri") == 1


def test_rules_may_look_at_all_three_terms() -> None:
    rule = "spam: <http://a.test/*> <http://schema.org/name> *viagra*"
    spam = Quad(PAGE, NAME, Literal("buy viagra"), PAGE)
    elsewhere = Quad(NamedNode("http://b.test/"), NAME, Literal("viagra"), PAGE)
    assert filtered(pipeline([rule]), spam, GOOD, elsewhere) == [GOOD, elsewhere]


@pytest.mark.parametrize("rule", ["no label", "label: only two", "label: a b c d", ""])
def test_a_wrong_rule_is_named(rule: str) -> None:
    with pytest.raises(ValueError, match="Not a rule"):
        Rule(rule)


@given(strategies.lists(strategies.sampled_from(LINES)), strategies.booleans())
def test_nothing_is_overlooked_in_a_page_that_is_as_it_was_extracted(
    lines: list[bytes], ruled: bool
) -> None:
    """Its quads are looked at only if one may have to be dropped."""
    filter_ = pipeline(None if ruled else [])
    page = Page("http://a.test/", 0, nquads=b"".join(lines))
    page.predicates = sorted({quad.predicate.value for quad in page.quads})
    page.longest = max((len(str(quad.object)) for quad in page.quads), default=0)
    kept = [q for q in page.quads if not reason_to_drop(q, filter_.rules, filter_.longest_literal)]
    assert list(filter_.process_item(page).quads) == kept


def test_a_rule_for_any_predicate_is_asked_of_every_quad() -> None:
    filter_ = pipeline(['short: * * "a*', f"icon: * <{XHV}icon> *"])
    assert filtered(filter_, GOOD) == []
    assert filter_.stats.get_value("filter/dropped/short") == 1
