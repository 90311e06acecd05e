"""Every frontier keeps the rows of pages, and finds those whose body another page had."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from hashlib import sha1
from pathlib import Path

import pytest

from rdfaspider.frontier import Frontier
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.pages.row import MOST, Row, pack
from rdfaspider.pages.table import Ended
from tests.frontier.ahead import AheadAlone
from tests.frontier.conftest import Opener
from tests.frontier.replicas import ReplicatedAlone
from tests.frontier.served import ServedAlone
from tests.frontier.sharded import ShardedAlone


def row(body: str = "", **fields: object) -> bytes:
    digest = sha1(body.encode()).digest() if body else b""
    return pack(Row(**fields), digest)  # type: ignore[arg-type]


def paths_of(frontier: Frontier) -> list[str]:
    if isinstance(frontier, ShardedAlone):
        engines = [frontier.engine_of(f"http://{name}.test/") for name in "abcdefgh"]
    elif isinstance(frontier, ServedAlone | ReplicatedAlone | AheadAlone):
        engines = [frontier.engine]
    else:
        assert isinstance(frontier, LocalFrontier)
        engines = [frontier]
    return sorted({engine._database._database.path() for engine in engines})


def rows_in(paths: list[str]) -> dict[str, Ended]:
    found: dict[str, Ended] = {}
    for path in paths:
        with FrontierReader(path, delay=0.0) as reader:
            found |= {page.url: page for page in reader.pages.ended()}
    return found


def test_a_row_is_kept_with_the_end_of_its_url(opener: Opener) -> None:
    urls = [f"http://{name}.test/" for name in "abcd"]
    with opener(delay=0.0) as frontier:
        frontier.put(urls)
        for now in range(4):
            taken = frontier.take(float(now))
            assert taken
            if taken.url == "http://a.test/":
                frontier.finish(taken, "done", now, row=row("a", status=200, title="Ä"))
            elif taken.url == "http://b.test/":
                frontier.finish(taken, "failed", now, reason="404", row=row(status=404))
            elif taken.url == "http://c.test/":
                frontier.finish(taken, "done", now, row=b"\1\0" + b"x" * MOST)
            else:
                frontier.finish(taken, "done", now)
        frontier.counts()
        paths = paths_of(frontier)
    found = rows_in(paths)
    assert {url: found[url].state for url in urls} == dict.fromkeys(urls, "done") | {
        "http://b.test/": "failed"
    }
    assert found["http://a.test/"].row == row("a", status=200, title="Ä")
    assert found["http://b.test/"].row == row(status=404)
    assert found["http://c.test/"].row is None
    assert found["http://d.test/"].row is None
    assert len({page.number for page in found.values()}) == 4


def test_pages_with_the_body_of_another_are_copies(opener: Opener) -> None:
    """Of one host, as shards find copies on their own hosts only."""
    with opener(delay=0.0) as frontier:
        frontier.put([f"http://a.test/{number}" for number in range(6)])
        for now in range(6):
            taken = frontier.take(float(now))
            assert taken
            body = "same" if taken.url[-1] in "024" else taken.url
            frontier.finish(taken, "done", now, row=row(body))
        assert frontier.counts().copies == 2
        paths = paths_of(frontier)
    found = rows_in(paths)
    firsts = {page.copy_of for page in found.values()} - {None}
    assert len(firsts) == 1
    copied = {url[-1] for url, page in found.items() if page.copy_of is not None}
    (first,) = {url[-1] for url, page in found.items() if page.number in firsts}
    assert copied | {first} == {"0", "2", "4"} and first not in copied


def test_pages_are_counted_by_their_best_topic(opener: Opener) -> None:
    """Shards add up, and a page that is fetched again counts once."""
    with opener(delay=0.0) as frontier:
        urls = [f"http://{name}.test/" for name in "abcd"]
        frontier.put(urls)
        for now, topics in enumerate(("food music", "food", "music food", "")):
            taken = frontier.take(float(now))
            assert taken
            frontier.finish(taken, "done", now, row=row(str(now), topics=topics))
        assert frontier.counts().topics == {"food": 2, "music": 1}
        paths = paths_of(frontier)
    sums = Counter[str]()
    for path in paths:
        with FrontierReader(path, delay=0.0) as reader:
            sums.update(reader.counts().topics)
    assert sums == {"food": 2, "music": 1}


def opened(path: Path, **options: object) -> LocalFrontier:
    return LocalFrontier(str(path), politeness=Politeness(delay=0.0, at_once=999), **options)  # type: ignore[arg-type]


def finish(frontier: LocalFrontier, url: str, body: str, *links: str, **fields: object) -> None:
    others = []
    while (taken := frontier.take(0.0)) is not None and taken.url != url:
        others.append(taken)
    assert taken is not None, url
    frontier.finish(taken, "done", 0.0, links, row=row(body, **fields))
    for other in others:
        frontier.release(other, 0.0)


@pytest.mark.parametrize("follows", [True, False])
def test_links_of_copies_are_followed_once_if_asked_for(tmp_path: Path, follows: bool) -> None:
    with opened(tmp_path, follows_copies=follows) as frontier:
        frontier.put(["http://a.test/1/", "http://a.test/2/", "http://a.test/3/"])
        finish(frontier, "http://a.test/1/", "same", "http://a.test/1/x", "http://a.test/")
        finish(frontier, "http://a.test/2/", "same", "http://a.test/2/x", "http://a.test/")
        finish(frontier, "http://a.test/3/", "other", "http://a.test/3/x")
        counts = frontier.counts()
        assert frontier.knows("http://a.test/1/x") and frontier.knows("http://a.test/3/x")
        assert frontier.knows("http://a.test/2/x") is follows
        assert (counts.copies, counts.seen) == (1, 7 if follows else 6)
        assert counts.rejected == ({} if follows else {"copies": 2})


def test_a_copy_found_by_a_shorter_way_does_not_pass_its_links_on(tmp_path: Path) -> None:
    limits = FrontierLimits(depth=3)
    with opened(tmp_path, follows_copies=False, limits=limits) as frontier:
        frontier.put(["http://a.test/", "http://slow.test/"])
        finish(frontier, "http://a.test/", "home", "http://a.test/1")
        finish(frontier, "http://a.test/1", "one", "http://a.test/2")
        finish(frontier, "http://a.test/2", "home", "http://a.test/hidden")
        finish(frontier, "http://slow.test/", "slow", "http://a.test/2")
        assert frontier.counts().copies == 1
        record = frontier.trie.record("http://a.test/2")
        assert record and record.depth == 1
        assert not frontier.knows("http://a.test/hidden")


def test_a_copy_that_is_fetched_again_at_once_is_counted_once(tmp_path: Path) -> None:
    """It is marked and reopened in one run of the sieve."""
    with opened(tmp_path) as frontier:
        frontier.put(["http://a.test/"])
        finish(frontier, "http://a.test/", "same", "http://a.test/1")
        finish(frontier, "http://a.test/1", "same", "http://a.test/2")
        finish(frontier, "http://a.test/2", "same")
        frontier.put(["http://a.test/1", "http://a.test/2"])
        finish(frontier, "http://a.test/1", "same")
        finish(frontier, "http://a.test/2", "other")
        assert frontier.counts().copies == 1
    with FrontierReader(str(tmp_path), delay=0.0) as reader:
        copies = {page.url for page in reader.pages.ended() if page.copy_of is not None}
    assert copies == {"http://a.test/1"}


def test_a_page_that_is_fetched_again_is_judged_again(tmp_path: Path) -> None:
    """A new seed gives a done page a smaller depth when its links are gone, so that it is fetched again."""
    with opened(tmp_path) as frontier:
        frontier.put(["http://a.test/"])
        finish(frontier, "http://a.test/", "same", "http://a.test/1")
        finish(frontier, "http://a.test/1", "same", "http://a.test/2", topics="food")
        finish(frontier, "http://a.test/2", "x")
        assert frontier.counts().copies == 1
        frontier.put(["http://a.test/1"])
        assert frontier.counts().copies == 0
        finish(frontier, "http://a.test/1", "new", topics="music")
        assert frontier.counts().copies == 0
    with FrontierReader(str(tmp_path), delay=0.0) as reader:
        found = {page.url: page for page in reader.pages.ended()}
        assert reader.counts().copies == 0
        assert +Counter(reader.counts().topics) == {"music": 1}
        assert found["http://a.test/1"].row == row("new", topics="music")
        assert found["http://a.test/1"].copy_of is None


def test_the_number_of_waiting_digests_is_bounded(tmp_path: Path) -> None:
    with opened(tmp_path, limits=FrontierLimits(depth=0)) as frontier:
        frontier.put([f"http://a.test/{number}" for number in range(2_500)])
        most = 0
        while (taken := frontier.take(0.0)) is not None:
            frontier.finish(taken, "done", 0.0, ["http://a.test/x"], row=row(taken.url[-1]))
            most = max(most, len(frontier._sieve.copies.waiting))
        assert most <= 1_000
        assert frontier.counts().copies == 2_490


KILLED = """
import os, sys
from hashlib import sha1
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.pages.row import Row, pack
frontier = LocalFrontier(sys.argv[1], politeness=Politeness(delay=0.0, at_once=999))
frontier.put([f"http://a.test/{number}" for number in range(40)])
for number in range(30):
    taken = frontier.take(0.0)
    frontier.finish(taken, "done", 0.0, row=pack(Row(200), sha1(b"%d" % (number % 10)).digest()))
os.kill(os.getpid(), 9)
"""


def test_a_kill_loses_no_row_and_no_digest(tmp_path: Path) -> None:
    path = tmp_path / "frontier"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -9
    with opened(path) as frontier:
        assert frontier.counts().copies == 20
    with FrontierReader(str(path), delay=0.0) as reader:
        pages = list(reader.pages.ended())
    assert len(pages) == 30 and all(page.row for page in pages)
    assert sum(page.copy_of is not None for page in pages) == 20


def test_hosts_and_domains_are_chosen_by_their_keys(tmp_path: Path) -> None:
    names = ("example.org", "www.example.org", "example2.org", "example.org:8000", "example.com")
    with opened(tmp_path) as frontier:
        frontier.put([f"http://{name}/" for name in names])
        for name in names:
            finish(frontier, f"http://{name}/", name)
    with FrontierReader(str(tmp_path), delay=0.0) as reader:
        found = [page.url for page in reader.pages.ended(b"org,example")]
    assert sorted(found) == sorted(
        f"http://{name}/" for name in ("example.org", "www.example.org", "example.org:8000")
    )
