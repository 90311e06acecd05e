from __future__ import annotations

import time
from math import isfinite
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.focus.harvest import Harvest, Shares, prefixes, section_of
from rdfaspider.urls.keys import to_key

RICH, POOR = "https://www.example.org/recipes/", "https://www.example.org/about/"


def taught(**options: int) -> Harvest:
    """Return a harvest that knows a rich section, a poor one, and a poor host."""
    harvest = Harvest(**options)
    for page in range(40):
        harvest.learn(to_key(f"{RICH}{page}"), 12.0)
        harvest.learn(to_key(f"{POOR}{page}"), 0.0)
        harvest.learn(to_key(f"https://poor.test/a/{page}"), 0.0)
    return harvest


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.example.org/", [b"org,", b"org,example,", b"org,example,www)/"]),
        ("https://example.org/page", [b"org,", b"org,example)/"]),
        ("https://example.org/a/b", [b"org,", b"org,example)/", b"org,example)/a/"]),
        ("https://example.org/a/", [b"org,", b"org,example)/", b"org,example)/a/"]),
        (
            "https://example.org/a/b/c/d",
            [b"org,", b"org,example)/", b"org,example)/a/", b"org,example)/a/b/"],
        ),
        ("https://example.org/show?id=1", [b"org,", b"org,example)/", b"org,example)/show?"]),
        ("http://127.0.0.1:8000/a/1", [b"127.0.0.1:8000)/", b"127.0.0.1:8000)/a/"]),
    ],
)
def test_prefixes_go_from_the_root_to_the_second_folder(url: str, expected: list[bytes]) -> None:
    assert prefixes(to_key(url)) == expected


def test_a_section_is_the_host_and_the_first_folder() -> None:
    assert section_of(to_key("https://example.org/a/b/c")) == b"org,example)/a/"
    assert section_of(to_key("https://example.org/page")) == b"org,example)/"
    assert section_of(b"org,example)/a/") == b"org,example)/a/", "of a section it is itself"


@given(st.text("a,)/?&", max_size=12))
def test_a_section_is_the_first_prefix_below_the_host(path: str) -> None:
    key = b"org,example)/" + path.encode()
    assert section_of(key) == prefixes(key, 1)[-1]


def expected(harvest: Harvest, key: bytes) -> float:
    """Return the expected gain of a page."""
    share, worth = harvest.estimate(prefixes(key))
    return share * worth


def test_sections_of_one_host_are_told_apart() -> None:
    harvest = taught()
    assert expected(harvest, to_key(f"{RICH}new")) > 10
    assert expected(harvest, to_key(f"{POOR}new")) < 1


def test_a_new_section_is_believed_to_be_like_its_host() -> None:
    harvest = taught()
    new = expected(harvest, to_key("https://www.example.org/new/1"))
    assert new > 5 * expected(harvest, to_key("https://poor.test/new/1"))
    assert new < expected(harvest, to_key(f"{RICH}new"))


def test_a_large_section_does_not_speak_for_its_sisters() -> None:
    few, many = Harvest(), Harvest()
    for harvest, pages in ((few, 4), (many, 1_000)):
        for page in range(pages):
            harvest.learn(to_key(f"{RICH}{page}"), 5.0)
        for section in range(8):
            harvest.learn(to_key(f"https://www.example.org/{section}/"), 0.0)
    sister = to_key("https://www.example.org/new/1")
    assert few.estimate(prefixes(sister))[0] < many.estimate(prefixes(sister))[0] < 0.8


def test_a_score_stays_until_something_new_is_known() -> None:
    harvest = taught()
    section = section_of(to_key(f"{RICH}1"))
    first = harvest.score(section)
    assert harvest.score(section) == first
    harvest.learn(to_key(f"{RICH}41"), 12.0)
    assert harvest.score(section) != first


def test_what_is_learnt_of_a_host_changes_the_scores_of_all_its_sections() -> None:
    harvest = taught()
    sections = [section_of(to_key(url)) for url in (RICH, POOR, "https://poor.test/a/")]
    before = [harvest.score(section) for section in sections]
    harvest.learn(to_key("https://www.example.org/new/1"), 50.0)
    after = [harvest.score(section) for section in sections]
    assert all(new > old for old, new in zip(before[:2], after, strict=False))
    fresh = Harvest.load(harvest.dump())
    assert after == pytest.approx([fresh.score(section) for section in sections], rel=1e-4)


