"""Pages that are visited again: what every frontier guarantees."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.focus.visits.planner import DAY, RevisitRules
from rdfaspider.frontier import Frontier, Keep, State, Taken, Visit
from rdfaspider.frontier.engine import steering
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Demand, Politeness
from rdfaspider.frontier.tables.database import Database
from rdfaspider.frontier.tables.trie import KEPT
from rdfaspider.frontier.tables.visits import Said, ServerWords
from rdfaspider.pages.row import Row, pack
from tests.frontier.conftest import engine_of

if TYPE_CHECKING:
    from pathlib import Path

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


ENDS = ((200, "page"), (301, "redirect"), (200, "type"), (200, "sitemap"))
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


def test_a_page_that_was_removed_is_not_visited_again(opener: Opener) -> None:
    rules = RevisitRules(every=60.0)
    with opener(delay=0.0, revisits=rules) as frontier:
        served: Any = frontier
        frontier.put([*urls("a", 3), *urls("b", 2), "http://c.test/?q={x}"])
        assert len(visit_all(frontier, 1_000.0)) == 6
        assert served.retire(r"^http://a\.test/x/[01]|^http://c\.test/\?q=%7Bx%7D$") == 3
        assert served.retire(r"^http://a\.test/x/[01]|^http://unknown\.test/") == 0
        counts = frontier.counts()
        assert (counts.kept, counts.denied, counts.seen) == (3, 3, 6)
    with opener(delay=0.0, revisits=rules) as frontier:
        served, left = frontier, ["http://a.test/x/2", *urls("b", 2)]
        taken = frontier.take(2_000.0)
        assert taken is not None and taken.url in left
        assert served.retire(f"^{taken.url}$") == 0, "it is in flight"
        frontier.release(taken, 2_000.0)
        assert sorted(each.url for each in visit_all(frontier, 2_000.0)) == left


@pytest.mark.parametrize("is_redirected", [False, True])
def test_a_page_that_leads_to_new_pages_is_visited_often(
    tmp_path: Path, is_redirected: bool
) -> None:
    """The front page has no triples, and links a new article every four seconds; no article changes."""
    front, visits, now = "http://a.test/", Counter[str](), 0.0
    rules = RevisitRules(mean=10.0, shortest=1.0, longest=1_000.0)
    for end in (100.0, 200.0):  # what was learnt outlasts a restart
        with LocalFrontier(
            str(tmp_path / "f"), politeness=Politeness(delay=0.2), revisits=rules, now=now
        ) as frontier:
            frontier.put([front])
            while now < end:
                taken = frontier.take(now)
                if taken is None:
                    now += max(frontier.wait(now) or 0.0, 0.01)
                    continue
                visits[taken.url] += now >= 100.0
                changed = None if taken.visit is None else False
                if taken.url == front:
                    name = "go" if is_redirected else "new"
                    links = urls("a", 10)
                    links += [f"{front}{name}/{number}" for number in range(int(now / 4))]
                    frontier.finish(taken, "done", now, links, keep=Keep(changed, 0.0))
                elif "/go/" in taken.url:
                    target = taken.url.replace("/go/", "/new/")
                    frontier.finish(taken, "done", now, [target], depth_step=0, hops=1)
                else:
                    frontier.finish(taken, "done", now, keep=Keep(changed, 5.0))
    articles = [visits[url] for url in urls("a", 10)]
    assert visits[front] >= 15
    assert visits[front] > 1.5 * max(articles), visits


@pytest.mark.slow
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


def test_a_visit_without_an_answer_leaves_misses_and_validators(opener: Opener) -> None:
    with opener(delay=0.0, revisits=RULES) as frontier:
        frontier.put(["http://a.test/"])
        visit_all(frontier, 10.0, Keep(weight=5.0, etag='"e"'))
        now = 2_000.0
        for status, keep in ((404, Keep(missed=True)), (500, Keep()), (500, Keep())):
            taken = frontier.take(now)
            assert taken is not None
            frontier.finish(taken, "failed", now, status=status, keep=keep)
            now += 2_000.0
        taken = frontier.take(now)
        assert taken is not None and _known(taken) == Visit(10.0, '"e"', "", 1, 2_000.0)


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
        # A host gives one page at a time: where more is read ahead than there are hosts with new pages, old
        # ones fill the rest.
        assert 30 <= sum(kinds) <= 180


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


def test_pages_that_are_overdue_when_their_host_falls_asleep_are_visited(opener: Opener) -> None:
    """While new pages wait, few of the old ones come; none of the others may be forgotten."""
    old, visits = urls("old", 40), Counter[str]()
    with opener(delay=0.0, revisits=RevisitRules(every=20.0, share=0.1)) as frontier:
        frontier.put(old)
        visit_all(frontier, 0.0)
        frontier.put([url for host in range(20) for url in urls(f"new{host}", 10)])
        now = 1_000.0
        while now < 1_060.0:
            taken = frontier.take(now)
            if taken is not None:
                visits[taken.url] += taken.visit is not None
                frontier.finish(taken, "done", now, keep=Keep(False, 5.0))
            now += 0.05
    assert min(visits[url] for url in old) >= 2


# --- the engine alone ---


def local(path: Path, **options: Any) -> LocalFrontier:
    return LocalFrontier(str(path), politeness=Politeness(delay=0.0), **options)


@pytest.mark.parametrize(
    "date",
    [
        "",
        "Mon, 16 Nov 2026 10:00:00 GMT",
        "Mon, 16 Nov 2026 10:00:00 +0100",
        "yesterday",
        "0",
        "-1",
    ],
)
@pytest.mark.parametrize("etag", ["", 'W/"abc"'])
@pytest.mark.parametrize("missed", [(0, 0), (3, 1_700_000_000)])
def test_what_a_server_said_is_kept_to_the_letter(
    tmp_path: Path, date: str, etag: str, missed: tuple[int, int]
) -> None:
    database = Database(tmp_path)
    words, said = ServerWords(database), Said(*missed, etag, date)
    batch = database.batch()
    words.keep(batch, 5, said, Said())
    words.keep(batch, 6, Said(0, 0, "x" * 300, "\x00"), Said())
    database.write(batch)
    assert words.get_all([5, 6]) == [said, Said()]
    database.close()


def test_visits_survive_a_kill(tmp_path: Path) -> None:
    frontier = local(tmp_path, revisits=RULES)
    frontier.put([*urls("a", 40), *urls("b", 5)])
    visit_all(frontier, 0.0)
    held = [frontier.take(3_000.0) for _ in range(2)]
    assert all(held)
    frontier.abandon()
    with local(tmp_path, revisits=RULES, now=3_001.0) as frontier:
        assert frontier.counts().kept == 45
        assert {taken.url for taken in visit_all(frontier, 3_002.0)} == {
            *urls("a", 40),
            *urls("b", 5),
        }


def test_the_index_is_what_the_records_say(tmp_path: Path) -> None:
    """Through visits, misses, failures, signals, prices and ends."""
    rng, now = random.Random(3), 0.0
    with local(tmp_path, revisits=RevisitRules(mean=50.0, shortest=5.0, longest=450.0)) as frontier:
        pages = [url for host in range(12) for url in urls(f"h{host}", 15)]
        frontier.put(pages)
        for turn in range(4_000):
            now += 0.05
            if turn % 50 == 0:
                frontier.expect((url, now) for url in rng.sample(pages, 10))
            taken = frontier.take(now)
            if taken is None:
                continue
            chance = rng.random()
            if chance < 0.02:
                frontier.finish(taken, "failed", now, status=410)
            elif chance < 0.1:
                frontier.finish(taken, "failed", now, keep=Keep(missed=True))
            elif chance < 0.15:
                frontier.retry(taken, now, after=3.0)
            elif chance < 0.2:
                frontier.release(taken, now)
            else:
                keep = Keep(rng.random() < 0.5, rng.expovariate(0.1), soonest=rng.random() * 30)
                frontier.finish(taken, "done", now, keep=keep)
        database = frontier._database
        index = {(key[:4], key[8:]): key[4:8] for key, _ in database.due.pairs()}
        kept = 0
        for key, record in frontier.trie.subtree():
            if record.state == KEPT:
                kept += 1
                host = frontier._hosts.known(key)
                due = index.pop((host.prefix, record.number.to_bytes(5, "big")))
                assert record.past is not None
                assert int.from_bytes(due, "big") == record.past.due
        assert not index
        counts = frontier.counts()
        assert counts.kept + frontier._revisits.in_flight == kept > 100  # type: ignore[union-attr]
        assert counts.seen == len(pages)
        alarms = {value: int.from_bytes(key[:4], "big") for key, value in database.alarms.pairs()}
        for host in frontier._hosts.all():
            assert alarms.pop(host.key, 0) == host.alarm
            assert bool(host.alarm) == bool(host.kept)
        assert not alarms


def test_a_page_comes_to_hand_when_it_is_due_while_new_pages_wait(tmp_path: Path) -> None:
    with local(tmp_path, revisits=RevisitRules(every=10.0)) as frontier:
        frontier.put([url for host in range(50) for url in urls(f"h{host}", 1)])
        first, second = frontier.take(0.0), frontier.take(1.0)
        assert first and second and frontier._revisits is not None
        frontier.finish(first, "done", 2.0, keep=Keep(weight=5.0))
        for now in range(3, 14):
            assert frontier._revisits.is_at_hand(first.number) == (now > 12)
            assert frontier.take(float(now)) is not None


def test_the_weight_of_new_pages_is_their_mean(tmp_path: Path) -> None:
    with local(tmp_path, revisits=RULES) as frontier:
        frontier.put(urls("a", 90))
        for weight in range(90):
            taken = frontier.take(0.0)
            assert taken is not None
            frontier.finish(taken, "done", 0.0, keep=Keep(weight=weight + 1.0))
    with local(tmp_path, revisits=RULES) as frontier:
        assert frontier._revisits is not None
        assert frontier._revisits.weight_of_new == pytest.approx(45.5)


def test_a_wrong_price_heals(tmp_path: Path) -> None:
    rules = RevisitRules(mean=100.0, shortest=1.0, longest=2_000.0)
    with local(tmp_path, revisits=rules) as frontier:
        assert frontier._revisits is not None
        frontier._revisits.planner.price = 1e12
        frontier.put([url for host in range(10) for url in urls(f"h{host}", 20)])
        visits, now = 0, 0.0
        while now < 1_600.0:
            taken = frontier.take(now)
            if taken is None:
                now += 0.5
                continue
            visits += now > 1_100.0
            frontier.finish(
                taken, "done", now, keep=Keep(None if taken.visit is None else False, 5)
            )
        assert 500 < visits < 1_500, "some 1,000 are within the budget"


def _visits_by_day(frontier: LocalFrontier, pages: int, days: int) -> list[int]:
    """Return how many visits are made to known pages that have changed at each."""
    frontier.put([url for host in range(10) for url in urls(f"h{host}", pages // 10)])
    visits, now = [0] * days, 0.0
    while now < days * DAY:
        taken = frontier.take(now)
        if taken is None:
            seconds = frontier.wait(now)
            assert seconds is not None
            now += max(seconds, 1.0)
        else:
            is_known = taken.visit is not None
            visits[int(now // DAY)] += is_known
            frontier.finish(taken, "done", now, keep=Keep(is_known or None, 5.0))
    return visits


def test_visits_keep_to_the_budget_before_prices_are_right(tmp_path: Path) -> None:
    """Pages that change all the time are found out at once, and the price follows slowly."""
    with local(tmp_path, revisits=RevisitRules(mean=DAY)) as frontier:
        visits = _visits_by_day(frontier, 50, 8)
    assert visits[0] == 0 and visits[1] <= 50 + 60 + 20, "what was saved, and what is added"
    assert all(45 <= count <= 57 for count in visits[2:]), visits


def test_what_is_overdue_after_a_pause_is_visited_at_once(tmp_path: Path) -> None:
    with local(tmp_path, revisits=RevisitRules(mean=DAY)) as frontier:
        _visits_by_day(frontier, 50, 3)
    with local(tmp_path, revisits=RevisitRules(mean=DAY), now=30 * DAY) as frontier:
        assert len({taken.url for taken in visit_all(frontier, 30 * DAY)}) == 50


def test_without_a_budget_visits_are_not_counted(tmp_path: Path) -> None:
    for rules in (RevisitRules(mean=0.0), RevisitRules(every=3_600.0)):
        with local(tmp_path / str(rules.every), revisits=rules) as frontier:
            assert sum(_visits_by_day(frontier, 50, 2)) > 1_000


def test_pages_are_visited_again_though_the_clock_is_set_back(tmp_path: Path) -> None:
    year = 365 * 86_400.0
    with local(tmp_path, revisits=RULES) as frontier:
        frontier.put(urls("a", 5))
        assert len(visit_all(frontier, year)) == 5
        assert frontier.take(year + 5.0) is None
    with local(tmp_path, revisits=RULES, now=100.0) as frontier:
        visited = {t.url for now in range(100, 2_200) if (t := _visit(frontier, float(now)))}
        assert visited == set(urls("a", 5))


def test_an_alarm_that_has_rung_rings_again_though_the_clock_is_set_back(tmp_path: Path) -> None:
    with local(tmp_path, revisits=RevisitRules(every=60.0)) as frontier:
        frontier.put(["http://a.test/"])
        visit_all(frontier, 1_000.0)
        taken = frontier.take(1_060.0)
        assert taken is not None
        frontier.release(taken, 1_020.0)
        again = frontier.take(1_020.0) or frontier.take(1_060.0)
        assert again is not None


def _visit(frontier: Frontier, now: float) -> Taken | None:
    taken = frontier.take(now)
    if taken is not None:
        frontier.finish(taken, "done", now, keep=Keep(False, 5.0))
    return taken


def test_an_absurd_interval_is_the_last_time_that_can_be_written(tmp_path: Path) -> None:
    with local(tmp_path, revisits=RevisitRules(every=1e15)) as frontier:
        frontier.put(urls("a", 2))
        assert len(visit_all(frontier, 1.8e9)) == 2
        assert frontier.wait(1.8e9) == 0xFFFFFFFF - 1.8e9


def test_few_pages_are_at_hand_though_all_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts that are awake for one page each find many others due when it ends."""
    monkeypatch.setattr("rdfaspider.frontier.engine.revisits.waking.MOST_AT_HAND", 40)
    hosts = [f"h{number}" for number in range(20)]
    with local(tmp_path, revisits=RevisitRules(every=100.0)) as frontier:
        frontier.put(url for host in hosts for url in urls(host, 1))
        visit_all(frontier, 0.0)
        frontier.put(url for host in hosts for url in urls(host, 30))
        visit_all(frontier, 50.0)
        first = [frontier.take(102.0) for _ in hosts]
        for taken in first:
            assert taken is not None
            frontier.finish(taken, "done", 200.0, keep=Keep(False, 5.0))
        assert frontier._revisits is not None
        assert len(frontier._revisits._at_hand) <= 40 + len(hosts)
        visits = [_visit(frontier, 201.0) for _ in range(600)]
        visited = {taken.url for taken in visits if taken is not None}
        assert visited >= {url for host in hosts for url in urls(host, 30)[1:]}


