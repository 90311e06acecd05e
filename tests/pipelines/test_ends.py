"""What the answer to a revisit means for the graph of a page, as the docs say."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rdfaspider.frontier import Visit
from rdfaspider.frontier.moves import Moves
from rdfaspider.items import Page
from rdfaspider.pipelines.ends import EndsPipeline
from rdfaspider.scheduler.answers.keeping import keep_of, signals_of

DAY = 86_400.0
OLD, NEW = "http://site.test/old", "http://site.test/new"


class Notes:
    """The notes of a frontier, and what it is told to expect."""

    def __init__(self) -> None:
        self.notes: dict[str, bytes] = {}
        self.expected: list[str] = []

    def note(self, name: str) -> bytes | None:
        return self.notes.get(name)

    def set_note(self, name: str, value: bytes) -> None:
        self.notes[name] = value

    def expect(self, changes: list[tuple[str, float]]) -> None:
        self.expected += [url for url, _ in changes]


@pytest.fixture
def notes() -> Any:
    return Notes()


@pytest.fixture
def pipeline(notes: Any) -> EndsPipeline:
    return EndsPipeline(lambda: notes, lambda url: "site.test" in url, DAY)


def before(misses: int = 0, ago: float = 0.0) -> Visit:
    now = time.time()
    return Visit(now - DAY, '"v1"', "", misses, now - ago if misses else 0.0)


def page(status: int, visit: Visit | None, reason: str = "", url: str = OLD, **more: Any) -> Page:
    outcome = more.pop("outcome", "done" if status < 400 else "failed")
    made = Page(url, 1, outcome=outcome, reason=reason or str(status), status=status, visit=visit)
    for name, value in more.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("answer", "cleared", "missed"),
    [
        (page(200, before(), "page"), "", False),
        (page(200, before(), "page", noindex=True), "noindex", False),
        (page(200, before(), "type"), "type", False),
        (page(200, before(), "feed"), "type", False),
        (page(200, before(), "sitemap"), "type", False),
        (page(304, before(), "unchanged"), "", False),
        (page(410, before()), "410", True),
        (page(404, before()), "", True),
        (page(404, before(1, 60.0)), "", True),
        (page(404, before(1, DAY)), "404", True),
        (page(404, before(3, 0.95 * DAY)), "404", True),
        (page(403, before(5, DAY)), "", False),
        (page(500, before(5, DAY)), "", False),
        (page(503, before(5, DAY)), "", False),
        (page(0, before(5, DAY), "TimeoutError", outcome="failed"), "", False),
        (page(0, before(5, DAY), "CannotResolveHostError", outcome="failed"), "", False),
        (page(0, before(5, DAY), "robots", outcome="denied"), "", False),
        (page(302, before(), "redirect", links=[NEW]), "", True),
        (page(307, before(1, DAY), "redirect", links=[NEW]), "moved", True),
        (page(301, before(5, DAY), "redirect", links=[NEW]), "", True),
        # Its target never came, or is the page itself.
        (page(301, before(5, 8 * DAY), "redirect", links=[NEW]), "moved", True),
        (page(308, before(5, 8 * DAY), "redirect", links=[OLD]), "moved", True),
        (page(301, before(), "redirect", links=["http://away.test/"]), "", True),
        (page(308, before(1, DAY), "redirect", links=["http://away.test/"]), "moved", True),
        (page(301, before(5, DAY), "redirects", outcome="failed"), "", False),
        # Never visited before: there is nothing to clear.
        (page(410, None), "", False),
        (page(404, None), "", False),
        (page(302, None, "redirect", links=[NEW]), "", False),
        # Not fetched, in fact.
        (page(0, before(1, DAY), "busy", outcome="postponed"), "", False),
    ],
    ids=lambda value: f"{value.status}-{value.reason}" if isinstance(value, Page) else None,
)
def test_what_clears_a_graph(
    pipeline: EndsPipeline, answer: Page, cleared: str, missed: bool
) -> None:
    pipeline.process_item(answer)
    assert (answer.cleared, answer.missed) == (cleared, missed)


def test_a_page_that_moved_is_cleared_when_its_new_place_is_stored(
    pipeline: EndsPipeline, notes: Any
) -> None:
    pipeline.process_item(page(301, before(), "redirect", links=[NEW]))
    assert notes.expected == [NEW]
    arrived = page(200, None, "page", NEW, hops=1)
    pipeline.process_item(arrived)
    assert arrived.replaces == [OLD]
    Moves(notes).settle(NEW, arrived.replaces)
    again = page(200, before(), "page", NEW)
    pipeline.process_item(again)
    assert again.replaces == []
    # It redirects for ever, and nobody is bothered again.
    pipeline.process_item(page(301, before(2, DAY), "redirect", links=[NEW]))
    assert notes.expected == [NEW]
    assert Moves(notes).waiting_for(NEW) == []
    # To another place it moves again, and to one at a time.
    for place in (f"{NEW}er", f"{NEW}est"):
        pipeline.process_item(page(301, before(3, DAY), "redirect", links=[place]))
        assert Moves(notes).waiting_for(place) == [OLD]
    assert Moves(notes).waiting_for(f"{NEW}er") == []


def test_a_page_that_moved_by_several_stops_is_cleared_when_the_last_is_stored(
    pipeline: EndsPipeline, notes: Any
) -> None:
    middle = "http://site.test/middle"
    pipeline.process_item(page(301, before(), "redirect", links=[middle]))
    pipeline.process_item(page(308, None, "redirect", url=middle, links=[NEW], hops=1))
    assert notes.expected[-1] == NEW
    stored = page(200, None, "page", url=NEW, hops=2)
    pipeline.process_item(stored)
    assert stored.replaces == [OLD]
    assert Moves(notes).waiting_for(middle) == []


def test_a_stop_that_may_change_ends_the_way(pipeline: EndsPipeline, notes: Any) -> None:
    middle = "http://site.test/middle"
    pipeline.process_item(page(301, before(), "redirect", links=[middle]))
    pipeline.process_item(page(302, None, "redirect", url=middle, links=[NEW], hops=1))
    assert Moves(notes).waiting_for(middle) == [OLD]


def test_a_sitemap_of_very_many_changes_tells_of_the_latest() -> None:
    dates = [(f"http://site.test/{number}", 100.0 + number) for number in range(20_000)]
    found = signals_of(page(200, before(), "sitemap", dates=dates, fetched=1e6), 50.0)
    assert 1_000 < len(found) < 10_000
    assert min(date for _, date in found) == 100.0 + 20_000 - len(found)


def test_a_page_that_is_cleared_again_has_not_changed() -> None:
    keep = keep_of(page(200, before(), "type", cleared="type", changed=False), before())
    assert keep is not None
    assert keep.changed is False


def test_a_page_that_comes_back_is_not_cleared(pipeline: EndsPipeline, notes: Any) -> None:
    pipeline.process_item(page(301, before(), "redirect", links=[NEW]))
    pipeline.process_item(page(200, before(1, DAY), "page"))
    arrived = page(200, None, "page", NEW, hops=1)
    pipeline.process_item(arrived)
    assert arrived.replaces == []


# --- what is kept ---


def test_pages_are_kept_with_what_the_next_visit_needs() -> None:
    read = page(200, None, "page", nquads=b"x\n" * 3, etag='"v2"', fresh=60.0, changed=True)
    keep = keep_of(read, None)
    assert keep
    assert (keep.changed, keep.weight, keep.etag, keep.soonest) == (None, 3.0, '"v2"', 60.0)
    keep = keep_of(read, before())
    assert keep
    assert keep.changed is True


def test_an_unchanged_page_keeps_its_validators() -> None:
    keep = keep_of(page(304, before(), "unchanged"), before())
    assert keep
    assert (keep.changed, keep.weight, keep.etag, keep.missed) == (False, None, '"v1"', False)


def test_a_page_that_is_away_is_looked_for_less_and_less() -> None:
    now = time.time()
    for visit, expected in ((before(), 0.0), (before(1, DAY), DAY), (before(4, 8 * DAY), 8 * DAY)):
        keep = keep_of(page(410, visit, cleared="410", missed=True, fetched=now), visit)
        assert keep
        assert keep.missed
        assert keep.soonest == pytest.approx(expected, abs=60)


def test_a_cleared_page_is_asked_for_in_full() -> None:
    keep = keep_of(page(200, before(), "type", cleared="type"), before())
    assert keep
    assert (keep.changed, keep.weight, keep.etag, keep.missed) == (True, 0.0, "", False)


@pytest.mark.parametrize("answer", [page(404, None), page(500, None), page(200, None, "type")])
def test_what_never_was_a_page_is_not_kept(answer: Page) -> None:
    assert keep_of(answer, None) is None


def test_no_answer_says_nothing() -> None:
    keep = keep_of(page(500, before()), before())
    assert keep
    assert (keep.is_answered, keep.missed) == (False, False)


def test_sitemaps_tell_of_changes_since_the_last_visit() -> None:
    now = time.time()
    dates = [("a", now - 10 * DAY), ("b", now - 60.0), ("c", now + 30 * DAY)]
    sitemap = page(200, before(), "sitemap", dates=dates, fetched=now)
    assert signals_of(sitemap, before().time) == [("b", now - 60.0)]
    keep = keep_of(sitemap, before())
    assert keep
    assert keep.changed is True
    assert keep_of(page(200, None, "feed"), None)
