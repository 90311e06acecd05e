from __future__ import annotations

import time
from contextlib import suppress
from urllib.parse import unquote_to_bytes

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rdfaspider.urls import MAX_LENGTH, Joiner, normalise

# Pieces that URL parsers stumble over: put together they reach what random text never would.
PIECES = (
    "http: https: HTTP:// https:// http:/ file:// mailto: javascript: data: / // /// \\ . .. ./"
    " ../ /. /.. /./ /../ ... %2e %2E%2e .%2e %2f %5c % %% %4 %41 %7e %25 %32 %65 %e9 %zz %00 ?"
    " ?? ?a=1 &b=2 # #frag ?# ; ;jsessionid=1 : :80 :443 :8080 @ user@ u:p@ example.org www."
    " EXAMPLE.com 0x1 bücher.de xn--bcher-kva.de xn--a 127.1 0x7f.0.0.1 1.2.3.4.5 [::1] [::1"
    " localhost a b c 1 2 007 ~x index.html ! $ & ' ( ) * + , = [ ] { } | ^ ` \" < > é ß 日本"
    " \u202e \U0001f600 \ud800 \ufdd0"
)
hostile = st.one_of(
    st.lists(st.sampled_from([*PIECES.split(" "), *"\t\n\r \0\x7f\u3000"]), max_size=12).map(
        "".join
    ),
    st.text(max_size=40),
    st.text(max_size=10).map("http://{}.example/".format),
)
bases = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["example.org", "user:pw@example.org:8080", "[::1]", "bücher.de", "127.1"]),
    st.lists(st.sampled_from(PIECES.split(" ")[9:]), max_size=6).map("".join),
)


def normalised(url: str, base: str | None = None) -> str | None:
    try:
        return normalise(url, base)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://WWW.Example.Com", "http://www.example.com/"),
        ("http://example.com:80/a#section", "http://example.com/a"),
        ("https://example.com:443/?", "https://example.com/"),
        ("https://example.com/??", "https://example.com/??"),
        ("http://example.com/a?b?", "http://example.com/a?b?"),
        ("http://example.com/./1/../2//3", "http://example.com/2//3"),
        ("http://example.com/%7euser/%c3%a9?q=%3a%41", "http://example.com/~user/%C3%A9?q=%3AA"),
        ("http://u%7e:p%2f@example.com/", "http://u~:p%2F@example.com/"),
        ("http://example.com/?b=2&a=1&b=1", "http://example.com/?b=2&a=1&b=1"),
        (" http://bücher.de/ü b\n", "http://xn--bcher-kva.de/%C3%BC%20b"),
        ("http://0x7f.1\\a", "http://127.0.0.1/a"),
        ("http://example.com/\x00", "http://example.com/"),
        ("http://example.com/\x00x", "http://example.com/%00x"),
    ],
)
def test_normal_form(url: str, expected: str) -> None:
    assert normalise(url) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a%2eb", "a.b"),
        ("%2e%2e%2e", "..."),  # three dots are a name
        ("a/%2E%2e/b", "b"),  # two are not, escaped or not
        ("%25%32%65", "%252e"),  # an escaped percent sign, then two characters
        ("%%32%65", "%%32%65"),  # decoded these would turn the stray sign into an escape
        ("%2%65", "%2%65"),
        ("%a%4b%7e", "%a%4B%7E"),
        ("%2%65%7e/%7e", "%2%65%7E/~"),
        ("100%/%7e", "100%/~"),
        ("%zz%7e", "%zz~"),
    ],
)
def test_decoding_never_makes_an_escape_or_a_dot_segment(path: str, expected: str) -> None:
    assert normalise(f"http://example.org/{path}") == f"http://example.org/{expected}"
    assert normalise(f"http://example.org/{expected}") == f"http://example.org/{expected}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/relative",
        "mailto:a@example.org",
        "javascript:void(0)",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http://[::1",
        "http://example.org:99999/",
        "http://a b/",
        "http://exa%mple.org/",
        "http://1.2.3.256/",
        "http://example.org/\ud800",
    ],
)
def test_bad_urls_are_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(ValueError, match=r"^Not a.* URL: .*\.$"):
        normalise(url)


