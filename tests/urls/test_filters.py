from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.urls import DIRECTORY_INDEX, NO_PAGES, TRACKING, WWW, Filters, Traps, normalise

SITE = "http://example.org/"


@pytest.mark.parametrize(
    ("rule", "matching", "other"),
    [
        ("suffix:.example.org", "https://a.example.org:81/", "https://badexample.org/"),
        ("suffix:example.org", "https://example.org/", "https://example.org.evil.com/"),
        ("suffix:BÜCHER.de", "http://www.xn--bcher-kva.de/", "http://bucher.de/"),
        ("suffix:.рф", "https://xn--90ax2c.xn--p1ai/", "https://example.org/.xn--p1ai"),
        ("suffix:127.0.0.1", "http://127.0.0.1:8000/a", "http://127.0.0.11/"),
        ("suffix:[::1]", "http://[::1]:8000/a", "http://[::2]/"),
        ("extension:pdf", "http://a.org/b/c.tar.PDF?d=e.html", "http://a.org/b.pdf/c"),
        ("extension:.pdf", "http://a.org/c.pdf;v=1", "http://a.org/?c.pdf"),
        ("extension:org", "http://a.org/a.org", "http://a.org/"),
        ("keyword:Login", "http://a.org/x?next=LOGIN", "http://a.org/log/in"),
        ("regex:^https://[^/]+/p/", "https://a.org/p/1", "http://a.org/p/1"),
        ("regex:a:b", "http://a.org/a:b", "http://a.org/ab"),
    ],
)
def test_rules(rule: str, matching: str, other: str) -> None:
    kind = rule.partition(":")[0]
    assert Filters(reject=[rule]).admit(matching) == (matching, kind)
    assert Filters(reject=[rule]).admit(other) == (other, "")
    assert Filters(accept=[rule], reject=()).admit(matching) == (matching, "")
    assert Filters(accept=[rule], reject=()).admit(other) == (other, "accept")


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "pdf",
        "suffix:",
        "host:example.org",
        "suffix:a b",
        "suffix:a.org/b",
        "suffix:a.org:81",
        "suffix:u@a.org",
        "extension:tar.gz",
        "extension:a/b",
        "keyword:",
        "regex:(",
    ],
)
def test_a_wrong_rule_is_named(rule: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(rule))):
        Filters(accept=[rule])


@pytest.mark.parametrize("transform", [("(", ""), ("a", r"\1"), ("a", r"\g<b>")])
def test_a_wrong_transform_is_named(transform: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(transform))):
        Filters(transforms=[transform])


def test_one_accepting_rule_is_enough_and_one_rejecting_wins() -> None:
    filters = Filters(["suffix:.cl", "extension:html"], ["keyword:logout", *NO_PAGES])
    assert filters.admit("http://www.uchile.cl/") == ("http://www.uchile.cl/", "")
    assert filters.admit("http://a.org/b.html") == ("http://a.org/b.html", "")
    assert filters.admit("http://a.org/b.php") == ("http://a.org/b.php", "accept")
    assert filters.admit("http://a.cl/logout.html") == ("http://a.cl/logout.html", "keyword")
    assert filters.admit("http://a.cl/photo.JPG") == ("http://a.cl/photo.JPG", "extension")


def test_pages_and_data_are_not_rejected_by_default() -> None:
    extensions = "html xhtml htm php asp xml svg rdf owl ttl nt nq trig jsonld json n3 txt"
    urls = [f"{SITE}a.{extension}" for extension in extensions.split()]
    assert [Filters().admit(url) for url in urls] == [(url, "") for url in urls]


@pytest.mark.parametrize(
    ("url", "cleaned"),
    [
        ("a?utm_source=x&id=1&UTM_medium=y", "a?id=1"),
        ("a?gclid=1", "a"),
        ("a?b&&c=", "a?b&&c="),
        ("a?c=utm_source", "a?c=utm_source"),
        ("a?PHPSESSID=1&sid=42", "a?sid=42"),
        ("a/..;jsessionid=1/b?fbclid=1", "b"),
    ],
)
def test_cleaning(url: str, cleaned: str) -> None:
    assert Filters().admit(SITE + url) == (SITE + cleaned, "")


def test_cleaning_may_be_off() -> None:
    url = f"{SITE}a;jsessionid=1?utm_source=x&PHPSESSID=1"
    assert Filters(drop_parameters=(), drop_sessions=False).admit(url) == (url, "")


def test_parameters_dropped_by_name() -> None:
    filters = Filters(drop_parameters=["Sort", "view-*", *TRACKING])
    assert filters.admit(f"{SITE}?sort=up&sorted=1&VIEW-as=list&_ga=2") == (f"{SITE}?sorted=1", "")


def test_sorting_keeps_the_order_of_equal_names() -> None:
    filters = Filters(sort_query=True)
    assert filters.admit(f"{SITE}?b=2&a=1&b=1&B=0") == (f"{SITE}?a=1&b=2&b=1&B=0", "")


def test_transforms_run_in_turn_and_are_normalised() -> None:
    filters = Filters(transforms=[(r"/print/", "/x/../"), (r"example\.org", "EXAMPLE.com")])
    assert filters.admit(f"{SITE}print/a") == ("http://example.com/a", "")


def test_rules_see_the_transformed_url() -> None:
    filters = Filters(reject=["extension:pdf"], transforms=[(r"\.html$", ".pdf")])
    assert filters.admit(f"{SITE}a.html") == (f"{SITE}a.pdf", "extension")


def test_a_transform_that_leaves_no_url() -> None:
    filters = Filters(transforms=[("^http:", "mailto:")])
    assert filters.admit(SITE) == (SITE, "transform")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.example.org/a/index.html", "http://example.org/a/"),
        ("http://www2.example.org/default.aspx?a=index.php", "http://example.org/?a=index.php"),
        ("http://www.com/myindex.html", "http://www.com/myindex.html"),
    ],
)
def test_the_transforms_on_offer(url: str, expected: str) -> None:
    assert Filters(transforms=[DIRECTORY_INDEX, WWW]).admit(url) == (expected, "")


def test_traps_are_named_after_cleaning() -> None:
    filters = Filters(traps=Traps(parameters=2, year=2025))
    assert filters.admit(f"{SITE}?a&b&utm_source=c") == (f"{SITE}?a&b", "")
    assert filters.admit(f"{SITE}?a&b&c") == (f"{SITE}?a&b&c", "trap/parameters")
    assert filters.admit(f"{SITE}calendar/2087/1") == (f"{SITE}calendar/2087/1", "trap/calendar")


pieces = (
    "/ . .. ; ? & = a % %2e %41 ;jsessionid=1 ;sid=42 (S(abc)) /(S(abc))/ phpsessid=1"
    " cfid=1 cftoken=2 utm_source=x index.html www. a.pdf sid=0123456789abcdef0 //"
)
urls = st.lists(st.sampled_from(pieces.split()), max_size=10).map(
    lambda parts: normalise(SITE + "".join(parts))
)


@given(urls, st.booleans())
def test_what_is_admitted_is_normalised_and_clean(url: str, sort_query: bool) -> None:
    filters = Filters(sort_query=sort_query, traps=Traps(year=2025))
    cleaned, reason = filters.admit(url)
    assert normalise(cleaned) == cleaned
    assert filters.admit(cleaned) == (cleaned, reason)
