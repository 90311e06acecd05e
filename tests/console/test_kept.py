"""What a crawl that does not run shows from its disk, and the delay of one host, without a crawl."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from rdfaspider.console.crawls.controls import Controls
from rdfaspider.console.crawls.directories import crawl_of, crawls_in
from rdfaspider.console.crawls.kept import kept_log, kept_problems, read_endings
from rdfaspider.console.crawls.refreshed import Refreshed
from rdfaspider.console.hosts.frontiers import LocalSource, StoredSource, knows_host
from rdfaspider.console.hosts.host import branches, look
from rdfaspider.console.hosts.readers import Readers
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.views.pages import Outcome
from rdfaspider.pages.row import Row, pack
from rdfaspider.service.notes import check_instruction, numbers_of
from rdfaspider.service.server.workerlog import WorkerLog
from rdfaspider.stores import StoreUnavailable
from rdfaspider.urls.keys import to_key


def ended(number: int, reason: str = "page") -> Outcome:
    row = pack(Row(200, reason, 1_000 + number, title=f"Page {number}", triples=number))
    state = "failed" if reason == "404" else "done"
    key = to_key(f"http://me:secret@a.test/{number}")
    return Outcome(key, state, row, reason if state == "failed" else "")


def test_the_latest_pages_come_from_the_rows() -> None:
    parts = [[ended(7), ended(3, "404")], [*map(ended, range(20, 40)), ended(5, "redirect")]]
    broken = Outcome(b"test,a)/x", "done", b"?", "")
    denied = Outcome(b"test,a)/y", "denied", None, "robots")

    async def rows() -> AsyncIterator[list[Outcome]]:
        for part in parts:
            yield [*part, broken, denied]

    found = asyncio.run(read_endings(rows()))
    assert [row["triples"] for row in found.latest] == list(range(39, 27, -1))
    assert found.latest[0]["url"] == "http://a.test/39", "without the password"
    assert found.counts == {
        ("done", "page"): 21,
        ("done", "redirect"): 1,
        ("failed", "404"): 1,
        ("denied", "robots"): 2,
        ("done", "unknown"): 2,
    }


def test_problems_are_counted_in_a_file_that_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    assert kept_problems(str(path)) == kept_problems("") == (None, None)
    path.write_text("13:00:00 WARNING one\n13:00:01 ERROR two\n13:00:02 INFO no\n" * 3, "utf-8")
    assert kept_problems(str(path)) == (3, 3)
    path.write_text("13:00:00 WARNING one\n" * 100_000, "utf-8")
    assert kept_problems(str(path)) == (None, None), "0 would be wrong"


def test_the_log_of_a_file_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    path.write_text(
        "half a line\n"
        + "2026-11-16 13:00:00 [x] DEBUG: old\n" * 50_000
        + "2026-11-16 13:55:12 [scrapy.core.engine] INFO: Spider closed (finished)\n"
        + "2026-11-16 13:55:13 [rdfa] ERROR: It failed\nTraceback\n  more\n",
        encoding="utf-8",
    )
    error, info = kept_log(str(tmp_path / "frontier"), str(path), "INFO")
    assert error["text"] == "It failed\nTraceback\n  more"
    assert (info["level"], info["text"]) == ("INFO", "Spider closed (finished)")
    assert info["time"] == datetime(2026, 11, 16, 13, 55, 12).astimezone().timestamp()
    assert len(kept_log("", str(path), "DEBUG")) == 200
    assert kept_log("", str(tmp_path), "INFO") == kept_log("", "", "INFO") == []
    with pytest.raises(ValueError, match="no level"):
        kept_log("", str(path), "LOUD")


def test_the_log_of_workers_comes_first(tmp_path: Path) -> None:
    frontier = str(tmp_path / "frontier")
    WorkerLog(frontier).write("1", [(1_700_000_000.0, "INFO", "one"), (1.0, "DEBUG", "two")])
    (line,) = kept_log(frontier, "", "INFO")
    assert (line["time"], line["text"]) == (1_700_000_000.0, "[1] one")


def test_a_host_is_told_its_own_delay() -> None:
    check_instruction("delay@www.a.test", "5", {})
    told = {"delay": "2", "delay@www.a.test": "5", "delay@[::1]": "0.5", "state": "run"}
    assert numbers_of(told)["delay"] == 2.0
    assert numbers_of(told)["delays"][b"test,a,www"] == 5.0


@pytest.mark.parametrize("host", ["", "http://x/", "a b", "x/y", "a..b", "a" * 300, "a.test)"])
def test_what_is_no_host_has_no_delay(host: str) -> None:
    with pytest.raises(ValueError, match="not the name of a host"):
        check_instruction(f"delay@{host}", "5", {})


def test_wrong_and_too_many_delays_are_refused() -> None:
    with pytest.raises(ValueError, match="must be a number"):
        check_instruction("delay@a.test", "soon", {})
    many = {f"delay@h{number}.test": "1" for number in range(1_000)}
    check_instruction("delay@h1.test", "2", many)
    with pytest.raises(ValueError, match="At most 1,000"):
        check_instruction("delay@other.test", "1", many)


@pytest.fixture
def failed(tmp_path: Path) -> str:
    """Return a frontier with 250 URLs that failed by 404 and one by 500."""
    path = str(tmp_path / "frontier")
    with LocalFrontier(path, now=0.0) as frontier:
        frontier.put([f"http://h{number}.test/" for number in range(251)])
        now = 1.0
        for number in range(251):
            while (taken := frontier.take(now)) is None:
                now += 10
            reason = "500" if number == 100 else "404"
            frontier.finish(taken, "failed", now, [], reason=reason, status=int(reason))
    return path


def test_all_urls_behind_an_outcome_can_be_paged_through(failed: str) -> None:
    from rdfaspider.console.crawls.running import urls_behind

    async def through(source: LocalSource | StoredSource) -> list[int]:
        seen: list[str] = []
        sizes, after = [], 0
        while True:
            found = await urls_behind(source, "failed", "404", after)
            sizes.append(len(found["rows"]))
            seen += [row["url"] for row in found["rows"]]
            if found["next"] is None:
                assert len(set(seen)) == len(seen) == 250
                return sizes
            after = found["next"]

    assert asyncio.run(through(StoredSource(failed, 1.0))) == [100, 100, 50]
    with LocalFrontier(failed, now=0.0) as frontier:
        assert asyncio.run(through(LocalSource(frontier, lambda: True))) == [100, 100, 50]


def test_failed_urls_wait_again_by_reason(failed: str) -> None:
    with LocalFrontier(failed, now=0.0) as frontier:
        assert frontier.requeue("", "500") == 1
        assert (frontier.counts().failed, frontier.counts().waiting) == (250, 1)
        assert frontier.requeue("h1[0-9]?\\.", "404") in (10, 11)
        assert frontier.requeue("", "408") == 0
        left = frontier.counts().failed
        assert frontier.requeue("") == left
        assert frontier.counts().failed == 0


def crawl_in(path: Path) -> None:
    with LocalFrontier(str(path / "frontier"), now=0.0) as frontier:
        frontier.put(["http://a.test/"])


def test_crawls_are_found_at_any_depth_and_none_hides_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("c1/crawl", "taken/crawl", "multi/one", "multi/sub/three", "multi/deep/er/two"):
        crawl_in(tmp_path / name)
    crawl_in(tmp_path / "multi/one/inner")
    crawl_in(tmp_path / "multi/1/2/3/4/5/6/7/8/9")
    (tmp_path / "multi" / "link").symlink_to(tmp_path / "c1")
    settings = Settings({"JOBDIR": ".", "FRONTIER_URL": "{jobdir}/frontier", "STORE_URL": "s"})
    names = {name: each.directory for name, each in found(settings, "c1", "taken").items()}
    assert names == {name: str(tmp_path / name) for name in ("c1/crawl", "taken/crawl")}
    assert list(found(settings, "multi")) == ["deep/er/two", "one", "sub/three"]
    assert list(found(settings, "c1", "c1/crawl", "c1/../c1")) == ["crawl"], "it is one"
    assert list(found(settings, "multi/one", "c1")) == ["one", "crawl"]
    assert found(settings, "nowhere") == {}


def test_files_of_triples_answer_no_queries(tmp_path: Path) -> None:
    crawl_in(tmp_path)
    settings = Settings({"JOBDIR": str(tmp_path), "FRONTIER_URL": "{jobdir}/frontier"})
    settings.set("STORE_URL", f"nquads:{tmp_path}/triples")
    settings.set("CONSOLE_QUERY_TIMEOUT", 5)

    async def ask() -> None:
        crawl = await crawl_of(settings).current()
        shown = await crawl.overview()
        assert (shown["state"], shown["pages"], shown["triples"]) == ("not running", None, None)
        assert shown["counts"]["waiting"] == 1
        crawl.endpoint.about()

    with pytest.raises(StoreUnavailable, match="N-Quads files"):
        asyncio.run(ask())


def found(settings: Settings, *names: str) -> dict[str, Any]:
    return crawls_in(settings, [Path(name) for name in names])


def test_a_frontier_on_disk_is_opened_once_until_it_changes(failed: str) -> None:
    readers = Readers(failed, 1.0)
    with readers.lend() as first, readers.lend() as second:
        assert first is second
        with LocalFrontier(failed, now=0.0) as frontier:
            frontier.put(["http://new.test/"])
        readers._latest.made -= 1_000  # type: ignore[union-attr]
        with readers.lend() as third:
            assert third is not first
            assert third.counts().seen == first.counts().seen + 1, "the first is still open"
    with readers.lend() as fourth:
        assert fourth is third


def test_what_takes_long_is_found_in_the_background() -> None:
    async def check() -> None:
        going, found = asyncio.Event(), iter(range(9))

        async def find() -> tuple[int, float]:
            await going.wait()
            return next(found), 0.0

        kept = Refreshed(find)
        assert await kept.get("a") is None
        going.set()
        assert await kept.get("a") == 0
        assert await kept.get("a") == await kept.get("b") == 0, "too early to look again"
        kept._next = 0.0
        assert await kept.get("a") == 0, "nothing has changed"
        assert await kept.get("b") == 1

    asyncio.run(check())


def test_only_a_host_with_urls_is_known(failed: str) -> None:
    async def check() -> None:
        source = StoredSource(failed, 1.0)
        assert await knows_host(source, "h1.test")
        assert not await knows_host(source, "h.test")
        assert not await knows_host(source, "test")
        with pytest.raises(ValueError, match="not the name of a host"):
            await look(source, "\x00\udcff")
        with pytest.raises(ValueError, match="not the name of a host"):
            await look(source, "h1.test)/x")

    asyncio.run(check())


def test_folders_have_what_their_pages_yield(tmp_path: Path) -> None:
    path = str(tmp_path / "frontier")
    rows = {
        "http://a.test/rich/1": pack(Row(200, "page", triples=30)),
        "http://a.test/rich/2": pack(Row(200, "page", triples=10)),
        "http://a.test/rich/moved": pack(Row(301, "redirect")),
        "http://a.test/poor/1": pack(Row(200, "page")),
        "http://a.test/unread/1": b"",
    }
    with LocalFrontier(path, now=0.0, politeness=Politeness(delay=0.0)) as frontier:
        frontier.put([*rows, "http://a.test/rich/failed", "http://a.test/poor/waits"])
        now = 0.0
        for _ in range(7):
            while (taken := frontier.take(now)) is None:
                now += 10
            if taken.url in rows:
                frontier.finish(taken, "done", now, row=rows[taken.url])
            elif "failed" in taken.url:
                frontier.finish(taken, "failed", now, row=pack(Row(404, "404", triples=99)))
            else:
                frontier.retry(taken, now, 1e6)
        local = LocalSource(frontier, lambda: True)
        asyncio.run(check_yields(local))
    asyncio.run(check_yields(StoredSource(path, 1.0)))


async def check_yields(source: LocalSource | StoredSource) -> None:
    found = await branches(source, "http://a.test/")
    yields = {row["name"]: row["triples_a_page"] for row in found["rows"]}
    assert yields == {
        "http://a.test/rich/": 20.0,
        "http://a.test/poor/": 0.0,
        "http://a.test/unread/": None,
    }
    ((service,),) = [(await look(source, "a.test"))["tree"]["rows"]]
    assert (service["done"], service["triples_a_page"]) == (5, 40 / 3)


class Steerable:
    """A crawl that knows some hosts, and takes no seeds on this machine."""

    def __init__(self, path: str) -> None:
        self.frontier = StoredSource(path, 1.0)
        self.told: dict[str, str] = {}

    async def tell(self, name: str, value: str) -> None:
        self.told[name] = value

    async def exclude(self, rule: str) -> None: ...

    async def add_seeds(self, urls: list[str]) -> list[str]:
        return ["It is private."] * sum("127.0" in url for url in urls)


def test_controls_say_what_was_not_done_and_why(failed: str) -> None:
    crawl = Steerable(failed)
    controls = Controls(crawl)

    async def use(name: str, **said: Any) -> str:
        return await controls.use(name, said)

    async def check() -> None:
        urls = "http://127.0.0.1:22/\nhttp://a.test/\nhttp://127.0.0.2/"
        assert await use("seeds", urls=urls) == "1 seed added. 2 not taken: It is private."
        with pytest.raises(ValueError, match="knows no URL of nonexistent"):
            await use("delay", seconds=2, host="nonexistent.example")
        assert crawl.told == {}
        await use("delay", seconds=2, host="h1.test")
        assert crawl.told == {"delay@h1.test": "2"}

    asyncio.run(check())
