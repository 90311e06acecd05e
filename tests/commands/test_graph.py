"""`scrapy graph` as people run it: on a finished crawl, on a running one, and where there is nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import networkx
import pytest
from pyarrow import parquet
from pyoxigraph import RdfFormat, parse
from scrapy.settings import Settings

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.report.gather import Places
from rdfaspider.settings.places import frontiers_of

if TYPE_CHECKING:
    from tests.conftest import Scrapy

pytestmark = pytest.mark.slow

A, B, C = "http://a.test/", "http://a.test/b", "http://c.test/"


@pytest.fixture
def frontier(tmp_path: Path) -> LocalFrontier:
    """Return a frontier in JOBDIR that has crawled three pages, of two hosts."""
    path = tmp_path / "crawl" / "frontier"
    frontier = LocalFrontier(str(path), politeness=Politeness(delay=0.0, at_once=9))
    frontier.put([A])
    links = {A: [B, C], B: [A, C], C: [A]}
    outside = {"w3.org": 2, "other.example": 1}
    while (taken := frontier.take(0.0)) is not None:
        said = {"media": {"image": 4}, "outside": outside} if taken.url == B else {"nofollow": [B]}
        frontier.finish(taken, "done", 0.0, links[taken.url], beside=said)  # type: ignore[arg-type]
    return frontier


@pytest.fixture
def finished(frontier: LocalFrontier) -> None:
    frontier.close()


@pytest.mark.usefixtures("finished")
def test_the_sum(scrapy: Scrapy) -> None:
    done = scrapy("graph")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "3 URLs on 2 hosts, links on record of 3 pages"
    assert lines[1] == "6 links: 5 follow, 1 nofollow"  # that of A is a link to follow too
    assert lines[2] == "3 links out of the crawl, 0 to URLs beyond its limits, 4 media (4 image)"
    assert "        2  w3.org" in lines


@pytest.mark.usefixtures("finished")
def test_a_page(scrapy: Scrapy) -> None:
    assert "PageRank" not in scrapy("graph", B).stdout
    assert scrapy("graph", "rank").returncode == 0
    lines = scrapy("graph", B).stdout.splitlines()
    assert lines[0] == B
    assert "  outside    2 w3.org, 1 other.example" in lines
    assert "  media      4 image" in lines
    assert any(line.startswith("  PageRank   ") and "of 3" in line for line in lines)
    place = lines.index("  links in   1 follow, 1 nofollow")
    assert lines[place + 1 : place + 3] == [f"    follow     {A}", f"    nofollow   {C}"]
    assert lines[-3:] == ["  links out  2 follow", f"    follow     {A}", f"    follow     {C}"]


@pytest.mark.usefixtures("finished")
def test_ranks_and_structure(scrapy: Scrapy) -> None:
    graph = networkx.DiGraph([(A, B), (A, C), (B, A), (B, C), (C, A)])
    expected = networkx.pagerank(graph, tol=1e-12)
    rows = [line.split() for line in scrapy("graph", "rank").stdout.splitlines()[1:]]
    assert [row[-1] for row in rows] == sorted(expected, key=expected.__getitem__, reverse=True)
    assert [float(row[0]) for row in rows] == pytest.approx(
        sorted(expected.values())[::-1], rel=1e-3
    )
    hosts = scrapy("graph", "rank", "--hosts").stdout.splitlines()
    assert {line.split()[-1] for line in hosts[1:]} == {"a.test", "c.test"}
    structure = scrapy("graph", "structure").stdout
    assert "strong components  1, the largest with 3 URLs" in structure
    assert "by distance        1, 2 from the seeds, 0 not reached" in structure


@pytest.mark.usefixtures("finished")
def test_exports(scrapy: Scrapy, tmp_path: Path) -> None:
    followed = {(A, B), (A, C), (B, A), (B, C), (C, A)}
    done = scrapy("graph", "-o", "-")
    assert done.stderr == "6 links written.\n"
    rows = [tuple(line.split("\t")) for line in done.stdout.splitlines()]
    assert set(rows) == {(*pair, "follow") for pair in followed} | {(C, B, "nofollow")}
    for name in ("g.tsv.gz", "g.nq", "g.parquet", "g.graphml", "g.graph-txt", "g.txt"):
        done = scrapy("graph", "-o", name)
        assert done.returncode == 0, done.stderr
    quads = list(parse((tmp_path / "g.nq").read_bytes(), RdfFormat.N_QUADS))
    references = "http://purl.org/dc/terms/references"
    said = {(q.subject.value, q.object.value) for q in quads if q.predicate.value == references}
    assert said == followed
    table = parquet.read_table(tmp_path / "g.parquet").to_pylist()
    assert {(row["source"], row["target"], row["kind"]) for row in table} == set(rows)
    hosts = networkx.read_graphml(tmp_path / "g.graphml")
    names = networkx.get_node_attributes(hosts, "host")
    links = {(names[one], names[other]): n for one, other, n in hosts.edges(data="links")}
    assert links == {("a.test", "a.test"): 2, ("a.test", "c.test"): 2, ("c.test", "a.test"): 1}
    assert (tmp_path / "g.txt").read_text().split() == [A, B, C]
    assert (tmp_path / "g.graph-txt").read_text() == "3\n1 2\n0 2\n0 1\n"


def test_a_running_crawl_is_read_as_of_now(
    frontier: LocalFrontier, scrapy: Scrapy, tmp_path: Path
) -> None:
    running = "The crawl is running: this is its graph as of now."
    early = LocalFrontier(str(tmp_path / "early" / "frontier"), politeness=Politeness(delay=0.0))
    early.put([A])
    taken = early.take(0.0)
    assert taken is not None
    early.finish(taken, "done", 0.0, [B])
    done = scrapy("graph", JOBDIR="early")
    assert done.stderr.splitlines() == [
        running,
        "The graph has no links yet: they are in the crawl's inbox, and come in while it goes on.",
    ]
    early.close()
    done = scrapy("graph", "structure", JOBDIR="early")
    assert "strong components  2, the largest with 1 URL\n" in done.stdout
    frontier.counts()  # what is still in the inbox is not in the graph yet
    done = scrapy("graph")
    assert done.stderr == f"{running}\n"
    assert "6 links: 5 follow, 1 nofollow" in done.stdout
    frontier.put(["http://new.test/"])
    taken = frontier.take(0.0)
    assert taken is not None
    frontier.finish(taken, "done", 0.0, [A])
    frontier.close()
    old = scrapy("graph", "--kept")
    assert old.stderr == "The crawl has gone on since this graph was built.\n"
    assert "3 URLs on 2 hosts" in old.stdout
    assert "4 URLs on 3 hosts" in scrapy("graph").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["http://a.test/none"], "http://a.test/none is not known to this crawl."),
        (["-o", "graph.pdf"], "graph.pdf does not say its format by its ending"),
        (["-o", "-", "--format", "parquet"], "Parquet is written to a file"),
        (["nonsense"], "nonsense"),
        (["--frontier", "missing"], "There is no frontier in missing"),
    ],
)
@pytest.mark.usefixtures("finished")
def test_mistakes_get_a_sentence(scrapy: Scrapy, arguments: list[str], sentence: str) -> None:
    done = scrapy("graph", *arguments)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_directory_that_does_not_exist_is_not_created(scrapy: Scrapy, tmp_path: Path) -> None:
    done = scrapy("graph", JOBDIR="typo")
    assert "There is no frontier in typo/frontier" in done.stderr
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize("arguments", [["a", "b"], ["--hosts"], [A, "-o", "x.nq"], ["-n", "-1"]])
def test_wrong_arguments_show_the_help(scrapy: Scrapy, arguments: list[str]) -> None:
    assert scrapy("graph", *arguments).returncode == 2


def test_a_shared_crawl_is_read_where_its_frontier_is(scrapy: Scrapy) -> None:
    done = scrapy("graph", FRONTIER_URL="frontier://127.0.0.1:1")
    assert "name them with --frontier DIR, once for each shard" in done.stderr


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize("name", ["frontier", "frontier-1"])
def test_a_replicated_crawl_is_read_from_the_copy_in_its_directory(
    scrapy: Scrapy, tmp_path: Path, name: str
) -> None:
    (tmp_path / "crawl" / "frontier").rename(tmp_path / "crawl" / name)
    done = scrapy("graph", FRONTIER_URL="redis://127.0.0.1:1/0")
    assert "3 URLs on 2 hosts" in done.stdout, done.stderr


def test_what_stands_beside_shards_is_none(tmp_path: Path) -> None:
    """A node of a replicated crawl keeps copies beside its shards for a while."""
    names = ["frontier-2", "frontier-10", "frontier-1"]
    for name in [*names, "frontier-1.old", "frontier-2.new", "frontier-10.copy", "frontier-x"]:
        (tmp_path / name).mkdir()
    expected = [str(tmp_path / f"frontier-{number}") for number in (1, 2, 10)]
    settings = Settings({"JOBDIR": str(tmp_path), "FRONTIER_URL": "redis://127.0.0.1:1/0"})
    assert frontiers_of(settings) == expected
    assert Places.in_directory(str(tmp_path)).frontiers == expected


def test_pages_of_before_have_no_links(scrapy: Scrapy, tmp_path: Path) -> None:
    path = str(tmp_path / "crawl" / "frontier")
    with LocalFrontier(path, politeness=Politeness(delay=0.0), linkgraph=False) as frontier:
        frontier.put([A])
        taken = frontier.take(0.0)
        assert taken is not None
        frontier.finish(taken, "done", 0.0, [B])
    done = scrapy("graph")
    assert "No page has its links on record" in done.stderr
    assert "2 URLs on 1 host, links on record of 0 pages" in done.stdout
    assert "no links on record" in scrapy("graph", A).stdout
    assert scrapy("graph", "structure").returncode == 0


@pytest.mark.usefixtures("finished")
def test_without_numpy_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['numpy'] = None; import rdfaspider.__main__ as m; m.main()"
    done = subprocess.run(
        [sys.executable, "-c", hidden, "graph"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(
        "scrapy graph: numpy, which analyses the link graph, is not installed"
    )
