"""Extraction in processes of their own, where a page can neither hold up nor bring down the crawl.

Each worker is a child process that reads one page at a time from a socket and answers on it. A page that
takes too long, or needs too much memory, fails alone; its worker is replaced. A worker that dies may have
been killed by a user or by the system, so its page is read again by a new worker. If that one dies too,
the page fails. When workers cannot start, no page is to blame: that raises WorkersUnavailable.

Nobody can tell by looking how long a page takes. So each is tried for a moment, and one that is not read by
then waits for the worker that suspects share, which takes what processor time others leave. Such pages and
large ones leave a worker to all others.

Only bytes travel: a line of JSON with the sizes, then the body one way and the quads as N-Quads the other.
Nothing that comes back is executed.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from rdfaspider.extract import Extraction
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.pool.process import ExtractionFailed, WorkerKilled, WorkerProcess
from rdfaspider.extract.pool.suspects import Suspects

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.extract import Options
    from rdfaspider.extract.pool.process import Answer

    # Why a page is not read like others: its domain is a suspect, or it takes longer than a moment.
    _Verdict = Literal["suspect", "slow"]

__all__ = ["ExtractionFailed", "Pool", "WorkersUnavailable", "options_to_json"]

# Attempts to start one worker: how many may fail, and how many may be killed meanwhile. The pause before the
# next attempt grows by this many seconds each time.
_FAILURES = 3
_KILLS = 20
_PAUSE = 0.05
# Bytes of a page that takes so long to read that small ones should not have to wait for many of them.
_LARGE = 1_000_000
# Seconds that a page is tried for, and more for each megabyte: many times what a page takes that means well.
_MOMENT = 0.5
_PER_MEGABYTE = 2.0


class WorkersUnavailable(OSError):
    """No worker can be started; the message says why."""

    # Why the crawl ends when it meets this.
    finish_reason = "extract_error"


class Pool:
    """Runs `extract` with the same options for all pages, in a limited number of processes.

    timeout   seconds that a page may take
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
        # Idle ones that were given a lower priority, which cannot be taken back.
        self._lowered: list[WorkerProcess] = []
        self._free = asyncio.Semaphore(processes)
        # A process is left for small pages that take no time, if there are two.
        self._slow = asyncio.Semaphore(max(1, processes - 1))
        self._reading: set[WorkerProcess] = set()
        self._ending: set[asyncio.Future[None]] = set()
        self._is_in_a_hurry = False
        self._suspects = Suspects()
        self._trouble = ""

    async def open(self) -> None:
        """Start the first worker, to find out now rather than at the first page if none can start."""
        self._idle.append(await self._start())

    async def extract(self, body: bytes, url: str, content_type: str) -> Extraction:
        """Return what `extract` does, or raise ExtractionFailed or WorkersUnavailable."""
        request = {"url": url, "content_type": content_type, "size": len(body)}
        header = json.dumps(request).encode() + b"\n"
        answer = await self._try(url, header, body)
        if isinstance(answer, str):
            answer = await self._read(url, header, body, is_struck=answer == "slow")
        found, quads = answer
        if self._suspects:
            self._suspects.forgive(url)
        return extraction_of(found, quads)

    def hurry(self) -> None:
        """Put off pages that take long, now that there is no time for them; others are read."""
        self._is_in_a_hurry = True
        self._suspects.close()
        for worker in self._reading:
            worker.put_off()

    async def _try(self, url: str, header: bytes, body: bytes) -> Answer | _Verdict:
        """Return a worker's answer if it comes within a moment, or why the page must wait for another."""
        if url in self._suspects:
            return "suspect"
        if len(body) < _LARGE:
            async with self._free:
                return await self._try_now(url, header, body)
        async with self._slow, self._free:
            return await self._try_now(url, header, body)

    async def _try_now(self, url: str, header: bytes, body: bytes) -> Answer | _Verdict:
        if url in self._suspects:
            return "suspect"  # it has become one while the page waited
        if self._is_in_a_hurry and len(body) >= _LARGE:
            raise ExtractionFailed("busy")
        seconds = min(self._timeout, _MOMENT + _PER_MEGABYTE * len(body) / 1e6)
        try:
            return await self._read_twice(self._idle, header, body, seconds)
        except ExtractionFailed as failure:
            if failure.reason == "busy":
                raise
            failure.strikes = self._suspects.strike(url)
            if failure.reason == "timeout" and seconds < self._timeout:
                return "slow"
            raise

    async def _read(self, url: str, header: bytes, body: bytes, *, is_struck: bool) -> Answer:
        """Return a worker's answer to a page of a suspect, or one that takes long, when its turn has come."""
        try:
            async with self._suspects.turn(len(body)), self._slow, self._free:
                return await self._read_twice(self._lowered, header, body, self._timeout)
        except ExtractionFailed as failure:
            if not is_struck and failure.reason != "busy":
                self._suspects.strike(url)
            failure.strikes = self._suspects.strikes(url)
            raise

    async def _read_twice(
        self, idle: list[WorkerProcess], header: bytes, body: bytes, seconds: float
    ) -> Answer:
        """Ask one of these idle workers, or a new one; once more if it dies."""
        try:
            return await self._ask(await self._living(idle), idle, header, body, seconds)
        except ExtractionFailed as failure:
            if failure.reason != "crash":
                raise
        self._on_crash()
        return await self._ask(await self._start(), idle, header, body, seconds)

    async def _ask(
        self,
        worker: WorkerProcess,
        idle: list[WorkerProcess],
        header: bytes,
        body: bytes,
        seconds: float,
    ) -> Answer:
        """Return a worker's answer; a worker that fails, or whose caller is cancelled, is ended."""
        try:
            if idle is self._lowered:
                worker.lower()
            self._reading.add(worker)
            answer = await worker.ask(header, body, seconds)
            if "memory" in answer[0]:
                raise ExtractionFailed("memory")
        except BaseException as error:
            self._reading.discard(worker)
            if isinstance(error, ExtractionFailed) and seconds < self._timeout:
                # Others wait for this one's place, and a process with much memory takes long to end.
                self._end_meanwhile(worker)
            else:
                await worker.end()
            raise
        self._reading.discard(worker)
        idle.append(worker)
        return answer

    def _end_meanwhile(self, worker: WorkerProcess) -> None:
        ending = asyncio.ensure_future(worker.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _living(self, idle: list[WorkerProcess]) -> WorkerProcess:
        """Return an idle worker that is alive, a new one if there is none."""
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
                return await WorkerProcess.start(self._arguments)
            except WorkerKilled as error:
                kills += 1
                reason = str(error)
            except OSError as error:
                failures += 1
                reason = str(error)
            if failures == _FAILURES or kills == _KILLS:
                self._trouble = reason  # for all pages that are on their way
        raise WorkersUnavailable(f"No process can be started to read pages ({self._trouble}).")

    async def close(self) -> None:
        for idle in (self._idle, self._lowered):
            while idle:
                await idle.pop().end()
        await asyncio.gather(*self._ending)


def extraction_of(header: dict[str, Any], quads: bytes) -> Extraction:
    return Extraction(
        links=header["links"],
        relations=header["relations"],
        texts=header["texts"],
        nquads=quads,
        predicates=header["predicates"],
        longest=header["longest"],
        facts=Facts.from_json(header["facts"]),
    )


def options_to_json(options: Options) -> str:
    """Write options down for a worker; vocabularies are reduced to whether there are any."""
    return json.dumps(
        {
            "formats": sorted(options.formats),
            "limits": asdict(options.limits),
            "role": options.role,
            "expand": bool(options.vocabularies),
            "anchors": options.anchors,
            "rdfa": options.rdfa,
            "agent": options.agent,
            "text": options.text,
        }
    )
