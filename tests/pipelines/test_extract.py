from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from rdfaspider.extract import Limits, Options
from rdfaspider.extract.pool import LARGE, Pool
from rdfaspider.items import Page
from rdfaspider.pipelines.extract import ExtractPipeline, header_directives

BODY = """<!DOCTYPE html><html><head>{head}</head>
<body typeof="schema:Book"><span property="schema:name">A</span> <a href="/b">b</a></body></html>"""


@pytest.fixture
def pipeline() -> ExtractPipeline:
    stats = MemoryStatsCollector(get_crawler())
    return ExtractPipeline(stats, Options(limits=Limits(links=100), agent="rdfaspider"))


def page(head: str = "", header: str = "") -> Page:
    return Page(
        "http://a.test/",
        depth=0,
        content_type="text/html",
        robots_header=[header] if header else [],
        body=BODY.format(head=head).encode(),
    )


def test_a_page_gives_links_and_quads(pipeline: ExtractPipeline) -> None:
    read = asyncio.run(pipeline.process_item(page()))
    assert read.links == ["http://a.test/b"]
    assert len(read.quads) == 2
    assert pipeline.stats.get_value("extract/quads/rdfa") == 2
    assert pipeline.stats.get_value("extract/pages/rdfa") == 1


@pytest.mark.parametrize(
    ("head", "header", "quads", "links"),
    [
        ('<meta name="robots" content="noindex">', "", 0, 1),
        ('<meta name="ROBOTS" content="NoFollow, noarchive">', "", 2, 0),
        ('<meta name="robots" content="none">', "", 0, 0),
        ('<meta name="rdfaspider" content="noindex">', "", 0, 1),
        ('<meta name="otherbot" content="none">', "", 2, 1),
        ("", "noindex", 0, 1),
        ("", "NOFOLLOW", 2, 0),
        ("", "otherbot: none", 2, 1),
        ("", "rdfaspider: none", 0, 0),
        ("", "unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow", 2, 0),
        ('<meta name="robots" content="noindex">', "nofollow", 0, 0),
    ],
)
def test_robots_directives(
    pipeline: ExtractPipeline, head: str, header: str, quads: int, links: int
) -> None:
    read = asyncio.run(pipeline.process_item(page(head, header)))
    assert (len(read.quads), len(read.links)) == (quads, links)
    assert len(read.nofollow) == 1 - links, "it is on record as a link that is not followed"
    assert pipeline.stats.get_value("extract/noindex", 0) == (quads == 0)
    assert pipeline.stats.get_value("extract/nofollow", 0) == (links == 0)


def test_a_name_holds_for_what_follows_it() -> None:
    assert header_directives(["noindex, otherbot: nofollow, none"], "us") == {"noindex"}
    assert header_directives(["otherbot: none", "us: nofollow"], "us") == {"nofollow"}


def test_what_has_no_body_passes_by(pipeline: ExtractPipeline) -> None:
    redirect = Page("http://a.test/", 0, reason="redirect", links=["http://a.test/b"])
    assert asyncio.run(pipeline.process_item(redirect)).links == ["http://a.test/b"]


@pytest.mark.parametrize("processes", [0, 1])
@pytest.mark.parametrize(
    ("wrong", "outcome", "reader", "links"),
    [
        ({"limits": Limits(tags=0.5 + 10_000)}, "failed", "page", 0),  # type: ignore[arg-type]
        ({"formats": frozenset(("rdfa", "faulty.read"))}, "done", "faulty.read", 1),
    ],
)
def test_an_exception_is_logged_with_the_page_and_costs_no_more_than_its_reader(
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    wrong: dict[str, Any],
    outcome: str,
    reader: str,
    links: int,
    processes: int,
) -> None:
    caplog.set_level(logging.DEBUG, "rdfaspider")
    # Both fail on a page with many tags, and on no other.
    faulty = "def read(body, *_):\n    return () if len(body) < 10_000 else len(0)\n"
    (tmp_path / "faulty.py").write_text(faulty)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    options = Options(**wrong)
    head = f"{'<p>' * 10_000}<a property='y' href='/b'>"

    async def scenario() -> Page:
        pool = Pool(processes, options) if processes else None
        try:
            pipeline = ExtractPipeline(MemoryStatsCollector(get_crawler()), options, pool)
            return await pipeline.process_item(page(head))
        finally:
            if pool is not None:
                await pool.close()

    read = asyncio.run(scenario())
    assert (read.outcome, read.strikes, len(read.links)) == (outcome, 0, links)
    assert read.reason == ("extract-error" if links == 0 else "page")
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    told = f"http://a.test/ could not be read ({reader}): TypeError: "
    assert warning.getMessage().startswith(told)
    (details,) = [record for record in caplog.records if "  File " in record.getMessage()]
    assert details.levelno == logging.DEBUG


def test_pages_of_suspects_beyond_the_room_for_them_are_put_off() -> None:
    async def scenario() -> list[Page]:
        pool = Pool(1, Options(), timeout=0.5)
        pipeline = ExtractPipeline(MemoryStatsCollector(get_crawler()), Options(), pool)
        await pipeline.open_spider()
        large = page(" " * LARGE)  # which is read alone
        await pipeline.process_item(large)
        os.kill(pool._idle[0].process.pid, signal.SIGSTOP)
        first = await pipeline.process_item(large)
        pages = [pipeline.process_item(page()) for _ in range(18)]
        try:
            return [first, *await asyncio.gather(*pages)]
        finally:
            await pipeline.close_spider()

    first, *others = asyncio.run(scenario())
    assert (first.outcome, first.reason, first.strikes) == ("failed", "extract-timeout", 1)
    # One is read, sixteen wait.
    assert [each.outcome for each in others] == ["done"] * 17 + ["postponed"]
    assert (others[-1].reason, others[-1].strikes) == ("extract-busy", 1)


def test_readers_are_imported_by_those_who_read() -> None:
    """With a pool, the process of the crawl reads no page: it starts without them."""
    program = (
        "import sys; import rdfaspider.pipelines.extract, rdfaspider.middlewares.contenttype\n"
        "assert 'rdfaspider.extract.reading' not in sys.modules\n"
        "assert 'rdfaspider.extract.rdfa' not in sys.modules\n"
        "from rdfaspider.extract import extract\n"
        "assert extract(b'<a href=/b>', 'http://a.test/').links == ['http://a.test/b']\n"
        "assert 'rdfaspider.extract.rdfa' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
