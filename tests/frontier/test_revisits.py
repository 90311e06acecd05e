"""Pages that are visited again: what every frontier guarantees."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

from rdfaspider.focus.visits.planner import RevisitRules
from rdfaspider.frontier import Frontier, Keep, Taken, Visit

if TYPE_CHECKING:
    from tests.frontier.conftest import Opener


def _known(taken: Taken) -> Visit:
    """Return what is known of the visits before, but for the weight."""
    assert taken.visit is not None
    return taken.visit._replace(weight=0.0)


def test_without_revisits_a_page_ends_for_good(opener: Opener) -> None:
    with opener(delay=0.0) as frontier:
        frontier.put(["http://a.test/"])
        taken = frontier.take(0.0)
        assert taken is not None and taken.visit is None
        frontier.finish(taken, "done", 0.0, keep=Keep(weight=3, etag='"a"', soonest=1.0))
        frontier.expect([("http://a.test/", 5.0), ("http://unknown.test/", 5.0)])
        assert frontier.wait(10.0) is None
        counts = frontier.counts()
        assert (counts.done, counts.kept, counts.seen) == (1, 0, 1)


RULES = RevisitRules(mean=100.0, shortest=10.0, longest=1_000.0, missed=50.0)


def urls(host: str, count: int) -> list[str]:
    return [f"http://{host}.test/x/{number}" for number in range(count)]


def visit_all(frontier: Frontier, now: float, keep: Keep | None = None) -> list[Taken]:
    """Take and keep what is ready until nothing is, moving the clock by politeness only."""
    visited: list[Taken] = []
    while True:
        taken = frontier.take(now)
        if taken is not None:
            visited.append(taken)
            frontier.finish(taken, "done", now, keep=keep or Keep(weight=5.0))
            continue
        seconds = frontier.wait(now)
        if seconds is None or seconds >= 9.0:
            return visited
        now += max(seconds, 0.01)


def test_a_kept_page_is_handed_out_again_when_it_is_due(opener: Opener) -> None:
    with opener(delay=0.0, revisits=RevisitRules(every=60.0)) as frontier:
        frontier.put(["http://a.test/"])
        keep = Keep(None, 3.0, '"v1"', "Mon, 16 Nov 2026 10:00:00 GMT")
        assert len(visit_all(frontier, 1_000.0, keep)) == 1
        counts = frontier.counts()
        assert (counts.kept, counts.done, counts.waiting, counts.seen) == (1, 0, 0, 1)
        assert frontier.take(1_059.0) is None
        assert frontier.wait(1_059.0) == 1.0
        taken = frontier.take(1_060.0)
        assert taken is not None
        assert _known(taken) == Visit(1_000.0, '"v1"', "Mon, 16 Nov 2026 10:00:00 GMT")
        counts = frontier.counts()
        assert (counts.kept, counts.in_flight, counts.waiting, counts.seen) == (0, 1, 0, 1)
        assert frontier.take(1_060.0) is None
        frontier.finish(taken, "done", 1_061.0, status=304, keep=Keep(changed=False))
        assert frontier.take(1_120.0) is None
        taken = frontier.take(1_121.0)
        assert taken is not None and _known(taken) == Visit(1_061.0)
        frontier.finish(taken, "failed", 1_121.0, status=410)
        counts = frontier.counts()
        assert (counts.kept, counts.failed, counts.seen) == (0, 1, 1)
        assert frontier.wait(1_121.0) is None


def test_nothing_is_lost_and_nothing_comes_before_its_time(opener: Opener) -> None:
    pages, rng = [*urls("a", 30), *urls("b", 20), *urls("c", 1)], random.Random(1)
    due: dict[str, float] = {}
    with opener(delay=0.5, revisits=RULES) as frontier:
        frontier.put(pages)
        visits: Counter[str] = Counter()
        last: dict[str, float] = {}
        now = 0.0
        while now < 3_000.0:
            taken = frontier.take(now)
            if taken is None:
                seconds = frontier.wait(now)
                assert seconds is not None, "a crawl with revisits has no end"
                now += max(seconds, 0.01)
                continue
            host = taken.url.split("/")[2]
            assert now >= last.get(host, -1.0) + 0.5, "polite"
            assert now >= due.get(taken.url, 0.0), "before its time"
            assert (taken.visit is None) == (not visits[taken.url])
            visits[taken.url] += 1
            last[host], due[taken.url] = now, now + 10.0
            changed = None if taken.visit is None else rng.random() < 0.3
            frontier.finish(taken, "done", now, keep=Keep(changed, 5.0))
            counts = frontier.counts()
            assert counts.seen == len(pages) == counts.waiting + counts.kept
        assert set(visits) == set(pages)
        assert min(visits.values()) >= 2
        assert {view.name: view.kept for view in frontier.hosts(now)} == {
            "a.test": 30,
            "b.test": 20,
            "c.test": 1,
        }


def test_visits_survive_closing(opener: Opener) -> None:
    with opener(delay=0.0, revisits=RULES) as frontier:
        frontier.put([*urls("a", 5), *urls("b", 5)])
        assert len(visit_all(frontier, 100.0, Keep(weight=2.0, etag='"e"'))) == 10
        counts = frontier.counts()
    with opener(delay=0.0, revisits=RULES, now=110.0) as frontier:
        assert frontier.counts() == counts
        taken = frontier.take(5_000.0)
        assert taken is not None and _known(taken) == Visit(100.0, '"e"')
    with opener(delay=0.0, revisits=RULES, now=5_001.0) as frontier:
        assert frontier.counts().kept == 10, "what was in flight is due still"
        assert len({taken.url for taken in visit_all(frontier, 5_002.0)}) == 10


def test_a_page_that_is_not_found_is_tried_again(opener: Opener) -> None:
    with opener(delay=0.0, revisits=RULES) as frontier:
        frontier.put(["http://a.test/"])
        visit_all(frontier, 0.0, Keep(weight=5.0, etag='"e"'))
        first = frontier.take(2_000.0)
        assert first is not None
        frontier.finish(first, "failed", 2_000.0, status=404, keep=Keep(missed=True))
        counts = frontier.counts()
        assert (counts.kept, counts.failed) == (1, 0)
        assert frontier.take(2_049.0) is None
        again = frontier.take(2_051.0)
        assert again is not None
        assert _known(again) == Visit(0.0, '"e"', "", 1, 2_000.0)
        frontier.finish(again, "done", 2_051.0, keep=Keep(True, 4.0))
        third = frontier.take(9_000.0)
        assert third is not None and _known(third) == Visit(2_051.0)


def test_a_visit_that_fails_is_tried_again_and_changes_nothing(opener: Opener) -> None:
    with opener(delay=0.0, revisits=RULES) as frontier:
        frontier.put(["http://a.test/"])
        visit_all(frontier, 0.0, Keep(weight=5.0, etag='"e"'))
        first = frontier.take(2_000.0)
        assert first is not None
        frontier.retry(first, 2_000.0, after=30.0, reason="503", status=503)
        assert frontier.counts().kept == 1
        assert frontier.take(2_029.0) is None
        second = frontier.take(2_031.0)
        assert second is not None and second.visit == first.visit and second.attempts == 1
        frontier.release(second, 2_031.0)
        assert frontier.counts().seen == 1
        third = frontier.take(2_032.0)
        assert third is not None and third.url == first.url
        frontier.finish(third, "failed", 2_033.0, status=503, keep=Keep())
        counts = frontier.counts()
        assert (counts.kept, counts.failed, counts.seen) == (1, 0, 1)
        assert frontier.wait(2_033.0) is not None


def test_an_expired_lease_makes_a_page_due_again(opener: Opener) -> None:
    with opener(delay=0.0, revisits=RULES) as frontier:
        frontier.put(["http://a.test/"])
        visit_all(frontier, 0.0)
        first = frontier.take(2_000.0)
        assert first is not None
        assert frontier.take(2_599.0) is None
        second = frontier.take(2_602.0)
        if second is None:
            second = frontier.take(2_604.0)
        assert second is not None and second.visit == first.visit
        frontier.finish(first, "done", 2_604.0, keep=Keep())
        assert frontier.counts().in_flight == 1, "the first lease is void"


def test_links_of_a_revisited_page_are_followed_but_not_those_of_a_304(opener: Opener) -> None:
    with opener(delay=0.0, revisits=RevisitRules(every=60.0)) as frontier:
        frontier.put(["http://a.test/"])
        visit_all(frontier, 0.0)
        taken = frontier.take(100.0)
        assert taken is not None
        frontier.finish(taken, "done", 100.0, ["http://a.test/new"], keep=Keep(True, 5.0))
        assert [each.url for each in visit_all(frontier, 101.0)] == ["http://a.test/new"]
        assert frontier.counts().kept == 2


def test_a_signal_of_change_makes_a_page_due(opener: Opener) -> None:
    rules = RevisitRules(mean=10_000.0, shortest=10.0, longest=100_000.0)
    with opener(delay=0.0, revisits=rules) as frontier:
        frontier.put(urls("a", 2))
        visit_all(frontier, 100.0)
        assert frontier.take(300.0) is None
        frontier.expect([(urls("a", 2)[1], 200.0), (urls("a", 1)[0], 50.0)])
        taken = frontier.take(302.0)
        assert taken is not None and taken.url == urls("a", 2)[1]
        assert frontier.take(302.0) is None, "it was visited since"


def test_new_pages_keep_their_share(opener: Opener) -> None:
    """While new pages wait, no more than half of the fetches are revisits, and not none."""
    with opener(delay=0.0, revisits=RevisitRules(every=10.0, share=0.5)) as frontier:
        for host in range(20):
            frontier.put(urls(f"old{host}", 10))
        visit_all(frontier, 0.0)
        for host in range(20):
            frontier.put(urls(f"new{host}", 20))
        kinds: list[bool] = []
        now = 1_000.0
        for _ in range(300):
            taken = frontier.take(now)
            assert taken is not None
            kinds.append(taken.visit is not None)
            frontier.finish(taken, "done", now, keep=Keep(False, 5.0))
            now += 0.05
        assert 30 <= sum(kinds) <= 170


def test_revisits_can_be_switched_off_and_on(opener: Opener) -> None:
    with opener(delay=0.0, revisits=RULES) as frontier:
        frontier.put(urls("a", 3))
        visit_all(frontier, 0.0)
    with opener(delay=0.0, now=5_000.0) as frontier:
        counts = frontier.counts()
        assert (counts.kept, counts.seen) == (3, 3)
        assert frontier.take(5_000.0) is None
        assert frontier.wait(5_000.0) is None
    with opener(delay=0.0, revisits=RULES, now=6_000.0) as frontier:
        assert len(visit_all(frontier, 6_000.0)) == 3
