"""Extraction in processes of their own, where a page can neither hold up nor bring down the crawl.

Each worker is a child process that reads one page at a time from a socket and writes what it found to
the same. A page that takes too long, or needs too much memory, or crashes a parser, costs its worker;
the page fails alone and a new worker takes the place. Both ways only bytes travel: a line of JSON with the
sizes, then the body, or the quads as N-Quads. Nothing that comes back is executed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from rdfaspider.extract import Extraction
from rdfaspider.extract.facts import Facts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rdfaspider.extract import Options


# To copy a page of this size is cheaper than to write twice.
_SMALL = 64 * 1024

# What a worker sends: its line of JSON, and the quads.
Answer = tuple[dict[str, Any], bytes]


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
        self._idle: list[_Worker] = []
        self._free = asyncio.Semaphore(processes)

    async def extract(self, body: bytes, url: str, content_type: str) -> Extraction:
        """Return what `extract` does, or raise ExtractionFailed."""
        request = {"url": url, "content_type": content_type, "size": len(body)}
        async with self._free, self._worker() as worker:
            header, quads = await worker.ask(json.dumps(request).encode() + b"\n", body)
            return _extraction(header, quads)

    @contextlib.asynccontextmanager
    async def _worker(self) -> AsyncIterator[_Worker]:
        """Lend a worker; one that fails, or whose user is cancelled, is not used again."""
        worker = await self._living() or await self._start()
        try:
            yield worker
        except BaseException:
            await worker.end()
            raise
        self._idle.append(worker)

    async def _living(self) -> _Worker | None:
        """Return an idle worker; one that the system has ended meanwhile is cleared away."""
        while self._idle:
            worker = self._idle.pop()
            if not worker.is_lost:
                return worker
            await worker.end()
        return None

    async def _start(self) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            arguments = [self._options, str(self._memory)]
            process = subprocess.Popen(
                [sys.executable, "-m", "rdfaspider.extract.worker", *arguments],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
            )
        worker = _Worker(process, self._timeout)
        await asyncio.get_running_loop().create_connection(lambda: worker, sock=ours)
        return worker

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().end()


class _Worker(asyncio.Protocol):
    """One child process and the page that it reads.

    Streams would wake a task for the header, another for the rest, and start a timer each; here the
    answer wakes the one that waits for it when all of it is there.
    """

    def __init__(self, process: subprocess.Popen[bytes], timeout: float) -> None:
        self.process = process
        self._timeout = timeout
        self._answer: asyncio.Future[Answer] | None = None
        self._pieces = bytearray()
        self._header: dict[str, Any] | None = None
        self.is_lost = False

    async def ask(self, header: bytes, body: bytes) -> Answer:
        if self.is_lost:
            raise ExtractionFailed("crash")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._answer = answer
        timer = loop.call_later(self._timeout, self._fail, "timeout")
        try:
            if len(body) > _SMALL:
                self._transport.write(header)
                self._transport.write(body)
            else:
                self._transport.write(header + body)
            return await answer
        finally:
            timer.cancel()
            self._answer = self._header = None
            self._pieces.clear()

    def _fail(self, reason: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ExtractionFailed(reason))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop derives its transports from asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            return
        pieces = self._pieces
        pieces += data
        if self._header is None:
            end = data.find(b"\n")
            if end < 0:
                return
            end += len(pieces) - len(data)
            self._header = json.loads(pieces[:end])
            del pieces[: end + 1]
        if len(pieces) == self._header["size"]:
            self._answer.set_result((self._header, bytes(pieces)))

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        self._fail("crash")

    async def end(self) -> None:
        self._transport.abort()
        self.process.kill()
        # A killed process is gone in no time.
        self.process.wait()


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
            "rdfa": options.rdfa,
            "agent": options.agent,
            "text": options.text,
        }
    )
