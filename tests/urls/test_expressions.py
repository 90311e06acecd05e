from __future__ import annotations

import time

import pytest

from rdfaspider.urls.expressions import linear
from rdfaspider.urls.filters import Rules

# Python's re would need longer than the universe has lasted for the URL below.
EXPLOSIVE = "^(([a-z:/.0-9])+)+[!]$"
URL = "http://www.example.org/a/long/path/with/many/segments/" + 40 * "x"


def test_an_expression_that_explodes_is_matched_at_once() -> None:
    begin = time.process_time()
    assert not linear(EXPLOSIVE).search(URL)
    assert not Rules([f"regex:{EXPLOSIVE}"], late=True).match(URL)
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize(
    "text", ["", "org", r"^http://[^/]+/a/", r"(?i)LONG", r"x{40}$", r"\bpath\b"]
)
def test_what_is_there_is_found(text: str) -> None:
    assert linear(text).search(URL)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(", "missing )"),
        ("(?!a)b", "no look-around"),
        (r"(a)\1", "no back-references"),
        ("((a{999}){999}){999}", "repetition"),
        ("\ud800", "not text"),
    ],
)
def test_what_cannot_be_matched_gets_a_sentence(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="is not a regular expression") as raised:
        linear(text)
    assert why in str(raised.value)