def test_known_sections_do_not_speak_for_links_to_unknown_ones() -> None:
    """Links lead to a section known to be rich, and as often to new hosts that have nothing."""
    harvest = taught()
    for page in range(1_000):
        harvest.learn(to_key(f"{RICH}{page}"), 12.0)
    for page in range(100):
        harvest.learn(to_key(f"{RICH}more-{page}"), 12.0, context=7)
        harvest.learn(to_key(f"https://host{page}.org/a/"), 0.0, context=7)
    assert harvest.contexts.lift(7) < 0.5


def test_what_is_unknown_is_tried_now_and_then() -> None:
    harvest = taught()
    for page in range(40):
        harvest.learn(to_key(f"https://fair.test/a/{page}"), 12.0 * (page % 4 == 0))
    known = harvest.score(b"test,fair)/a/")
    scores = [harvest.score(b"net,host%d)/a/" % number) for number in range(2_000)]
    better = sum(score > known for score in scores)
    assert 0 < better < 600
    poor = [harvest.score(b"test,poor)/%d/" % number) for number in range(2_000)]
    assert sum(score > known for score in poor) < better / 4


def test_a_good_link_makes_an_unknown_section_better() -> None:
    harvest = Harvest()
    assert harvest.score(b"org,new)/a/", 4.0) != harvest.score(b"org,new)/a/", 1.0)
    sections = [b"org,host%d)/a/" % number for number in range(500)]
    assert sum(harvest.score(section, 4.0) for section in sections) > 2 * sum(
        harvest.score(section, 1.0) for section in sections
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from([f"https://h{n % 5}.test/{n % 7}/{n}?x" for n in range(60)]),
            st.floats(-1e9, 1e9),
            st.integers(0, 65_535),
        ),
        max_size=60,
    )
)
def test_what_was_learnt_survives_and_stays_finite(pages: list[tuple[str, float, int]]) -> None:
    harvest = Harvest(most=32)
    for url, gain, context in pages:
        harvest.learn(to_key(url), gain, context)
        assert len(harvest) <= 32
    again = Harvest.load(harvest.dump(), most=32)
    assert len(again) == len(harvest)
    for url, _, context in pages:
        section = section_of(to_key(url))
        assert again.score(section) == pytest.approx(harvest.score(section), rel=1e-4, abs=1e-6)
        assert isfinite(again.score(section))
        assert again.contexts.lift(context) == pytest.approx(harvest.contexts.lift(context), 1e-4)


def test_the_least_known_is_forgotten_and_the_new_can_overtake() -> None:
    harvest = taught(most=64)
    for host in range(500):
        harvest.learn(to_key(f"https://h{host}.test/a/1"), 0.0)
        assert len(harvest) <= 64
    for page in range(30):
        harvest.learn(to_key(f"https://late.test/rich/{page}"), 9.0)
        harvest.learn(to_key(f"https://h{page}.test/b/1"), 0.0)
    assert expected(harvest, to_key("https://late.test/rich/new")) > 4


@pytest.mark.parametrize("data", [b"", b"harvest2", b"harvest2\x78\x9c", b"other"])
def test_damaged_data_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a stored|damaged"):
        Harvest.load(data)
    with pytest.raises(ValueError, match="damaged"):
        Harvest.load(taught().dump()[:-20])


def test_learning_and_scoring_are_quick() -> None:
    """A few µs each; the bounds leave room for a busy machine."""
    chance = Random(1)
    urls = [f"https://www.h{chance.randrange(2_000)}.test/s{n % 9}/b/{n}" for n in range(20_000)]
    keys = [to_key(url) for url in urls]
    sections = [section_of(key) for key in keys]
    harvest = Harvest()
    start = time.process_time()
    for key in keys:
        harvest.learn(key, 0.0)
    learnt = time.process_time()
    for section in sections:
        harvest.score(section)
    scored = time.process_time()
    assert (learnt - start) / len(keys) < 60e-6
    assert (scored - learnt) / len(keys) < 40e-6


def test_a_host_has_its_share_of_the_last_turns() -> None:
    shares = Shares(largest=0.1, window=100)
    for _ in range(10):
        assert shares.has_room(7)
        shares.count(7)
    assert not shares.has_room(7)
    assert shares.has_room(8)
    for turn in range(91):
        assert not shares.has_room(7)
        shares.count(1_000 + turn)
    assert shares.has_room(7), "the first of its ten turns is long past"


@pytest.mark.parametrize("largest", [0.0, -1.0, 1.5])
def test_a_share_is_a_share(largest: float) -> None:
    with pytest.raises(ValueError, match="share"):
        Shares(largest)
