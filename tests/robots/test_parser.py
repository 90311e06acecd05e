"""How a file is read: its lines, its groups and the names in them."""

from __future__ import annotations

import codecs

import pytest

from rdfaspider.robots import Robots
from rdfaspider.robots.parser import agent_tokens

BLOCKED = "https://example.com/blocked/page"


def blocks(
    text: str | bytes, user_agent: str = "rdfaspider/0.1 (+https://example.org/bot)"
) -> bool:
    body = text if isinstance(text, bytes) else text.encode()
    return not Robots(body, user_agent).allows(BLOCKED)


@pytest.mark.parametrize(
    ("header", "tokens"),
    [
        ("rdfaspider", {b"rdfaspider"}),
        ("rdfaspider/0.1 (+https://example.org/bot)", {b"rdfaspider"}),
        ("rdfaspider/0.1 (a bot; see example.org) Scrapy/2.19", {b"rdfaspider", b"scrapy"}),
        ("Mozilla/5.0 (compatible; Name/1.0)", {b"name"}),
        ("Mozilla/5.0", {b"mozilla"}),
        ("*", {b"*"}),
        ("", set()),
        ("/", set()),
    ],
)
def test_tokens_of_an_agent(header: str, tokens: set[bytes]) -> None:
    assert agent_tokens(header) == tokens


@pytest.mark.parametrize(
    "name",
    [
        "*",
        "rdfaspider",
        "RDFaSpider",
        "rdfaspider/2.0",
        "rdfaspider*",
        "other rdfaspider",
        "a, rdfaspider",
    ],
)
def test_names_that_mean_us(name: str) -> None:
    assert blocks(f"User-agent: {name}\nDisallow: /blocked")


@pytest.mark.parametrize("name", ["rdfa", "rdfaspider-news", "spider", "bot", "https", "/", ""])
def test_names_that_do_not(name: str) -> None:
    assert not blocks(f"User-agent: {name}\nDisallow: /blocked")


def test_our_own_group_replaces_that_of_everybody() -> None:
    assert not blocks("User-agent: *\nDisallow: /\nUser-agent: rdfaspider\nDisallow: /other")
    assert not blocks("User-agent: rdfaspider\n\nUser-agent: x\nCrawl-delay: 1\n")


def test_groups_of_one_name_are_joined() -> None:
    text = "User-agent: rdfaspider\nDisallow: /a\nUser-agent: *\nAllow: /\nUser-agent: rdfaspider\n"
    assert blocks(text + "Disallow: /blocked")


@pytest.mark.parametrize(
    "line",
    [
        *("Crawl-delay: 1", "Noindex: /", "Sitemap: https://a.org/", "", "#"),
        *("DisallowAITraining: /", "AllowAITraining: /", "Content-Signal: ai-train=no"),
    ],
)
def test_only_a_rule_ends_the_list_of_names(line: str) -> None:
    assert blocks(f"User-agent: rdfaspider\n{line}\nUser-agent: other\nDisallow: /blocked")


def test_a_rule_ends_the_list_of_names() -> None:
    assert not blocks("User-agent: rdfaspider\nDisallow:\nUser-agent: x\nDisallow: /blocked")


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("User-agent: *\nCrawl-delay: 2.5", 2.5),
        ("User-agent: *\nCrawl-delay: .5", 0.5),
        ("User-agent: *\nCrawl-delay: 0", 0.0),
        ("User-agent: *\nCrawl-delay: 10s", 10.0),
        ("User-agent: *\nCrawl-delay: 86400", 86400.0),
        ("User-agent: *\nCrawl-delay: 3\nCrawl-delay: 9\nCrawl-delay: 5", 9.0),
        ("User-agent: *\nCrawl-delay: -1", None),
        ("User-agent: *\nCrawl-delay: nan", None),
        ("User-agent: *\nCrawl-delay: inf", None),
        ("User-agent: *\nCrawl-delay: " + "9" * 400, None),
        ("User-agent: *\nCrawl-delay:", None),
        ("User-agent: *\nCrawl-delay: 3\nUser-agent: rdfaspider\nDisallow: /", None),
        ("User-agent: a\nCrawl-delay: 1\nUser-agent: rdfaspider\nCrawl-delay: 2\nDisallow: /", 2.0),
        ("User-agent: rdfaspider\nUser-agent: a\nCrawl-delay: 2", 2.0),
    ],
)
def test_crawl_delay(text: str, delay: float | None) -> None:
    assert Robots(text.encode(), "rdfaspider").crawl_delay == delay


