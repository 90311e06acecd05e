from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.focus.visits.planner import RevisitRules
from rdfaspider.frontier import Keep
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.items import Page
from rdfaspider.stores import Refused, open_sink, open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.embedded import Embedded
from rdfaspider.stores.embedded.oxigraph import OxigraphStore
from rdfaspider.stores.kinds import shown, target_of
from rdfaspider.stores.outbox.database import OutboxDatabase
from rdfaspider.stores.provenance import crawl_graph, provenance
from rdfaspider.stores.selection import Selection
from tests.stores.conftest import url_of

if TYPE_CHECKING:
    from tests.commands.conftest import AtTerminal
    from tests.conftest import Scrapy

pytestmark = pytest.mark.slow

RULES = RevisitRules(every=60.0)
NAME = NamedNode("http://schema.org/name")
A, B, OTHER = "http://site.test/a", "http://site.test/b", "http://other.test/a"
FOREIGN = "http://foreign.test/"
KINDS = ("oxigraph", "nquads", "rdf4j", "gsp", "update", "fuseki-gsp", "fuseki-update")


def change(graph: str, *names: str) -> Change:
    return Change.replacing(graph, [Quad(NamedNode(graph), NAME, Literal(n)) for n in names])


CLOCK = count(1.0)


def fetch(graph: str, directory: Path) -> list[Change]:
    crawl = crawl_graph(str((directory / "crawl").resolve()))
    page = Page(graph, 0, status=200, fetched=next(CLOCK))
    return Change.adding(provenance(page, graph, crawl, 0.0))


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, request, tmp_path)


def outbox(directory: Path) -> str:
    return str(directory / "crawl" / "outbox")


def put(url: str, directory: Path, *graphs: str, rebuild: bool = False) -> list[bool]:
    """Store pages of two triples as a crawl does, with what is known of their fetches."""
    changes = [entry for g in graphs for entry in (change(g, "one", "two"), *fetch(g, directory))]
    with open_sink(url, outbox(directory), rebuild=rebuild) as store:
        return store.put(changes)[::2]


def sizes(url: str) -> dict[str, int]:
    with open_store(url, read_only=True) as store:
        return dict(store.sizes(Selection()))


def test_the_pages_of_a_host_are_gone_and_can_come_again(
    scrapy: Scrapy, tmp_path: Path, url: str
) -> None:
    assert put(url, tmp_path, A, B, OTHER) == [True] * 3
    (crawl,) = {graph for graph in sizes(url) if graph.startswith("urn:")}
    place = shown(url)

    refused = scrapy("remove", "--host", "site.test", STORE_URL=url)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        f"scrapy remove: Remove 2 graphs with 4 triples of host site.test from {place}? There is"
        " no terminal to confirm it: use --yes, or --dry-run to look.\n"
    )
    dry = scrapy("remove", "--host", "site.test", "--dry-run", STORE_URL=url)
    assert (dry.returncode, dry.stderr) == (0, "")
    assert (
        dry.stdout == f"2 graphs with 4 triples of host site.test would be removed from {place}.\n"
    )
    assert sizes(url) == {A: 2, B: 2, OTHER: 2, crawl: 24}

    result = scrapy("remove", "--host", "site.test", "--yes", STORE_URL=url)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"Removed 2 graphs with 4 triples of host site.test from {place}.\n"
    assert sizes(url) == {OTHER: 2, crawl: 8}
    again = scrapy("remove", "--host", "site.test", STORE_URL=url)
    assert again.stdout == f"There is nothing of host site.test in {place}.\n"
    assert again.returncode == 0

    assert put(url, tmp_path, A, OTHER) == [True, False], "not taken for unchanged"
    assert sizes(url) == {A: 2, OTHER: 2, crawl: 24}


def test_a_page_is_removed_by_any_spelling_of_its_url(scrapy: Scrapy, tmp_path: Path) -> None:
    url = str(tmp_path / "crawl" / "store")
    put(url, tmp_path, A, B, OTHER)
    page = "http://me:secret@SITE.test:80/x/../a#top"
    result = scrapy("remove", "--page", page, "--host", "other.test", "--yes")
    assert result.stdout == (
        f"Removed 2 graphs with 4 triples of page {A} and host other.test from crawl/store.\n"
    )
    assert B in sizes(url)
    assert not {A, OTHER} & sizes(url).keys()


