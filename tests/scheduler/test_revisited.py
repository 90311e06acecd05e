"""What the scheduler tells the frontier at the end of a revisit."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from rdfaspider.frontier import Keep, Taken, Visit
from rdfaspider.items import Page
from rdfaspider.scheduler.answers.advice import Advice
from rdfaspider.scheduler.answers.outcomes import Outcomes
from tests.pipelines.test_ends import Notes

URL = "http://site.test/a"


class Ends(Notes):
    """A frontier that remembers what it is told."""

    is_shared = False

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[tuple[str, dict[str, Any]]] = []

    def finish(self, taken: Taken, state: str, now: float, links: Any = (), **said: Any) -> None:
        self.ended.append((state, said))


def ended(page: Page, visit: Visit | None, **settings: Any) -> tuple[Ends, Outcomes]:
    frontier: Any = Ends()
    crawler = get_crawler(settings_dict={"FRONTIER_REVISIT": True, "PAGES": True, **settings})
    outcomes = Outcomes(crawler, frontier, Advice(), None, retries=0, retry_delay=1.0)  # type: ignore[arg-type]
    scope = SimpleNamespace(grown=False)
    spider = SimpleNamespace(follow=lambda page: ([], []), scope=scope, has_learnt=False)
    outcomes.open(spider)
    outcomes.acknowledge(Taken(page.url, 1, 0, 1, 0, visit=visit), page)
    return frontier, outcomes


def before() -> Visit:
    return Visit(time.time() - 1000.0, '"v1"')


def test_without_revisits_nothing_is_kept() -> None:
    frontier, outcomes = ended(Page(URL, 1, status=200), None, FRONTIER_REVISIT=False)
    assert "keep" not in frontier.ended[0][1]
    assert outcomes.stats() == {"frontier/done/page": 1}


def test_a_sitemap_tells_of_pages_that_have_changed() -> None:
    now = time.time()
    dates = [("http://site.test/new", now - 10.0), ("http://site.test/old", now - 9999.0)]
    sitemap = Page(URL, 0, reason="sitemap", status=200, dates=dates, fetched=now)
    frontier, outcomes = ended(sitemap, before())
    assert frontier.expected == ["http://site.test/new"]
    assert outcomes.stats()["frontier/signals/sitemap"] == 1
    frontier, _ = ended(sitemap, None)  # its pages are new themselves
    assert frontier.expected == []


def test_an_unchanged_page_keeps_its_row() -> None:
    unchanged = Page(URL, 1, reason="unchanged", status=304, visit=before())
    frontier, outcomes = ended(unchanged, before())
    ((state, said),) = frontier.ended
    assert (state, said["status"], said["row"]) == ("done", 304, b"")
    assert said["keep"] == Keep(False, None, '"v1"')
    assert outcomes.stats()["frontier/revisited/304"] == 1


@pytest.mark.parametrize(("changed", "label"), [(True, "changed"), (False, "unchanged")])
def test_what_a_revisit_found_is_counted(changed: bool, label: str) -> None:
    page = Page(URL, 1, status=200, visit=before(), changed=changed, etag='"v1"')
    _, outcomes = ended(page, before())
    assert outcomes.stats()[f"frontier/revisited/{label}"] == 1
    assert outcomes.stats()[f"frontier/validators/{'lie' if changed else 'hit'}"] == 1


def test_pages_that_moved_here_are_settled() -> None:
    page = Page(URL, 1, status=200, replaces=["http://site.test/old"], hops=1)
    frontier, outcomes = ended(page, None)
    assert frontier.notes["left http://site.test/old"] == f"{URL}\ncleared".encode()
    assert outcomes.stats()["frontier/cleared/moved"] == 1


def test_a_page_that_is_lost_on_the_way_is_kept() -> None:
    frontier, outcomes = ended(Page(URL, 1, status=200, visit=before()), before())
    outcomes.fail(Taken(URL, 1, 0, 1, 0, visit=before()), "dropped")
    state, said = frontier.ended[-1]
    assert (state, said["keep"]) == ("failed", Keep())


def test_a_kept_page_that_a_middleware_redirects_stays_kept() -> None:
    frontier, outcomes = ended(Page(URL, 1, status=200, visit=before()), before())
    outcomes.move(Taken(URL, 1, 0, 1, 0, visit=before()), "http://site.test/login")
    state, said = frontier.ended[-1]
    assert (state, said["keep"], said["hops"]) == ("done", Keep(), 1)
    assert "row" not in said, "what is known of the page stays"
