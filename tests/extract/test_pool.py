"""The pool with real processes: pages that are well, that stall, that crash, that eat memory."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.extract import Extraction, Limits, Options, extract
from rdfaspider.extract import pool as module
from rdfaspider.extract.pool import (
    LARGE,
    MOMENT,
    ExtractionFailed,
    Pool,
    WorkersUnavailable,
    options_to_json,
)
from rdfaspider.extract.pool.process import Job, WorkerProcess
from rdfaspider.extract.worker import options_from_json
from tests.extract.samples import BOMB, SLOW

URL = "http://a.test/"
PAGE = """<html lang=de><title>Füße</title><p property="schema:name">„Ü"</p>
<a href="/b" rel="next">b \ud83d\ude00</a><script type="application/ld+json">
{"@context": "https://schema.org", "@id": "#x", "name": "J"}</script>""".encode(
    "utf-8", "surrogatepass"
)

# A page that is read alone.
ALONE = PAGE + b" " * LARGE

OPTIONS = Options()

Page = tuple[bytes, str, str]

# More than a second of work, and 250 MB.
RICH = b'<i property="dc:title">x</i>' * 170_000
# Each paragraph after them opens all of them again.
FONTS = b"".join(b"<font size=%d>" % n for n in range(511))


@asynccontextmanager
async def opened(**options: Any) -> AsyncIterator[Pool]:
    pool = Pool(options.pop("processes", 1), Options(), **options)
    try:
        yield pool
    finally:
        await pool.close()


def page(number: int) -> Page:
    body = f"<p property='http://example.org/p'>{number}</p>" + "<p>filler</p>" * (number % 50)
    return body.encode(), f"http://site.test/{number}", "text/html"


def batch(first: int, count: int) -> list[Page]:
    return [page(number) for number in range(first, first + count)]


async def all_of(pool: Pool, *batches: list[Page]) -> list[bytes]:
    """Return the statements of all pages."""
    found = await asyncio.gather(*map(pool.extract_all, batches))
    return [each.nquads for some in found for each in some if isinstance(each, Extraction)]


def test_a_worker_finds_what_the_function_finds() -> None:
    async def scenario() -> None:
        async with opened() as pool:
            for body in (PAGE, b"", b"\xff\xfe\x00", b"<p " * 1000):
                found = await pool.extract(body, URL, "text/html")
                here = extract(body, URL, "text/html")
                assert found == here

    asyncio.run(scenario())


def test_pages_that_wait_fail_when_a_pool_is_closed() -> None:
    async def scenario() -> None:
        async with opened() as pool:
            waiting = [asyncio.create_task(pool.extract(PAGE * 5_000, URL, "")) for _ in range(99)]
            alone = asyncio.create_task(pool.extract(b" " * LARGE, URL, "text/html"))
            await asyncio.sleep(0)  # all are there
            await pool.close()
            done = await asyncio.gather(*waiting, alone, return_exceptions=True)
            assert {each.reason for each in done if isinstance(each, ExtractionFailed)} == {"busy"}
            assert not pool._idle
            with pytest.raises(ExtractionFailed, match="busy"):
                await pool.extract(PAGE, URL, "text/html")

    asyncio.run(scenario())


def test_a_page_that_stalls_fails_alone() -> None:
    async def scenario() -> None:
        async with opened(timeout=0.5) as pool:
            await pool.extract(ALONE, URL, "text/html")
            stopped = pool._idle[0]
            os.kill(stopped.process.pid, signal.SIGSTOP)
            with pytest.raises(ExtractionFailed, match="timeout"):
                await pool.extract(ALONE, URL, "text/html")
            assert stopped.process.returncode == -signal.SIGKILL
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())


def test_a_page_whose_worker_is_killed_is_read_by_another() -> None:
    crashes: list[str] = []

    async def scenario() -> None:
        async with opened(on_crash=lambda: crashes.append("crash")) as pool:
            await pool.extract(ALONE, URL, "text/html")
            worker = pool._idle[0]
            os.kill(worker.process.pid, signal.SIGSTOP)
            task = asyncio.create_task(pool.extract(ALONE, URL, "text/html"))
            while pool._idle:
                await asyncio.sleep(0)
            os.kill(worker.process.pid, signal.SIGKILL)
            assert (await task).links == ["http://a.test/b"]

    asyncio.run(scenario())
    assert crashes == ["crash"]


def test_a_page_that_kills_two_workers_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    crashes: list[str] = []

    async def scenario() -> None:
        async with opened(memory=150, on_crash=lambda: crashes.append("crash")) as pool:
            with pytest.raises(ExtractionFailed, match="crash") as failed:
                await pool.extract(b"<p>" * 50_000_000, URL, "text/html")
            assert failed.value.strikes == 1
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())
    assert crashes == ["crash"]
    # What the workers wrote before they died is not lost.
    deaths = [text for text in caplog.messages if "ended (exit code 1)" in text]
    assert len(deaths) == 2
    assert all(death.endswith("MemoryError") for death in deaths)


@pytest.mark.parametrize("body", [PAGE, ALONE], ids=["with others", "alone"])
def test_a_worker_that_died_while_idle_costs_no_page(body: bytes) -> None:
    async def scenario() -> None:
        async with opened() as pool:
            await pool.extract(body, URL, "text/html")
            (worker,) = pool._workers if body is PAGE else pool._idle
            os.kill(worker.process.pid, signal.SIGKILL)
            while not worker.is_lost:
                await asyncio.sleep(0.01)
            assert (await pool.extract(body, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())


RDF_XML = b"<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='http://e/'>"
GREEDY: dict[str, tuple[bytes, str, int]] = {
    "turbohtml": (b"<p>" + FONTS + b"<p>x" * 20_000, "text/html", 150),
    "Python": (RICH, "text/html", 150),
    "XML": (b"<x>" + RICH + b"</x>", "application/xml", 150),
    "RDF/XML": (
        RDF_XML + b"<r:Description e:a='1' e:b='2' e:c='3'/>" * 110_000 + b"</r:RDF>",
        "application/rdf+xml",
        150,
    ),
}


def test_a_page_with_an_endless_tree_fails_alone_and_soon() -> None:
    async def scenario() -> None:
        async with opened() as pool:
            await pool.open()
            used = -sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            used -= pool._workers[0].cpu_seconds()
            with pytest.raises(ExtractionFailed, match="memory"):
                await pool.extract(BOMB, URL, "text/html")
            used += sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            used += pool._workers[0].cpu_seconds()
            assert used < 3  # twice, the second time by a new worker
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())


@pytest.mark.parametrize(("body", "kind", "memory"), GREEDY.values(), ids=GREEDY.keys())
def test_a_page_that_needs_too_much_memory_fails_alone(body: bytes, kind: str, memory: int) -> None:
    async def scenario() -> None:
        async with opened(memory=memory) as pool:
            with pytest.raises(ExtractionFailed, match="memory") as failed:
                await pool.extract(body, URL, kind)
            assert failed.value.strikes == 1
            assert pool._idle == []
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())


def numbers(count: int) -> bytes:
    return b'{"http://e/p":{"@list":[%s]}}' % b",".join([b"1"] * count)


COSTLY: dict[str, tuple[bytes, str, str]] = {
    "links": (b"".join(b"<a href=%d>x</a>" % n for n in range(240_000)), "text/html", "links"),
    "XML": (b"<x>" + b"<a href='x'/>" * 300_000 + b"</x>", "application/xml", "elements"),
    "numbers": (numbers(300_000), "application/ld+json", "quads"),
    "too many numbers": (numbers(2_000_000), "application/ld+json", "jsonld size"),
    "too many numbers in a page": (
        b"<script type='application/ld+json'>" + numbers(2_000_000),
        "text/html",
        "jsonld size",
    ),
}


@pytest.mark.slow
def test_what_hostile_pages_cost_fits_into_half_the_memory_of_a_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rdfaspider.extract.pool.MOMENT", 60.0)  # none is slow

    crashes: list[str] = []

    async def scenario() -> None:
        async with opened(memory=1024, on_crash=lambda: crashes.append("crash")) as pool:
            for body, kind, cut in COSTLY.values():
                found = await pool.extract(body, URL, kind)
                assert found.facts.cuts[cut]

    asyncio.run(scenario())
    assert not crashes


def test_a_page_that_raises_an_exception_costs_no_worker() -> None:
    # No page is known that does; a limit that is no whole number makes one of any page with more tags.
    options = Options(limits=Limits(tags=0.5 + 10_000))  # type: ignore[arg-type]

    async def scenario() -> None:
        pool = Pool(1, options)
        try:
            await pool.open()
            (worker,) = pool._workers
            found = await pool.extract(b"<p>" * 10_001, URL, "text/html")
            assert found.facts.cuts == {"page error": 1}
            assert "without_tags" in found.facts.errors["page"]
            assert "\nTypeError: " in found.facts.errors["page"]
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]
            assert pool._workers == [worker]
            assert not pool._idle
        finally:
            await pool.close()

    asyncio.run(scenario())


def test_a_worker_ends_by_itself_when_a_page_burns_too_much_time() -> None:
    async def scenario() -> None:
        # 0.2 s of CPU time, with the grace that the crawl has to end it first.
        arguments = (options_to_json(Options()), "2048", "-4.8")
        worker = await WorkerProcess(arguments).start(0)
        job = Job(RICH, URL, "text/html")
        worker.read([job], 60.0, 60.0)
        assert (await job.answer)[0] == {"failed": "crash"}
        await worker.end()
        assert worker.process.returncode == -signal.SIGPROF

    asyncio.run(scenario())


def script(directory: Path, text: str) -> str:
    """Return the path of a program that can be started instead of Python."""
    path = directory / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


BROKEN = {
    "exits": ("echo one; echo oh no >&2; exit 3", r"\(exit code 3: one / oh no\)"),
    "is silent": ("exit 1", r"\(exit code 1: no message\)"),
    "crashes": ("kill -SEGV $$", r"\(SIGSEGV: no message\)"),
    "is killed": ("kill -9 $$", r"\(SIGKILL: no message\)"),
    "hangs": ("exec sleep 60", "not ready after 0 s"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_python_that_is_broken_is_no_fault_of_pages(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", script(tmp_path, text))
    monkeypatch.setattr(
        "rdfaspider.extract.pool.process._START_SECONDS", 0.4 if "sleep" in text else 60.0
    )
    monkeypatch.setattr("rdfaspider.extract.pool._PAUSE_S", 0.0)
    check_unavailable(message)


def test_a_python_that_is_missing_is_no_fault_of_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    check_unavailable("No such file or directory")


def test_a_worker_starts_without_what_only_the_crawl_needs() -> None:
    program = "import sys, rdfaspider.extract.worker; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert not {"asyncio", "scrapy", "socket", "subprocess", "twisted"}.intersection(loaded)


def test_too_little_memory_is_no_fault_of_pages() -> None:
    check_unavailable(r"\(exit code 1: EXTRACT_MEMORY_MB=10 leaves no room for a page\)", memory=10)


def check_unavailable(message: str, **options: Any) -> None:
    async def scenario() -> None:
        async with opened(**options) as pool:
            with pytest.raises(WorkersUnavailable, match=message):
                await pool.open()
            pages = [pool.extract(PAGE, URL, "text/html") for _ in range(3)]
            failures = await asyncio.gather(*pages, return_exceptions=True)
            assert {type(failure) for failure in failures} == {WorkersUnavailable}

    asyncio.run(scenario())


def test_workers_killed_while_they_start_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = 'for n in 1 2 3 4 5; do if mkdir "$0.$n"; then kill -9 $$; fi; done 2> /dev/null'
    python = script(tmp_path, f'{kill}; exec {sys.executable} "$@"')
    monkeypatch.setattr(sys, "executable", python)

    async def scenario() -> None:
        async with opened() as pool:
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())
    assert (tmp_path / "python.5").exists()


def test_what_a_worker_prints_does_not_mix_with_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('x' * 100_000)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    async def scenario() -> None:
        async with opened() as pool:
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]
            assert pool._workers[0].output == "x" * 4095

    asyncio.run(scenario())


def test_what_workers_print_does_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('x' * 2_000_000)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    async def scenario() -> None:
        async with opened() as pool:
            await pool.open()
            (worker,) = pool._workers
            assert worker.output == "x" * 4095
            await pool.extract(PAGE, URL, "text/html")
            async with asyncio.timeout(30):
                while worker.output:
                    await asyncio.sleep(0.05)
            assert os.fstat(worker._output.fileno()).st_size == 0

    asyncio.run(scenario())


def test_pages_of_suspects_have_one_worker_and_others_the_rest() -> None:
    options = Options(limits=Limits(output=1_000_000_000))

    async def scenario() -> None:
        pool = Pool(2, options, timeout=1.0)
        with pytest.raises(ExtractionFailed, match="timeout"):
            await pool.extract(SLOW, "http://slow.org/", "text/html")
        hosts = [f"http://{letter}.slow.org/" for letter in "abcdefgh"]
        tasks = [asyncio.create_task(pool.extract(SLOW, url, "text/html")) for url in hosts]
        await asyncio.sleep(0)
        for number in range(20):
            await pool.extract(PAGE, f"{URL}{number}", "text/html")
        # With both workers for the suspects, seven would have been read before these.
        assert sum(task.done() for task in tasks) <= 3
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await pool.close()

    asyncio.run(scenario())


def test_pages_that_take_long_leave_a_worker_to_others_though_nobody_knew_of_them() -> None:
    options = Options(limits=Limits(output=1_000_000_000))

    async def scenario() -> None:
        pool = Pool(2, options, timeout=30.0)
        urls = [f"http://{name}.org/" for name in ("one", "two", "three", "four")]
        tasks = [asyncio.create_task(pool.extract(SLOW, url, "text/html")) for url in urls]
        await asyncio.sleep(0)
        for number in range(20):
            await pool.extract(PAGE, f"{URL}{number}", "text/html")
        assert not any(task.done() for task in tasks[1:]), "they have held up others"
        nicer = min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)
        assert all(os.getpriority(os.PRIO_PROCESS, w.process.pid) == nicer for w in pool._workers)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await pool.close()

    asyncio.run(scenario())


def test_a_page_that_takes_long_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdfaspider.extract.pool.MOMENT", 0.0)
    monkeypatch.setattr("rdfaspider.extract.pool.PER_MEGABYTE", 0.0)

    async def scenario() -> None:
        async with opened() as pool:
            for _ in range(3):
                found = await pool.extract(PAGE, URL, "text/html")
                assert found.links == ["http://a.test/b"]
            (worker,) = pool._idle
            nicer = min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
            assert os.getpriority(os.PRIO_PROCESS, worker.process.pid) == nicer

    asyncio.run(scenario())


def test_a_page_whose_worker_gets_no_processor_is_not_to_blame() -> None:
    async def scenario() -> None:
        async with opened(timeout=60.0) as pool:
            await pool.open()
            (worker,) = pool._workers
            os.kill(worker.process.pid, signal.SIGSTOP)
            page = asyncio.create_task(pool.extract(PAGE, URL, "text/html"))
            await asyncio.sleep(2 * MOMENT)
            assert not page.done()
            os.kill(worker.process.pid, signal.SIGCONT)
            assert (await page).links == ["http://a.test/b"]
            assert pool._workers == [worker]
            assert URL not in pool._suspects

    asyncio.run(scenario())


def test_a_slow_page_whose_worker_gets_no_processor_is_not_to_blame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rdfaspider.extract.pool.MOMENT", 0.0)
    monkeypatch.setattr("rdfaspider.extract.pool.PER_MEGABYTE", 0.0)

    async def scenario() -> None:
        async with opened(timeout=2.0) as pool:
            while not pool._idle:  # now and then it is read before the timer is looked at
                await pool.extract(PAGE, URL, "text/html")
            (worker,) = pool._idle
            os.kill(worker.process.pid, signal.SIGSTOP)
            page = asyncio.create_task(pool.extract(PAGE, URL, "text/html"))
            await asyncio.sleep(3.0)
            assert not page.done()
            os.kill(worker.process.pid, signal.SIGCONT)
            assert (await page).links == ["http://a.test/b"]
            assert pool._idle == [worker]

    asyncio.run(scenario())


def test_workers_are_nicer_than_the_crawl_and_for_slow_pages_still_nicer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getpriority", lambda which, who: 7)
    lowered: list[int] = []
    monkeypatch.setattr(os, "setpriority", lambda which, who, priority: lowered.append(priority))

    async def scenario() -> None:
        async with opened() as pool:
            await pool.open()
            await pool.extract(ALONE, URL, "text/html")

    asyncio.run(scenario())
    assert lowered == [12, 17]


def test_in_a_hurry_pages_that_take_long_are_put_off() -> None:
    async def scenario() -> None:
        async with opened(timeout=100.0) as pool:
            await pool.extract(ALONE, URL, "text/html")
            os.kill(pool._idle[0].process.pid, signal.SIGSTOP)
            tried = asyncio.create_task(pool.extract(ALONE, URL, "text/html"))
            while pool._idle:
                await asyncio.sleep(0.01)
            pool.hurry()
            with pytest.raises(ExtractionFailed, match="busy") as failed:
                await asyncio.wait_for(tried, 20)
            assert failed.value.strikes == 0
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]
            with pytest.raises(ExtractionFailed, match="busy"):
                await pool.extract(PAGE + b" " * 1_000_000, URL, "text/html")
            pool._suspects.strike(URL)
            with pytest.raises(ExtractionFailed, match="busy"):
                await pool.extract(PAGE, URL, "text/html")

    asyncio.run(scenario())


def test_a_user_who_leaves_takes_the_worker_along() -> None:
    async def scenario() -> None:
        async with opened() as pool:
            await pool.extract(ALONE, URL, "text/html")
            worker = pool._idle[0]
            os.kill(worker.process.pid, signal.SIGSTOP)
            task = asyncio.create_task(pool.extract(ALONE, URL, "text/html"))
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


def test_all_pages_are_answered_as_by_extract() -> None:
    async def run() -> list[bytes]:
        pool = Pool(2, OPTIONS)
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
    monkeypatch.setattr(module, "_SILENCE_S", 1.0)

    async def run() -> tuple[list[bytes], list[bytes]]:
        pool = Pool(1, OPTIONS)
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
    monkeypatch.setattr(module, "_BEHIND_S", 0.3)
    monkeypatch.setattr(module, "_BUSY", 0.01)  # this machine may be overloaded
    large = b"<p>" + b" " * (module._BATCH_BYTES // 4)

    async def run() -> tuple[int, int, int]:
        pool = Pool(3, OPTIONS)
        await pool.open()
        (first,) = pool._workers
        try:
            # More than a worker has room for, but not for long.
            await asyncio.gather(*(pool.extract(large, "http://a.test/", "") for _ in range(9)))
            await asyncio.sleep(0.2)
            enough = len(pool._workers) + len(pool._starts)
            os.kill(first.process.pid, signal.SIGSTOP)
            first.patience = 100.0
            asked = asyncio.ensure_future(
                all_of(pool, *(batch(start, 200) for start in range(0, 4_000, 200)))
            )
            await asyncio.sleep(0.5)
            without_processor = len(pool._workers) + len(pool._starts)
            os.kill(first.process.pid, signal.SIGCONT)
            assert len(await asked) == 4_000
            return enough, without_processor, len(pool._workers)
        finally:
            await pool.close()

    enough, without_processor, more = asyncio.run(run())
    assert enough == without_processor == 1
    assert more >= 2


def test_where_very_much_waits_more_workers_start_though_they_have_no_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MUCH", 1 << 20)
    large = b"<p>" + b" " * 400_000

    async def run() -> tuple[int, int]:
        pool = Pool(2, OPTIONS)
        await pool.open()
        try:
            (first,) = pool._workers
            os.kill(first.process.pid, signal.SIGSTOP)
            pages = [pool.extract(large, f"http://a.test/{number}", "") for number in range(3)]
            little = asyncio.gather(*pages)  # the first has one of them already
            await asyncio.sleep(0.6)
            few = len(pool._workers) + len(pool._starts)
            much = asyncio.gather(*(pool.extract(large, "http://a.test/", "") for _ in range(3)))
            await asyncio.sleep(0.6)
            more = len(pool._workers) + len(pool._starts)
            os.kill(first.process.pid, signal.SIGCONT)
            await asyncio.gather(little, much)
            assert pool._size == 0
            return few, more
        finally:
            await pool.close()

    assert asyncio.run(run()) == (1, 2)


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_while_the_other_has_enough_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BUSY", 0.01)  # this machine may be overloaded

    async def run() -> int:
        pool = Pool(2, OPTIONS)
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
        pool = Pool(1, OPTIONS, memory=300)
        await pool.open()
        large = (b"<p>" + b"x<b>" * 40_000_000, "http://large.test/", "text/html")
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
        pool = Pool(3, OPTIONS)
        await pool.open()
        try:
            os.kill(pool._workers[0].process.pid, signal.SIGSTOP)
            pages = [asyncio.create_task(pool.extract(*page(number))) for number in range(100)]
            while not pool._workers[0].jobs:
                await asyncio.sleep(0)
            monkeypatch.setattr(sys, "executable", "/nowhere/python")
            os.kill(pool._workers[0].process.pid, signal.SIGKILL)
            return await asyncio.wait_for(asyncio.gather(*pages, return_exceptions=True), 60)
        finally:
            await pool.close()

    assert {type(each) for each in asyncio.run(run())} == {WorkersUnavailable}


def test_a_process_that_was_launched_before_is_the_first_worker() -> None:
    async def run() -> None:
        pool = Pool(2, OPTIONS)
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
        pool = Pool(2, OPTIONS)
        pool.launch()
        assert pool._launched is not None
        process = pool._launched.process
        await pool.close()
        assert process.returncode == -signal.SIGKILL

    asyncio.run(run())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_pool_that_is_dropped_leaves_nothing_behind() -> None:
    """As where another part of a crawl refuses it before anything is opened."""
    pool = Pool(2, OPTIONS)
    pool.launch()
    assert pool._launched is not None
    process, number = pool._launched.process, pool._launched._output.fileno()
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
        pool = Pool(1, OPTIONS)
        pool.launch()
        await pool.open()

    with pytest.raises(WorkersUnavailable, match="No process can be started"):
        asyncio.run(run())


def test_workers_that_cannot_start_are_told_of() -> None:
    async def run() -> None:
        await Pool(1, OPTIONS, memory=1).open()

    with pytest.raises(WorkersUnavailable, match="No process can be started"):
        asyncio.run(run())


def test_single_pages_of_one_moment_are_sent_together(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    read = WorkerProcess.read

    def counted(worker: WorkerProcess, jobs: list[Job], seconds: float, patience: float) -> None:
        sent.append(len(jobs))
        read(worker, jobs, seconds, patience)

    monkeypatch.setattr(WorkerProcess, "read", counted)

    async def run() -> list[Extraction]:
        pool = Pool(2, OPTIONS)
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
        pool = Pool(1, Options())
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
        pool = Pool(1, OPTIONS, on_crash=lambda: crashes.append("crash"))
        await pool.open()
        try:
            os.kill(pool._workers[0].process.pid, signal.SIGSTOP)
            pages = [asyncio.create_task(pool.extract(*page(number))) for number in range(5)]
            while not pool._workers[0].jobs:
                await asyncio.sleep(0)
            pages.pop().cancel()
            os.kill(pool._workers[0].process.pid, signal.SIGKILL)
            return await asyncio.gather(*pages)
        finally:
            await pool.close()

    assert asyncio.run(run()) == [extract(*page(number), OPTIONS) for number in range(4)]
    assert crashes == ["crash"] * 4


def test_a_slow_page_costs_no_other_of_its_batch_and_makes_its_domain_a_suspect() -> None:
    options = Options(limits=Limits(output=1_000_000_000))
    slow = (SLOW, "http://slow.org/", "text/html")

    async def run() -> None:
        pool = Pool(1, options, timeout=1.5)
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
            assert slow[1] in pool._suspects
            # Its next page has no batch, so that it cannot hold up others.
            suspect = asyncio.create_task(pool.extract(b"<p>", f"{slow[1]}next", "text/html"))
            await asyncio.sleep(0)
            assert not pool._waiting
            await suspect
        finally:
            await pool.close()

    asyncio.run(run())


def test_a_page_that_needs_too_much_memory_costs_no_other() -> None:
    elements = b'<b property="dc:x" datatype="rdf:XMLLiteral">' * 250  # each copies the text
    rich = (elements + b"x" * 900_000, "http://rich.org/", "text/html")
    options = Options(limits=Limits(output=1_000_000_000))

    async def run() -> None:
        pool = Pool(1, options, memory=150)
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
        pool = Pool(1, OPTIONS)
        await pool.open()
        try:
            large = (page(1)[0] + b" " * LARGE, "http://site.test/", "text/html")
            task = asyncio.create_task(pool.extract(*large))
            await asyncio.sleep(0)
            assert not pool._waiting
            assert (await task).nquads
        finally:
            await pool.close()

    asyncio.run(run())


def test_a_worker_that_is_ready_before_anybody_asks_is_used_at_once() -> None:
    async def run(loop_runs_first: bool) -> None:
        worker = WorkerProcess((options_to_json(OPTIONS), "2048", "4.8"))
        assert select.select([worker._channel], [], [], 60)[0]
        connect = asyncio.get_running_loop().create_connection

        async def slowly(*arguments: Any, **named: Any) -> Any:
            made = await connect(*arguments, **named)
            await asyncio.sleep(0.1 * loop_runs_first)
            return made

        asyncio.get_running_loop().create_connection = slowly  # type: ignore[method-assign]
        await asyncio.wait_for(worker.start(0), 20)
        await worker.end()

    for loop_runs_first in (False, True):
        asyncio.run(run(loop_runs_first))


def test_in_a_hurry_a_worker_that_stands_still_is_not_waited_for() -> None:
    async def run() -> float:
        pool = Pool(1, OPTIONS, timeout=100.0)
        await pool.open()
        try:
            pool._workers[0].patience = 100.0
            os.kill(pool._workers[0].process.pid, signal.SIGSTOP)
            task = asyncio.create_task(pool.extract(*page(1)))
            while not pool._workers[0].jobs:
                await asyncio.sleep(0)
            start = time.monotonic()
            pool.hurry()
            assert (await task).nquads
            return time.monotonic() - start
        finally:
            await pool.close()

    assert asyncio.run(run()) < 60
