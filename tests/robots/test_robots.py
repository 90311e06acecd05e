"""What a `Robots` answers, in what time, and that it survives being stored."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rdfaspider.robots import Robots

THESIS = b"""\
User-Agent: RDFaSbot
Allow: /bad/but/ok
Disallow: /be
Disallow: /bad/

User-Agent: *
Disallow: /secret/
Allow: /secondary/
"""

# Table 3 of the thesis this crawler descends from: row, agent, path, its expected result.
TABLE_3 = [
    (1, "RDFaSbot", "/bad", False),
    (2, "RDFaSbot", "/base", False),
    (3, "RDFaSbot", "/bad/more", False),
    (4, "RDFaSbot", "/bad/but", False),
    (5, "RDFaSbot", "/bad/but/ok", True),
    (6, "RDFaSbot", "/bad/but/ok/and", True),
    (7, "RDFaSbot", "/bad/but/okeydokey", True),
    (8, "Googlebot", "/test/", True),
    (9, "Googlebot", "/secret/code", False),
    (10, "Googlebot", "/secondary/more-specific", True),
    (11, "RDFaSbot", "/secret/", True),
]
# Rows that RFC 9309 section 2.2.2 answers otherwise, for a rule matches what begins with it:
# `/bad` does not begin with `/bad/`, and `/base` begins with none (as printed, the file has `/be`).
AGAINST_RFC_9309 = {1, 2}


@pytest.mark.parametrize(("row", "agent", "path", "expected"), TABLE_3)
def test_thesis_table_3(row: int, agent: str, path: str, expected: bool) -> None:
    allowed = Robots(THESIS, agent).allows("http://example.com" + path)
    assert allowed == (expected if row not in AGAINST_RFC_9309 else not expected)


def rules(*lines: str) -> Robots:
    return Robots("\n".join(("User-agent: *", *lines)).encode(), "rdfaspider")


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("/", "https://example.com", True),
        ("/fish", "https://example.com/fishheads?id=1#top", True),
        ("/fish", "https://example.com/Fish", False),
        ("/fish*", "https://example.com/fish", True),
        ("/*.php", "https://example.com/a/b.php?c", True),
        ("/*.php$", "https://example.com/a.php?c", False),
        ("/*.php$", "https://example.com/a.php5.php", True),
        ("*.gif", "https://example.com/a/b.gif", True),
        ("/a*a", "https://example.com/a", False),
        ("/*?", "https://example.com/?a=1", True),
        ("/?a", "https://example.com?a=1", True),
        ("/$", "https://example.com/", True),
        ("/$", "https://example.com/a", False),
        ("/a$b", "https://example.com/a$b", True),
        ("/#a", "https://example.com/b", True),
        ("/robots", "https://example.com/robots.txt", False),
        ("/robots", "https://example.com/robots.txt.html", True),
        ("/a", "/a/b", True),
        ("/a", "HTTPS://EXAMPLE.COM/a", True),
    ],
)
def test_patterns(pattern: str, url: str, matches: bool) -> None:
    assert rules(f"Disallow: {pattern}").allows(url) != matches


@pytest.mark.parametrize("rule_first", [True, False])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/~joe", "/%7ejoe"),
        ("/foo/bar/ツ", "/foo/bar/%e3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo?u=https%3A%2F%2Ffoo.bar", "/foo?u=https://foo.bar"),
        ("/a b|c<d>[e]", "/a%20b%7Cc%3cd%3E%5Be%5d"),
        ("/100%", "/100%25"),
    ],
)
def test_equal_paths(one: str, other: str, rule_first: bool) -> None:
    rule, path = (one, other) if rule_first else (other, one)
    robots = rules(f"Disallow: {rule}", "Allow: /")
    assert not robots.allows("https://example.com" + path)


@pytest.mark.parametrize(("one", "other"), [("/a/b", "/a%2Fb"), ("/a?b", "/a%3Fb"), ("/a", "/A")])
def test_different_paths(one: str, other: str) -> None:
    assert rules(f"Disallow: {one}").allows("https://example.com" + other)
    assert rules(f"Disallow: {other}").allows("https://example.com" + one)


def test_escapes_are_matched_in_the_query_by_a_rule_without_one() -> None:
    assert not rules("Disallow: /*%2F").allows("https://example.com/a?b=c%2Fd")
    assert not rules("Disallow: /*/d").allows("https://example.com/a?b=c/d")


def test_the_longest_match_wins_and_allow_a_tie() -> None:
    robots = rules("Disallow: /a", "Allow: /a/b", "Disallow: /a/b/c", "Allow: /a/b/c")
    assert not robots.allows("/a/x")
    assert robots.allows("/a/b/x")
    assert robots.allows("/a/b/c")
    assert rules("Allow: /*", "Disallow: /a").allows("/a")


def test_constructors_for_answers_without_a_file() -> None:
    assert Robots.allow_all().allows("https://example.com/")
    assert not Robots.deny_all().allows("https://example.com/")
    assert Robots.deny_all().allows("https://example.com/robots.txt")


def matches_slowly(pattern: str, path: str) -> bool:
    body, end = (pattern[:-1], r"\Z") if pattern.endswith("$") else (pattern, "")
    return re.match(".*".join(map(re.escape, body.split("*"))) + end, path) is not None


PATTERNS = st.builds("/{}{}".format, st.text("/ab*", max_size=6), st.sampled_from(("", "", "$")))


@given(st.lists(st.tuples(PATTERNS, st.booleans()), max_size=8), st.text("/ab", max_size=10))
@example([("/*a*a$", False)], "a")
def test_the_index_finds_what_a_search_of_all_rules_finds(
    written: list[tuple[str, bool]], path: str
) -> None:
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for pattern, allow in written]
    ranked = [
        (len(pattern), allow) for pattern, allow in written if matches_slowly(pattern, "/" + path)
    ]
    assert rules(*lines).allows("/" + path) == max(ranked, default=(0, True))[1]


LINES = st.builds(
    "{}: {}".format,
    st.sampled_from(("User-agent", "Allow", "Disallow", "Crawl-delay", "Sitemap")),
    st.one_of(
        st.text(max_size=8),
        PATTERNS,
        st.sampled_from(("*", "rdfaspider", "2.5", "0", "https://example.com/ü.xml")),
    ),
)


@given(st.lists(LINES).map("\n".join).map(lambda text: text.encode("utf-8", "replace")), st.text())
@example(b"Crawl-delay: 0\nSitemap: https://example.com/\xff\nDisallow: /\xff*$", "/\udcff")
def test_what_is_stored_answers_as_before(body: bytes, path: str) -> None:
    robots = Robots(body, "rdfaspider")
    copy = Robots.from_bytes(robots.to_bytes())
    assert copy.to_bytes() == robots.to_bytes()
    assert (copy.crawl_delay, copy.sitemaps) == (robots.crawl_delay, robots.sitemaps)
    assert copy.allows(path) == robots.allows(path)


def test_only_rules_that_matter_are_stored() -> None:
    robots = Robots(b"User-agent: a\nDisallow: /\nUser-agent: *\nAllow: /\nDisallow:", "rdfaspider")
    assert robots.to_bytes() == b"1"
    assert rules("Disallow: /a", "Disallow: /a", "Allow: /a/b").to_bytes() == b"1\n-/a\n+/a/b"


@pytest.mark.parametrize(
    "data", [b"", b"2", b"User-agent: *", b"1\n", b"1\n?a", b"1\n~x", b"1\n@\xff"]
)
def test_a_stored_form_that_is_not_ours_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        Robots.from_bytes(data)


@given(st.binary(), st.text(), st.text())
def test_no_file_agent_or_url_is_an_error(body: bytes, user_agent: str, url: str) -> None:
    assert Robots(body, user_agent).allows(url) in (True, False)


@pytest.mark.timeout(20)  # each takes well under a second; what is tried again and again, years
@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\nDisallow: /" + b"*a" * 8000 + b"$",
        b"User-agent: *\n" + b"\n".join(b"Disallow: /*a*a*%d*b$" % i for i in range(20_000)),
        b"User-agent: *\n" + b"\n".join(b"Disallow: /" + b"a" * i + b"b" for i in range(1000)),
        b"\n".join(b"User-agent: a%d\nDisallow: /" % i for i in range(15_000)),
        b"User-agent: *\n" * 15_000 + b"Disallow: /b\n" * 15_000,
        b"\n" * 500_000 + b"#",
        b"User-agent" + b" " * 500_000 + b"\x00",
        b"User-agent: " + b"(" * 500_000,
        b"Disallow: /" + b"%" * 500_000,
        b"<br" * 170_000,
    ],
    ids=[
        "stars",
        "wildcards",
        "lengths",
        "agents",
        "names",
        "lines",
        "spaces",
        "brackets",
        "escapes",
        "tags",
    ],
)
def test_hostile_files_take_linear_time(body: bytes) -> None:
    robots = Robots(body, "rdfaspider/1.0 " + "(" * 10_000)
    assert robots.allows("https://example.com/" + "a" * 50_000 + "c")
