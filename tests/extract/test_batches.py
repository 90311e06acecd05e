"""Processes that get several pages at a time answer each, and a page that kills one costs no other."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from rdfaspider.extract import Extraction, Options, extract
from rdfaspider.extract.pool import ExtractionFailed, WorkersUnavailable
from rdfaspider.extract.pool import batches as module
from rdfaspider.extract.pool.batches import Batches, Request

OPTIONS = Options()


def page(number: int) -> Request:
    body = f"<p property='http://example.org/p'>{number}</p>" + "<p>filler</p>" * (number % 50)
    return Request(body.encode(), f"http://site.test/{number}", "text/html")


def batch(first: int, count: int) -> list[Request]:
    return [page(number) for number in range(first, first + count)]


async def all_of(pool: Batches, *batches: list[Request]) -> list[bytes]:
    """Return the statements of all pages."""
    found = await asyncio.gather(*map(pool.extract_all, batches))
    return [each.nquads for some in found for each in some if isinstance(each, Extraction)]


def test_all_pages_are_answered_as_by_extract() -> None:
    async def run() -> list[bytes]:
        pool = Batches(2, OPTIONS)
        await pool.open()
        try:
            return await all_of(pool, *(batch(first, 20) for first in range(0, 200, 20)))
        finally:
            await pool.close()

    expected = [extract(*page(number), OPTIONS).nquads for number in range(200)]
    assert asyncio.run(run()) == expected


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP], ids=["dies", "stands still"])
def test_pages_of_a_worker_that_fails_are_read_by_others(
    monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    monkeypatch.setattr(module, "_MOMENT", 1.0)

    async def run() -> tuple[list[bytes], list[bytes]]:
        pool = Batches(1, OPTIONS)
        await pool.open()
        process = pool._workers[0].process.pid
        try:
            asked = asyncio.create_task(
                all_of(pool, batch(0, 1), *(batch(first, 500) for first in (1, 501, 1001)))
            )
            await asyncio.sleep(0)
            os.kill(process, sent)
            first = await asked
            return first, await all_of(pool, batch(0, 10))  # by a new worker
        finally:
            await pool.close()

    first, then = asyncio.run(run())
    assert first == [extract(*page(number), OPTIONS).nquads for number in range(1_501)]
    assert len(then) == 10


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_while_the_other_has_enough_to_do() -> None:
    async def run() -> int:
        pool = Batches(2, OPTIONS)
        await pool.open()
        try:
            while len(pool._workers) < 2:
                await asyncio.sleep(0.01)
            asked = asyncio.create_task(
                all_of(pool, *(batch(first, 500) for first in range(0, 10_000, 500)))
            )
            while not pool._waiting:
                await asyncio.sleep(0)
            os.kill(pool._workers[0].process.pid, signal.SIGKILL)
            assert len(await asked) == 10_000
            return len(pool._workers)
        finally:
            await pool.close()

    assert asyncio.run(run()) == 2


def test_a_page_that_kills_costs_no_other() -> None:
    async def run() -> list[Extraction | ExtractionFailed]:
        pool = Batches(1, OPTIONS, memory=300)
        await pool.open()
        large = Request(b"<p>" + b"x<b>" * 40_000_000, "http://large.test/", "text/html")
        try:
            return await pool.extract_all([page(1), large, page(2)])
        finally:
            await pool.close()

    one, large, two = asyncio.run(run())
    assert isinstance(one, Extraction) and isinstance(two, Extraction)
    assert one.nquads and two.nquads
    assert isinstance(large, ExtractionFailed) or not large.nquads


def test_workers_that_cannot_start_are_told_of() -> None:
    async def run() -> None:
        await Batches(1, OPTIONS, memory=1).open()

    with pytest.raises(WorkersUnavailable, match="No process can be started"):
        asyncio.run(run())
