from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.focus.guesses import Guesses

PAGE = "https://example.org/pics1/Page1.html"


def test_parents_come_first_then_neighbours() -> None:
    assert list(Guesses().candidates(PAGE)) == [
        "https://example.org/pics1/",
        "https://example.org/",
        "https://example.org/pics1/Page2.html",
        "https://example.org/pics1/Page0.html",
        "https://example.org/pics2/Page1.html",
        "https://example.org/pics0/Page1.html",
    ]


def test_a_host_where_nothing_hits_costs_its_budget_and_no_more() -> None:
    guesses = Guesses(budget=20, patience=1_000)
    made = sum(guesses.made(f"https://example.org/{number}/1") for number in range(100))
    assert made == 20
    assert list(guesses.candidates(PAGE)) == []
    assert list(guesses.candidates(PAGE.replace("example", "other"))), "other hosts have their own"


def test_hits_pay_for_more() -> None:
    guesses = Guesses(budget=5)
    for number in range(100):
        url = f"https://example.org/pics/Page{number}.html"
        assert guesses.made(url)
        guesses.answered(url, hit=True)


def test_a_folder_where_guesses_fail_is_left_alone() -> None:
    guesses = Guesses(patience=5)
    for number in range(5):
        url = f"https://example.org/dull/{number}"
        assert guesses.made(url)
        guesses.answered(url, hit=False)
    found = list(guesses.candidates("https://example.org/dull/77"))
    assert found == ["https://example.org/dull/", "https://example.org/"]
    assert "https://example.org/new/2" in list(guesses.candidates("https://example.org/new/1"))


@given(st.lists(st.tuples(st.integers(0, 90), st.booleans()), max_size=80))
def test_state_is_bounded_and_survives(answers: list[tuple[int, bool]]) -> None:
    guesses = Guesses(most=20)
    for number, hit in answers:
        url = f"https://h{number % 30}.test/{number}/1"
        guesses.made(url)
        guesses.answered(url, hit)
        assert len(guesses) <= 21
    again = Guesses(most=20)
    again.load(guesses.dump())
    assert again.dump() == guesses.dump()


@pytest.mark.parametrize("data", [b"", b"{}x", b'[["a"]]', b'[["a", "b", 1]]', b"[1]"])
def test_damaged_data_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="damaged"):
        Guesses().load(data)
