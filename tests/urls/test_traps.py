from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.urls import Traps, normalise
from rdfaspider.urls.traps import leaves_calendar, repeats_run, repeats_segment

SITE = "http://example.org/"
TRAPS = Traps(year=2025)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", ""),
        ("a" * (2048 - len(SITE)), ""),
        ("a" * (2049 - len(SITE)), "length"),
        ("/".join(map(str, range(20))), ""),
        ("/".join(map(str, range(21))), "segments"),
        ("news/img/news/img/a", ""),
        ("news/img/news/img/news/", "repeats"),
        ("a/b/a/c/d/a", "repeats"),
        ("a/b?c=/a/a/a/a", ""),
        ("a////b", ""),
        ("shop/shoes/red/shop/shoes/blue/", ""),
        ("shop/shoes/red/shop/shoes/red/", "run"),
        ("en/shop/shoes/red/shop/shoes/red/new", "run"),
        ("shop/shoes/red/new/shop/shoes/red/", ""),
        ("?a&b&c&d&e&f&g&h", ""),
        ("?a&b&c&d&e&f&g&h&i", "parameters"),
    ],
)
def test_traps(url: str, reason: str) -> None:
    assert TRAPS.reason(SITE + url) == reason


@pytest.mark.parametrize(
    "url",
    [
        "calendar/2087/11/",
        "calendar/1066/10/14",
        "Calendar/2087-1",
        "events?month=11&year=2087",
        "events?Year=2087",
        "a?date=2028-01-31",
        "agenda/day/2087.11.30",
    ],
)
def test_calendars_that_never_end(url: str) -> None:
    assert TRAPS.reason(SITE + url) == "calendar"


@pytest.mark.parametrize(
    "url",
    [
        "calendar/2025/11/",
        "calendar/2027/12/",
        "calendar/1975/01/",
        "events/2345",  # a number, not a year
        "events/12087/11",
        "events/2087/13",
        "archive/2087/11/",  # no calendar's word
        "birthday/1950/05",
        "event?id=20871130",
    ],
)
def test_what_is_no_calendar(url: str) -> None:
    assert TRAPS.reason(SITE + url) == ""


def test_without_a_year_there_is_no_calendar_rule() -> None:
    assert Traps().reason(f"{SITE}calendar/2087/11/") == ""


def test_zero_switches_a_rule_off() -> None:
    off = Traps(length=0, segments=0, repeats=0, run=0, parameters=0)
    assert off.reason(SITE + "a/" * 2000 + "?" + "&" * 100) == ""


@pytest.mark.parametrize("piece", ["a/", "a/b/", "/", "&", "9", "2087/11/", "year=", "calend", "%"])
def test_hostile_urls_take_linear_time(piece: str) -> None:
    unlimited = Traps(length=0, segments=0, repeats=9_999_999, parameters=0, year=2025)
    url = SITE + (piece * 1_000_000)[:1_000_000]
    start = time.process_time()
    unlimited.reason(url)
    assert time.process_time() - start < 5  # a million characters; quadratic would be hours


segments = st.lists(st.sampled_from(("a", "b", "c", "")), max_size=14)


@given(segments, st.integers(2, 4))
def test_repeated_segments_are_counted(path: list[str], limit: int) -> None:
    assert repeats_segment(path, limit) == any(path.count(name) >= limit for name in "abc")


@given(segments, st.integers(1, 4))
def test_repeated_runs_are_found_as_by_trying_all(path: list[str], shortest: int) -> None:
    assert repeats_run(path, shortest) == any(
        path[start : start + length] == path[start + length : start + 2 * length]
        for length in range(shortest, len(path) // 2 + 1)
        for start in range(len(path) - 2 * length + 1)
    )


@given(st.text("/a29-=?&year", max_size=60))
def test_any_url_has_an_answer(text: str) -> None:
    assert TRAPS.reason(normalise(SITE + text)) in {
        "", "length", "segments", "repeats", "run", "parameters", "calendar",
    }  # fmt: skip


@pytest.mark.parametrize("year", [1999, 2000, 2010, 2011])
def test_the_window_includes_its_ends(year: int) -> None:
    assert leaves_calendar(f"{SITE}calendar/{year}/1", 2000, 2010) == (year in (1999, 2011))
