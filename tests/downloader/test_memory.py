from __future__ import annotations

import asyncio

import pytest
from scrapy import Request

from rdfaspider.downloader import memory as module
from rdfaspider.downloader.memory import Crowded, DownloadMemory

BUDGET = 100


def request(name: str) -> Request:
    return Request(f"http://{name}.example/")


async def is_held_up(memory: DownloadMemory, page: Request, size: int) -> asyncio.Task[None] | None:
    """Return the task of a download that waits, None if it goes on."""
    task = asyncio.create_task(memory.hold(page, size))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return None if task.done() else task


def test_downloads_go_on_within_the_budget() -> None:
    async def work() -> None:
        memory = DownloadMemory(BUDGET, lambda: 0)
        first, second = request("a"), request("b")
        assert await is_held_up(memory, first, 60) is None
        assert await is_held_up(memory, second, 40) is None
        task = await is_held_up(memory, second, 50)
        assert task is not None
        assert await is_held_up(memory, first, 70) is None, "the eldest goes on"
        memory.release(first)
        await task
        assert memory.has_waited(second)
        assert not memory.has_waited(first)
        memory.release(second)
        assert not memory.has_waited(second)

    asyncio.run(work())


def test_one_at_a_time_goes_on_beyond_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is the eldest, however many wait."""
    monkeypatch.setattr(module, "_PAUSE", 0.001)

    async def work() -> None:
        memory = DownloadMemory(BUDGET, lambda: 0)
        pages = [request(f"a{number}") for number in range(50)]
        await memory.hold(pages[0], BUDGET)
        tasks = [asyncio.create_task(memory.hold(page, BUDGET)) for page in pages[1:]]
        for number, task in enumerate(tasks):
            await asyncio.sleep(0.003)
            assert sum(task.done() for task in tasks) == number
            memory.release(pages[number])
            await asyncio.wait_for(task, 60)
        memory.release(pages[-1])
        assert not memory._held

    asyncio.run(work())


def test_pages_that_are_not_read_yet_count_too() -> None:
    async def work() -> None:
        unread = 60
        memory = DownloadMemory(BUDGET, lambda: unread)
        page = request("a")
        task = await is_held_up(memory, page, 50)
        assert task is not None, "not even the eldest"
        unread = 50
        await asyncio.wait_for(task, 60)

    asyncio.run(work())


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.3)

    async def work() -> None:
        memory = DownloadMemory(BUDGET, lambda: 2 * BUDGET)
        page = request("a")
        with pytest.raises(Crowded):
            await memory.hold(page, 10)
        assert memory.has_waited(page)

    asyncio.run(work())


def test_a_download_that_is_given_up_while_it_waits_leaves_nothing_behind() -> None:
    async def work() -> None:
        memory = DownloadMemory(BUDGET, lambda: 0)
        first, second, third = request("a"), request("b"), request("c")
        await memory.hold(first, 90)
        task = await is_held_up(memory, second, 50)
        assert task is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        memory.release(second)
        memory.release(first)
        assert await is_held_up(memory, third, BUDGET) is None
        memory.release(third)
        assert memory._total == 0
        assert not memory._held

    asyncio.run(work())


def test_small_downloads_are_forgotten_without_being_known() -> None:
    DownloadMemory(BUDGET, lambda: 0).release(request("a"))
