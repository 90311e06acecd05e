from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.focus.contexts import (
    POOR,
    RICH,
    VERY_RICH,
    Contexts,
    context_of,
    lift_of,
    promise_of,
    richness,
)

A, B, OTHER = b"org,example)/a/", b"org,example)/b/", b"org,other)/b/"


def test_kind_page_and_words_make_different_contexts() -> None:
    made = {
        context_of(A, A, RICH, "", "next"),
        context_of(A, A, RICH, "next", ""),
        context_of(A, A, POOR, "", "next"),
        context_of(A, B, RICH),
        context_of(A, OTHER, RICH),
    }
    assert len(made) == 5
    assert all(0 <= context < 65_536 for context in made)


def test_the_number_of_a_page_and_a_long_title_do_not_matter() -> None:
    assert context_of(A, A, RICH, "", "page 2") == context_of(A, A, RICH, "", "Page 31")
    title = "The quick brown fox jumps over"
    assert context_of(A, A, RICH, "", title) == context_of(A, A, RICH)


def test_the_name_of_a_section_means_the_same_on_other_hosts() -> None:
    assert context_of(A, b"org,x)/recipes/", RICH) == context_of(A, b"org,y)/recipes/", RICH)
    assert context_of(A, b"org,x)/recipes/", RICH) != context_of(A, b"org,x)/about/", RICH)


def test_links_that_lead_to_more_have_a_lift() -> None:
    contexts = Contexts()
    good, bad = context_of(A, OTHER, RICH), context_of(A, OTHER, POOR)
    for _ in range(100):
        contexts.learn(good, 1.0, 0.1)
        contexts.learn(bad, 0.0, 0.1)
    assert contexts.lift(good) > 4
    assert contexts.lift(bad) < 0.4
    assert contexts.promise(good) > 128 > contexts.promise(bad)
    other_words = context_of(A, b"org,other)/unheard/", RICH)
    assert 1 < contexts.lift(other_words) <= contexts.lift(good), "it leans on its kind"


@given(
    st.lists(st.tuples(st.integers(0, 65_535), st.floats(0, 1), st.floats(0, 1)), max_size=50),
    st.integers(0, 65_535),
)
def test_lifts_are_bounded_and_survive(learnt: list[tuple[int, float, float]], asked: int) -> None:
    contexts, again = Contexts(), Contexts()
    for context, found, expected in learnt:
        contexts.learn(context, found, expected)
    again.unpack(contexts.pack())
    assert 1 / 16 <= contexts.lift(asked) <= 16
    assert again.lift(asked) == pytest.approx(contexts.lift(asked), rel=1e-3)


def test_damaged_contexts_are_refused() -> None:
    with pytest.raises(ValueError, match="damaged"):
        Contexts().unpack(b"abc")


@pytest.mark.parametrize("lift", [1 / 16, 0.3, 1.0, 2.0, 11.0])
def test_a_lift_fits_in_a_byte(lift: float) -> None:
    assert lift_of(promise_of(lift)) == pytest.approx(lift, rel=0.02)


def test_richness_compares_with_the_usual() -> None:
    assert [richness(gain, 10.0) for gain in (0.0, 5.0, 50.0)] == [POOR, RICH, VERY_RICH]


def test_a_promise_changes_with_what_is_learnt() -> None:
    contexts = Contexts()
    before = contexts.promise(7)
    contexts.learn(7, 9.0, 1.0)
    assert contexts.promise(7) > before
