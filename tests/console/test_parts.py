"""Parts of the console by themselves: the projected end, the table of hosts, scans, metrics, files."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.console.crawls.course import Course
from rdfaspider.console.crawls.latest import Latest, LatestUrls
from rdfaspider.console.crawls.logtail import LogTail
from rdfaspider.console.crawls.metrics import exposition
from rdfaspider.console.hosts.scans import Scan
from rdfaspider.console.hosts.table import HostTables
from rdfaspider.extensions.history.forecast import Limit, forecast
from rdfaspider.extensions.history.samples import Sample
from rdfaspider.frontier import HostView
from tests.conftest import PROJECT

STATIC = PROJECT / "rdfaspider" / "console" / "static"


def samples(found: float, ended: float, begin: int, seconds: int) -> list[Sample]:
    """Return a sample a second of a crawl that finds and ends URLs at even rates."""
    return [
        Sample(
            float(second),
            1,
            float(second),
            seen=round(begin + found * second),
            waiting=round(begin + (found - ended) * second),
        )
        for second in range(seconds)
    ]


def test_the_end_of_an_even_crawl_is_foretold() -> None:
    told = forecast(samples(found=2, ended=10, begin=10_000, seconds=100))
    assert told is not None
    assert told.seconds == pytest.approx((10_000 - 8 * 99) / 8, rel=0.05)
    assert told.found == pytest.approx(0.2, abs=0.02)
    assert told.slowest == ""


def test_a_crawl_that_finds_more_than_it_fetches_has_no_end() -> None:
    told = forecast(samples(found=20, ended=10, begin=10, seconds=100))
    assert told is not None
    assert told.seconds is None


def test_a_slow_host_delays_the_end() -> None:
    even = samples(found=0, ended=10, begin=2_000, seconds=100)
    told = forecast(even, ("slow.test", 5_000.0))
    assert told is not None
    assert (told.seconds, told.slowest) == (5_000.0, "slow.test")
    told = forecast(even, ("fast.test", 5.0))
    assert told is not None
    assert told.slowest == ""


def test_a_limit_ends_a_crawl_that_has_no_end() -> None:
    endless = samples(found=20, ended=10, begin=10, seconds=100)
    told = forecast(endless, limits=[Limit("CLOSESPIDER_PAGECOUNT", 400, 0.5)])
    assert told is not None
    assert told.seconds == pytest.approx(80.0)
    assert told.limit == "CLOSESPIDER_PAGECOUNT"
    told = forecast(endless, limits=[Limit("A", 400, 0.5), Limit("CLOSESPIDER_TIMEOUT", 30)])
    assert told is not None
    assert (told.seconds, told.limit) == (30.0, "CLOSESPIDER_TIMEOUT")


def test_a_web_that_becomes_known_has_an_end() -> None:
    """The n-th of ten URLs a second brings `3 - n / 500` new ones: 1,500 * 3 / 2 + 1 in all."""

    def seen(ended: float) -> float:
        return 1 + 3 * ended - ended**2 / 1_000

    taken = [
        Sample(at, 1, at, 10 * at, round(seen(10 * at)), round(seen(10 * at) - 10 * at))
        for at in range(80)
    ]
    assert taken[-1].seen - taken[-2].seen > 10, "it still finds more than it fetches"
    told = forecast(taken)
    assert told is not None
    assert told.seconds == pytest.approx((2_251 - 790) / 10, rel=0.05)
    assert told.pages == pytest.approx(2_251, rel=0.05)


def test_it_is_too_early_to_tell() -> None:
    assert forecast([]) is None
    assert forecast(samples(found=2, ended=10, begin=100, seconds=5)) is None
    assert forecast(samples(found=0, ended=0, begin=100, seconds=50)) is None, "nothing ends"


def test_a_long_crawl_has_a_short_curve() -> None:
    taken = iter(samples(found=2, ended=1, begin=5, seconds=700))
    course = Course(lambda: next(taken))
    for _ in range(700):
        course.tick()
    curve = course.curve()
    assert len(curve["seconds"]) <= 242
    assert curve["seconds"][-1] == 699
    assert len({len(each) for each in curve.values()}) == 1
    assert course.rates().found == pytest.approx(2, abs=0.2)


def host(number: int, why: str = "is ready") -> HostView:
    return HostView(f"h{number:05}.test", number % 100, 0, number, 0, 1.0, 0.0, why)


def table_of(hosts: list[HostView]) -> tuple[HostTables, list[int]]:
    scans: list[int] = []

    def scan() -> Scan[HostView]:
        scans.append(1)
        return Scan(iter(hosts), limit=60.0)

    return HostTables(scan), scans


def test_hosts_are_searched_sorted_and_paged() -> None:
    hosts = [host(number) for number in range(12_000)]
    tables, scans = table_of(hosts)

    async def look() -> None:
        page = await tables.page("", "done", True, 0)
        assert [row.done for row in page["rows"]] == list(range(11_999, 11_949, -1))
        assert (page["total"], page["found"], page["listed"]) == (12_000, 12_000, 5_000)
        page = await tables.page("", "done", True, 4_990)
        assert [row.done for row in page["rows"]] == list(range(7_009, 6_999, -1))
        page = await tables.page("H00042", "name", False, 0)
        assert [row.name for row in page["rows"]] == ["h00042.test"]
        page = await tables.page("", "waiting", True, 0)
        assert {row.waiting for row in page["rows"]} == {99}
        assert [row.name for row in page["rows"]] == sorted(row.name for row in page["rows"])
        with pytest.raises(ValueError, match="no column"):
            await tables.page("", "__class__", True, 0)

    asyncio.run(look())
    assert len(scans) == 1, "one scan is enough for all orders while it is fresh"


def test_of_too_many_hosts_only_the_first_rows_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdfaspider.console.hosts.table._KEPT", 1_000)
    tables, scans = table_of([host(number) for number in range(12_000)])

    async def look() -> None:
        for sort in ("done", "waiting"):
            page = await tables.page("", sort, True, 0)
            assert (page["total"], page["listed"]) == (12_000, 5_000)

    asyncio.run(look())
    assert len(scans) == 2, "each order is a scan"


def test_many_who_look_share_a_scan() -> None:
    tables, scans = table_of([host(number) for number in range(3_000)])

    async def look() -> None:
        await asyncio.gather(*(tables.page("", "done", True, 0) for _ in range(100)))

    asyncio.run(look())
    assert len(scans) == 1


def test_reasons_are_counted_without_addresses() -> None:
    hosts = [host(n, f"shares the server 192.0.2.{n}, which keeps its delay") for n in range(5)] + [
        host(9)
    ]
    tables, _ = table_of(hosts)
    page = asyncio.run(tables.page("", "name", False, 0))
    assert page["reasons"] == [("shares a server which keeps its delay", 5), ("is ready", 1)]


def test_a_scan_lets_others_work_and_comes_to_an_end() -> None:
    turns: list[int] = []

    async def work() -> None:
        async def others() -> None:
            while True:
                turns.append(1)
                await asyncio.sleep(0)

        task = asyncio.create_task(others())
        scan: Scan[int] = Scan(iter(range(10_000)), limit=60.0)
        assert len(await scan.all()) == 10_000
        assert scan.is_whole
        assert len(turns) >= 20
        endless: Scan[int] = Scan(iter(int, 1), limit=0.02)
        assert await endless.all()
        assert not endless.is_whole
        task.cancel()

    asyncio.run(work())


def test_a_scan_that_has_enough_closes_what_it_reads() -> None:
    closed: list[bool] = []

    def rows() -> Iterator[int | None]:
        try:
            for number in range(100_000):
                yield number
                yield None
        finally:
            closed.append(True)

    async def look() -> None:
        scan: Scan[int] = Scan(rows(), run=asyncio.to_thread)
        assert await scan.first(3, lambda number: number % 2 == 1) == [1, 3, 5]
        assert not scan.is_whole

    asyncio.run(look())
    assert closed == [True]


def test_only_some_urls_are_kept_of_each_outcome() -> None:
    latest = LatestUrls()
    for number in range(1_000):
        latest.add(Latest(0.0, f"http://h/{number}", "done", "page", 200, 1, ""))
        latest.add(Latest(0.0, f"http://h/{number}", "failed", f"reason {number}", 0, 0, ""))
    assert [each.url for each in latest.of("done", "page")][:2] == ["http://h/999", "http://h/998"]
    assert len(latest.of("done", "page")) == 100
    assert len(latest.pages) == 50
    assert latest.of("failed", "reason 999") == [], "no page can fill the memory by reasons"


def test_a_flood_of_one_level_leaves_the_others() -> None:
    import logging

    tail = LogTail("INFO")
    logger = logging.getLogger("flood")
    logger.setLevel("INFO")
    logger.propagate = False
    logger.addHandler(tail)
    logger.error("the one error")
    for number in range(1_000):
        logger.info("line %d", number)
    assert [line.text for line in tail.last("ERROR")] == ["the one error"]
    assert tail.last("INFO")[0].text == "line 999"
    with pytest.raises(ValueError, match="no level"):
        tail.last("LOUD")


def test_metrics_have_valid_names() -> None:
    stats: dict[str, Any] = {
        "frontier/done/page": 3,
        "urls/rejected/trap/a-b": 1,
        "urls/rejected/trap/a_b": 2,
        "start_time": "now",
        'x/"\n': 1.5,
        "frontier/waiting": 7,
    }
    text = exposition(stats)
    lines = text.splitlines()
    place = lines.index("rdfaspider_frontier_done_page 3")
    assert lines[place - 2 : place] == [
        "# HELP rdfaspider_frontier_done_page The stat frontier/done/page",
        "# TYPE rdfaspider_frontier_done_page counter",
    ]
    assert "# TYPE rdfaspider_frontier_waiting gauge" in lines, "it can become less"
    assert "rdfaspider_frontier_done_page 3\n" in text
    assert "rdfaspider_urls_rejected_trap_a_b 3\n" in text
    for line in text.splitlines():
        form = r"(# (HELP|TYPE) )?[a-zA-Z_][a-zA-Z0-9_]* ([\d.]+|The stat .+|counter|gauge)"
        assert re.fullmatch(form, line)


def test_every_vendored_file_has_a_licence_and_is_in_the_wheel() -> None:
    licences = (STATIC / "vendor" / "LICENSES.txt").read_text(encoding="utf-8")
    docs = (PROJECT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for path in (STATIC / "vendor").iterdir():
        if path.name != "LICENSES.txt":
            assert path.name in licences
            assert path.name in docs
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["rdfaspider"]
    package = PROJECT / "rdfaspider"
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    assert {path for path in STATIC.rglob("*") if path.is_file()} <= packed


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.*")), ids=lambda path: path.name)
def test_no_file_of_ours_names_another_server(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    allowed = (
        "http://www.w3.org/2000/svg",
        "http://schema.org/",
        "http://xmlns.com/",
        "http://purl.org/",
    )
    for url in re.findall(r"https?://[\w./-]+", text):
        assert url.startswith(allowed), url
