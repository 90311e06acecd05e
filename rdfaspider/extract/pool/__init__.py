"""Extraction in other processes, where a page can neither block nor crash the crawl.

Each worker is a child process that reads pages from a socket and answers on it, in order. A page that is sent
by itself costs a third more, because the worker sleeps before it and the crawl is woken after it. So pages
that come in the same turn of the loop, or while all workers have enough to do, are sent together. The next
worker is woken only when those before it have enough. More are started only while these cannot keep up though
they have a processor, or when very much waits: to start one costs as much as some hundred pages, and on an
overloaded machine it would only wait like the others.

When a worker dies or takes too long, the pages that it has not answered are read again, each alone, by
workers of lower priority. There a page that takes too long, or needs too much memory, fails; its worker is
replaced. A worker that dies may have been killed by a user or by the system, so its page is read once more by
a new one. If that dies too, the page fails. When workers cannot start, no page is to blame: that raises
WorkersUnavailable.

How long a page takes cannot be known in advance. So each is tried for a moment. One that is not done by then
is a suspect, as are other pages of its domain. Suspects are read one at a time. They and large pages, which
are never sent with others, leave one place to pages that have lost their worker. The moment is CPU time of
the worker: on an overloaded machine no page is to blame for what others do.

Only bytes travel: a line of JSON with the sizes, then the bodies one way and the quads as N-Quads the other.
Nothing that comes back is executed.

process    a worker as the crawl sees it
suspects   domains whose pages have taken down a worker

What runs in the child process is ``rdfaspider.extract.worker``, which imports nothing from here.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import nullcontext, suppress
from dataclasses import asdict, replace
from itertools import count
from typing import TYPE_CHECKING

from rdfaspider.children import ChildrenUnavailable
from rdfaspider.extract import Extraction
from rdfaspider.extract.pool.process import ExtractionFailed, Job, WorkerKilled, WorkerProcess
from rdfaspider.extract.pool.suspects import Suspects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfaspider.extract import Options
    from rdfaspider.extract.pool.process import Answer

__all__ = ["ExtractionFailed", "Pool", "WorkersUnavailable", "options_to_json"]

# Attempts to start a worker: the last one if it fails, and if it is killed. The pause before the next attempt
# grows by this many seconds each time.
_MAX_FAILURES = 3
_MAX_KILLS = 20
_PAUSE_S = 0.05
# How much nicer than the crawl a worker is, and one that reads pages alone. Where they compete, a worker gets
# a third of the crawl's processor time, for the crawl also loads the store and must not fall behind; one that
# reads pages alone gets a third of that.
_NICE = 5
_NICE_ALONE = 10
# Pages and bytes that are sent together; a worker that has fewer bytes left gets more.
_BATCH_PAGES = 16
_BATCH_BYTES = 256 * 1024
# A page with more bytes is large: small pages should not have to wait for many of them.
LARGE = 1_000_000
# Seconds that a page is tried for, and more for each megabyte: far more than honest pages take.
MOMENT = 0.5
PER_MEGABYTE = 2.0
# Seconds by the clock for which a worker that reads several pages may be silent.
_SILENCE_S = 3.0
# How many times as long a page that is read alone may take by the clock, since its worker may have to wait
# for a processor: when it is tried, and when it is read within the time limit.
_STRETCHED = 10
_PATIENCE = 3
# Seconds for which pages must have waited all the time before more workers are started.
_BEHIND_S = 0.25
# The share of that time for which the workers must have had a processor, unless more bytes than this wait for
# each. In a crawl of pages of usual size less waits, even of very many at a time.
_BUSY = 0.75
_MUCH = 8 << 20
# Bytes that may wait before fewer pages should come. Suspects and large pages wait elsewhere, so a few bad
# ones do not count.
_ENOUGH = 4 << 20


class WorkersUnavailable(ChildrenUnavailable):
    """No worker can be started; the message says why."""

    finish_reason = "extract_error"


class Pool:
    """Runs `extract` with the same options for all pages, in a limited number of processes.

    processes  workers that read several pages at a time; half as many more, at least two, read single pages
    timeout    seconds of CPU time that a page may take
    memory     megabytes that a worker may use
    on_crash   called when a worker has died and a page is read again
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
        self._processes = processes
        self._timeout = timeout
        self._on_crash = on_crash
        # Pages that wait for a worker, and their bytes.
        self._waiting: deque[Job] = deque()
        self._size = 0
        self._is_called = False
        self._workers: list[WorkerProcess] = []
        # A process that was started before the pool was opened.
        self._launched: WorkerProcess | None = None
        self._starts: set[asyncio.Task[None]] = set()
        # When to look whether the workers keep up; nothing has stopped waiting since that was decided.
        self._look: asyncio.TimerHandle | None = None
        # Workers that read one page at a time: those that have none, and the others.
        self._idle: list[WorkerProcess] = []
        self._reading: set[WorkerProcess] = set()
        # Their places. One is kept for pages that are neither large nor suspects.
        places = max(2, processes // 2)
        self._places = asyncio.Semaphore(places)
        self._long_places = asyncio.Semaphore(places - 1)
        self._suspects = Suspects()
        self._ending: set[asyncio.Future[None]] = set()
        self._is_in_a_hurry = False
        self._is_closed = False
        self._trouble = ""

    def launch(self) -> None:
        """Have the first worker get ready while the crawl opens everything else."""
        with suppress(OSError):  # `open` tries again, and says why
            self._launched = WorkerProcess(self._arguments)

    async def open(self) -> None:
        """Start the first worker, to find out if none can start; the others start when they are needed."""
        await self._add_worker()
        if not self._workers:
            self._idle.append(await self._start())  # which tries more than once, and says why

    async def extract(self, body: bytes, url: str, content_type: str) -> Extraction:
        """Return the result of `extract`, or raise ExtractionFailed or WorkersUnavailable."""
        return await self._extraction(self._put(body, url, content_type))

    async def extract_all(
        self, pages: Sequence[tuple[bytes, str, str]]
    ) -> list[Extraction | ExtractionFailed]:
        """Return what each page holds, or why it cannot be read."""
        found: list[Extraction | ExtractionFailed] = []
        for job in [self._put(*page) for page in pages]:
            try:
                found.append(await self._extraction(job))
            except ExtractionFailed as failure:
                found.append(failure)
        return found

    def is_behind(self) -> bool:
        """Return whether more waits than the workers need to stay busy."""
        return self._size > _ENOUGH

    def hurry(self) -> None:
        """Give up pages that take long, because the crawl ends; others are still read."""
        self._is_in_a_hurry = True
        self._suspects.close()
        for worker in self._workers:
            worker.patience = MOMENT
        for worker in self._reading:
            worker.fail("busy")

    async def close(self) -> None:
        """Fail what is not read yet, and end all workers."""
        self._is_closed = True
        self.hurry()
        while batch := self._next_batch():
            for job in batch:
                job.fail("busy")
        if self._look is not None:
            self._look.cancel()
        for task in self._starts:
            task.cancel()
        await asyncio.gather(*self._starts, return_exceptions=True)
        if self._launched is not None:  # it was never opened
            self._workers.append(self._launched)
            self._launched = None
        for workers in (self._workers, self._idle):
            while workers:
                await workers.pop().end()
        await asyncio.gather(*self._ending)

    def _put(self, body: bytes, url: str, content_type: str) -> Job:
        """Have a page read together with others, unless it must be read alone."""
        job = Job(body, url, content_type)
        if self._is_closed:
            job.fail("busy")
            return job
        if len(body) >= LARGE or url in self._suspects:
            job.fail("alone")
            return job
        self._waiting.append(job)
        self._size += len(body)
        if not self._is_called:  # others may come in this turn of the loop
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._hand_out)
        return job

    async def _extraction(self, job: Job) -> Extraction:
        answer = await job.answer
        if reason := answer[0].get("failed"):
            if reason == "busy":
                raise ExtractionFailed("busy")
            if reason == "crash":
                self._on_crash()
            answer = await self._read_alone(job)
        self._suspects.forgive(job.url)
        return Extraction.decode(*answer)

    def _hand_out(self) -> None:
        """Give pages to the first worker that has room, and see whether there are enough workers."""
        self._is_called = False
        for worker in [worker for worker in self._workers if worker.is_lost]:
            self._workers.remove(worker)
            ending = asyncio.ensure_future(worker.end())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        patience = MOMENT if self._is_in_a_hurry else _SILENCE_S
        for worker in self._workers:
            while worker.size < _BATCH_BYTES and (batch := self._next_batch()):
                size = worker.size + sum(len(job.body) for job in batch)
                worker.read(batch, _moment(size), patience)
        if not self._waiting:
            if self._look is not None:
                self._look.cancel()
                self._look = None
        elif self._starts:
            pass
        elif not self._workers:
            self._add_worker()
        elif self._look is None and len(self._workers) < self._processes:
            loop = asyncio.get_running_loop()
            used = [(worker, worker.cpu_seconds()) for worker in self._workers]
            self._look = loop.call_later(_BEHIND_S, self._look_behind, loop.time(), used)

    def _next_batch(self) -> list[Job]:
        batch: list[Job] = []
        size = 0
        while self._waiting and len(batch) < _BATCH_PAGES and size < _BATCH_BYTES:
            job = self._waiting.popleft()
            self._size -= len(job.body)
            if not job.answer.done():  # else its caller was cancelled
                batch.append(job)
                size += len(job.body)
        return batch

    def _look_behind(self, since: float, used_before: list[tuple[WorkerProcess, float]]) -> None:
        """Start as many workers as there are if they have not kept up, and not for want of a processor."""
        self._look = None
        # More than was asked for, if the loop is busy.
        passed = asyncio.get_running_loop().time() - since
        used = sum(worker.cpu_seconds() - before for worker, before in used_before)
        there = len(self._workers)
        if used >= _BUSY * passed * len(used_before) or self._size > _MUCH * there:
            for _ in range(min(there, self._processes - there)):
                self._add_worker()
        self._hand_out()

    def _add_worker(self) -> asyncio.Task[None]:
        task = asyncio.ensure_future(self._start_one())
        self._starts.add(task)
        task.add_done_callback(self._has_started)
        return task

    def _has_started(self, task: asyncio.Task[None]) -> None:
        self._starts.discard(task)
        if not task.cancelled():
            self._hand_out()

    async def _start_one(self) -> None:
        try:
            launched, self._launched = self._launched, None
            worker = await (launched or WorkerProcess(self._arguments)).start(_NICE)
        except OSError:
            # If there is no other, pages are read one by one, by workers that are tried more than once.
            while not self._workers and (batch := self._next_batch()):
                for job in batch:
                    job.fail("alone")
        else:
            worker.on_change = self._hand_out
            self._workers.append(worker)

    async def _read_alone(self, job: Job) -> Answer:
        """Return the answer to a page: within a moment, or when its turn as a suspect has come."""
        try:
            if job.url not in self._suspects and (answer := await self._try(job)) is not None:
                return answer
            async with self._suspects.turn(len(job.body)), self._long_places, self._places:
                return await self._ask(job, self._timeout, _PATIENCE * self._timeout)
        except ExtractionFailed as failure:
            if failure.reason != "busy":
                self._strike(job)
            failure.strikes = self._suspects.strikes(job.url)
            raise

    async def _try(self, job: Job) -> Answer | None:
        """Return the answer if it comes within a moment, None if the page is a suspect."""
        is_large = len(job.body) >= LARGE
        seconds = min(self._timeout, _moment(len(job.body)))
        stretched = seconds if self._is_in_a_hurry else _STRETCHED * seconds
        async with self._long_places if is_large else nullcontext(), self._places:
            if job.url in self._suspects:
                return None  # its domain became one while the page waited
            if self._is_in_a_hurry and is_large:
                raise ExtractionFailed("busy")
            try:
                return await self._ask(job, seconds, min(self._timeout, stretched))
            except ExtractionFailed as failure:
                if failure.reason != "timeout" or seconds == self._timeout:
                    raise
        self._strike(job)
        return None

    def _strike(self, job: Job) -> None:
        """Count a page that took down a worker, once."""
        if not job.has_struck:
            job.has_struck = True
            self._suspects.strike(job.url)

    async def _ask(
        self, job: Job, seconds: float, patience: float, *, is_retry: bool = False
    ) -> Answer:
        """Have a page read by a worker that has no other; once more by a new one if that dies.

        A worker that fails, or whose caller is cancelled, is ended.
        """
        worker = await (self._start() if is_retry else self._idle_worker())
        if self._is_closed:
            await worker.end()
            raise ExtractionFailed("busy")
        job.answer = asyncio.get_running_loop().create_future()
        self._reading.add(worker)
        reason = "cancelled"
        try:
            worker.read([job], seconds, patience)
            answer = await job.answer
            reason = answer[0].get("failed", "")
        finally:
            self._reading.discard(worker)
            if reason or self._is_closed:
                await worker.end()
        if not reason:
            if not self._is_closed:
                self._idle.append(worker)
            return answer
        if reason != "crash" or is_retry:
            raise ExtractionFailed(reason)
        self._on_crash()
        return await self._ask(job, seconds, patience, is_retry=True)

    async def _idle_worker(self) -> WorkerProcess:
        """Return an idle worker that is alive, or a new one."""
        while self._idle:
            worker = self._idle.pop()
            if not worker.is_lost:
                return worker
            await worker.end()
        return await self._start()

    async def _start(self) -> WorkerProcess:
        """Return a new worker that reads pages alone."""
        for attempt in count(1):
            if self._trouble:  # of all pages that are being read
                break
            try:
                return await WorkerProcess(self._arguments).start(_NICE_ALONE)
            except OSError as error:
                if attempt >= (_MAX_KILLS if isinstance(error, WorkerKilled) else _MAX_FAILURES):
                    self._trouble = str(error)
            await asyncio.sleep(_PAUSE_S * attempt)
        raise WorkersUnavailable(f"No process can be started to read pages ({self._trouble}).")


def _moment(size: int) -> float:
    """Return the seconds of CPU time after which pages with so many bytes are suspect."""
    return MOMENT + PER_MEGABYTE * size / 1e6


def options_to_json(options: Options) -> str:
    """Return the options as JSON for a worker; of vocabularies only whether there are any."""
    given = asdict(replace(options, vocabularies={}))
    given |= {"formats": sorted(options.formats), "vocabularies": bool(options.vocabularies)}
    return json.dumps(given)
