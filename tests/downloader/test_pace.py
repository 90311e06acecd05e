"""Fewer fetches are under way while the loop, or whoever reads the pages, cannot keep up."""

from __future__ import annotations

import asyncio
import time
from time import thread_time

from rdfaspider.downloader.pace import Pace


def work(seconds: float) -> None:
    until = thread_time() + seconds
    while thread_time() < until:
        pass


async def turns(pace: Pace, count: int, seconds: float) -> None:
    for _ in range(count):
        pace.allowed()
        work(seconds)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def test_long_turns_make_it_fewer_and_short_ones_more_again() -> None:
    async def run() -> None:
        pace = Pace(40)
        assert pace.allowed() == 40
        await turns(pace, 8, 0.06)
        assert pace.allowed() == 32, "not below the least"
        await turns(pace, 20, 0.0)
        assert pace.allowed() == 40, "not above the most"

    asyncio.run(run())


def test_pages_that_wait_to_be_read_make_it_fewer() -> None:
    async def run() -> None:
        waiting = 0
        pace = Pace(40)
        pace.is_behind = lambda: waiting > 10
        assert pace.allowed() == 40
        waiting = 11
        await turns(pace, 2, 0.0)
        assert pace.allowed() == 36
        waiting = 10
        await turns(pace, 2, 0.0)
        assert pace.allowed() == 38

    asyncio.run(run())


def test_time_in_which_others_run_does_not_count() -> None:
    async def run() -> None:
        pace = Pace(40)
        for _ in range(3):
            pace.allowed()
            time.sleep(0.06)  # the loop stands still, but uses no processor
            await asyncio.sleep(0)
        assert pace.allowed() == 40

    asyncio.run(run())


def test_fewer_slots_than_the_least() -> None:
    async def run() -> None:
        pace = Pace(4)
        await turns(pace, 3, 0.06)
        assert pace.allowed() == 4
        pace.most = 2
        assert pace.allowed() == 2

    asyncio.run(run())
