"""Redirects of whole crawls: where a chain ends, and how far it takes the crawl with it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.frontier import Frontier, open_frontier
from rdfaspider.frontier.limits import MAX_REDIRECTS
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.items import Page
from rdfaspider.scheduler.memory import Memory
from rdfaspider.spiders.rdfa import RdfaSpider
from tests.manyhosts import Answer, Serve, moved, page, serve

if TYPE_CHECKING:
    from tests.conftest import Crawler

pytestmark = pytest.mark.slow

__all__ = ["serve"]


def test_a_chain_over_many_hosts_ends(crawl: Crawler, serve: Serve) -> None:
    asked = serve({f"http://h{n}.test/": moved(f"http://h{n + 1}.test/") for n in range(20)})
    found = crawl("http://h0.test/", FRONTIER_DEPTH=1)
    assert found.fates == {
        **{f"http://h{n}.test/": "done/redirect" for n in range(MAX_REDIRECTS)},
        f"http://h{MAX_REDIRECTS}.test/": "failed/redirects",
    }
    assert f"http://h{MAX_REDIRECTS + 1}.test/" not in asked
    assert "more than 5 redirects" in found.output


def test_a_redirect_to_itself_leads_nowhere(crawl: Crawler, serve: Serve) -> None:
    asked = serve({"http://h.test/": moved("/#top")})
    found = crawl("http://h.test/")
    assert found.fates == {"http://h.test/": "failed/redirects"}
    assert [url for url in asked if not url.endswith("robots.txt")] == ["http://h.test/"]
    assert "it redirects to itself" in found.output


def test_a_chain_that_is_just_short_enough_is_followed(crawl: Crawler, serve: Serve) -> None:
    chain = {
        f"http://h{n}.test/": moved(f"http://h{n + 1}.test/") for n in range(MAX_REDIRECTS - 1)
    }
    last = f"http://h{MAX_REDIRECTS - 1}.test/"
    serve({**chain, last: moved("http://end.test/"), "http://end.test/": page("/a")})
    serve_all = crawl("http://h0.test/")
    assert serve_all.fates["http://end.test/"] == "done/page"
    assert "http://end.test/a" in serve_all.fates, "links of the page start anew"


def test_a_link_is_followed_by_as_many_redirects_again(crawl: Crawler, serve: Serve) -> None:
    """What a page links to was not found by a redirect, however its page was found."""
    hops = {f"http://s.test/{n}": moved(f"/{n + 1}") for n in range(3)}
    more = {f"http://s.test/{n}": moved(f"/{n + 1}") for n in range(4, 8)}
    serve({**hops, "http://s.test/3": page("/4"), **more, "http://s.test/8": page()})
    assert crawl("http://s.test/0").fates["http://s.test/8"] == "done/page"


def test_the_scope_grows_by_where_a_seed_ends_and_not_on_the_way(
    crawl: Crawler, serve: Serve
) -> None:
    links = ["http://old.test/z", "http://between.test/x", "http://www.new.test/y"]
    serve(
        {
            "http://old.test/": moved("http://between.test/"),
            "http://between.test/": moved("http://www.new.test/"),
            "http://www.new.test/": page(*links, "http://other.test/"),
            "http://old.test/z": page(),
            "http://between.test/x": page(),
            "http://www.new.test/y": moved("http://elsewhere.test/"),
        }
    )
    found = crawl("http://old.test/")
    assert set(found.fates) == {
        "http://old.test/",
        "http://between.test/",
        "http://www.new.test/",
        "http://old.test/z",
        "http://www.new.test/y",
    }, "a redirect of a page that is no seed stays in the scope"


@pytest.mark.parametrize("end", [(404, {}, ""), (200, {"Content-Type": "image/png"}, "x")])
def test_the_scope_does_not_grow_by_what_is_no_page(
    crawl: Crawler, serve: Serve, end: Answer
) -> None:
    serve(
        {
            "http://a.test/": moved("http://gone.test/"),
            "http://gone.test/": end,
            "http://b.test/": page("http://gone.test/x"),
            "http://gone.test/x": page(),
        }
    )
    assert "http://gone.test/x" not in crawl("http://a.test/,http://b.test/").fates


def test_the_grown_scope_is_remembered(crawl: Crawler, serve: Serve) -> None:
    answers = {
        "http://old.test/": moved("http://www.new.test/"),
        "http://www.new.test/": page("/a", "/b"),
        "http://www.new.test/a": page("/c"),
        "http://www.new.test/b": page("/c"),
    }
    serve(answers)
    first = crawl("http://old.test/", CLOSESPIDER_PAGECOUNT=1)
    assert "http://www.new.test/a" not in first.fates
    assert "http://www.new.test/c" in crawl("http://old.test/").fates


def test_sitemaps_are_read_where_a_seed_has_moved_to(crawl: Crawler, serve: Serve) -> None:
    serve(
        {
            "http://old.test/": moved("http://www.new.test/"),
            "http://www.new.test/": page(),
            "http://www.new.test/robots.txt": (200, {}, "Sitemap: http://www.new.test/map.txt"),
            "http://www.new.test/map.txt": (200, {}, "http://www.new.test/hidden\n"),
            "http://www.new.test/hidden": page(),
        }
    )
    found = crawl("http://old.test/", ROBOTS_SITEMAPS=1)
    assert found.fates["http://www.new.test/hidden"] == "done/page"


def test_robots_that_moved_to_one_host_do_not_storm_it(crawl: Crawler, serve: Serve) -> None:
    hosts = [f"http://h{n}.test" for n in range(12)]
    moves = {f"{h}/robots.txt": moved(f"http://victim.test/{n}") for n, h in enumerate(hosts)}
    asked = serve({**moves, **{f"{host}/": page() for host in hosts}})
    found = crawl(
        ",".join(f"{host}/" for host in hosts), POLITENESS_DELAY=0.2, POLITENESS_AT_ONCE=1
    )
    assert found.pages == {f"{host}/" for host in hosts}
    times = sorted(t for url, t in asked.times if url.startswith("http://victim.test/"))
    assert len(times) == 12
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.19


def test_robots_that_moved_to_one_url_are_read_once(crawl: Crawler, serve: Serve) -> None:
    hosts = [f"http://h{n}.test" for n in range(12)]
    moves = {f"{host}/robots.txt": moved("http://hub.test/all.txt") for host in hosts}
    rules: Answer = (200, {}, "User-agent: *\nDisallow: /no")
    answers = {f"{host}/": page("/no", "/yes") for host in hosts}
    yes = {f"{host}/yes": page() for host in hosts}
    asked = serve({**moves, **answers, **yes, "http://hub.test/all.txt": rules})
    found = crawl(
        ",".join(f"{host}/" for host in hosts), POLITENESS_DELAY=0.05, POLITENESS_AT_ONCE=1
    )
    assert asked["http://hub.test/all.txt"] == 1
    assert {found.fates[f"{host}/no"] for host in hosts} == {"denied/robots"}
    assert {found.fates[f"{host}/yes"] for host in hosts} == {"done/page"}


class Notes:
    """A frontier that counts what is noted."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self.bytes = self.count = 0

    def set_note(self, name: str, value: bytes) -> None:
        self.count += 1
        self.bytes += len(value)
        self._frontier.set_note(name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frontier, name)


