"""A worker as the crawl sees it: a child process, a socket to it, and the end of its output.

The child reads pages from its standard input, a socket, and answers on the same socket. Its standard output
and error go to another, where stray prints do no harm; the last few kilobytes are kept to explain why a
worker died.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from rdfaspider.children import command

if TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger(__name__)

# What a worker sends: its line of JSON, and the quads.
Answer = tuple[dict[str, Any], bytes]

# Seconds until a worker must be ready. It takes a fraction of one, but the machine may be overloaded.
_START_SECONDS = 60.0
# How much nicer than the crawl a worker is, and one for slow pages. Where they compete, a worker gets a third
# of the crawl's processor time, for the crawl also loads the store and must not fall behind; one for slow
# pages gets a third of that.
_NICE = 5
_LOWERED = 10
# Below this size copying a page is cheaper than writing twice.
_SMALL = 64 * 1024
# Seconds between two looks at the CPU time of a worker, at least.
_LEAST_WAIT = 0.05
# Bytes of output to keep for each worker, and lines of it to show in an error message.
_TAIL = 4096
_SHOWN = 3
# The last words of compiled modules for which there is no memory.
_OUT_OF_MEMORY = "fatal: out of memory"


class ExtractionFailed(Exception):
    """A page could not be read; `reason` is timeout, memory, crash or busy.

    `strikes` counts the latest pages of the same domain that took down a worker.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.strikes = 0


class WorkerKilled(ChildProcessError):
    """A worker was killed before it was ready, by a user or by a system out of memory."""


class Launched(NamedTuple):
    """A process that gets ready to be a worker, our end of its socket, and of the one that it prints to.

    If it is dropped, both are closed, and the process ends by itself.
    """

    process: subprocess.Popen[bytes]
    channel: socket.socket
    output: socket.socket

    def end(self) -> None:
        """Kill a process that nobody waits for."""
        self.process.kill()
        self.process.wait()
        self.channel.close()
        self.output.close()


def launch(arguments: Sequence[str]) -> Launched:
    """Start the process of a worker; raise OSError if the system has no room for it."""
    ours, theirs = socket.socketpair()
    # No pipe: uvloop closes its number twice, and in between a file of the store may have got that number.
    output, printed = socket.socketpair()
    try:
        process = subprocess.Popen(
            command("rdfaspider.extract.worker", *arguments),
            # Rust code that is out of memory may wait forever for the lock of its backtrace.
            env={**os.environ, "RUST_BACKTRACE": "0"},
            stdin=theirs.fileno(),
            stdout=printed.fileno(),
            stderr=printed.fileno(),
        )
    except OSError:
        ours.close()
        output.close()
        raise
    finally:
        theirs.close()
        printed.close()
    return Launched(process, ours, output)


