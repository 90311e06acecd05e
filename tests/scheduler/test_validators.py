from __future__ import annotations

import time
from typing import Any

import pytest
from scrapy.http.headers import Headers

from rdfaspider.frontier import Taken, Visit
from rdfaspider.items import Page
from rdfaspider.middlewares.cacheheaders import LONGEST_FRESH, fresh_seconds, validators_of
from rdfaspider.scheduler.answers.validators import CHECKED, Validators
from tests.pipelines.test_ends import Notes

URL = "http://site.test/{}"


def taken(number: int = 0, visit: Visit | None = None, **more: Any) -> Taken:
    visit = visit or Visit(1000.0, '"v1"', "Sun, 01 Nov 2026 11:00:00 GMT", **more)
    return Taken(URL.format(number), 1, 0, number, 0, visit=visit)


def page(etag: str, changed: bool, number: int = 0) -> Page:
    return Page(URL.format(number), 1, etag=etag, changed=changed, status=200)


def validators() -> tuple[Validators, Any]:
    notes: Any = Notes()
    return Validators(notes), notes


def test_what_the_server_sent_is_sent_back_but_for_one_in_twenty() -> None:
    known, _ = validators()
    asked = [known.conditions(taken(number)) for number in range(2000)]
    full = sum(not headers for headers in asked)
    assert 2000 / CHECKED * 0.6 < full < 2000 / CHECKED * 1.4
    assert next(filter(None, asked)) == {
        "If-None-Match": '"v1"',
        "If-Modified-Since": "Sun, 01 Nov 2026 11:00:00 GMT",
    }
    assert asked == [known.conditions(taken(number)) for number in range(2000)]


@pytest.mark.parametrize(
    "each",
    [
        Taken(URL.format(1), 1, 0, 1, 0),
        taken(1, Visit(1000.0)),
        taken(1, misses=1, missed_since=900.0),
    ],
)
def test_what_was_never_read_or_was_missing_is_asked_for_in_full(each: Taken) -> None:
    assert Validators(Notes()).conditions(each) == {}  # type: ignore[arg-type]


def test_a_lie_ends_the_trust_in_a_host_until_hits_outweigh_it() -> None:
    known, notes = validators()
    number = next(n for n in range(99) if known.conditions(taken(n)))
    assert known.learn(taken(number), page('"v2"', False)) == "alarm"
    assert known.learn(taken(number), page('"v2"', True)) == ""
    assert known.conditions(taken(number))
    assert known.learn(taken(number), page('"v1"', True)) == "lie"
    assert not known.conditions(taken(number))
    again = Validators(notes)  # another run
    assert not again.conditions(taken(number))
    for _ in range(50):
        assert again.learn(taken(number), page('"v1"', False)) == "hit"
    assert again.conditions(taken(number))
    assert again.record("site.test") == (50, 1, 1)


def test_without_a_comparison_nothing_is_learnt() -> None:
    known, notes = validators()
    assert known.learn(taken(1, Visit(1.0)), page('"v1"', True)) == ""
    assert known.learn(taken(1), page("", True)) == ""
    assert known.learn(taken(1, misses=1), page('"v1"', True)) == ""
    assert not notes.notes


def headers(**fields: str) -> Headers:
    return Headers({name.replace("_", "-"): value for name, value in fields.items()})


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (headers(ETag='W/"abc"'), ('W/"abc"', "")),
        (headers(ETag="abc"), ("", "")),
        (headers(ETag='"' + "x" * 500 + '"'), ("", "")),
        (headers(ETag='"a\x1bb"'), ("", "")),
        (
            headers(Last_Modified="Sun, 01 Nov 2026 11:00:00 GMT"),
            ("", "Sun, 01 Nov 2026 11:00:00 GMT"),
        ),
        (headers(Last_Modified="soon"), ("", "")),
        (Headers({"Last-Modified": b"Sun, 01 Nov 2026 11:00:00 \xe9"}), ("", "")),
        (headers(), ("", "")),
    ],
)
def test_validators_are_kept_if_they_are_some(sent: Headers, expected: tuple[str, str]) -> None:
    assert validators_of(sent) == expected


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (headers(Cache_Control="public, max-age=600"), 600.0),
        (headers(Cache_Control="max-age=600", Age="200"), 400.0),
        (headers(Cache_Control="max-age=600, no-cache"), 0.0),
        (headers(Cache_Control="s-maxage=600"), 0.0),
        (headers(Cache_Control="max-age=99999999"), LONGEST_FRESH),
        (headers(Cache_Control="max-age=600", Age="9999"), 0.0),
        (headers(), 0.0),
    ],
)
def test_how_long_a_page_is_fresh(sent: Headers, seconds: float) -> None:
    assert fresh_seconds(sent) == seconds


def test_memory_is_bounded() -> None:
    known, _ = validators()
    began = time.process_time()
    for number in range(30_000):
        known.record(f"h{number}.test")
    assert len(known._records) <= 10_000
    assert time.process_time() - began < 5