def test_many_seeds_that_moved_cost_one_small_note_each(tmp_path: Path) -> None:
    seeds = [f"http://site{n}.test/" for n in range(20_000)]
    path = str(tmp_path / "frontier")
    with open_frontier(path, politeness=Politeness(delay=0.0)) as frontier:
        notes: Any = Notes(frontier)
        spider = new_spider(seeds[:1])
        for url in seeds:
            spider.scope.add(url)
        memory = Memory(notes, is_shared=False)
        memory.recall(spider)
        memory.begin(spider)
        begun = notes.bytes
        frontier.put(seeds)
        while (taken := frontier.take(1.0)) is not None:
            if not taken.hops:
                target = taken.url.replace("site", "www.site")
                hop = Page(taken.url, 0, reason="redirect", links=[target])
                assert spider.follow(hop) == ([target], [0])
                memory.keep(spider)
                frontier.finish(taken, "done", 1.0, [target], depth_step=0, hops=1)
            else:
                end = Page(taken.url, 0, hops=taken.hops, links=[f"{taken.url}a", seeds[0]])
                assert len(spider.follow(end)[0]) == 2
                memory.keep(spider)
                frontier.finish(taken, "done", 1.0)
        assert notes.count == 1 + len(seeds)
        assert notes.bytes - begun < 40 * len(seeds)
    with open_frontier(path) as frontier:
        resumed = new_spider([])
        Memory(frontier, is_shared=False).recall(resumed)
        assert resumed.scope.members == spider.scope.members
        assert len(resumed.scope.members) == 2 * len(seeds)


def new_spider(seeds: list[str]) -> RdfaSpider:
    spider = RdfaSpider(",".join(seeds) or None, seeds_may_come_later=True)
    stats = SimpleNamespace(inc_value=lambda *arguments: None)
    spider.crawler = SimpleNamespace(stats=stats)  # type: ignore[assignment]
    return spider