class WorkerProcess(asyncio.Protocol):
    """One child process and the page that it reads.

    asyncio's streams would wake a task for the header and another for the rest, each with a timer; here
    the complete answer wakes its reader once.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.is_lost = False
        self._output = _Tail()
        # The first answer says that it is ready.
        self._answer: asyncio.Future[Answer] | None = asyncio.get_running_loop().create_future()
        self._pieces = bytearray()
        self._header: dict[str, Any] | None = None

    @classmethod
    async def start(cls, launched: Launched) -> Self:
        """Return a worker when it is ready, or raise OSError with the reason it gave."""
        worker = cls(launched.process)
        await worker._connect(launched.channel, launched.output)
        worker._be_nicer(_NICE)  # only now: the first page waits for its start
        return worker

    async def _connect(self, channel: socket.socket, output: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self._output, sock=output)
        await loop.create_connection(lambda: self, sock=channel)
        try:
            await self._answered(_START_SECONDS)
        except BaseException as error:
            await self.end()
            if isinstance(error, ExtractionFailed):
                raise self._trouble(error.reason) from None
            raise

    def _trouble(self, reason: str) -> ChildProcessError:
        """Return the error that kept the worker from getting ready."""
        lines = self._output.text.split("\n")[-_SHOWN:]
        words = " / ".join(line.strip() for line in lines).rstrip(".") or "no message"
        if reason == "timeout":
            return ChildProcessError(f"not ready after {_START_SECONDS:.0f} s: {words}")
        code = self.process.returncode
        kind = WorkerKilled if code == -signal.SIGKILL else ChildProcessError
        return kind(f"{_status(code)}: {words}")

    @property
    def lacked_memory(self) -> bool:
        """Return whether that is what it died of, so far as it could say so."""
        return _OUT_OF_MEMORY in self._output.text

    def lower(self) -> None:
        """Give the process a lower priority than other workers have; it can still be killed in time."""
        self._be_nicer(_LOWERED)

    def _be_nicer(self, steps: int) -> None:
        """Give the process a priority so much lower than ours."""
        lowered = os.getpriority(os.PRIO_PROCESS, 0) + steps
        with contextlib.suppress(OSError):  # it has died, or its user has lowered it further
            os.setpriority(os.PRIO_PROCESS, self.process.pid, lowered)

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has used; infinity where that cannot be told."""
        if sys.platform != "linux":
            return math.inf
        try:
            # What clock_getcpuclockid(3) returns for a process.
            return time.clock_gettime(~self.process.pid << 3 | 2)
        except OSError:  # it has died
            return math.inf

    async def ask(
        self, header: bytes, body: bytes, seconds: float, longest: float | None = None
    ) -> Answer:
        """Return the answer to a page; raise ExtractionFailed if none comes in time.

        That is `seconds` of the process, which may have to wait for a processor, and `longest` by the clock.
        """
        if self.is_lost:
            raise ExtractionFailed("crash")
        self._answer = asyncio.get_running_loop().create_future()
        if len(body) > _SMALL:
            self._transport.write(header)
            self._transport.write(body)
        else:
            self._transport.write(header + body)
        return await self._answered(seconds, longest)

    def put_off(self) -> None:
        """Give up the page that it reads; `ask` then raises ExtractionFailed with the reason busy."""
        self._fail("busy")

    async def _answered(self, seconds: float, longest: float | None = None) -> Answer:
        assert self._answer is not None
        loop = asyncio.get_running_loop()
        used = self.cpu_seconds()
        if longest is not None and longest > seconds and used < math.inf:
            deadline = loop.time() + longest
            enough = used + seconds
            # The clock first, since it costs less to ask.
            self._timer = loop.call_later(seconds, self._check, enough, deadline)
        else:
            self._timer = loop.call_later(seconds, self._fail, "timeout")
        try:
            return await self._answer
        finally:
            self._timer.cancel()
            self._answer = self._header = None
            self._pieces.clear()

    def _check(self, enough: float, deadline: float) -> None:
        """Give up the page if the process has had its CPU time, or when the deadline has come."""
        loop = asyncio.get_running_loop()
        missing = min(enough - self.cpu_seconds(), deadline - loop.time())
        if missing <= 0:
            self._fail("timeout")
        else:
            self._timer = loop.call_later(max(missing, _LEAST_WAIT), self._check, enough, deadline)

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
        """Kill the process unless it is dead already, and wait until it is gone."""
        self._transport.abort()
        has_died = self.process.poll() is not None
        self.process.kill()
        # In a thread: the system takes a while to free the gigabytes of a killed process.
        status = await asyncio.to_thread(self.process.wait)
        await self._output.end()
        if has_died or self._output.text:
            message = "Extraction worker %d ended (%s). %s"
            logger.debug(message, self.process.pid, _status(status), self._output.text)


class _Tail(asyncio.Protocol):
    """Keeps the end of what a worker prints."""

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
        """Read to the end, but do not wait for other processes that hold the socket open."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), 1.0)
        self._transport.close()


def _status(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