def test_the_done_pages_of_a_crawl_without_revisits_are_kept(tmp_path: Path) -> None:
    page, *others, sitemap = (pack(Row(status, reason, 50, triples=7)) for status, reason in ENDS)
    with local(tmp_path) as frontier:
        frontier.put(urls("a", 30))
        for number in range(30):
            taken = frontier.take(50.0)
            assert taken is not None
            row = others[number % 2] if number % 3 == 0 else (sitemap if number == 1 else page)
            frontier.finish(taken, "done", 50.0, keep=Keep(weight=7), row=row, status=200)
    with local(tmp_path, revisits=RULES, now=100.0) as frontier:
        for second in range(100, 130):
            frontier.take(float(second))
        counts = frontier.counts()
        assert (counts.done, counts.kept + counts.in_flight, counts.seen) == (10, 20, 30)
        taken = frontier.take(3_000.0)
        assert taken is not None and taken.visit is not None and taken.visit.time == 50.0


def test_pages_are_kept_though_many_others_come_before_them(tmp_path: Path) -> None:
    """A crawl that has ended goes on with revisits; nothing else is to be done meanwhile."""
    page = pack(Row(200, "page", 50, triples=7))
    with local(tmp_path) as frontier:
        frontier.put([*urls("a", 1_200), *urls("b", 1)])
        while (taken := frontier.take(50.0)) is not None:
            is_page = "//b." in taken.url
            state: State = "done" if is_page else "failed"
            frontier.finish(taken, state, 50.0, row=page if is_page else b"")
    with local(tmp_path, revisits=RULES, now=100.0) as frontier:
        now = 100.0
        while (taken := frontier.take(now)) is None:
            seconds = frontier.wait(now)
            assert seconds is not None, "the crawl would end here"
            now += max(seconds, 0.01)
        assert taken.url == urls("b", 1)[0]


