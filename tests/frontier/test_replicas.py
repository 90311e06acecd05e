from __future__ import annotations

from typing import Any

import pytest
from redis.exceptions import NoPermissionError, ResponseError

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.redis.replicas import Replicas

ALONE: list[Any] = [b"master", 1, []]
LEADING: list[Any] = [b"master", 1, [[b"127.0.0.1", b"1", b"1"]]]
FOLLOWING: list[Any] = [b"slave", b"127.0.0.1", 1, b"connected", 1]


def known_to_lead() -> Replicas:
    replicas = Replicas()
    assert replicas.take_answers("a", ["reply", LEADING]), "it is believed until it is known"
    return replicas


@pytest.mark.parametrize(
    ("answers", "is_safe"),
    [
        ([1, LEADING], True),
        ([0, LEADING], False),
        ([0, ALONE], True),  # it must go on
        ([ResponseError("WAIT cannot be used with replica instances"), FOLLOWING], False),
        ([1, FOLLOWING], False),  # what it took in as a primary is forgotten
        ([ResponseError("LOADING"), ResponseError("LOADING")], False),
    ],
)
def test_what_was_told_counts_when_a_replica_has_it(answers: list[Any], is_safe: bool) -> None:
    replies = ["reply", *answers]
    assert known_to_lead().take_answers("a", replies) is is_safe
    assert replies == ["reply"]


def test_one_who_may_not_wait_is_told_so() -> None:
    with pytest.raises(FrontierUnavailable, match="does not allow WAIT"):
        known_to_lead().take_answers("a", ["reply", NoPermissionError("NOPERM wait"), LEADING])
