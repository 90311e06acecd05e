"""Seeds out of an earlier crawl (row P9)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Literal, NamedNode, Quad
from scrapy.exceptions import UsageError

from rdfaspider.focus.topics import parse_topics, topic_of
from rdfaspider.focus.topics.names import keep_names
from rdfaspider.focus.topics.ranker import judgement
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.spiders.seeds import read_seeds
from rdfaspider.stores.embedded.oxigraph import OxigraphStore
from tests.manyhosts import Answer, Serve, serve

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

__all__ = ["serve"]

TOPICS = '[food]\nkeywords = ["recipe"]\n[music]\nkeywords = ["song"]\n'


def store(directory: Path, **sizes: int) -> None:
    with OxigraphStore(str(directory / "store")) as store:
        for name, size in sizes.items():
            graph = f"http://a.test/{name}"
            label = NamedNode("http://schema.org/name")
            store.replace(
                graph,
                [
                    Quad(NamedNode(graph), label, Literal(str(n)), NamedNode(graph))
                    for n in range(size)
                ],
            )
        crawl = NamedNode("urn:rdfaspider:crawl:1")
        store.add([Quad(crawl, NamedNode("x:p"), Literal(str(n)), crawl) for n in range(50)])


def frontier(directory: Path, order: str = "breadth") -> LocalFrontier:
    return LocalFrontier(str(directory / "frontier"), order=order, politeness=Politeness(delay=0.0))


def files(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_richest_pages_come_first(tmp_path: Path) -> None:
    store(tmp_path, some=2, most=9, few=1, many=5)
    frontier(tmp_path).close()
    before = files(tmp_path)
    urls = ["http://a.test/most", "http://a.test/many", "http://a.test/some", "http://a.test/few"]
    assert read_seeds(f"crawl:{tmp_path}").urls == tuple(urls)
    assert read_seeds(f"crawl:{tmp_path}?most=2").urls == tuple(urls[:2])
    assert files(tmp_path) == before, "nothing was touched"


def crawl_topics(directory: Path, order: str) -> None:
    """Leave a crawl behind with two hubs of food, one of music, and leaves; /f3 failed."""
    links = {"f1": 3, "f2": 5, "f3": 9, "m1": 2, "x": 1}
    with frontier(directory, order) as crawl:
        if order == "topics":
            keep_names(crawl, parse_topics(TOPICS))
        crawl.put([f"http://a.test/{name}" for name in links])
        for _ in links:
            taken = crawl.take(0.0)
            assert taken
            name = taken.url.rpartition("/")[2]
            topic = {"f": 1, "m": 2}.get(name[0], 0)
            found = [f"http://a.test/{name}/{n}" for n in range(links[name])]
            state = "failed" if name == "f3" else "done"
            crawl.finish(taken, state, 0.0, found, gain=judgement(topic, 99))  # type: ignore[arg-type]


def test_of_a_crawl_with_topics_hubs_of_each_come_in_turn(tmp_path: Path) -> None:
    store(tmp_path, some=2)
    crawl_topics(tmp_path, "topics")
    seeds = read_seeds(f"crawl:{tmp_path}")
    assert [url[14:] for url in seeds.urls] == ["x", "f2", "m1", "f1"]
    assert seeds.topics == {
        "http://a.test/f2": "food",
        "http://a.test/f1": "food",
        "http://a.test/m1": "music",
    }
    assert len(read_seeds(f"crawl:{tmp_path}?most=2").urls) == 2


def test_of_a_crawl_that_stored_elsewhere_the_best_hubs_are_taken(tmp_path: Path) -> None:
    crawl_topics(tmp_path, "breadth")
    before = files(tmp_path)
    seeds = read_seeds(f"crawl:{tmp_path}?most=3")
    assert [url[14:] for url in seeds.urls] == ["f2", "f1", "m1"]
    assert not seeds.topics
    assert files(tmp_path) == before


def test_a_crawl_that_cannot_give_seeds_is_named(tmp_path: Path) -> None:
    frontier(tmp_path).close()
    with pytest.raises(UsageError, match="has no pages yet"):
        read_seeds(f"crawl:{tmp_path}")
    store(tmp_path)
    with pytest.raises(UsageError, match="No usable seed in crawl:"):
        read_seeds(f"crawl:{tmp_path}")
    current = tmp_path / "store" / "CURRENT"
    current.write_text("nonsense\n")
    with pytest.raises(UsageError, match="is damaged"):
        read_seeds(f"crawl:{tmp_path}")


def page(words: str, *links: str) -> Answer:
    anchors = "".join(f'<a href="{link}">next</a>' for link in links)
    body = f'<title>{words}</title><p property="http://schema.org/name">{words}</p>{anchors}'
    return 200, {"Content-Type": "text/html"}, body


@pytest.mark.slow
def test_a_crawl_goes_on_from_the_hubs_of_another_in_their_pools(
    crawl: Crawler, scrapy: Scrapy, serve: Serve, tmp_path: Path
) -> None:
    serve(
        {
            "http://a.test/": page("nothing", "/1", "/2"),
            "http://a.test/1": page("recipe", "/3", "/4"),
            "http://a.test/2": page("song", "/5", "/6"),
        }
    )
    (tmp_path / "topics.toml").write_text(TOPICS)
    topics = {"FRONTIER_ORDER": "topics", "FRONTIER_TOPICS": "topics.toml"}
    crawl("http://a.test/", **topics)
    again = crawl("crawl:crawl?most=3", "-a", "depth=0", JOBDIR="again", **topics)
    assert again.fates.keys() == {"http://a.test/", "http://a.test/1", "http://a.test/2"}
    options = {"JOBDIR": "waiting", "CLOSESPIDER_TIMEOUT": 1, "POLITENESS_DELAY": 60, **topics}
    assert scrapy("crawl", "rdfa", "-a", "seeds=crawl:crawl", **options).returncode == 0
    with FrontierReader(str(tmp_path / "waiting" / "frontier"), delay=0.0) as reader:
        found = [reader.trie.record(f"http://a.test/{name}") for name in ("", "1", "2")]
    assert [record and topic_of(record.hint) for record in found] == [0, 1, 2]