def test_false_signals_of_a_host_are_ignored_in_the_end(tmp_path: Path) -> None:
    rules = RevisitRules(mean=100_000.0, shortest=1.0, longest=1_000_000.0)
    with local(tmp_path, revisits=rules) as frontier:
        frontier.put(urls("a", 10))
        visit_all(frontier, 0.0)
        early, now = [], 10.0
        for _ in range(60):
            now += 10.0
            assert frontier.take(now) is None
            frontier.expect((url, now) for url in urls("a", 10))
            early.append(len(visit_all(frontier, now + 2.0, Keep(False, 5.0))))
        assert early[0] == 10
        assert sum(early[-20:]) <= 30, "one in twenty is tried"


# --- PageRank ---


def _link_all(frontier: Frontier, pages: list[str], now: float) -> None:
    """Visit pages for the first time; all others link to the last."""
    for _ in pages:
        taken = frontier.take(now)
        assert taken is not None
        links = pages[-1:] if taken.url != pages[-1] else []
        frontier.finish(taken, "done", now, links, keep=Keep(None, 5.0))


def _revisits_from(frontier: Frontier, start: float, pages: list[str]) -> dict[str, float]:
    """Return when pages are visited again, a few seconds late."""
    times: dict[str, float] = {}
    for now in range(int(start), int(start) + 100_000, 25):
        while (taken := frontier.take(float(now))) is not None:
            times.setdefault(taken.url, now)
            frontier.finish(taken, "done", float(now), keep=Keep(None, 5.0))
        if len(times) == len(pages):
            return times
    raise AssertionError("not all pages were visited again")


