"""The index behind a sink: in step with each kind of store, filled from it, and no danger to a crawl."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from rdfaspider.pipelines.store import indexed
from rdfaspider.search.index import NAME, Index, IndexFailed, PageWords
from rdfaspider.search.reading import Reader
from rdfaspider.search.rebuild import pages_in, rebuild
from rdfaspider.search.sink import IndexingSink
from rdfaspider.stores import PageStore, Sink, open_sink, open_store
from tests.manyhosts import Answer, Serve, serve
from tests.search.conftest import CAKE, TART, A, B, changes, folder, triples
from tests.stores.conftest import KINDS, url_of

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

__all__ = ["serve"]


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, request, tmp_path)


def plain(url: str, path: Path) -> Sink:
    return open_sink(url, str(path / "outbox"))


def indexing(url: str, path: Path) -> IndexingSink:
    return IndexingSink(plain(url, path), folder(path))


def names(path: Path, words: str) -> list[str]:
    with Reader(path) as reader:
        return sorted(result.name for result in reader.search(words).results)


def test_what_is_stored_can_be_found_and_what_is_cleared_cannot(url: str, tmp_path: Path) -> None:
    with indexing(url, tmp_path) as sink:
        assert sink.put(changes(CAKE, TART)) == [True, True]
        assert names(tmp_path, "lemon") == ["Apple tart", "Lemon cake"]
        assert names(tmp_path, "children") == ["Cakes of Ann"]
        assert sink.put(changes(PageWords(A, b""))) == [True]
        assert names(tmp_path, "lemon") == ["Apple tart"]
        assert sink.counters["search/pages"] == 2


def test_an_index_is_built_from_any_store(url: str, tmp_path: Path) -> None:
    with plain(url, tmp_path) as sink:
        sink.put(changes(CAKE, TART))
    with open_store(url, read_only=True) as store, Index(folder(tmp_path)) as index:
        assert rebuild(index, store, lambda count: None) == (2, 2)
        assert rebuild(index, store, lambda count: None) == (0, 0)
        assert index.is_whole
    assert names(tmp_path, "lemon") == ["Apple tart", "Lemon cake"]
    assert names(tmp_path, "children") == [], "no store has the texts of pages"


def test_a_page_that_only_the_store_has_is_indexed_when_it_comes_again(tmp_path: Path) -> None:
    """As after a kill between the store and the index."""
    url = str(tmp_path / "store")
    with plain(url, tmp_path) as sink:
        sink.put(changes(CAKE))
    with indexing(url, tmp_path) as sink:
        assert sink.put(changes(CAKE)) == [False]
    assert names(tmp_path, "children") == ["Cakes of Ann"]


def until_whole(path: Path) -> None:
    import sqlite3

    end = time.monotonic() + 60
    while True:
        database = sqlite3.connect(folder(path) / NAME)
        row = database.execute("SELECT value FROM about WHERE name = 'whole'").fetchone()
        database.close()
        if row:
            return
        assert time.monotonic() < end, "the index is never filled"
        time.sleep(0.05)


@pytest.mark.parametrize("loss", ["missing", "damaged"])
def test_a_lost_index_is_filled_from_the_store_while_the_crawl_writes(
    tmp_path: Path, loss: str
) -> None:
    url = str(tmp_path / "store")
    with indexing(url, tmp_path) as sink:
        sink.put(changes(CAKE, TART))
        until_whole(tmp_path)
    path = folder(tmp_path) / NAME
    if loss == "missing":
        path.unlink()
    else:
        path.write_bytes(b"damaged" * 1000)
    with indexing(url, tmp_path) as sink:
        sink.put(changes(PageWords("http://c.test/", triples("http://c.test/", name="Lemon pie"))))
        until_whole(tmp_path)
        assert names(tmp_path, "lemon") == ["Apple tart", "Lemon cake", "Lemon pie"]
    assert not (folder(tmp_path) / "store-copy").exists()


def test_what_changes_while_the_index_is_filled_stays_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "store")
    with plain(url, tmp_path) as sink:
        sink.put(changes(CAKE, TART))
    may_go_on = [False]

    def slowly(store: PageStore, *others: Any) -> Iterator[tuple[list[PageWords], bool]]:
        batches = list(pages_in(store, *others))
        while not may_go_on[0]:
            time.sleep(0.01)
        yield from batches

    monkeypatch.setattr("rdfaspider.search.sink.pages_in", slowly)
    with indexing(url, tmp_path) as sink:
        sink.put(changes(PageWords(A, b""), TART._replace(triples=triples(B, name="New"))))
        may_go_on[0] = True
        until_whole(tmp_path)
    assert names(tmp_path, "lemon") == []
    assert names(tmp_path, "new") == ["New"]


def test_an_index_that_fails_does_not_stop_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = str(tmp_path / "store")
    with indexing(url, tmp_path) as sink:
        until_whole(tmp_path)

        def fail(self: Index, pages: object) -> None:
            raise IndexFailed("The disk is full.")

        with monkeypatch.context() as patch:
            patch.setattr(Index, "put", fail)
            assert sink.put(changes(CAKE)) == [True]
        assert "goes on without its search index: The disk is full." in caplog.text
        assert sink.put(changes(TART)) == [True]
    assert not (folder(tmp_path) / NAME).exists()
    with indexing(url, tmp_path) as sink:
        until_whole(tmp_path)
    assert names(tmp_path, "lemon") == ["Apple tart", "Lemon cake"]


def test_an_index_that_cannot_be_opened_does_not_stop_the_crawl(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder(tmp_path) / NAME).mkdir(parents=True)
    with indexing(str(tmp_path / "store"), tmp_path) as sink:
        assert sink.put(changes(CAKE)) == [True]
    assert "goes on without a search index" in caplog.text
    with pytest.raises(ValueError, match="cannot be read"):
        names(tmp_path, "lemon")


def test_a_second_writer_goes_on_without_an_index(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Index(folder(tmp_path)), indexing(str(tmp_path / "store"), tmp_path) as sink:
        assert sink.put(changes(CAKE)) == [True]
    assert "written by another process" in caplog.text


def pages_with(path: Path, words: str) -> set[str]:
    with Reader(path) as reader:
        return {result.page for result in reader.search(words).results}


def test_a_lost_index_gets_texts_from_the_archive(
    crawl: Crawler, scrapy: Scrapy, serve: Serve, tmp_path: Path
) -> None:
    """One page has no triples, one says noindex, and one says noarchive, so that its text is lost."""

    def about(path: str, head: str = "", name: str = "") -> Answer:
        named = f'<b property="http://schema.org/name">{name}</b>' if name else ""
        body = f"<title>{path}</title>{head}<p>All about walnuts: {named}"
        return 200, {"Content-Type": "text/html"}, body

    links = "".join(f'<a href="/{path}">it</a>' for path in ("cake", "plain", "hidden", "fleeting"))
    serve(
        {
            "http://a.test/": about("start", links, "Ann"),
            "http://a.test/cake": about("cake", name="Cake"),
            "http://a.test/plain": about("plain"),
            "http://a.test/hidden": about("hidden", "<meta name=robots content=noindex>", "Hidden"),
            "http://a.test/fleeting": about("f", "<meta name=robots content=noarchive>", "Nut"),
        }
    )
    crawl("http://a.test/", ARCHIVE=1, SEARCH=1)
    jobdir = tmp_path / "crawl"
    archived = {f"http://a.test/{path}" for path in ("", "cake", "plain")}
    assert pages_with(jobdir, "walnuts") == {*archived, "http://a.test/fleeting"}

    shutil.rmtree(folder(jobdir))
    rebuilt = scrapy("search", "--rebuild", JOBDIR="crawl")
    assert rebuilt.stdout == "4 pages indexed.\n"
    assert "only the triples of 1 page," in rebuilt.stderr
    assert pages_with(jobdir, "walnuts") == archived
    assert names(jobdir, "nut") == ["Nut"]

    shutil.rmtree(folder(jobdir))
    settings = Settings({"JOBDIR": str(jobdir), "SEARCH": True})
    settings.setmodule("rdfaspider.settings", priority="default")
    with indexed(plain(str(jobdir / "store"), jobdir), settings, jobdir):
        until_whole(jobdir)
    assert pages_with(jobdir, "walnuts") == archived
    assert names(jobdir, "nut") == ["Nut"]
