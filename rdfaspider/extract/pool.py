"""Extraction in processes of their own, where a page can neither hold up nor bring down the crawl.

Each worker is a child process that reads one page at a time from its input and writes what it found to
its output. A page that takes too long, or needs too much memory, or crashes a parser, costs its worker;
the page fails alone and a new worker takes the place. Both ways only bytes travel: a line of JSON with the
sizes, then the body, or the quads as N-Quads. Nothing that comes back is executed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rdfaspider.extract import Extraction
from rdfaspider.extract.facts import Facts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rdfaspider.extract import Options

# A header has the links of a page, which Limits bound to a few megabytes.
_LONGEST_HEADER = 64 << 20


class ExtractionFailed(Exception):
    """Says why a page could not be read: `timeout` or `crash`."""


class Pool:
    """Runs `extract` with the same options for all pages, in at most so many processes.

    timeout  seconds that a page may take
    memory   megabytes that a worker may use
    """

    def __init__(
        self, processes: int, options: Options, *, timeout: float = 30.0, memory: int = 2048
    ) -> None:
        self._options = options_to_json(options)
        self._timeout = timeout
        self._memory = memory
        self._idle: list[asyncio.subprocess.Process] = []
        self._free = asyncio.Semaphore(processes)

    async def extract(self, body: bytes, url: str, content_type: str) -> Extraction:
        """Return what `extract` does, or raise ExtractionFailed."""
        async with self._free, self._worker() as worker:
            request = {"url": url, "content_type": content_type, "size": len(body)}
            try:
                async with asyncio.timeout(self._timeout):
                    return await _ask(worker, request, body)
            except TimeoutError:
                raise ExtractionFailed("timeout") from None
            except (OSError, EOFError, ValueError):
                raise ExtractionFailed("crash") from None

    @contextlib.asynccontextmanager
    async def _worker(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """Lend a worker; one that fails, or whose user is cancelled, is not used again."""
        worker = self._idle.pop() if self._idle else await self._start()
        try:
            yield worker
        except BaseException:
            await _end(worker)
            raise
        self._idle.append(worker)

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "rdfaspider.extract.worker",
            self._options,
            str(self._memory),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_HEADER,
        )

    async def close(self) -> None:
        while self._idle:
            await _end(self._idle.pop())


async def _ask(
    worker: asyncio.subprocess.Process, request: dict[str, Any], body: bytes
) -> Extraction:
    assert worker.stdin and worker.stdout
    worker.stdin.write(json.dumps(request).encode() + b"\n")
    worker.stdin.write(body)
    await worker.stdin.drain()
    answer = json.loads(await worker.stdout.readline())
    quads = await worker.stdout.readexactly(answer["size"])
    return Extraction(
        links=answer["links"],
        relations=answer["relations"],
        texts=answer["texts"],
        nquads=quads,
        facts=Facts.from_json(answer["facts"]),
    )


async def _end(worker: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.kill()
    await worker.wait()


def options_to_json(options: Options) -> str:
    """Write options down for a worker; vocabularies are reduced to whether there are any."""
    return json.dumps(
        {
            "formats": sorted(options.formats),
            "limits": asdict(options.limits),
            "role": options.role,
            "expand": bool(options.vocabularies),
            "agent": options.agent,
        }
    )
