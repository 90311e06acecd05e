"""The pool with real processes: pages that are well, that stall, that crash, that eat memory."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.extract import Limits, Options, extract
from rdfaspider.extract.pool import (
    MOMENT,
    ExtractionFailed,
    Pool,
    WorkersUnavailable,
    options_to_json,
)
from rdfaspider.extract.pool.process import WorkerProcess, launch
from rdfaspider.extract.worker import options_from_json
from tests.extract.samples import BOMB, SLOW

URL = "http://a.test/"
PAGE = """<html lang=de><title>Füße</title><p property="schema:name">„Ü"</p>
<a href="/b" rel="next">b \ud83d\ude00</a><script type="application/ld+json">
{"@context": "https://schema.org", "@id": "#x", "name": "J"}</script>""".encode(
    "utf-8", "surrogatepass"
)

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
        async with opened(timeout=0.5) as pool:
            await pool.extract(PAGE, URL, "text/html")
            stopped = pool._idle[0]
            os.kill(stopped.process.pid, signal.SIGSTOP)
            with pytest.raises(ExtractionFailed, match="timeout"):
                await pool.extract(PAGE, URL, "text/html")
            assert stopped.process.returncode == -signal.SIGKILL
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]

    asyncio.run(scenario())


def test_a_page_whose_worker_is_killed_is_read_by_another() -> None:
    crashes: list[str] = []

    async def scenario() -> None:
        async with opened(on_crash=lambda: crashes.append("crash")) as pool:
            await pool.open()
            worker = pool._idle[0]
            os.kill(worker.process.pid, signal.SIGSTOP)
            task = asyncio.create_task(pool.extract(PAGE, URL, "text/html"))
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
            used -= pool._idle[0].cpu_seconds()
            with pytest.raises(ExtractionFailed, match="memory"):
                await pool.extract(BOMB, URL, "text/html")
            used += sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            assert used < 2
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


def test_a_worker_that_ends_for_want_of_memory_is_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As compiled modules end their process. None can be made to do so at will."""
    (tmp_path / "greedy.py").write_text(
        "import os\n"
        "def read(body, *_):\n"
        "    if b'greedy' in body:\n"
        "        os.write(2, b'fatal: out of memory\\n')\n"
        "        os.abort()\n"
        "    return ()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    crashes: list[int] = []

    async def scenario() -> None:
        formats = frozenset(("rdfa", "greedy.read"))
        pool = Pool(1, Options(formats=formats), on_crash=lambda: crashes.append(1))
        try:
            with pytest.raises(ExtractionFailed, match="memory"):
                await pool.extract(b"<p>greedy", URL, "text/html")
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]
        finally:
            await pool.close()

    asyncio.run(scenario())
    assert not crashes


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

    async def scenario() -> None:
        async with opened(memory=1024) as pool:
            await pool.open()
            (worker,) = pool._idle
            for body, kind, cut in COSTLY.values():
                found = await pool.extract(body, URL, kind)
                assert found.facts.cuts[cut]
            assert pool._idle == [worker]

    asyncio.run(scenario())


def test_a_page_that_raises_an_exception_costs_no_worker() -> None:
    # No page is known that does; a limit that is no whole number makes one of any page with more tags.
    options = Options(limits=Limits(tags=0.5 + 10_000))  # type: ignore[arg-type]

    async def scenario() -> None:
        pool = Pool(1, options)
        try:
            await pool.open()
            (worker,) = pool._idle
            found = await pool.extract(b"<p>" * 10_001, URL, "text/html")
            assert found.facts.cuts == {"page error": 1}
            assert "without_tags" in found.facts.errors["page"]
            assert "\nTypeError: " in found.facts.errors["page"]
            assert (await pool.extract(PAGE, URL, "text/html")).links == ["http://a.test/b"]
            assert pool._idle == [worker]
        finally:
            await pool.close()

    asyncio.run(scenario())


def test_a_worker_ends_by_itself_when_a_page_burns_too_much_time() -> None:
    async def scenario() -> None:
        # 0.2 s of CPU time, with the grace that the crawl has to end it first.
        arguments = (options_to_json(Options()), "2048", "-4.8")
        worker = await WorkerProcess.start(launch(arguments))
        header = json.dumps({"url": URL, "content_type": "text/html", "size": len(RICH)})
        with pytest.raises(ExtractionFailed, match="crash"):
            await worker.ask(header.encode() + b"\n", RICH, 60.0)
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
    monkeypatch.setattr("rdfaspider.extract.pool._PAUSE", 0.0)
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
            assert pool._idle[0]._output.text == "x" * 4095

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
        assert all(os.getpriority(os.PRIO_PROCESS, w.process.pid) == nicer for w in pool._idle)
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
            (worker,) = pool._lowered
            nicer = min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
            assert os.getpriority(os.PRIO_PROCESS, worker.process.pid) == nicer

    asyncio.run(scenario())


def test_a_page_whose_worker_gets_no_processor_is_not_to_blame() -> None:
    async def scenario() -> None:
        async with opened(timeout=60.0) as pool:
            await pool.open()
            (worker,) = pool._idle
            os.kill(worker.process.pid, signal.SIGSTOP)
            page = asyncio.create_task(pool.extract(PAGE, URL, "text/html"))
            await asyncio.sleep(2 * MOMENT)
            assert not page.done()
            os.kill(worker.process.pid, signal.SIGCONT)
            assert (await page).links == ["http://a.test/b"]
            assert pool._idle == [worker]
            assert not pool._suspects

    asyncio.run(scenario())


def test_a_slow_page_whose_worker_gets_no_processor_is_not_to_blame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rdfaspider.extract.pool.MOMENT", 0.0)
    monkeypatch.setattr("rdfaspider.extract.pool.PER_MEGABYTE", 0.0)

    async def scenario() -> None:
        async with opened(timeout=2.0) as pool:
            while not pool._lowered:  # now and then it is read before the timer is looked at
                await pool.extract(PAGE, URL, "text/html")
            (worker,) = pool._lowered
            os.kill(worker.process.pid, signal.SIGSTOP)
            page = asyncio.create_task(pool.extract(PAGE, URL, "text/html"))
            await asyncio.sleep(3.0)
            assert not page.done()
            os.kill(worker.process.pid, signal.SIGCONT)
            assert (await page).links == ["http://a.test/b"]
            assert pool._lowered == [worker]

    asyncio.run(scenario())


def test_no_worker_prints_to_a_pipe() -> None:
    """uvloop closes the number of a pipe twice: in between, a file of the store may have got it."""

    async def scenario() -> None:
        async with opened() as pool:
            await pool.open()
            (worker,) = pool._idle
            assert worker._output._transport.get_extra_info("socket") is not None

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
            pool._idle[0].lower()

    asyncio.run(scenario())
    assert lowered == [12, 17]


def test_in_a_hurry_pages_that_take_long_are_put_off() -> None:
    async def scenario() -> None:
        async with opened(timeout=100.0) as pool:
            await pool.open()
            os.kill(pool._idle[0].process.pid, signal.SIGSTOP)
            tried = asyncio.create_task(pool.extract(PAGE, URL, "text/html"))
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
