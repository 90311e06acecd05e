"""Processes that get several pages at a time answer each, and a page that kills one costs no other."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from rdfaspider.extract import Options, extract
from rdfaspider.extract.pool import WorkersUnavailable
from rdfaspider.extract.pool import batches as module
from rdfaspider.extract.pool.batches import Batches

OPTIONS = Options()


def page(number: int) -> tuple[bytes, str, str]:
    body = f"<p property='http://example.org/p'>{number}</p>" + "<p>filler</p>" * (number % 50)
    return body.encode(), f"http://site.test/{number}", "text/html"


def test_all_pages_are_answered_as_by_extract() -> None:
    async def run() -> list[bytes]:
        pool = Batches(2, OPTIONS)
        await pool.open()
        try:
            found = await asyncio.gather(*(pool.extract(*page(number)) for number in range(200)))
        finally:
            await pool.close()
        return [each.nquads for each in found]

    expected = [extract(*page(number), OPTIONS).nquads for number in range(200)]
    assert asyncio.run(run()) == expected


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP], ids=["dies", "stands still"])
def test_pages_of_a_worker_that_fails_are_read_by_others(
    monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    monkeypatch.setattr(module, "_MOMENT", 1.0)

    async def run() -> int:
        pool = Batches(1, OPTIONS)
        await pool.open()
        (process,) = children()
        try:
            asked = [asyncio.create_task(pool.extract(*page(number))) for number in range(64)]
            await asked[0]
            os.kill(process, sent)
            return len([each for each in await asyncio.gather(*asked) if each.nquads])
        finally:
            await pool.close()

    assert asyncio.run(run()) == 64


def test_workers_that_cannot_start_are_told_of() -> None:
    async def run() -> None:
        await Batches(1, OPTIONS, memory=1).open()

    with pytest.raises(WorkersUnavailable, match="No process can be started"):
        asyncio.run(run())


def children() -> list[int]:
    path = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return [int(word) for word in path.read_text().split()]
