"""A worker as the crawl sees it: a child process, a socket to it, and a file of what it prints.

Batches of pages go to its standard input, a socket, and the answers come back on it, in order. Its output
goes to a file without a name, where stray prints do no harm. The end of that explains why a worker died.
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
import time
from collections import deque
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Self, cast

from rdfaspider.children import command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

logger = logging.getLogger(__name__)

# What a worker sends: its line of JSON, and the quads.
Answer = tuple[dict[str, Any], bytes]

# Seconds until a worker must be ready. It takes a fraction of one, but the machine may be overloaded.
_START_SECONDS = 60.0
# Seconds between two looks at the CPU time of a worker, at least.
_LEAST_WAIT = 0.05
# Bytes of output to read, and lines of it to show in an error message. If more than so many bytes were
# printed, they are dropped.
_TAIL = 4096
_SHOWN = 3
_MAX_OUTPUT = 1 << 20


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


class Job:
    """A page to read, and its answer or the reason why there is none."""

    __slots__ = ("answer", "body", "content_type", "has_struck", "url")

    def __init__(self, body: bytes, url: str, content_type: str) -> None:
        self.body = body
        self.url = url
        self.content_type = content_type
        self.has_struck = False  # whether it counts against its domain
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def finish(self, answer: Answer) -> None:
        if not self.answer.done():  # else its caller was cancelled
            self.answer.set_result(answer)

    def fail(self, reason: str) -> None:
        self.finish(({"failed": reason}, b""))


class WorkerProcess(asyncio.Protocol):
    """A child process, and the pages that it has to read, in order.

    Invariant: the first job is the next to be answered. A worker that fails gives all its jobs the reason,
    and reads nothing more. `on_change` is called after that, and when pages have been answered.

    asyncio's streams would wake a task for each line and each body; here a complete answer wakes its reader
    once.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        """Start the process; raise OSError if the system has no room for it."""
        self.jobs: deque[Job] = deque()
        self.size = 0  # bytes of the jobs
        self.is_lost = False
        self.on_change: Callable[[], None] = lambda: None
        self.last_words = ""  # the end of its output, when it has ended
        self.patience = 0.0  # seconds by the clock until the next answer must come
        self._seconds = 0.0  # of CPU time, the same
        self._heard = self._used = 0.0  # the clock and the CPU time at the last answer
        self._timer: asyncio.TimerHandle | None = None
        self._pieces = bytearray()
        self._header: dict[str, Any] | None = None
        self._transport: asyncio.Transport | None = None
        self._output = TemporaryFile()  # noqa: SIM115  # `end` closes it
        self._channel, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = subprocess.Popen(
                    command("rdfaspider.extract.worker", *arguments),
                    # Rust code that is out of memory may wait forever for the lock of its backtrace.
                    env={**os.environ, "RUST_BACKTRACE": "0"},
                    stdin=theirs.fileno(),
                    stdout=self._output,
                    stderr=self._output,
                )
            except OSError:
                self._channel.close()
                self._output.close()
                raise

    async def start(self, nicer: int) -> Self:
        """Return the worker when it is ready; raise OSError with the reason it gave.

        From then on its priority is lower than ours by so many steps. The first page waits for its start.
        """
        loop = asyncio.get_running_loop()
        ready = Job(b"", "", "")
        try:
            # It may be ready already, so its answer may come before the connection is returned.
            self._expect([ready], _START_SECONDS, _START_SECONDS)
            await loop.create_connection(lambda: self, sock=self._channel)
            header, _ = await ready.answer
        except BaseException:
            await self.end()
            raise
        if "failed" in header:
            await self.end()
            raise self._trouble(header["failed"])
        with contextlib.suppress(OSError):  # it has died, or its user has lowered it further
            priority = os.getpriority(os.PRIO_PROCESS, 0) + nicer
            os.setpriority(os.PRIO_PROCESS, self.process.pid, priority)
        return self

    def _trouble(self, reason: str) -> ChildProcessError:
        """Return the error that kept the worker from getting ready."""
        lines = self.last_words.split("\n")[-_SHOWN:]
        words = " / ".join(line.strip() for line in lines).rstrip(".") or "no message"
        if reason == "timeout":
            return ChildProcessError(f"not ready after {_START_SECONDS:.0f} s: {words}")
        code = self.process.returncode
        kind = WorkerKilled if code == -signal.SIGKILL else ChildProcessError
        return kind(f"{_status(code)}: {words}")

    @property
    def output(self) -> str:
        """The end of what the process has printed."""
        number = self._output.fileno()
        start = max(0, os.fstat(number).st_size - _TAIL)
        return os.pread(number, _TAIL, start).decode(errors="replace").strip()

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has used, or the time by the clock on other systems."""
        if sys.platform != "linux":
            return time.monotonic()
        try:
            # What clock_getcpuclockid(3) returns for a process.
            return time.clock_gettime(~self.process.pid << 3 | 2)
        except OSError:  # it has died
            return 0.0

    def read(self, jobs: Sequence[Job], seconds: float, patience: float) -> None:
        """Have pages read.

        The worker fails if the next answer does not come within `seconds` of its CPU time, as it may have to
        wait for a processor, or within `patience` by the clock.
        """
        if self.is_lost:
            for job in jobs:
                job.fail("crash")
            return
        assert self._transport is not None
        self._expect(jobs, seconds, patience)
        pages = [(job.url, job.content_type, len(job.body)) for job in jobs]
        bodies = [job.body for job in jobs]
        self._transport.write(b"".join((json.dumps(pages).encode(), b"\n", *bodies)))

    def _expect(self, jobs: Sequence[Job], seconds: float, patience: float) -> None:
        self._seconds, self.patience = seconds, patience
        if not self.jobs:
            self._hear()
            due = self._heard + min(seconds, patience)
            if self._timer is None or self._timer.when() > due:
                self._stop_timer()
                self._timer = asyncio.get_running_loop().call_at(due, self._check)
        self.jobs.extend(jobs)
        self.size += sum(len(job.body) for job in jobs)

    def _hear(self) -> None:
        """Note that it has said something, or begins now."""
        self._heard = asyncio.get_running_loop().time()
        self._used = self.cpu_seconds()

    def _check(self) -> None:
        """Fail if the page that is being read takes too long; else look again later.

        To look now and then costs less than a timer for each answer.
        """
        self._timer = None
        if os.fstat(self._output.fileno()).st_size > _MAX_OUTPUT:
            self._output.truncate(0)
        if not self.jobs:
            return
        loop = asyncio.get_running_loop()
        left = min(
            self._used + self._seconds - self.cpu_seconds(),
            self._heard + self.patience - loop.time(),
        )
        if left <= 0:
            self.fail("timeout")
        else:
            self._timer = loop.call_later(max(left, _LEAST_WAIT), self._check)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def fail(self, reason: str) -> None:
        """Give all pages this reason, and read nothing more."""
        self.is_lost = True
        self._stop_timer()
        while self.jobs:
            self.jobs.popleft().fail(reason)
        self.on_change()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop derives its transports from asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._pieces += data
        before = len(self.jobs)
        while self.jobs and (answer := self._next_answer()):
            job = self.jobs.popleft()
            self.size -= len(job.body)
            job.finish(answer)
        self._hear()
        if len(self.jobs) < before:
            self.on_change()

    def _next_answer(self) -> Answer | None:
        pieces = self._pieces
        if self._header is None:
            if (end := pieces.find(b"\n")) < 0:
                return None
            self._header = json.loads(pieces[:end])
            del pieces[: end + 1]
        header, size = self._header, self._header["size"]
        if len(pieces) < size:
            return None
        quads = bytes(memoryview(pieces)[:size])  # a slice would be one more copy
        del pieces[:size]
        self._header = None
        return header, quads

    def connection_lost(self, error: Exception | None) -> None:
        if not self.is_lost:
            self.fail("crash")

    async def end(self) -> None:
        """Kill the process unless it is dead already, and wait until it is gone."""
        self.on_change = lambda: None
        self.fail("busy")
        if self._transport is None:
            self._channel.close()
        else:
            self._transport.abort()
        has_died = self.process.poll() is not None
        self.process.kill()
        # In a thread: the system takes a while to free the gigabytes of a killed process.
        status = await asyncio.to_thread(self.process.wait)
        self.last_words = self.output
        self._output.close()
        if has_died or self.last_words:
            message = "Extraction worker %d ended (%s). %s"
            logger.debug(message, self.process.pid, _status(status), self.last_words)


def _status(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