def test_a_page_of_high_rank_is_visited_sooner(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks are computed beside the crawl, under every order and wherever the frontier is."""
    monkeypatch.setattr(steering, "LEAST_PAGES", 10)
    monkeypatch.setattr(steering, "_LOOKS", 1)
    rules = RevisitRules(mean=10_000.0, shortest=10.0, longest=90_000.0)
    pages = urls("a", 12)
    with opener(delay=0.0, revisits=rules, rank_every=1.0) as frontier:
        frontier.put(pages)
        _link_all(frontier, pages, 100.0)
        end = time.monotonic() + 60
        while engine_of(frontier, pages[-1]).ranks.urls < len(pages):
            assert time.monotonic() < end, "no ranks are computed"
            assert frontier.take(102.0) is None
            time.sleep(0.02)
        times = _revisits_from(frontier, 1_200.0, pages)
    others = [times[url] - 100.0 for url in pages[:-1]]
    assert times[pages[-1]] - 100.0 < 0.6 * min(others)
    assert max(others) < 1.2 * min(others)


@pytest.mark.parametrize(("most", "least_gain", "most_gain"), [(1.0, 1.0, 1.05), (4.0, 2.0, 5.0)])
def test_how_much_ranks_count_is_bounded(
    tmp_path: Path, most: float, least_gain: float, most_gain: float
) -> None:
    """The intervals follow the root of the weights, which differ by 16 times at most."""
    rules = RevisitRules(mean=10_000.0, shortest=10.0, longest=90_000.0, rank=most)
    pages = urls("a", 40)
    with local(tmp_path, revisits=rules) as frontier:
        frontier.put(pages)
        _link_all(frontier, pages, 100.0)
        frontier.rank_now()
        times = _revisits_from(frontier, 1_200.0, pages)
    gain = (times[pages[5]] - 100.0) / (times[pages[-1]] - 100.0)
    assert least_gain <= gain <= most_gain


def test_the_quality_in_cycles_is_the_same_number(tmp_path: Path) -> None:
    """A cycle has one URL. All weigh the same, and the last one was visited when the others had been."""
    rules = RevisitRules(mean=0.0, shortest=10.0, longest=100_000.0, policy="wire", cycle=1)
    pages = urls("a", 12)
    for name, is_ranked in (("without", False), ("with", True)):
        with local(tmp_path / name, revisits=rules) as frontier:
            frontier.put(pages[:-1])
            for _ in pages[:-1]:
                taken = frontier.take(100.0)
                assert taken is not None
                frontier.finish(taken, "done", 100.0, pages[-1:], keep=Keep(None, 5.0))
            taken = frontier.take(200.0)
            assert taken is not None and taken.url == pages[-1]
            frontier.finish(taken, "done", 200.0, keep=Keep(None, 5.0))
            if is_ranked:
                frontier.rank_now()
            visits = (_visit(frontier, float(now)) for now in range(300, 200_000, 100))
            first = next(taken for taken in visits if taken is not None)
            assert first.visit is not None
            assert (first.url == pages[-1]) is is_ranked


# --- WIRE's manager ---


def test_figure_3_a_cycle_has_the_urls_of_the_highest_profit(tmp_path: Path) -> None:
    """P1 is likely to be stale, P2 is not, and P3 is new: for K = 2 they are P1 and P3."""
    p1, p2, p3 = ("http://h1.test/", "http://h2.test/", "http://h3.test/")
    weights = {p1: 40.0, p2: 70.0, p3: 60.0}
    rules = RevisitRules(mean=0.0, shortest=10.0, longest=100_000.0, policy="wire", cycle=2)
    with local(tmp_path, revisits=rules) as frontier:

        def visited(now: float) -> set[str]:
            """Visit what is ready. P1 has changed at each visit, P2 never."""
            urls = set()
            for _ in range(10):
                if (taken := frontier.take(now)) is not None:
                    urls.add(taken.url)
                    changed = None if taken.visit is None else taken.url == p1
                    keep = Keep(changed, weights[taken.url])
                    frontier.finish(taken, "done", now, keep=keep)
            return urls

        frontier.put([p1, p2])
        assert all(visited(20.0 * turn) == {p1, p2} for turn in range(100))
        assert visited(1_985.0) == set(), "visited too recently"
        frontier.put([p3])
        assert visited(3_000.0) == {p1, p3}
        assert visited(3_500.0) == {p1, p2} or visited(3_500.0) == {p1, p3}


def test_a_new_page_is_in_a_cycle_by_its_own_quality(tmp_path: Path) -> None:
    """All pages link it, some of them a known page, which is better than new pages are in the mean."""
    known, new = "http://h1.test/", "http://h2.test/"
    rules = RevisitRules(mean=0.0, shortest=10.0, longest=1e9, policy="wire", cycle=1)
    with local(tmp_path, revisits=rules) as frontier:
        frontier.put([known, *urls("a", 10)])
        for number in range(11):
            taken = frontier.take(0.0)
            assert taken is not None and taken.url != new
            links = [new] if number % 3 else [known, new]
            frontier.finish(taken, "done", 0.0, links, keep=Keep(None, 10.0))
        frontier.rank_now()
        visits = [_visit(frontier, 1e8) for _ in range(3)]
        assert [taken.url for taken in visits if taken is not None] == [new]


def test_nothing_is_lost_in_cycles(opener: Opener) -> None:
    rules = RevisitRules(mean=0.0, shortest=10.0, longest=1e6, policy="wire", cycle=7)
    pages, rng, due = [*urls("a", 20), *urls("b", 10)], random.Random(1), dict[str, float]()
    visits: Counter[str] = Counter()
    with opener(delay=0.5, revisits=rules) as frontier:
        frontier.put(pages)
        now = 0.0
        while now < 300.0:
            taken = frontier.take(now)
            if taken is None:
                seconds = frontier.wait(now)
                assert seconds is not None, "a crawl with revisits has no end"
                now += max(seconds, 0.05)
                continue
            assert now >= due.get(taken.url, 0.0), "too recently"
            visits[taken.url] += 1
            due[taken.url] = now + 10.0
            changed = None if taken.visit is None else rng.random() < 0.3
            frontier.finish(taken, "done", now, keep=Keep(changed, 5.0))
            assert frontier.counts().seen == len(pages)
    assert set(visits) == set(pages)
    assert min(visits.values()) >= 3


def test_cycles_keep_to_their_budget(tmp_path: Path) -> None:
    rules = RevisitRules(mean=1_000.0, shortest=10.0, longest=1e6, policy="wire", cycle=5)
    with local(tmp_path, revisits=rules) as frontier:
        frontier.put(urls("a", 50))
        visits = sum(_visit(frontier, now / 2) is not None for now in range(20_000))
        assert 450 <= visits <= 570, "50 first visits, and each page once in 1,000 s"


def test_a_crawl_without_any_page_ends(tmp_path: Path) -> None:
    rules = RevisitRules(mean=0.0, policy="wire", cycle=5)
    with local(tmp_path, revisits=rules) as frontier:
        assert frontier.take(0.0) is None
        assert frontier.wait(0.0) is None
        frontier.put(urls("a", 3))
        while (taken := frontier.take(0.0)) is not None:
            frontier.finish(taken, "failed", 0.0, status=404)
        assert frontier.wait(0.0) is None


def test_a_host_that_is_away_does_not_hold_up_the_next_cycle_for_ever(tmp_path: Path) -> None:
    rules = RevisitRules(mean=0.0, shortest=1.0, longest=1e8, policy="wire", cycle=2)
    with local(tmp_path, revisits=rules) as frontier:
        frontier.put([*urls("a", 1), *urls("b", 2)])
        for _ in range(3):
            taken = frontier.take(0.0)
            assert taken is not None
            if "//a." in taken.url:
                frontier.slow_down(taken.host, 0.0, Demand(pause=1e9))
            frontier.finish(taken, "done", 0.0, keep=Keep(None, 5.0))
        visits = [_visit(frontier, float(now)) for now in range(0, 400_000, 1_000)]
        visited = Counter(taken.url for taken in visits if taken is not None)
        assert set(visited) == set(urls("b", 2))
        assert min(visited.values()) > 2


def test_a_page_in_flight_does_not_hold_up_the_next_cycle(tmp_path: Path) -> None:
    """Its answer comes after the cycle that follows its own was chosen."""
    rules = RevisitRules(mean=0.0, shortest=1.0, longest=1e8, policy="wire", cycle=2)
    with local(tmp_path, revisits=rules) as frontier:
        frontier.put([*urls("a", 1), *urls("b", 3)])
        for _ in range(4):
            assert _visit(frontier, 0.0) is not None
        now, slow, visits = 0.0, None, 0
        while now < 200.0:
            now += 1.0
            if (taken := frontier.take(now)) is None:
                continue
            visits += 1
            if slow is None and "//a." in taken.url:
                slow = taken
            else:
                frontier.finish(taken, "done", now, keep=Keep(False, 5.0))
            if slow is not None and visits == 30:
                frontier.finish(slow, "done", now, keep=Keep(False, 5.0))
        assert slow is not None
        assert visits > 100


def test_known_links_do_not_hold_up_a_cycle(tmp_path: Path) -> None:
    """While they are on their way they are taken for new pages."""
    rules = RevisitRules(mean=0.0, shortest=1.0, longest=1e8, policy="wire", cycle=3)
    with local(tmp_path, revisits=rules) as frontier:
        frontier.put(urls("a", 4))
        for _ in range(4):
            assert _visit(frontier, 0.0) is not None
        visits = 0
        for now in range(1, 200):
            if (taken := frontier.take(float(now))) is not None:
                visits += 1
                keep = Keep(False, 5.0)
                frontier.finish(taken, "done", float(now), urls("a", 4), keep=keep)
        assert visits > 100


@pytest.mark.parametrize(
    "rules",
    [
        RevisitRules(mean=3_600.0, shortest=60.0, longest=90 * DAY),
        RevisitRules(mean=3_600.0, shortest=60.0, longest=90 * DAY, every=3_600.0),
        RevisitRules(mean=3_600.0, shortest=60.0, longest=90 * DAY, policy="wire", cycle=20),
    ],
    ids=["value", "every", "wire"],
)
def test_no_walk_brings_a_visit_forward_that_a_server_does_not_want(
    tmp_path: Path, rules: RevisitRules
) -> None:
    visits: dict[str, list[float]] = {}
    now, week = 0.0, 7 * DAY
    with LocalFrontier(
        str(tmp_path / "f"), politeness=Politeness(delay=0.0), revisits=rules, now=now
    ) as frontier:
        frontier.put(f"http://a.test/{number}" for number in range(30))
        while now < 9 * DAY:
            if (taken := frontier.take(now)) is None:
                now += 600.0
                continue
            visits.setdefault(taken.url, []).append(now)
            changed = None if taken.visit is None else True
            frontier.finish(taken, "done", now, keep=Keep(changed, 5.0, soonest=week))
    assert len(visits) == 30
    for first, *others in visits.values():
        assert len(others) == 1
        assert others[0] - first >= week


@pytest.mark.parametrize("policy", ["value", "wire"])
def test_a_visit_that_failed_once_is_made_again_soon(tmp_path: Path, policy: str) -> None:
    rules = RevisitRules(mean=3_600.0, shortest=60.0, policy=policy, cycle=100)
    failed, back, now = set[str](), set[str](), 0.0
    with LocalFrontier(
        str(tmp_path / "f"), politeness=Politeness(delay=0.0), revisits=rules, now=now
    ) as frontier:
        frontier.put(f"http://a.test/{number}" for number in range(20))
        while now < DAY:
            if (taken := frontier.take(now)) is None:
                now += 300.0
            elif taken.visit is None:
                frontier.finish(taken, "done", now, keep=Keep(None, 5.0))
            elif taken.url not in failed:
                failed.add(taken.url)
                frontier.finish(taken, "failed", now, keep=Keep(), status=503, reason="503")
            else:
                back.add(taken.url)
                frontier.finish(taken, "done", now, keep=Keep(True, 5.0))
    assert len(back) == 20
