from __future__ import annotations

import resource
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from rdfaspider.frontier import Taken
from rdfaspider.scheduler.lanes import _FEW, _ROOM, FLOW, SOON, YOUNG, Lanes
from rdfaspider.scheduler.options import lanes_of


def url_of(host: int) -> Taken:
    return Taken(f"http://h{host}.example/", 0, 0, host, host)


def prove(lanes: Lanes, host: int) -> None:
    lanes.begin(-1, host, 0.0)
    lanes.end(-1, 0.1, answered=True)


def test_hosts_not_proven_hold_a_share() -> None:
    lanes = Lanes(slots=4, share=0.5)
    prove(lanes, 7)
    for number in range(2):
        assert lanes.admits(number, 0.0)
        lanes.begin(number, number, 0.0)
    assert not lanes.admits(3, 0.0)
    assert lanes.admits(7, 0.0)
    lanes.end(0, 1.0, answered=None)
    assert lanes.admits(3, 1.0)


def test_one_slot_is_enough_to_begin_with() -> None:
    assert Lanes(slots=1, share=0.1).admits(1, 0.0)


def test_a_host_is_proven_while_its_last_page_came_soon() -> None:
    lanes = Lanes(slots=4)
    assert not lanes.is_proven(5)
    for seconds, answered, is_proven in (
        (1.0, True, True),
        (60.0, None, True),  # it was not asked
        (1.0, False, False),
        (SOON, True, True),
        (SOON + 1, True, False),
        (1.0, None, False),
    ):
        lanes.begin(1, 5, 0.0)
        lanes.end(1, seconds, answered=answered)
        assert lanes.is_proven(5) == is_proven


def test_slow_fetches_hold_no_slot_up_to_a_number() -> None:
    lanes = Lanes(slots=4, share=1.0, most_slow=3)
    for number in range(4):
        lanes.begin(number, number, 0.0)
    assert lanes.young(YOUNG - 0.1) == 4
    assert not lanes.admits(9, YOUNG - 0.1)
    assert lanes.young(YOUNG) == 1
    assert lanes.slow == 3
    assert lanes.admits(9, YOUNG)
    lanes.end(0, YOUNG + 1, answered=False)
    assert lanes.slow == 2
    assert lanes.young(YOUNG + 1) == 0, "there is room for another slow one"
    assert lanes.slow == 3


def test_urls_that_wait_have_their_turn_in_order() -> None:
    lanes = Lanes(slots=2, share=0.5, most_slow=1)
    lanes.begin(1, 1, 0.0)
    assert lanes.seconds_to_room(0.0) is None  # nobody waits
    lanes.keep(url_of(2), 0.5)
    lanes.keep(url_of(3), 0.6)
    assert lanes.next_kept(1.0) is None
    assert lanes.seconds_to_room(1.0) == YOUNG - 1.0
    kept = lanes.next_kept(YOUNG)
    assert kept is not None
    assert (kept[0], kept[1].host) == (0.5, 2)
    lanes.begin(2, 2, YOUNG)
    assert lanes.next_kept(YOUNG) is None
    lanes.end(2, YOUNG, answered=True)
    kept = lanes.next_kept(YOUNG)
    assert kept is not None
    assert kept[1].host == 3


def test_few_urls_wait_while_the_lane_flows_and_many_while_it_does_not() -> None:
    lanes = Lanes(slots=2 * _FEW, share=1 / _FEW)
    lanes.begin(0, 0, 0.0)
    for number in range(_FEW):
        assert not lanes.is_patient(0.0)
        lanes.keep(url_of(number), 0.0)
    assert lanes.is_patient(FLOW - 0.1)
    assert not lanes.is_patient(FLOW)
    for number in range(_ROOM - _FEW):
        assert lanes.keep(url_of(number), FLOW)
    assert not lanes.keep(url_of(1), FLOW)


def test_no_more_urls_wait_than_there_are_slots_while_the_lane_flows() -> None:
    lanes = Lanes(slots=2)
    lanes.keep(url_of(0), 0.0)
    assert not lanes.is_patient(0.0)
    lanes.keep(url_of(1), 0.0)
    assert lanes.is_patient(0.0)


def test_urls_that_find_no_room_come_back_one_after_the_other() -> None:
    lanes = Lanes(slots=8, share=0.5)
    first = lanes.return_time(100.0)
    assert first > 100.0 + YOUNG
    assert [lanes.return_time(100.0) - first for _ in range(3)] == [0.5, 1.0, 1.5]
    assert lanes.return_time(1000.0) > 1000.0


Step = tuple[Literal["begin", "answer", "fail", "wait"], int]


@given(st.lists(st.tuples(st.sampled_from(["begin", "answer", "fail", "wait"]), st.integers(0, 9))))
def test_no_lane_holds_more_than_it_may(steps: list[Step]) -> None:
    lanes = Lanes(slots=4, share=0.5, most_slow=3)
    now, number = 0.0, 0
    running: list[int] = []
    for step, host in steps:
        if step == "wait":
            now += host / 3
        elif step == "begin" and lanes.young(now) < lanes.slots and lanes.admits(host, now):
            number += 1
            lanes.begin(number, host, now)
            running.append(number)
        elif step in ("answer", "fail") and running:
            lanes.end(running.pop(host % len(running)), now, answered=step == "answer")
        assert lanes.young(now) + lanes.slow == len(running)
        assert lanes.slow <= 3
        assert lanes.young(now) <= lanes.slots
        assert len(lanes._tries) <= lanes.share


def test_tries_that_became_slow_are_remembered_when_others_begin() -> None:
    lanes = Lanes(slots=64, share=0.5, most_slow=64)
    for number in range(32):
        lanes.begin(number, number, 0.0)
    for number in range(_FEW):
        lanes.keep(url_of(number), 0.0)
    assert lanes.young(YOUNG) == 0
    lanes.begin(100, 100, YOUNG)
    assert not lanes.is_patient(YOUNG), "hosts that answer do not wait until it is certain again"
    for number in range(200, 264):
        lanes.begin(number, number, YOUNG)
        lanes.end(number, YOUNG + 0.1, answered=True)
    assert lanes.is_patient(YOUNG + 0.1)


@pytest.mark.parametrize(
    ("files", "slots", "most_slow"),
    [(20_000, 256, 1024), (1024, 256, 256), (256, 64, 64), (resource.RLIM_INFINITY, 256, 1024)],
)
def test_there_are_no_more_fetches_than_files(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    files: int,
    slots: int,
    most_slow: int,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    settings = Settings({"CONCURRENT_REQUESTS": 256, "FETCH_UNPROVEN_SHARE": 0.5})
    lanes = lanes_of(settings)
    assert (lanes.slots, lanes.share, lanes.most_slow) == (slots, slots // 2, most_slow)
    assert ("ulimit" in caplog.text) == (slots < 256)
