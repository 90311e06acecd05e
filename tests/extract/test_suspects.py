from __future__ import annotations

import asyncio

import pytest

from rdfaspider.extract.pool.process import ExtractionFailed
from rdfaspider.extract.pool.suspects import Suspects

BAD = "http://bad.org/"


def test_a_domain_is_a_suspect_under_all_its_names() -> None:
    suspects = Suspects()
    assert BAD not in suspects
    suspects.strike(BAD)
    assert suspects.strikes(BAD) == 1
    assert "https://x.bad.org:8080/y" in suspects
    assert "http://good.org/" not in suspects
    suspects.strike("http://x.bad.org/")
    assert suspects.strikes(BAD) == 2


def test_ten_good_pages_make_up_for_a_bad_one() -> None:
    suspects = Suspects()
    suspects.strike(BAD)
    suspects.strike(BAD)
    for _ in range(10):
        suspects.forgive(BAD)
    assert suspects.strikes(BAD) == 1
    for _ in range(9):
        suspects.forgive(BAD)
        assert BAD in suspects
    suspects.forgive(BAD)
    suspects.forgive(BAD)
    assert BAD not in suspects


def test_only_so_many_are_remembered() -> None:
    suspects = Suspects()
    for number in range(1_000):
        suspects.strike(f"http://h{number}.org/")
    suspects.strike("http://h0.org/")
    suspects.strike(BAD)
    assert "http://h1.org/" not in suspects
    assert suspects.strikes("http://h0.org/") == 2
    assert BAD in suspects


@pytest.mark.parametrize(("size", "room"), [(1, 16), (2_500_000, 3), (100_000_000, 1)])
def test_what_waits_is_bounded(size: int, room: int) -> None:
    suspects = Suspects()
    release = asyncio.Event()

    async def read() -> None:
        async with suspects.turn(size):
            await release.wait()

    async def scenario() -> None:
        running = asyncio.create_task(read())
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(read()) for _ in range(room)]
        await asyncio.sleep(0)
        with pytest.raises(ExtractionFailed, match="busy"):
            await read()
        waiting.pop().cancel()  # makes room
        await asyncio.sleep(0)
        waiting.append(asyncio.create_task(read()))
        release.set()
        await asyncio.gather(running, *waiting)

    asyncio.run(scenario())
