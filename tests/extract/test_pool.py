"""The pool with real processes: pages that are well, that stall, that crash, that eat memory."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rdfaspider.extract import Limits, Options, extract
from rdfaspider.extract.pool import ExtractionFailed, Pool, options_to_json
from rdfaspider.extract.worker import options_from_json

URL = "http://a.test/"
PAGE = """<html lang=de><title>Füße</title><p property="schema:name">„Ü"</p>
<a href="/b" rel="next">b \ud83d\ude00</a><script type="application/ld+json">
{"@context": "https://schema.org", "@id": "#x", "name": "J"}</script>""".encode(
    "utf-8", "surrogatepass"
)


@asynccontextmanager
async def opened(**options: Any) -> AsyncIterator[Pool]:
    pool = Pool(options.pop("processes", 1), Options(), **options)
    try:
        yield pool
    finally:
        await pool.close()


def test_a_worker_finds_what_the_function_finds() -> None:
    async def scenario() -> None:
        async with opened() as pool:
            for body in (PAGE, b"", b"\xff\xfe\x00", b"<p " * 1000):
                found = await pool.extract(body, URL, "text/html")
                here = extract(body, URL, "text/html")
                assert found == here

    asyncio.run(scenario())


def test_pages_are_read_side_by_side_and_workers_again() -> None:
    async def scenario() -> None:
        async with opened(processes=2) as pool:
            pages = [pool.extract(PAGE, f"{URL}{n}", "text/html") for n in range(20)]
            found = await asyncio.gather(*pages)
            graphs = {str(page.quads[0].graph_name) for page in found}
            assert graphs == {f"<{URL}{n}>" for n in range(20)}
            assert len(pool._idle) == 2

    asyncio.run(scenario())


def test_a_page_that_stalls_fails_alone() -> None:
    async def scenario() -> None:
        async with opened(timeout=1.0) as pool:
            await pool.extract(PAGE, URL, "text/html")
            stopped = pool._idle[0]
            os.kill(stopped.process.pid, signal.SIGSTOP)
            with pytest.raises(ExtractionFailed, match="timeout"):
                await pool.extract(PAGE, URL, "text/html")
            assert stopped.process.returncode == -signal.SIGKILL
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())


def test_a_page_that_kills_its_worker_fails_alone() -> None:
    async def scenario() -> None:
        async with opened() as pool:
            await pool.extract(PAGE, URL, "text/html")
            worker = pool._idle[0]
            os.kill(worker.process.pid, signal.SIGSTOP)
            task = asyncio.create_task(pool.extract(PAGE, URL, "text/html"))
            await asyncio.sleep(0)
            os.kill(worker.process.pid, signal.SIGKILL)
            with pytest.raises(ExtractionFailed, match="crash"):
                await task
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())


def test_a_worker_that_died_while_idle_costs_no_page() -> None:
    async def scenario() -> None:
        async with opened() as pool:
            await pool.extract(PAGE, URL, "text/html")
            worker = pool._idle[0]
            os.kill(worker.process.pid, signal.SIGKILL)
            while not worker.is_lost:
                await asyncio.sleep(0.01)
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())


def test_a_worker_has_no_more_memory_than_it_is_given() -> None:
    async def scenario() -> None:
        async with opened(memory=256) as pool:
            await pool.extract(PAGE, URL, "text/html")
            with pytest.raises(ExtractionFailed, match="crash"):
                await pool.extract(b"<p>" * 200_000_000, URL, "text/html")

    asyncio.run(scenario())


def test_a_user_who_leaves_takes_the_worker_along() -> None:
    async def scenario() -> None:
        async with opened() as pool:
            await pool.extract(PAGE, URL, "text/html")
            worker = pool._idle[0]
            os.kill(worker.process.pid, signal.SIGSTOP)
            task = asyncio.create_task(pool.extract(PAGE, URL, "text/html"))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert worker.process.returncode is not None
            assert pool._idle == []

    asyncio.run(scenario())


def test_options_travel() -> None:
    options = Options(
        formats=frozenset({"rdfa"}),
        limits=Limits(links=7, quads=3),
        role=False,
        anchors=False,
        rdfa="1.0",
        agent="us",
    )
    assert options_from_json(options_to_json(options)) == options
