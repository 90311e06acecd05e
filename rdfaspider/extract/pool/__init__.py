"""Extraction in other processes, where a page can neither block nor crash the crawl.

Each worker is a child process that reads one page at a time from a socket and answers on it. A page that
takes too long, or needs too much memory, fails alone; its worker is replaced. A worker that dies may have
been killed by a user or by the system, so its page is read again by a new worker. If that one dies too,
the page fails. When workers cannot start, no page is to blame: that raises WorkersUnavailable.

How long a page takes cannot be known in advance. So each is tried for a moment. One that is not done by then
waits for the worker that all suspects share, which runs at low priority. Such pages and large ones always
leave one worker to the others. The moment is CPU time of the worker: on a machine that is overloaded no page
is to blame for what others do.

Only bytes travel: a line of JSON with the sizes, then the body one way and the quads as N-Quads the other.
Nothing that comes back is executed.

process    a worker as the crawl sees it
batch      several pages, and a worker that reads them
batches    a pool of such workers, which crawls and replays use
suspects   domains whose pages have taken down a worker

What runs in the child process is ``rdfaspider.extract.worker``, which imports nothing from here.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal

from rdfaspider.extract import Extraction
from rdfaspider.extract.pool.process import ExtractionFailed, WorkerKilled, WorkerProcess, launch
from rdfaspider.extract.pool.suspects import Suspects

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.extract import Options
    from rdfaspider.extract.pool.process import Answer

    # Why a page is treated differently: its domain is a suspect, or it takes longer than a moment.
    _Verdict = Literal["suspect", "slow"]

__all__ = ["ExtractionFailed", "Pool", "WorkersUnavailable", "options_to_json"]

# Attempts to start one worker: how many may fail, and how many may be killed. The pause before the next
# attempt grows by this many seconds each time.
_FAILURES = 3
_KILLS = 20
_PAUSE = 0.05
# A page with more bytes is large: small pages should not have to wait for many of them.
LARGE = 1_000_000
# Seconds that a page is tried for, and more for each megabyte: far more than honest pages take.
MOMENT = 0.5
PER_MEGABYTE = 2.0
# How many times as long a page may take by the clock, since its worker may have to wait for a processor: when
# it is tried, and when it is read within the time limit.
_STRETCHED = 10
_PATIENCE = 3


class WorkersUnavailable(OSError):
    """No worker can be started; the message says why."""

    # The reason for which the crawl then ends.
    finish_reason = "extract_error"


class Pool:
    """Runs `extract` with the same options for all pages, in a limited number of processes.

    timeout   seconds of CPU time that a page may take
    memory    megabytes that a worker may use
    on_crash  called when a worker has died and its page is read again
    """

    def __init__(
        self,
        processes: int,
        options: Options,
        *,
        timeout: float = 30.0,
        memory: int = 2048,
        on_crash: Callable[[], None] = lambda: None,
    ) -> None:
        self._arguments = (options_to_json(options), str(memory), str(timeout))
        self._timeout = timeout
        self._on_crash = on_crash
        self._idle: list[WorkerProcess] = []
        # Idle workers with a lower priority, which cannot be raised again.
        self._lowered: list[WorkerProcess] = []
        self._free = asyncio.Semaphore(processes)
        # With two or more processes, one is kept for small and fast pages.
        self._slow = asyncio.Semaphore(max(1, processes - 1))
        self._reading: set[WorkerProcess] = set()
        self._ending: set[asyncio.Future[None]] = set()
        self._is_in_a_hurry = False
        self._suspects = Suspects()
        self._trouble = ""

    async def open(self) -> None:
        """Start the first worker, so that a failure shows now rather than at the first page."""
        self._idle.append(await self._start())

    async def extract(self, body: bytes, url: str, content_type: str) -> Extraction:
        """Return the result of `extract`, or raise ExtractionFailed or WorkersUnavailable."""
        request = {"url": url, "content_type": content_type, "size": len(body)}
        header = json.dumps(request).encode() + b"\n"
        answer = await self._try(url, header, body)
        if isinstance(answer, str):
            answer = await self._read(url, header, body, is_struck=answer == "slow")
        if self._suspects:
            self._suspects.forgive(url)
        return Extraction.decode(*answer)

    def hurry(self) -> None:
        """Give up pages that take long, because the crawl ends; others are still read."""
        self._is_in_a_hurry = True
        self._suspects.close()
        for worker in self._reading:
            worker.put_off()

    async def _try(self, url: str, header: bytes, body: bytes) -> Answer | _Verdict:
        """Return a worker's answer if it comes within a moment, else why the page must wait."""
        if url in self._suspects:
            return "suspect"
        if len(body) < LARGE:
            async with self._free:
                return await self._try_now(url, header, body)
        async with self._slow, self._free:
            return await self._try_now(url, header, body)

    async def _try_now(self, url: str, header: bytes, body: bytes) -> Answer | _Verdict:
        if url in self._suspects:
            return "suspect"  # it became one while the page waited
        if self._is_in_a_hurry and len(body) >= LARGE:
            raise ExtractionFailed("busy")
        seconds = min(self._timeout, MOMENT + PER_MEGABYTE * len(body) / 1e6)
        longest = min(self._timeout, seconds if self._is_in_a_hurry else _STRETCHED * seconds)
        try:
            return await self._read_twice(self._idle, header, body, seconds, longest)
        except ExtractionFailed as failure:
            if failure.reason == "busy":
                raise
            failure.strikes = self._suspects.strike(url)
            if failure.reason == "timeout" and seconds < self._timeout:
                return "slow"
            raise

    async def _read(self, url: str, header: bytes, body: bytes, *, is_struck: bool) -> Answer:
        """Return a worker's answer to a page of a suspect, or to a slow page, when its turn has come."""
        try:
            async with self._suspects.turn(len(body)), self._slow, self._free:
                seconds, longest = self._timeout, _PATIENCE * self._timeout
                return await self._read_twice(self._lowered, header, body, seconds, longest)
        except ExtractionFailed as failure:
            if not is_struck and failure.reason != "busy":
                self._suspects.strike(url)
            failure.strikes = self._suspects.strikes(url)
            raise

    async def _read_twice(
        self,
        idle: list[WorkerProcess],
        header: bytes,
        body: bytes,
        seconds: float,
        longest: float,
    ) -> Answer:
        """Ask one of these idle workers, or a new one; once more if it dies."""
        try:
            worker = await self._living(idle)
            return await self._ask(worker, idle, header, body, seconds, longest)
        except ExtractionFailed as failure:
            if failure.reason != "crash":
                raise
        self._on_crash()
        return await self._ask(await self._start(), idle, header, body, seconds, longest)

    async def _ask(
        self,
        worker: WorkerProcess,
        idle: list[WorkerProcess],
        header: bytes,
        body: bytes,
        seconds: float,
        longest: float,
    ) -> Answer:
        """Return a worker's answer; a worker that fails, or whose caller is cancelled, is ended."""
        try:
            if idle is self._lowered:
                worker.lower()
            self._reading.add(worker)
            answer = await worker.ask(header, body, seconds, longest)
            if "memory" in answer[0]:
                raise ExtractionFailed("memory")
        except BaseException as error:
            self._reading.discard(worker)
            reason = error.reason if isinstance(error, ExtractionFailed) else ""
            if reason not in ("", "crash") and seconds < self._timeout:
                # Others wait for its place, and a process with much memory takes long to end.
                self._end_meanwhile(worker)
            else:
                await worker.end()
            if reason == "crash" and worker.lacked_memory:
                raise ExtractionFailed("memory") from None
            raise
        self._reading.discard(worker)
        idle.append(worker)
        return answer

    def _end_meanwhile(self, worker: WorkerProcess) -> None:
        ending = asyncio.ensure_future(worker.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _living(self, idle: list[WorkerProcess]) -> WorkerProcess:
        """Return an idle worker that is alive, or a new one."""
        while idle:
            worker = idle.pop()
            if not worker.is_lost:
                return worker
            await worker.end()
        return await self._start()

    async def _start(self) -> WorkerProcess:
        failures = kills = 0
        while not self._trouble:
            await asyncio.sleep(_PAUSE * (failures + kills))
            try:
                return await WorkerProcess.start(launch(self._arguments))
            except WorkerKilled as error:
                kills += 1
                reason = str(error)
            except OSError as error:
                failures += 1
                reason = str(error)
            if failures == _FAILURES or kills == _KILLS:
                self._trouble = reason  # for all pages that are being read
        raise WorkersUnavailable(f"No process can be started to read pages ({self._trouble}).")

    async def close(self) -> None:
        for idle in (self._idle, self._lowered):
            while idle:
                await idle.pop().end()
        await asyncio.gather(*self._ending)


def options_to_json(options: Options) -> str:
    """Return the options as JSON for a worker; of vocabularies only whether there are any."""
    given = asdict(replace(options, vocabularies={}))
    given |= {"formats": sorted(options.formats), "vocabularies": bool(options.vocabularies)}
    return json.dumps(given)
