"""Extraction in processes that get several pages at a time, for whoever has many to read at once.

A crawl gives a worker one page and waits. A replay has the next ones at hand: they are sent in batches, of
which a worker has two at a time, so that it never waits for its next page. Where a worker dies or takes too
long, the pages that it has not answered are read by the pool, one by one, which finds out to which of them
that is due.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from rdfaspider.extract import Extraction
from rdfaspider.extract.pool import Pool, options_to_json
from rdfaspider.extract.pool.process import ExtractionFailed, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfaspider.extract import Options
    from rdfaspider.extract.pool.process import Answer

# Batches that a worker has at a time: one that it reads, and the next one.
_AT_A_TIME = 2
# Seconds that a worker may be silent, many times what a batch takes that means well.
_MOMENT = 2.0


class Request(NamedTuple):
    """A page to be read."""

    body: bytes
    url: str
    content_type: str


class _Batch:
    """Pages, and the answers to the first of them; it is done when no more answers will come."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self.requests = requests
        self.answers: list[Answer] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def message(self) -> bytes:
        parts: list[bytes] = []
        last = len(self.requests) - 1
        for number, (body, url, content_type) in enumerate(self.requests):
            header = {"url": url, "content_type": content_type, "size": len(body)}
            if number < last:
                header["more"] = True
            parts += (json.dumps(header).encode(), b"\n", body)
        return b"".join(parts)

    def end(self) -> None:
        if not self.done.done():  # else whoever waited for it was cancelled
            self.done.set_result(None)


class _BatchProcess(WorkerProcess):
    """A worker that has several pages to read; `on_free` is called when it has room for more, or is lost."""

    on_free: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.batches: deque[_Batch] = deque()
        self._silence: asyncio.TimerHandle | None = None

    def read(self, batch: _Batch) -> None:
        """Have pages read."""
        self.batches.append(batch)
        self._transport.write(batch.message())
        if len(self.batches) == 1:
            self._wait()

    def _wait(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        if self.batches:
            loop = asyncio.get_running_loop()
            self._silence = loop.call_later(_MOMENT, self._give_up)

    def _give_up(self) -> None:
        """Answer nothing more."""
        self.is_lost = True
        while self.batches:
            self.batches.popleft().end()
        self._wait()
        self.on_free()

    def data_received(self, data: bytes) -> None:
        if not self.batches:
            super().data_received(data)  # that it is ready
            return
        self._pieces += data
        is_free = False
        while self.batches and (answer := self._next_answer()):
            batch = self.batches[0]
            batch.answers.append(answer)
            if len(batch.answers) == len(batch.requests):
                self.batches.popleft().end()
                is_free = True
        self._wait()
        if is_free:
            self.on_free()

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
        quads = bytes(pieces[:size])
        del pieces[:size]
        self._header = None
        return header, quads

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._give_up()


class Batches(Pool):
    """A pool whose processes get several pages at a time."""

    def __init__(
        self, processes: int, options: Options, *, timeout: float = 30.0, memory: int = 2048
    ) -> None:
        # One process for pages that have cost a worker.
        super().__init__(1, options, timeout=timeout, memory=memory)
        self._batch_arguments = (options_to_json(options), str(memory), str(timeout))
        self._processes = processes
        self._waiting: deque[_Batch] = deque()
        self._workers: list[_BatchProcess] = []
        self._starts: set[asyncio.Task[None]] = set()
        self._starting = 0

    async def open(self) -> None:
        """Start the workers; the first one now, to find out if none can start."""
        self._starting += 1
        await self._start_one()
        if not self._workers:
            await super().open()  # which tries more than once, and says why
        for _ in range(self._processes - 1):
            self._start_meanwhile()

    async def extract_all(self, requests: Sequence[Request]) -> list[Extraction | ExtractionFailed]:
        """Return what each page holds, or why it cannot be read."""
        batch = _Batch(requests)
        self._waiting.append(batch)
        self._hand_out()
        await batch.done
        found: list[Extraction | ExtractionFailed] = [*map(_decoded, batch.answers)]
        for request in requests[len(found) :]:
            try:
                found.append(await self.extract(*request))
            except ExtractionFailed as failure:
                found.append(failure)
        return found

    def _hand_out(self) -> None:
        """Give batches to the workers that have fewest."""
        for worker in [worker for worker in self._workers if worker.is_lost]:
            self._workers.remove(worker)
            self._end_meanwhile(worker)
        while self._waiting and self._workers:
            worker = min(self._workers, key=lambda worker: len(worker.batches))
            if len(worker.batches) >= _AT_A_TIME:
                break
            worker.read(self._waiting.popleft())
        while self._waiting and len(self._workers) + self._starting < self._processes:
            self._start_meanwhile()

    def _start_meanwhile(self) -> None:
        self._starting += 1
        task = asyncio.ensure_future(self._start_one())
        self._starts.add(task)
        task.add_done_callback(self._starts.discard)

    async def _start_one(self) -> None:
        try:
            worker = await _BatchProcess.start(self._batch_arguments)
            worker.on_free = self._hand_out
            self._workers.append(worker)
        except OSError:
            # If it was the only one, the pool reads the pages one by one, or says why none can start.
            while self._waiting and not self._workers and self._starting == 1:
                self._waiting.popleft().end()
        finally:
            self._starting -= 1
        self._hand_out()

    async def close(self) -> None:
        for task in self._starts:
            task.cancel()
        await asyncio.gather(*self._starts, return_exceptions=True)
        for worker in self._workers:
            worker.on_free = lambda: None
            await worker.end()
        await super().close()


def _decoded(answer: Answer) -> Extraction | ExtractionFailed:
    header, quads = answer
    return ExtractionFailed("memory") if "memory" in header else Extraction.decode(header, quads)
