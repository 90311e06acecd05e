"""Extraction in processes that get several pages at a time.

To hand over a page costs a third of reading it, if the worker sleeps before and the crawl is woken after each
one. So pages are sent in batches: those that came in the same turn of the loop, and those that came while all
workers had enough to do. A replay makes its own, larger ones. The next worker is woken only when those before
it have enough. More are started only while those that there are cannot keep up though they have a processor,
or at once when very much waits: to start one costs as much as some hundred pages, and on a machine that is
overloaded it would only wait like the others.

Where a worker dies or takes too long, the pages that it has not answered are read by the pool, one by one,
which finds out to which of them that is due. Large pages and those of suspects are never in a batch.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from rdfaspider.extract import Extraction
from rdfaspider.extract.pool import LARGE, MOMENT, Pool, options_to_json
from rdfaspider.extract.pool.batch import Batch, BatchProcess, Request
from rdfaspider.extract.pool.process import ExtractionFailed, launch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfaspider.extract import Options
    from rdfaspider.extract.pool.process import Answer, Launched

# Pages and bytes of a batch that is made of single pages.
_PAGES = 16
_BYTES = 256 * 1024
# Seconds for which pages must have waited all the time before more workers are started.
_BEHIND = 0.25
# The share of that time for which the workers must have had a processor.
_BUSY = 0.75
# Bytes for which a worker needs about `_BEHIND`: if more wait for each, more workers are started at once. In
# a crawl of pages of usual size less waits, even of very many at a time.
_MUCH = 8 << 20
# Bytes that may wait before fewer pages should come. Suspects, and pages too large for a batch, wait
# elsewhere, so a few bad ones do not count.
_ENOUGH = 4 << 20


class Batches(Pool):
    """A pool whose processes get several pages at a time.

    Up to `alone` more read pages that have no batch; with two, those that take long leave one to the others.
    """

    def __init__(
        self,
        processes: int,
        options: Options,
        *,
        alone: int = 2,
        timeout: float = 30.0,
        memory: int = 2048,
        on_crash: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(alone, options, timeout=timeout, memory=memory, on_crash=on_crash)
        self._batch_arguments = (options_to_json(options), str(memory), str(timeout))
        self._processes = processes
        self._waiting: deque[Batch] = deque()
        # Single pages, with who waits for them.
        self._single: deque[tuple[Request, asyncio.Future[Answer | None]]] = deque()
        self._single_size = 0  # bytes
        self._is_called = False
        self._workers: list[BatchProcess] = []
        # A process that was started before the pool was opened.
        self._launched: Launched | None = None
        self._starts: set[asyncio.Task[None]] = set()
        self._starting = 0
        # Whether the last worker could not start: then the next one is not tried at once.
        self._has_failed = False
        # When to look whether the workers keep up; until then, whether nothing has waited at some moment.
        self._look: asyncio.TimerHandle | None = None
        self._keeps_up = False
        # The CPU time of each worker when that was decided.
        self._used: list[tuple[BatchProcess, float]] = []

    def launch(self) -> None:
        """Have the first worker get ready while the crawl opens everything else."""
        with suppress(OSError):  # `open` tries again, and says why
            self._launched = launch(self._batch_arguments)

    async def open(self) -> None:
        """Start the first worker, to find out if none can start; the others start when they are needed."""
        self._starting += 1
        await self._start_one()
        if not self._workers:
            await super().open()  # which tries more than once, and says why

    async def extract(self, body: bytes, url: str, content_type: str) -> Extraction:
        """Return the result of `extract`, or raise ExtractionFailed or WorkersUnavailable."""
        if len(body) >= LARGE or url in self._suspects:
            return await super().extract(body, url, content_type)
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer | None] = loop.create_future()
        self._single.append((Request(body, url, content_type), answered))
        self._single_size += len(body)
        if not self._is_called:  # others may come in this turn of the loop
            self._is_called = True
            loop.call_soon(self._hand_out)
        answer = await answered
        if answer is None or "memory" in answer[0]:
            return await super().extract(body, url, content_type)
        if self._suspects:
            self._suspects.forgive(url)
        return Extraction.decode(*answer)

    def is_behind(self) -> bool:
        """Tell whether more waits than the workers need to stay busy."""
        return self._single_size > _ENOUGH

    def hurry(self) -> None:
        super().hurry()
        for worker in self._workers:
            worker.patience = MOMENT

    async def extract_all(self, requests: Sequence[Request]) -> list[Extraction | ExtractionFailed]:
        """Return what each page holds, or why it cannot be read."""
        batch = Batch(requests)
        self._waiting.append(batch)
        self._hand_out()
        await batch.done
        found: list[Extraction | ExtractionFailed] = [*map(_decoded, batch.answers)]
        for request in requests[len(found) :]:
            try:
                found.append(await super().extract(*request))
            except ExtractionFailed as failure:
                found.append(failure)
        return found

    def _hand_out(self) -> None:
        """Give pages to the first worker that has room."""
        self._is_called = False
        for worker in [worker for worker in self._workers if worker.is_lost]:
            self._workers.remove(worker)
            self._end_meanwhile(worker)
        for worker in self._workers:
            while worker.has_room and (batch := self._next_batch()) is not None:
                worker.read(batch)
        if not self._waiting and not self._single:
            self._keeps_up = True
        elif not self._workers and not self._starting:
            self._start_meanwhile()
        elif self._starting or len(self._workers) >= self._processes:
            pass
        elif self._single_size > _MUCH * len(self._workers) and not self._has_failed:
            self._start_more()
        elif self._look is None:
            loop = asyncio.get_running_loop()
            self._keeps_up = False
            self._used = [(worker, worker.cpu_seconds()) for worker in self._workers]
            self._look = loop.call_later(_BEHIND, self._look_behind, loop.time())

    def _look_behind(self, since: float) -> None:
        """Start more workers if those that there are have not kept up, and not for want of a processor."""
        self._look = None
        # More than was asked for, if the loop is busy.
        passed = asyncio.get_running_loop().time() - since
        used = sum(worker.cpu_seconds() - before for worker, before in self._used)
        # Where CPU time cannot be told, the difference is no number, and not less than anything.
        if not self._keeps_up and not used < _BUSY * passed * len(self._used):
            self._start_more()
        self._hand_out()

    def _start_more(self) -> None:
        """Start as many workers as there are."""
        if self._look is not None:  # they must have started before anything can be told
            self._look.cancel()
            self._look = None
        there = len(self._workers) + self._starting
        for _ in range(min(max(1, there), self._processes - there)):
            self._start_meanwhile()

    def _next_batch(self) -> Batch | None:
        if self._waiting:
            return self._waiting.popleft()
        requests: list[Request] = []
        waiting: list[asyncio.Future[Answer | None]] = []
        size = 0
        while self._single and len(requests) < _PAGES and size < _BYTES:
            request, answered = self._single.popleft()
            self._single_size -= len(request.body)
            if not answered.done():  # else who waited was cancelled
                requests.append(request)
                waiting.append(answered)
                size += len(request.body)
        return Batch(requests, waiting) if requests else None

    def _start_meanwhile(self) -> None:
        self._starting += 1
        task = asyncio.ensure_future(self._start_one())
        self._starts.add(task)
        task.add_done_callback(self._starts.discard)

    async def _start_one(self) -> None:
        try:
            launched, self._launched = self._launched, None
            worker = await BatchProcess.start(launched or launch(self._batch_arguments))
            worker.on_free, worker.on_death = self._hand_out, self._lost
            self._workers.append(worker)
            self._has_failed = False
        except OSError:
            self._has_failed = True
            # If there is no other, the pool reads the pages one by one, or says why none can start.
            while not self._workers and (batch := self._next_batch()) is not None:
                batch.end()
        finally:
            self._starting -= 1
        self._hand_out()

    def _lost(self, pages: int) -> None:
        for _ in range(pages):
            self._on_crash()

    async def close(self) -> None:
        for worker in self._workers:  # or one of them would let others be started meanwhile
            worker.on_free = lambda: None
        if self._look is not None:
            self._look.cancel()
        for task in self._starts:
            task.cancel()
        await asyncio.gather(*self._starts, return_exceptions=True)
        for worker in self._workers:
            await worker.end()
        if self._launched is not None:  # it was never opened
            self._launched.end()
            self._launched = None
        await super().close()


def _decoded(answer: Answer) -> Extraction | ExtractionFailed:
    header, quads = answer
    return ExtractionFailed("memory") if "memory" in header else Extraction.decode(header, quads)
