"""Extraction in processes that get several pages at a time, for whoever has many to read at once.

A crawl gives a worker one page and waits. A replay has the next ones at hand: they are sent together, so
that a worker never waits for its next page. Where a worker dies or takes too long, the pages that it has not
answered are read by the pool, one by one, which finds out to which of them that is due.
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
    from rdfaspider.extract import Options
    from rdfaspider.extract.pool.process import Answer

# Pages, and bytes of them, that a worker gets at a time.
_PAGES = 16
_BYTES = 1 << 20
# Seconds that a worker may take for the next page of a batch, many times what one takes that means well.
_MOMENT = 2.0


class _Request(NamedTuple):
    body: bytes
    url: str
    content_type: str
    answer: asyncio.Future[Answer]

    def message(self) -> bytes:
        header = {"url": self.url, "content_type": self.content_type, "size": len(self.body)}
        return json.dumps(header).encode() + b"\n" + self.body


class _BatchProcess(WorkerProcess):
    """A worker that has several pages to read."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._unanswered: deque[_Request] = deque()
        self._ended: asyncio.Future[None] | None = None

    async def read(self, batch: list[_Request]) -> list[_Request]:
        """Have pages read; return those that it has failed to."""
        loop = asyncio.get_running_loop()
        self._unanswered.extend(batch)
        self._ended = loop.create_future()
        if self.is_lost:
            return self._give_up()
        self._timer = loop.call_later(_MOMENT, self._end_batch)
        self._transport.write(b"".join([request.message() for request in batch]))
        try:
            await self._ended
        finally:
            self._timer.cancel()
            self._ended = None
        return self._give_up()

    def _give_up(self) -> list[_Request]:
        left = [*self._unanswered]
        self._unanswered.clear()
        return left

    def _end_batch(self) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._ended is None:
            super().data_received(data)  # that it is ready
            return
        self._pieces += data
        while self._unanswered and (answer := self._next_answer()):
            request = self._unanswered.popleft()
            if not request.answer.done():
                request.answer.set_result(answer)
            self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(_MOMENT, self._end_batch)
        if not self._unanswered:
            self._end_batch()

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
        self._end_batch()


class Batches(Pool):
    """A pool whose processes get several pages at a time."""

    def __init__(
        self, processes: int, options: Options, *, timeout: float = 30.0, memory: int = 2048
    ) -> None:
        # One process for pages that have cost a worker.
        super().__init__(1, options, timeout=timeout, memory=memory)
        self._batch_arguments = (options_to_json(options), str(memory), str(timeout))
        self._processes = processes
        self._requests: deque[_Request] = deque()
        self._arrived = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Start the workers; the first one now, to find out if none can start."""
        first = None
        try:
            first = await _BatchProcess.start(self._batch_arguments)
        except OSError:
            await super().open()  # which tries more than once, and says why
        others = [None] * (self._processes - 1)
        self._workers = [asyncio.create_task(self._work(worker)) for worker in (first, *others)]

    async def extract(self, body: bytes, url: str, content_type: str) -> Extraction:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._requests.append(_Request(body, url, content_type, answer))
        self._arrived.set()
        header, quads = await answer
        if not header:  # nobody has answered
            return await super().extract(body, url, content_type)
        if "memory" in header:
            raise ExtractionFailed("memory")
        return Extraction.decode(header, quads)

    async def _work(self, worker: _BatchProcess | None) -> None:
        try:
            while True:
                if not (batch := self._next_batch()):
                    self._arrived.clear()
                    await self._arrived.wait()
                    continue
                left = batch
                try:
                    if worker is None or worker.is_lost:
                        worker = await _BatchProcess.start(self._batch_arguments)
                    left = await worker.read(batch)
                except OSError:  # the pool says why none can start
                    worker = None
                for request in left:
                    if not request.answer.done():
                        request.answer.set_result(({}, b""))
                if left and worker is not None:
                    await worker.end()
                    worker = None
        finally:
            if worker is not None:
                await worker.end()

    def _next_batch(self) -> list[_Request]:
        batch: list[_Request] = []
        size = 0
        while self._requests and len(batch) < _PAGES and size < _BYTES:
            batch.append(self._requests.popleft())
            size += len(batch[-1].body)
        return batch

    async def close(self) -> None:
        for task in self._workers:
            task.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        await super().close()
