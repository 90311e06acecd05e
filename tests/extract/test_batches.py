"""Processes that get several pages at a time answer each, and a page that kills one costs no other."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time

import pytest

from rdfaspider.extract import Extraction, Limits, Options, extract
from rdfaspider.extract.pool import LARGE, ExtractionFailed, WorkersUnavailable, process
from rdfaspider.extract.pool import batch as module_of_batch
from rdfaspider.extract.pool import batches as module
from rdfaspider.extract.pool.batch import Batch, Request
from rdfaspider.extract.pool.batches import Batches
from rdfaspider.extract.pool.process import Launched
from tests.extract.samples import SLOW

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
    monkeypatch.setattr(module_of_batch, "_SILENCE", 1.0)

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


def test_more_workers_start_only_when_those_that_there_are_do_not_keep_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BEHIND", 0.3)
    monkeypatch.setattr(module, "_BUSY", 0.01)  # this machine may be overloaded
    large = b"<p>" + b" " * module_of_batch._FEW_BYTES

    async def run() -> tuple[int, int, int]:
        pool = Batches(3, OPTIONS)
        await pool.open()
        (first,) = pool._workers
        try:
            # More than a worker has room for, but not for long.
            await asyncio.gather(*(pool.extract(large, "http://a.test/", "") for _ in range(9)))
            await asyncio.sleep(0.2)
            enough = len(pool._workers) + pool._starting
            os.kill(first.process.pid, signal.SIGSTOP)
            first.patience = 100.0
            asked = asyncio.ensure_future(
                all_of(pool, *(batch(start, 200) for start in range(0, 4_000, 200)))
            )
            await asyncio.sleep(0.5)
            without_processor = len(pool._workers) + pool._starting
            os.kill(first.process.pid, signal.SIGCONT)
            assert len(await asked) == 4_000
            return enough, without_processor, len(pool._workers)
        finally:
            await pool.close()

    enough, without_processor, more = asyncio.run(run())
    assert enough == without_processor == 1
    assert more >= 2


@pytest.mark.parametrize("can_start", [True, False])
def test_where_very_much_waits_more_workers_start_at_once(
    monkeypatch: pytest.MonkeyPatch, can_start: bool
) -> None:
    monkeypatch.setattr(module, "_BEHIND", 1_000.0)
    launches = 0

    def launch(arguments: tuple[str, str, str]) -> Launched:
        nonlocal launches
        launches += 1
        if launches > 1 and not can_start:
            raise OSError("no room")
        return process.launch(arguments)

    monkeypatch.setattr(module, "launch", launch)
    large = b"<p>" + b" " * (module._MUCH // 10)

    async def run() -> tuple[int, int]:
        pool = Batches(2, OPTIONS)
        await pool.open()
        try:
            os.kill(
                pool._workers[0].process.pid, signal.SIGSTOP
            )  # it need not have had a processor
            pages = [pool.extract(large, f"http://a.test/{number}", "") for number in range(10)]
            asked = asyncio.gather(*pages)
            await asyncio.sleep(0.1)
            little = launches  # the first has some of them already
            more = asyncio.gather(*(pool.extract(large, "http://a.test/", "") for _ in range(10)))
            await asyncio.sleep(0.1)
            os.kill(pool._workers[0].process.pid, signal.SIGCONT)
            await asyncio.gather(asked, more)
            assert pool._single_size == 0
            return little, launches
        finally:
            await pool.close()

    assert asyncio.run(run()) == (1, 2)


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_while_the_other_has_enough_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BUSY", 0.01)  # this machine may be overloaded

    async def run() -> int:
        pool = Batches(2, OPTIONS)
        await pool.open()
        try:
            asked = asyncio.create_task(
                all_of(pool, *(batch(first, 500) for first in range(0, 10_000, 500)))
            )
            while len(pool._workers) < 2:
                await asyncio.sleep(0.01)
            assert pool._waiting
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


def test_workers_that_cannot_start_any_more_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> list[Extraction | BaseException]:
        pool = Batches(3, OPTIONS)
        await pool.open()
        try:
            os.kill(pool._workers[0].process.pid, signal.SIGSTOP)
            pages = [asyncio.create_task(pool.extract(*page(number))) for number in range(100)]
            while not pool._workers[0].batches:
                await asyncio.sleep(0)
            monkeypatch.setattr(sys, "executable", "/nowhere/python")
            os.kill(pool._workers[0].process.pid, signal.SIGKILL)
            return await asyncio.wait_for(asyncio.gather(*pages, return_exceptions=True), 60)
        finally:
            await pool.close()

    assert {type(each) for each in asyncio.run(run())} == {WorkersUnavailable}


def test_a_process_that_was_launched_before_is_the_first_worker() -> None:
    async def run() -> None:
        pool = Batches(2, OPTIONS)
        pool.launch()
        assert pool._launched is not None
        process = pool._launched.process
        await pool.open()
        try:
            assert [worker.process for worker in pool._workers] == [process]
            assert await all_of(pool, batch(0, 1)) == [extract(*page(0), OPTIONS).nquads]
        finally:
            await pool.close()
        assert process.returncode == -signal.SIGKILL

    asyncio.run(run())


def test_a_pool_that_is_never_opened_ends_what_it_has_launched() -> None:
    async def run() -> None:
        pool = Batches(2, OPTIONS)
        pool.launch()
        assert pool._launched is not None
        process = pool._launched.process
        await pool.close()
        assert process.returncode == -signal.SIGKILL

    asyncio.run(run())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_pool_that_is_dropped_leaves_nothing_behind() -> None:
    """As where another part of a crawl refuses it before anything is opened."""
    pool = Batches(2, OPTIONS)
    pool.launch()
    assert pool._launched is not None
    process, number = pool._launched.process, pool._launched.output.fileno()
    del pool
    gc.collect()
    with pytest.raises(OSError):
        os.fstat(number)
    assert process.wait(30) is not None


def test_a_process_that_cannot_be_launched_is_told_of_when_the_pool_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    async def run() -> None:
        pool = Batches(1, OPTIONS)
        pool.launch()
        await pool.open()

    with pytest.raises(WorkersUnavailable, match="No process can be started"):
        asyncio.run(run())


def test_workers_that_cannot_start_are_told_of() -> None:
    async def run() -> None:
        await Batches(1, OPTIONS, memory=1).open()

    with pytest.raises(WorkersUnavailable, match="No process can be started"):
        asyncio.run(run())


def test_single_pages_of_one_moment_are_sent_together(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    message = Batch.message

    def counted(batch: Batch) -> bytes:
        sent.append(len(batch.requests))
        return message(batch)

    monkeypatch.setattr(Batch, "message", counted)

    async def run() -> list[Extraction]:
        pool = Batches(2, OPTIONS)
        await pool.open()
        try:
            return await asyncio.gather(*(pool.extract(*page(number)) for number in range(40)))
        finally:
            await pool.close()

    found = asyncio.run(run())
    assert found == [extract(*page(number), OPTIONS) for number in range(40)]
    assert sent == [16, 16, 8]


def test_workers_are_behind_while_megabytes_wait_that_are_no_large_pages() -> None:
    async def run() -> None:
        pool = Batches(1, Options(), alone=1)
        await pool.open()
        try:
            body = b"<p>" + b"x" * 100_000
            for size, count, is_behind in ((1, 60, True), (1, 20, False), (20, 3, False)):
                reading = [
                    asyncio.ensure_future(
                        pool.extract(size * body, f"http://a.test/{number}", "text/html")
                    )
                    for number in range(count)
                ]
                await asyncio.sleep(0)  # all have begun to wait
                assert pool.is_behind() == is_behind
                await asyncio.gather(*reading)
                assert not pool.is_behind()
        finally:
            await pool.close()

    asyncio.run(run())


def test_single_pages_of_a_worker_that_dies_are_read_alone() -> None:
    crashes: list[str] = []

    async def run() -> list[Extraction]:
        pool = Batches(1, OPTIONS, on_crash=lambda: crashes.append("crash"))
        await pool.open()
        try:
            os.kill(pool._workers[0].process.pid, signal.SIGSTOP)
            pages = [asyncio.create_task(pool.extract(*page(number))) for number in range(5)]
            while not pool._workers[0].batches:
                await asyncio.sleep(0)
            pages.pop().cancel()
            os.kill(pool._workers[0].process.pid, signal.SIGKILL)
            return await asyncio.gather(*pages)
        finally:
            await pool.close()

    assert asyncio.run(run()) == [extract(*page(number), OPTIONS) for number in range(4)]
    assert crashes == ["crash"] * 5


def test_a_slow_page_costs_no_other_of_its_batch_and_makes_its_domain_a_suspect() -> None:
    options = Options(limits=Limits(output=1_000_000_000))
    slow = Request(SLOW, "http://slow.org/", "text/html")

    async def run() -> None:
        pool = Batches(1, options, timeout=1.5)
        await pool.open()
        try:
            pages = [page(1), slow, page(2)]
            found = await asyncio.gather(
                *(pool.extract(*each) for each in pages), return_exceptions=True
            )
            one, failure, two = found
            assert isinstance(one, Extraction) and isinstance(two, Extraction)
            assert one.nquads and two.nquads
            assert isinstance(failure, ExtractionFailed)
            assert (failure.reason, failure.strikes) == ("timeout", 1)
            assert slow.url in pool._suspects
            # Its next page has no batch, so that it cannot hold up others.
            suspect = asyncio.create_task(pool.extract(b"<p>", f"{slow.url}next", "text/html"))
            await asyncio.sleep(0)
            assert not pool._single
            await suspect
        finally:
            await pool.close()

    asyncio.run(run())


def test_a_page_that_needs_too_much_memory_fails_alone() -> None:
    elements = b'<b property="dc:x" datatype="rdf:XMLLiteral">' * 250  # each copies the text
    rich = Request(elements + b"x" * 900_000, "http://rich.org/", "text/html")
    options = Options(limits=Limits(output=1_000_000_000))

    async def run() -> None:
        pool = Batches(1, options, memory=150)
        await pool.open()
        try:
            pages = [pool.extract(*each) for each in (page(1), rich, page(2))]
            one, failure, two = await asyncio.gather(*pages, return_exceptions=True)
            assert isinstance(one, Extraction) and isinstance(two, Extraction)
            assert isinstance(failure, ExtractionFailed)
            assert (failure.reason, failure.strikes) == ("memory", 1)
        finally:
            await pool.close()

    asyncio.run(run())


def test_a_large_page_has_no_batch() -> None:
    async def run() -> None:
        pool = Batches(1, OPTIONS)
        await pool.open()
        try:
            large = Request(page(1).body + b" " * LARGE, "http://site.test/", "text/html")
            task = asyncio.create_task(pool.extract(*large))
            await asyncio.sleep(0)
            assert not pool._single
            assert (await task).nquads
        finally:
            await pool.close()

    asyncio.run(run())


def test_in_a_hurry_a_worker_that_stands_still_is_not_waited_for() -> None:
    async def run() -> float:
        pool = Batches(1, OPTIONS, timeout=100.0)
        await pool.open()
        try:
            pool._workers[0].patience = 100.0
            os.kill(pool._workers[0].process.pid, signal.SIGSTOP)
            task = asyncio.create_task(pool.extract(*page(1)))
            while not pool._workers[0].batches:
                await asyncio.sleep(0)
            start = time.monotonic()
            pool.hurry()
            assert (await task).nquads
            return time.monotonic() - start
        finally:
            await pool.close()

    assert asyncio.run(run()) < 60