@pytest.mark.parametrize("base", ["", "about:blank", "/a", "http://", "mailto:a@example.org"])
def test_the_base_must_be_a_web_page(base: str) -> None:
    with pytest.raises(ValueError, match="Not a"):
        Joiner(base)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://example.org/" + "a" * MAX_LENGTH, None),
        ("/" + "a" * (MAX_LENGTH - 5), "http://example.org/"),
        ("a" * (MAX_LENGTH - 5), "http://example.org/"),
        ("?" + "é" * (MAX_LENGTH // 3), "http://example.org/"),
        ("#" + "a" * MAX_LENGTH, "http://example.org/"),
    ],
)
def test_long_urls_are_refused(url: str, base: str | None) -> None:
    with pytest.raises(ValueError, match=f"more than {MAX_LENGTH}"):
        normalise(url, base)


def test_the_longest_url_is_its_own_normal_form() -> None:
    url = "http://example.org/".ljust(MAX_LENGTH, "a")
    assert normalise(url) == url
    assert normalise(url, "http://example.org/") == url


@pytest.mark.parametrize(
    "piece", ["a", "/", "%", "%41", "%4", "é", ".", "../", "a.", "a-", "?", "\\"]
)
def test_hostile_hrefs_take_no_time(piece: str) -> None:
    joiner = Joiner("http://example.org/")
    hrefs = [start + piece * 10_000_000 for start in ("", "http://")]
    hrefs += [
        start + (piece * MAX_LENGTH)[: MAX_LENGTH - 9] + "\n" for start in ("", "/", "http://")
    ]
    start = time.process_time()
    for href in hrefs:
        with suppress(ValueError):
            joiner.join(href)
    assert time.process_time() - start < 0.5  # about 1 ms


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("g", "http://u@a:81/b/c/g"),
        ("g?y#s", "http://u@a:81/b/c/g?y"),
        ("/g", "http://u@a:81/g"),
        ("//g", "http://g/"),
        ("../../../g", "http://u@a:81/g"),
        ("", "http://u@a:81/b/c/d;p?q"),
        ("#s", "http://u@a:81/b/c/d;p?q"),
        ("?y", "http://u@a:81/b/c/d;p?y"),
        ("?", "http://u@a:81/b/c/d;p"),
        ("http:g", "http://u@a:81/b/c/g"),
        ("https:g", "https://g/"),
        ("g:h", None),
        ("javascript:", None),
    ],
)
def test_join(href: str, expected: str | None) -> None:
    base = "HTTP://u@a:81/b/x/../c/d;p?q#f"
    assert normalised(href, base) == expected


@given(hostile, st.none() | bases)
@example("%%32%65", "http://example.org/")
@example("http://a/%2%65%", None)
def test_normalising_is_idempotent_and_ascii_or_refuses(url: str, base: str | None) -> None:
    once = normalised(url, base)
    if once is not None:
        assert normalise(once) == once
        assert once.isascii()
        assert once.startswith(("http://", "https://"))
        assert "#" not in once


@given(hostile)
@example("http://a/%a%4b%7e")
def test_normalising_keeps_what_the_server_decodes(url: str) -> None:
    once = normalised(url)
    if once is not None:
        sent = ada_url.normalize_url(url).partition("#")[0]
        query = sent.partition("?")[2]
        assert unquote_to_bytes(once) == unquote_to_bytes(sent if query else sent.removesuffix("?"))


plain = st.text("aZ09-._~/:?#&=;,+@!'()[]x", max_size=30)
starts = st.sampled_from(
    ["", "/", "http://", "https://", "https://a.b/", "http://xn--a.b/", "#", "?"]
)


@given(st.one_of(hostile, st.builds(str.__add__, starts, plain)), bases)
@example("http://1.2.3/", "http://example.org/")
@example("http://a.0x1/", "http://example.org/")
@example("http://xn--a.b/", "http://example.org/")
@example("a:b", "http://example.org/")
@example("//a", "http://example.org/")
@example("/a/..", "http://example.org/")
@example("a?", "http://example.org/")
@example("a?'", "http://example.org/")
def test_links_known_without_the_parser_equal_the_parsed_ones(href: str, base: str) -> None:
    page = normalised(base)
    if page is None:
        return
    try:
        expected = normalised(ada_url.join_url(page, href))
    except ValueError:
        expected = None
    assert normalised(href, base) == expected
