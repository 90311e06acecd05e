from __future__ import annotations

import pytest

from rdfaspider.robots.record import DAY, RobotsRecord, answered, unreachable

RULES = b"User-agent: *\nDisallow: /a\nCrawl-delay: 7"
URL = "http://x.test/a"


def test_rules_hold_for_a_day() -> None:
    record = answered(200, RULES, "us", 100.0, None)
    assert not record.rules.allows(URL)
    assert record.rules.crawl_delay == 7.0
    assert record.expires == 100.0 + DAY


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418])
def test_4xx_allows_all_whatever_the_body_says(status: int) -> None:
    assert answered(status, b"User-agent: *\nDisallow: /", "us", 0.0, None).rules.allows(URL)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_5xx_forbids_all_and_asks_again_later_each_time(status: int) -> None:
    record = answered(status, b"", "us", 0.0, None)
    waits = []
    for _ in range(14):
        assert not record.rules.allows(URL)
        assert not record.reached
        now = record.expires
        record = answered(status, b"", "us", now, record)
        waits.append(record.expires - now)
    assert waits[:3] == [120.0, 240.0, 480.0]
    assert waits[-1] == DAY


def test_a_server_says_itself_when_to_ask_again() -> None:
    assert answered(503, b"", "us", 0.0, None, wanted=3600.0).expires == 3600.0
    assert answered(503, b"", "us", 0.0, None, wanted=1.0).expires == 60.0
    assert answered(429, b"", "us", 0.0, None, wanted=99 * DAY).expires == DAY


@pytest.mark.parametrize("status", [-1, 0, 199, 600, 99_999])
def test_a_status_that_there_is_not_is_no_answer(status: int) -> None:
    assert not answered(status, b"", "us", 0.0, None).reached


def test_the_rules_of_the_last_answer_hold_while_it_is_out_of_reach() -> None:
    good = answered(200, RULES, "us", 0.0, None)
    record = unreachable(good.expires, good)
    assert record.rules.allows("http://x.test/b")
    assert not record.rules.allows(URL)
    assert record.expires < good.expires + DAY


def test_after_thirty_days_all_is_allowed() -> None:
    record = unreachable(0.0, None)
    record = unreachable(29 * DAY, record)
    assert not record.rules.allows(URL)
    record = unreachable(31 * DAY, record)
    assert record.rules.allows(URL)


def test_an_answer_ends_the_outage() -> None:
    record = answered(200, RULES, "us", 50.0, unreachable(0.0, None))
    assert (record.failures, record.reached) == (0, True)


def test_only_so_much_of_a_file_is_read() -> None:
    body = b"User-agent: *\n" + b"#" * 600_000 + b"\nDisallow: /a\n"
    assert answered(200, body, "us", 0.0, None).rules.allows(URL)


@pytest.mark.parametrize("record", [answered(200, RULES, "us", 1.0, None), unreachable(2.0, None)])
def test_records_are_kept_as_bytes(record: RobotsRecord) -> None:
    again = RobotsRecord.from_bytes(record.to_bytes())
    assert (again.expires, again.failures, again.since, again.reached) == (
        record.expires,
        record.failures,
        record.since,
        record.reached,
    )
    assert again.rules.allows(URL) == record.rules.allows(URL)
    assert again.rules.crawl_delay == record.rules.crawl_delay


def test_other_bytes_are_refused() -> None:
    with pytest.raises(ValueError):
        RobotsRecord.from_bytes(b"nonsense")
