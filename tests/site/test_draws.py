from __future__ import annotations

from statistics import mean

from rdfaspider.site.draws import draw, stream, whole


def test_numbers_are_the_same_in_every_process_and_version() -> None:
    assert whole(0, "fate", 1, 2) == 15756340265144263510
    assert stream(0, "page").random() == 0.7411383654654045


def test_keys_are_told_apart() -> None:
    assert len({whole(1, 23), whole(12, 3), whole(123), whole("1", "23", "")}) == 4


def test_draws_are_spread_evenly_over_0_to_1() -> None:
    draws = [draw("even", number) for number in range(10_000)]
    assert all(0 <= value < 1 for value in draws)
    assert abs(mean(draws) - 0.5) < 0.02
    assert abs(sum(value < 0.1 for value in draws) - 1000) < 120