def test_sitemaps_are_of_the_whole_file_and_absolute() -> None:
    text = "Sitemap: https://a.org/1\nUser-agent: x\nsitemap:HTTP://a.org/2 # two\nSitemap: /3\n"
    robots = Robots((text + "Sitemap: https://a.org/1").encode(), "rdfaspider")
    assert robots.sitemaps == ("https://a.org/1", "HTTP://a.org/2")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\n", "\n\r", "<br>\n", "<BR />"])
def test_line_ends(end: str) -> None:
    assert blocks(end.join(("User-agent: *", "Disallow: /blocked", "")))


@pytest.mark.parametrize(
    "line",
    [
        "disallow:/blocked",
        " \tDISALLOW\t:\t/blocked \t# why",
        "Disallow /blocked",
        "Dissalow: /blocked",
        "Disallow: blocked",
    ],
)
def test_lines_understood(line: str) -> None:
    assert blocks(f"User-agent: *\n{line}")


@pytest.mark.parametrize(
    "line",
    ["Disallow:", "Disallow", "Disallow all /blocked", "#Disallow: /", "\x00Disallow: /", ":/"],
)
def test_lines_that_say_nothing(line: str) -> None:
    assert not blocks(f"User-agent: *\n{line}")


def test_rules_without_names_are_for_everybody_only_if_nobody_is_named() -> None:
    assert blocks("Disallow: /blocked")
    assert not blocks("Disallow: /blocked\nUser-agent: x\nDisallow: /")


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF8[:2], codecs.BOM_UTF8[:1]])
def test_byte_order_marks(mark: bytes) -> None:
    assert blocks(mark + b"User-agent: rdfaspider\nDisallow: /blocked")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16(encoding: str) -> None:
    assert blocks("\ufeffUser-agent: *\nDisallow: /blocked".encode(encoding))


def test_octets_that_are_not_utf_8_match_their_escapes() -> None:
    robots = Robots(b"User-agent: *\nDisallow: /b\xfccher", "rdfaspider")
    assert not robots.allows("/b%FCcher")
    assert robots.allows("/b%C3%BCcher")


def test_the_limit_drops_the_line_that_it_cuts() -> None:
    body = b"User-agent: *\nDisallow: /a\nDisallow: /blocked"
    at_the_end = len(b"User-agent: *\nDisallow: /a")
    assert not Robots(body, "rdfaspider", limit=at_the_end).allows("/a")
    assert Robots(body, "rdfaspider", limit=at_the_end - 1).allows("/a")
    assert not Robots(body, "rdfaspider", limit=len(body) - 6).allows("/a")
    assert Robots(body, "rdfaspider", limit=len(body) - 6).allows("/b")
    assert not Robots(body, "rdfaspider", limit=len(body)).allows("/blocked")


def test_a_rule_within_500_kib_counts() -> None:
    head, rule = b"User-agent: *\n", b"Disallow: /blocked\n"
    filler = b"#" * 99 + b"\n"
    assert blocks(head + filler * 5000 + rule)
    assert not blocks(head + filler * 5200 + rule)


def test_allowing_an_index_page_allows_its_folder() -> None:
    robots = Robots(b"User-agent: *\nDisallow: /\nAllow: /a/index.html", "rdfaspider")
    assert robots.allows("/a/")
    assert not robots.allows("/a/b")
