from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.urls import neighbours, normalise, parents
from rdfaspider.urls.mining import MAX_NEIGHBOURS, MAX_PARENTS

SITE = "http://www.example.com/"

urls = st.text("/a19%2e0?&=-.", max_size=30).map(lambda text: normalise(SITE + text))


def test_figure_3_of_tarantula() -> None:
    """One URL makes two more known, and a numbered one hints at others (seed text, section 5.1)."""
    assert parents(f"{SITE}video/clips/") == [f"{SITE}video/", SITE]
    guesses = neighbours(f"{SITE}pics1/Page1.html")
    assert f"{SITE}pics1/Page2.html" in guesses
    assert f"{SITE}pics2/Page1.html" in guesses


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", []),
        ("a", [""]),
        ("a/b.html", ["a/", ""]),
        ("a/b?c=/d/", ["a/b", "a/", ""]),
        ("a/?c", ["a/", ""]),
        ("?c", [""]),
        ("a//b", ["a//", "a/", ""]),
    ],
)
def test_parents(url: str, expected: list[str]) -> None:
    assert parents(SITE + url) == [SITE + parent for parent in expected]


def test_parents_keep_user_and_port() -> None:
    assert parents("https://u:p@[::1]:81/a/b") == [
        "https://u:p@[::1]:81/a/",
        "https://u:p@[::1]:81/",
    ]


def test_parents_of_a_bottomless_url_are_few_and_end_at_the_root() -> None:
    found = parents(SITE + "a/" * 4000)
    assert len(found) == MAX_PARENTS
    assert found[-2:] == [SITE + "a/", SITE]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "pics1/Page1.html",
            ["pics1/Page2.html", "pics1/Page0.html", "pics2/Page1.html", "pics0/Page1.html"],
        ),
        ("p007", ["p008", "p006"]),
        ("p099", ["p100", "p098"]),
        ("p10", ["p11", "p9"]),
        ("p0", ["p1"]),
        ("a?page=9&x", ["a?page=10&x", "a?page=8&x"]),
        ("a%20b%205", ["a%20b%206", "a%20b%204"]),  # the escapes are no numbers
        ("100%25%9", ["101%25%9", "99%25%9"]),
        ("1234567890/a", []),
        ("none", []),
    ],
)
def test_neighbours(url: str, expected: list[str]) -> None:
    assert neighbours(SITE + url) == [SITE + neighbour for neighbour in expected]


def test_neighbours_leave_host_and_port_alone() -> None:
    assert neighbours("http://web1.example.org:8080/") == []
    assert neighbours("http://127.0.0.1/") == []


def test_near_neighbours_come_first() -> None:
    expected = ["a2/b6", "a2/b4", "a3/b5", "a1/b5", "a2/b7", "a2/b3", "a4/b5", "a0/b5"]
    assert neighbours(f"{SITE}a2/b5", distance=2) == [SITE + url for url in expected]


def test_neighbours_are_few() -> None:
    assert len(neighbours(SITE + "1/" * 4000)) == MAX_NEIGHBOURS
    assert len(neighbours(SITE + "1/" * 4000, limit=3)) == 3
    assert neighbours(SITE + "1" * 8000) == []


@given(urls, st.integers(0, 3))
def test_guesses_are_new_different_and_normalised(url: str, distance: int) -> None:
    for guesses in (parents(url), neighbours(url, distance)):
        assert url not in guesses
        assert len(set(guesses)) == len(guesses)
        assert [normalise(guess) for guess in guesses] == guesses
    assert all(above.startswith(SITE) and url.startswith(above) for above in parents(url))
