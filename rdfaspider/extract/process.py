"""A worker as the crawl sees it: a child process, the socket to it, and the last it wrote.

The child imports from where this process does, so it finds the same package in a checkout, in an
installation and in the egg that scrapyd runs. It talks through its standard input only, which is a
socket; whatever else is printed there by anybody goes to a pipe, of which the end is kept: what a
worker wrote before it died.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger(__name__)

# What a worker sends: its line of JSON, and the quads.
Answer = tuple[dict[str, Any], bytes]

# An egg is a folder to Python's imports.
_ROOT = str(Path(__file__).parents[2])
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
    "from rdfaspider.extract.worker import main; main(*sys.argv[2:])"
)

# Seconds that a worker may take to import everything: a fraction of one, unless the machine is overloaded.
_START_SECONDS = 60.0
# To copy a page of this size is cheaper than to write twice.
_SMALL = 64 * 1024
# Bytes kept of what a worker writes, and how many of its last lines are shown in a sentence.
_TAIL = 4096
_SHOWN = 3


class ExtractionFailed(Exception):
    """Says why a page could not be read: `timeout`, `memory`, `crash`, `error` or `busy`.

    error      the name of the exception that was raised, if one was, and its
    traceback
    strikes    how often pages of its domain have lately cost a worker
    """

    def __init__(self, reason: str, error: str = "", traceback: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error
        self.traceback = traceback
        self.strikes = 0


class WorkerKilled(ChildProcessError):
    """Says that somebody, or a system without memory, killed a worker before it was ready."""


class WorkerProcess(asyncio.Protocol):
    """One child process and the page that it reads.

    Streams would wake a task for the header, another for the rest, and start a timer each; here the
    answer wakes the one that waits for it when all of it is there.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.is_lost = False
        self._output = _Tail()
        # The first answer is that it is ready.
        self._answer: asyncio.Future[Answer] | None = asyncio.get_running_loop().create_future()
        self._pieces = bytearray()
        self._header: dict[str, Any] | None = None

    @classmethod
    async def start(cls, arguments: Sequence[str]) -> Self:
        """Return a worker that is ready, or raise OSError with what it said of its trouble."""
        ours, theirs = socket.socketpair()
        output, printed = os.pipe()
        path = json.dumps([*filter(_is_text, sys.path), _ROOT])
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, path, *arguments],
                stdin=theirs.fileno(),
                stdout=printed,
                stderr=printed,
            )
        except OSError:
            ours.close()
            os.close(output)
            raise
        finally:
            theirs.close()
            os.close(printed)
        worker = cls(process)
        await worker._connect(ours, output)
        return worker

    async def _connect(self, channel: socket.socket, output: int) -> None:
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: self._output, os.fdopen(output, "rb", 0))
        await loop.create_connection(lambda: self, sock=channel)
        try:
            await self._answered(_START_SECONDS)
        except BaseException as error:
            await self.end()
            if isinstance(error, ExtractionFailed):
                raise self._trouble(error.reason) from None
            raise

    def _trouble(self, reason: str) -> ChildProcessError:
        """Return what kept the worker from getting ready."""
        lines = self._output.text.split("\n")[-_SHOWN:]
        words = " / ".join(line.strip() for line in lines).rstrip(".") or "no message"
        if reason == "timeout":
            return ChildProcessError(f"not ready after {_START_SECONDS:.0f} s: {words}")
        code = self.process.returncode
        kind = WorkerKilled if code == -signal.SIGKILL else ChildProcessError
        return kind(f"{_status(code)}: {words}")

    async def ask(self, header: bytes, body: bytes, seconds: float) -> Answer:
        """Return the answer to a page, or raise ExtractionFailed if there is none within so long."""
        if self.is_lost:
            raise ExtractionFailed("crash")
        self._answer = asyncio.get_running_loop().create_future()
        if len(body) > _SMALL:
            self._transport.write(header)
            self._transport.write(body)
        else:
            self._transport.write(header + body)
        return await self._answered(seconds)

    async def _answered(self, seconds: float) -> Answer:
        assert self._answer is not None
        timer = asyncio.get_running_loop().call_later(seconds, self._fail, "timeout")
        try:
            return await self._answer
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
        """Kill the process, if it has not died, and wait until it is gone."""
        self._transport.abort()
        has_died = self.process.poll() is not None
        self.process.kill()
        # To give gigabytes back takes a while, even to one that is killed.
        status = await asyncio.to_thread(self.process.wait)
        await self._output.end()
        if has_died or self._output.text:
            message = "Extraction worker %d ended (%s). %s"
            logger.debug(message, self.process.pid, _status(status), self._output.text)


class _Tail(asyncio.Protocol):
    """Keeps the last of what is written to a pipe."""

    def __init__(self) -> None:
        self._kept = b""
        self._ended = asyncio.Event()

    @property
    def text(self) -> str:
        return self._kept.decode(errors="replace").strip()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-_TAIL:]

    def connection_lost(self, error: Exception | None) -> None:
        self._ended.set()

    async def end(self) -> None:
        """Read the rest, unless somebody else has the other end of the pipe and keeps it."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), 1.0)
        self._transport.close()


def _is_text(entry: object) -> bool:
    return isinstance(entry, str)


def _status(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
