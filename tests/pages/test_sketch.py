"""Sketches estimate how many runs of words two texts share."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.pages import sketch as module
from rdfaspider.pages.sketch import SIZE, similarity, sketch_of


def runs(text: str) -> set[tuple[str, ...]]:
    words = text.lower().split()
    return set(zip(words, words[1:], words[2:], strict=False))


def jaccard(one: str, other: str) -> float:
    return len(runs(one) & runs(other)) / len(runs(one) | runs(other))


def sketch(text: str) -> bytes:
    words, found = sketch_of(text)
    assert words == len(text.split()) and len(found) == SIZE
    return found


def texts(numbers: Random, share: float, size: int = 400) -> tuple[str, str]:
    """Return a text, and one in which some words are others."""
    words = [f"w{numbers.randrange(5000)}" for _ in range(size)]
    changed = [word if numbers.random() > share else f"x{word}" for word in words]
    return " ".join(words), " ".join(changed)


def test_the_estimate_is_right_on_average() -> None:
    numbers = Random(1)
    errors = []
    for share in (0.0, 0.02, 0.05, 0.1, 0.2, 1.0):
        for _ in range(100):
            one, other = texts(numbers, share)
            errors.append(similarity(sketch(one), sketch(other)) - jaccard(one, other))
    assert abs(sum(errors) / len(errors)) < 0.01
    assert (sum(error**2 for error in errors) / len(errors)) ** 0.5 < 0.08
    one, other = texts(numbers, 0.0)
    assert similarity(sketch(one), sketch(other)) == 1.0


def test_layout_and_case_make_no_difference() -> None:
    text, _ = texts(Random(2), 0.0)
    assert sketch(text) == sketch(text.upper()) == sketch(text.replace(" ", "\n\t "))


@given(st.lists(st.text("abcdé", min_size=1, max_size=4), max_size=60).map(" ".join))
def test_numpy_makes_no_difference(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_numpy", lambda: None)
        without = sketch_of(text)
    assert sketch_of(text) == without


@pytest.mark.parametrize("text", ["", "a b c", "word " * 1000, " \n "])
def test_a_text_that_says_too_little_has_no_sketch(text: str) -> None:
    assert sketch_of(text) == (len(text.split()), b"")


def test_a_text_without_spaces_has_one() -> None:
    numbers = Random(3)
    signs = [chr(numbers.randrange(0x4E00, 0x9FFF)) for _ in range(500)]
    one, changed = "".join(signs), "".join([*signs[:250], "鰯", *signs[251:]])
    other = "".join(numbers.sample(signs, 500))
    assert similarity(sketch(one), sketch(changed)) > 0.8
    assert similarity(sketch(one), sketch(other)) < 0.2
    assert similarity(sketch(one), sketch(one[:100] + " \n" + one[100:])) == 1.0


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    _, found = sketch_of(text)
    assert len(found) in (0, SIZE)


def test_all_processes_make_the_same() -> None:
    text, _ = texts(Random(4), 0.0)
    program = (
        "import sys; from rdfaspider.pages.sketch import *; print(sketch_of(sys.argv[1])[1].hex())"
    )
    others = {
        subprocess.run(
            [sys.executable, "-c", program, text],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert others == {sketch(text).hex()}