def test_the_whole_crawl_is_what_the_crawl_has_written(
    scrapy: Scrapy, tmp_path: Path, url: str
) -> None:
    is_server = "http" in url
    put(url, tmp_path, A, OTHER)
    if is_server:  # where others may have graphs too
        with open_store(url) as store:
            store.replace(FOREIGN, [Quad(NamedNode(FOREIGN), NAME, Literal("theirs"))])
    result = scrapy("remove", "--all", "--yes", STORE_URL=url)
    assert result.returncode == 0, result.stderr
    assert result.stdout == (f"Removed 3 graphs with 20 triples of this crawl from {shown(url)}.\n")
    if "nquads" in url:
        assert not [*(tmp_path / "store").iterdir()]
    assert sizes(url) == ({FOREIGN: 1} if is_server else {})
    assert put(url, tmp_path, A) == [True]


def test_a_crawl_that_visits_pages_again_leaves_out_the_removed(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    url, frontier = str(tmp_path / "crawl" / "store"), str(tmp_path / "crawl" / "frontier")
    put(url, tmp_path, A, B, OTHER)
    with LocalFrontier(frontier, politeness=Politeness(delay=0.0), revisits=RULES) as known:
        known.put([A, B, OTHER])
        while taken := known.take(0.0):
            known.finish(taken, "done", 0.0, keep=Keep(None, 2.0))
    result = scrapy("remove", "--page", B, "--host", "other.test", "--yes")
    assert result.stdout == (
        f"Removed 2 graphs with 4 triples of page {B} and host other.test from crawl/store.\n"
        "2 pages will not be visited again by this crawl.\n"
    )
    _, *denied = scrapy("frontier", "--denied").stdout.splitlines()
    assert sorted(line.split("\t")[-2] for line in denied) == [OTHER, B]
    assert all("\tremoved\t" in line for line in denied)
    with LocalFrontier(frontier, politeness=Politeness(delay=0.0), revisits=RULES) as known:
        due = known.take(100.0)
        assert due is not None and due.url == A and known.take(100.0) is None
        assert known.counts().denied == 2


def test_without_its_frontier_a_removal_is_not_complete(scrapy: Scrapy, tmp_path: Path) -> None:
    """The pages are gone, but a crawl that cannot be told may bring them back."""
    url = str(tmp_path / "crawl" / "store")
    put(url, tmp_path, A, B)
    gone = f"unix://{tmp_path / 'nobody.sock'}"
    for said in ("Removed 1 graph with 2 triples", "There is nothing of page"):
        result = scrapy("remove", "--page", A, "--yes", FRONTIER_URL=gone)
        assert result.stdout.startswith(said)
        assert result.stderr.startswith("scrapy remove: ")
        assert "repeat this when its frontier can be reached" in result.stderr
        assert result.returncode == 1


def test_of_a_server_that_the_crawl_does_not_know_nothing_is_removed(
    scrapy: Scrapy, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = url_of("update", request, tmp_path)
    with open_store(url) as store:
        store.replace(FOREIGN, [Quad(NamedNode(FOREIGN), NAME, Literal("theirs"))])
    OutboxDatabase(outbox(tmp_path), target="update:another").close()
    for jobdir in ("crawl", "nowhere"):
        result = scrapy("remove", "--all", "--yes", STORE_URL=url, JOBDIR=jobdir)
        assert result.returncode == 1
        assert f"{jobdir} does not know which graphs of {shown(url)} belong to this crawl" in (
            result.stderr
        )
    assert sizes(url) == {FOREIGN: 1}


def test_the_outbox_does_not_bring_them_back(
    scrapy: Scrapy, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """One page waits, one was refused, and one was sent and kept for a store that dies."""
    url = url_of("update", request, tmp_path)
    put(url, tmp_path, OTHER)
    refused, waiting = "http://site.test/refused", "http://site.test/waiting"
    with OutboxDatabase(outbox(tmp_path), target=target_of(url), keep=True) as database:
        database.put([(change(refused, "secret text"), b"r")])
        (entry,) = database.batch(1)
        database.refuse(entry, Refused(400, "malformed"))
        for page in (B, waiting):
            database.put([(change(page, "secret text"), b"w")])
            for entry_of_fetch in fetch(page, tmp_path):
                database.put([(entry_of_fetch, b"")])
        database.remove(database.batch(9)[:2])
        assert {*database.graphs()} >= {(B, False), (refused, True), (waiting, True)}
    result = scrapy("remove", "--host", "site.test", "--yes", STORE_URL=url)
    assert result.stdout == (
        "Removed 0 graphs with 0 triples, and 2 that wait for the store or were refused, of host"
        f" site.test from {shown(url)}.\n"
    )
    files = [*(tmp_path / "crawl").rglob("*")]
    assert not any(b"secret text" in file.read_bytes() for file in files if file.is_file())
    with OutboxDatabase(outbox(tmp_path), target=None) as database:
        assert (database.pages, database.quads, database.size, [*database.graphs()]) == (
            0,
            0,
            0,
            [],
        )
        assert database.put([(change(B, "secret text"), b"w")]) == [True]
        same = change(OTHER, "one", "two")
        assert database.put([(same, same.digest())]) == [False]


def test_what_the_embedded_store_refused_goes_too(scrapy: Scrapy, tmp_path: Path) -> None:
    with Embedded(OxigraphStore(str(tmp_path / "crawl" / "store"))) as store:
        store.put([Change(A, b"<broken .\n", 1), Change(OTHER, b"<broken .\n", 1)])
    result = scrapy("remove", "--host", "site.test", "--yes")
    assert "and 1 that waits for the store or was refused," in result.stdout
    aside = scrapy("export", "--aside").stdout
    assert A not in aside
    assert f"<broken <{OTHER}> ." in aside


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 1), ("no\n", 1), ("\x04", 1)])
def test_a_person_is_asked(at_terminal: AtTerminal, tmp_path: Path, typed: str, code: int) -> None:
    url = str(tmp_path / "crawl" / "store")
    put(url, tmp_path, A)
    shown = at_terminal("remove", "--page", A, typed=typed)
    question = f"Remove 1 graph with 2 triples of page {A} from crawl/store? [y/N] "
    assert question in shown.text
    end = f"Removed 1 graph with 2 triples of page {A} from crawl/store."
    assert (end if code == 0 else "Nothing was removed.") in shown.text
    assert shown.code == code
    assert (A in sizes(url)) == bool(code)


