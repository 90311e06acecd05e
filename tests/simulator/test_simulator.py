from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from rdfaspider.frontier import Taken, open_frontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.simulator.drive import ORDERS, Real, crawl, simulated
from rdfaspider.simulator.plot import plot, table
from rdfaspider.simulator.web import WEBS, GeneratedWeb, RecordedWeb, Shape

SMALL = 200


def web(kind: str, seed: int = 1) -> GeneratedWeb:
    return GeneratedWeb(Shape(kind, hosts=SMALL), seed)


@pytest.mark.parametrize("kind", WEBS)
def test_a_web_has_the_share_it_should_have(kind: str) -> None:
    sections = web(kind).sections
    pages = sum(section.pages for section in sections)
    share = sum(section.pages * section.share for section in sections) / pages
    assert share == pytest.approx(0.06, abs=0.005)


def test_a_page_is_a_function_of_seed_and_url() -> None:
    one, again, other = web("hosts"), web("hosts"), web("hosts", seed=2)
    url = one.sections[0].url(0)
    assert one.fetch(url) == again.fetch(url)
    assert one.seeds(5) == again.seeds(5) != other.seeds(5)


def test_every_link_leads_to_a_page() -> None:
    small = web("sections")
    found = set(small.seeds(5))
    for _ in range(2):
        found |= {link for url in found for link in small.fetch(url).links}
    assert len(found) > 100


@pytest.mark.parametrize("order", ORDERS)
def test_a_small_web_is_crawled_to_the_end_by_every_order(order: str) -> None:
    lines = [
        f'{{"url": "https://h{n % 3}.test/a/{n}", "gain": {n % 2},'
        f' "links": ["https://h{(n + 1) % 3}.test/a/{n + 1}"]}}'
        for n in range(30)
    ]
    with simulated(order) as frontier:
        run = crawl(frontier, RecordedWeb(lines), 1_000, seeds=1)
    assert (run.fetches, run.gain, len(run.hosts), run.seen) == (31, 15.0, 3, 31)


def test_a_damaged_record_is_refused_with_its_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        RecordedWeb(['{"url": "http://a.test/", "gain": 1, "links": []}', '{"url": 3}'])


class Watched(Real):
    """A frontier whose fetches of each host are noted."""

    def __init__(self, path: Path) -> None:
        super().__init__(open_frontier(str(path), politeness=Politeness(delay=1.0)))
        self.ends: dict[int, float] = {}
        self.gaps: list[float] = []

    def take(self, now: float) -> Taken | None:
        taken = super().take(now)
        if taken and taken.host in self.ends:
            self.gaps.append(now - self.ends[taken.host])
        return taken

    def finish(self, taken: Taken, *rest: object, **more: object) -> None:
        self.ends[taken.host] = rest[1]  # type: ignore[assignment]
        super().finish(taken, *rest, **more)  # type: ignore[arg-type]


def test_the_real_frontier_is_driven_too(tmp_path: Path) -> None:
    frontier = Watched(tmp_path / "frontier")
    run = crawl(frontier, web("uniform"), 300)
    frontier._frontier.close()
    assert run.fetches == 300
    assert min(frontier.gaps) >= 1.0 - 1e-6
    assert len(run.points) >= 100


def test_politeness_costs_time_where_hosts_are_few() -> None:
    few = GeneratedWeb(Shape("uniform", hosts=5), 1)
    with simulated("breadth") as frontier:
        run = crawl(frontier, few, 100, seeds=2)
    assert run.seconds > 100 / 5 * 1.0
    assert run.idle > run.seconds, "most of the 32 connections have nothing to do"


def test_harvest_beats_breadth_where_triples_are_concentrated() -> None:
    sections = GeneratedWeb(Shape("sections", hosts=500), 3)
    found = {}
    for order in ("harvest", "breadth"):
        with simulated(order) as frontier:
            found[order] = crawl(frontier, sections, 1_000).harvest
    assert found["harvest"] > 2 * found["breadth"]


def test_runs_are_drawn_and_listed() -> None:
    with simulated("bandit") as frontier:
        runs = {"a<b": crawl(frontier, web("uniform"), 100)}
    root = ElementTree.fromstring(plot(runs, "a & b"))
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 4
    assert "a<b" in table(runs)


def test_an_unknown_order_or_web_is_refused() -> None:
    with pytest.raises(ValueError, match="no order depth"), simulated("depth"):
        pass
    with pytest.raises(ValueError, match="no web"):
        Shape("square")
