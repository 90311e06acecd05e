"""What a local frontier keeps for people: why URLs failed, and on which pages they were found."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.tables.database import Database
from rdfaspider.frontier.tables.failures import Failure, Failures, tidy
from rdfaspider.frontier.views.reader import FrontierReader


def opened(path: Path, **options: object) -> LocalFrontier:
    return LocalFrontier(str(path), politeness=Politeness(delay=0.0, at_once=999), **options)  # type: ignore[arg-type]


def finish(frontier: LocalFrontier, url: str, state: str, links: tuple[str, ...] = ()) -> None:
    """Take URLs until this one comes, put the others back, and end it."""
    others = []
    while (taken := frontier.take(0.0)) is not None and taken.url != url:
        others.append(taken)
    assert taken is not None
    frontier.finish(taken, state, 0.0, links, reason="why", status=500)  # type: ignore[arg-type]
    for other in others:
        frontier.release(other, 0.0)


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("404", b"404"),
        ("a\tb\n\nc\x00 ", b"a b c"),
        ("Zeitüberschreitung", "Zeitüberschreitung".encode()),
        ("\ud800", b""),
        ("", b""),
    ],
)
def test_a_reason_is_one_line(reason: str, kept: bytes) -> None:
    assert tidy(reason) == kept


def test_a_reason_is_not_too_long(tmp_path: Path) -> None:
    database = Database(tmp_path / "frontier")
    batch = database.batch()
    Failures(database).keep(batch, 7, Failure(1.5, 99_999, "ä" * 100_000))
    database.write(batch)
    found = Failures(database).get(7)
    assert found == Failure(1.5, 0, "ä" * 100)
    database.close()


def test_a_requeued_url_has_not_failed(tmp_path: Path) -> None:
    with opened(tmp_path / "frontier") as frontier:
        frontier.put(["http://a.test/", "http://b.test/"])
        finish(frontier, "http://a.test/", "failed")
        finish(frontier, "http://b.test/", "denied")
        assert frontier.requeue("") == 1
    with FrontierReader(str(tmp_path / "frontier"), delay=0.0) as reader:
        assert [view.url for view in reader.ended("failed")] == []
        assert [view.url for view in reader.ended("denied")] == ["http://b.test/"]
        view = reader.url("http://a.test/")
        assert view and (view.state, view.attempts, view.reason) == ("waiting", 0, None)


def test_the_page_that_found_a_link_first_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "frontier")
    many = tuple(f"http://b.test/{number}" for number in range(700))
    with opened(tmp_path / "frontier") as frontier:
        frontier.put(["http://a.test/1", "http://a.test/2"])
        finish(frontier, "http://a.test/1", "done", ("http://a.test/3", "http://a.test/2"))
        finish(frontier, "http://a.test/2", "done", ("http://a.test/3", *many))
        frontier.put(["http://c.test/"])
        with FrontierReader(path, delay=0.0) as reader:
            view = reader.url("http://c.test/")
            assert view and view.state == "found, not looked up yet"
        finish(frontier, "http://b.test/300", "failed")
        finish(frontier, "http://c.test/", "denied")
    with FrontierReader(path, delay=0.0) as reader:
        found = {url: view for url in (*many, "http://a.test/3") if (view := reader.url(url))}
        assert {found[url].referrer for url in many} == {"http://a.test/2"}
        assert found["http://a.test/3"].referrer == "http://a.test/1"
        for seed in ("http://a.test/1", "http://a.test/2", "http://c.test/"):
            view = reader.url(seed)
            assert view and view.referrer is None
        (failed,) = reader.ended("failed", "300")
        assert (failed.url, failed.referrer) == ("http://b.test/300", "http://a.test/2")
        assert list(reader.ended("failed", "301")) == []


def test_links_that_come_within_reach_later_have_their_page_too(tmp_path: Path) -> None:
    """A page that is found by a shorter way passes its links on from the record."""
    limits = FrontierLimits(depth=2)
    with opened(tmp_path / "frontier", limits=limits) as frontier:
        frontier.put(["http://a.test/", "http://slow.test/"])
        finish(frontier, "http://a.test/", "done", ("http://a.test/1",))
        finish(frontier, "http://a.test/1", "done", ("http://a.test/2",))
        finish(frontier, "http://a.test/2", "done", ("http://a.test/3",))
        finish(frontier, "http://slow.test/", "done", ("http://a.test/2",))
        finish(frontier, "http://a.test/3", "failed")
    with FrontierReader(str(tmp_path / "frontier"), delay=0.0) as reader:
        view = reader.url("http://a.test/3")
        assert view and view.referrer == "http://a.test/2"
