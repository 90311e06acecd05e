"""Extraction in processes of their own, where a page can neither hold up nor bring down the crawl.

Each worker is a child process that reads one page at a time from a socket and answers on it. A page that
takes too long, or needs too much memory, fails alone; its worker is replaced. A worker that dies may have
been killed by a user or by the system, so its page is read again by a new worker. If that one dies too,
the page fails. When workers cannot start, no page is to blame: that raises WorkersUnavailable.

Only bytes travel: a line of JSON with the sizes, then the body one way and the quads as N-Quads the other.
Nothing that comes back is executed.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rdfaspider.extract import Extraction
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.process import ExtractionFailed, WorkerKilled, WorkerProcess
from rdfaspider.extract.suspects import Suspects

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.extract import Options
    from rdfaspider.extract.process import Answer

__all__ = ["ExtractionFailed", "Pool", "WorkersUnavailable", "options_to_json"]

# Attempts to start one worker: how many may fail, and how many may be killed meanwhile. The pause before the
# next attempt grows by this many seconds each time.
_FAILURES = 3
_KILLS = 20
_PAUSE = 0.05


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
        self._free = asyncio.Semaphore(processes)
        self._suspects = Suspects()
        self._trouble = ""

    async def open(self) -> None:
        """Start the first worker, to find out now rather than at the first page if none can start."""
        self._idle.append(await self._start())

    async def extract(self, body: bytes, url: str, content_type: str) -> Extraction:
        """Return what `extract` does, or raise ExtractionFailed or WorkersUnavailable."""
        request = {"url": url, "content_type": content_type, "size": len(body)}
        header = json.dumps(request).encode() + b"\n"
        if url in self._suspects:
            found, quads = await self._read_suspect(url, header, body)
        else:
            found, quads = await self._read(url, header, body)
        if "error" in found:
            raise ExtractionFailed("error", found["error"], found["traceback"])
        if self._suspects:
            self._suspects.forgive(url)
        return _extraction(found, quads)

    async def _read_suspect(self, url: str, header: bytes, body: bytes) -> Answer:
        try:
            async with self._suspects.turn(len(body)):
                return await self._read(url, header, body)
        except ExtractionFailed as failure:
            failure.strikes = self._suspects.strikes(url)
            raise

    async def _read(self, url: str, header: bytes, body: bytes) -> Answer:
        try:
            async with self._free:
                return await self._read_twice(header, body)
        except ExtractionFailed as failure:
            failure.strikes = self._suspects.strike(url)
            raise

    async def _read_twice(self, header: bytes, body: bytes) -> Answer:
        try:
            return await self._ask(await self._living() or await self._start(), header, body)
        except ExtractionFailed as failure:
            if failure.reason != "crash":
                raise
        self._on_crash()
        return await self._ask(await self._start(), header, body)

    async def _ask(self, worker: WorkerProcess, header: bytes, body: bytes) -> Answer:
        """Return a worker's answer; a worker that fails, or whose caller is cancelled, is ended."""
        try:
            answer = await worker.ask(header, body, self._timeout)
            if "memory" in answer[0]:
                raise ExtractionFailed("memory")
        except BaseException:
            await worker.end()
            raise
        self._idle.append(worker)
        return answer

    async def _living(self) -> WorkerProcess | None:
        """Return an idle worker that is alive, None if there is none."""
        while self._idle:
            worker = self._idle.pop()
            if not worker.is_lost:
                return worker
            await worker.end()
        return None

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
        while self._idle:
            await self._idle.pop().end()


def _extraction(header: dict[str, Any], quads: bytes) -> Extraction:
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