@pytest.mark.parametrize("kind", ["oxigraph", "nquads"])
def test_while_a_crawl_writes_nothing_is_removed(
    scrapy: Scrapy, tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    url = url_of(kind, request, tmp_path)
    put(url, tmp_path, A)
    with open_sink(url, outbox(tmp_path)):
        result = scrapy("remove", "--page", A, "--yes", STORE_URL=url)
    assert result.returncode == 1
    assert "is in use by another crawl: wait until that one ends" in result.stderr
    assert result.stderr.count("\n") == 1
    assert A in sizes(url)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "Say what to remove: --page URL, --host HOST, or --all alone."),
        (["--all", "--host", "site.test"], "Say what to remove"),
        (["--host", "http://site.test/"], "http://site.test/ is not a host"),
        (["--page", "site.test"], "site.test is not the URL of a page"),
        (["--all", "-s", "JOBDIR=file"], "There is no store in file/store"),
        (["--all"], "There is no store in crawl/store: run a crawl first"),
        (["--all", "-s", "STORE_URL=nquads:nowhere"], "There are no N-Quads files in nowhere"),
        (
            ["--host", "a.test", "-s", "STORE_URL=gsp+http://me:secret@127.0.0.1:1/store"],
            "http://127.0.0.1:1/store cannot be reached",
        ),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, tmp_path: Path, options: list[str], sentence: str
) -> None:
    (tmp_path / "file").touch()
    result = scrapy("remove", *options, "--yes")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("scrapy remove: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert "secret" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
