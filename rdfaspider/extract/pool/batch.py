"""Several pages, and a worker that reads them.

It has two batches at a time, or more small ones, so that it does not wait for its next page.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from rdfaspider.extract.pool import MOMENT, PER_MEGABYTE
from rdfaspider.extract.pool.process import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfaspider.extract.pool.process import Answer

# Batches that a worker has at a time: one that it reads, and the next one. It may have more with this many
# bytes in all, some pages of usual size.
_AT_A_TIME = 2
_FEW_BYTES = 64 * 1024
# Seconds by the clock that a worker may be silent. The CPU time that it may use meanwhile is that of a page.
_SILENCE = 3.0


class Request(NamedTuple):
    """A page to be read."""

    body: bytes
    url: str
    content_type: str


class Batch:
    """Pages, and the answers to the first of them; it is done when no more answers will come.

    Who waits for a single page of it gets its answer at once, or None if there will be none.
    """

    def __init__(
        self, requests: Sequence[Request], waiting: Sequence[asyncio.Future[Answer | None]] = ()
    ) -> None:
        self.requests = requests
        self.size = sum(len(request.body) for request in requests)
        self.answers: list[Answer] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting = waiting

    def message(self) -> bytes:
        """Return what a worker reads (`rdfaspider/extract/worker.py`)."""
        parts: list[bytes] = []
        last = len(self.requests) - 1
        for number, (body, url, content_type) in enumerate(self.requests):
            header = {"url": url, "content_type": content_type, "size": len(body)}
            if number < last:
                header["more"] = True
            parts += (json.dumps(header).encode(), b"\n", body)
        return b"".join(parts)

    def answer(self, answer: Answer) -> None:
        if self._waiting:
            _give(self._waiting[len(self.answers)], answer)
        self.answers.append(answer)

    def end(self) -> None:
        _give(self.done, None)
        for each in self._waiting[len(self.answers) :]:
            _give(each, None)


def _give(waiting: asyncio.Future[Any], result: Any) -> None:
    if not waiting.done():  # else whoever waited was cancelled
        waiting.set_result(result)


class BatchProcess(WorkerProcess):
    """A worker that has several pages to read.

    `on_free` is called when it has room for more, or is lost. If it dies, `on_death` is called before, with
    the number of pages that it leaves unread.
    """

    on_free: Callable[[], None] = staticmethod(lambda: None)
    on_death: Callable[[int], None] = staticmethod(lambda pages: None)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.batches: deque[Batch] = deque()
        self.size = 0  # bytes of the batches
        self.patience = _SILENCE
        self._silence: asyncio.TimerHandle | None = None
        self._heard = self._used = 0.0

    @property
    def has_room(self) -> bool:
        return len(self.batches) < _AT_A_TIME or self.size < _FEW_BYTES

    def read(self, batch: Batch) -> None:
        """Have pages read."""
        self.batches.append(batch)
        self.size += batch.size
        self._transport.write(batch.message())
        if len(self.batches) == 1:
            self._hear()

    def _hear(self) -> None:
        """Note that it has said something, or begins now."""
        self._heard = asyncio.get_running_loop().time()
        self._used = self.cpu_seconds()
        if self.batches and self._silence is None:
            self._silence = asyncio.get_running_loop().call_later(MOMENT, self._check_silence)

    def _check_silence(self) -> None:
        """Look now and then, which costs less than a timer for each answer."""
        self._silence = None
        if not self.batches:
            return
        loop = asyncio.get_running_loop()
        most = MOMENT + PER_MEGABYTE * self.batches[0].size / 1e6
        if self.cpu_seconds() - self._used >= most or loop.time() - self._heard >= self.patience:
            self._give_up()
        else:
            self._silence = loop.call_later(MOMENT / 2, self._check_silence)

    def _give_up(self) -> None:
        """Answer nothing more."""
        self.is_lost = True
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        while self.batches:
            self.batches.popleft().end()
        self.on_free()

    def data_received(self, data: bytes) -> None:
        if not self.batches:
            super().data_received(data)  # that it is ready
            return
        self._pieces += data
        is_free = False
        while self.batches and (answer := self._next_answer()):
            batch = self.batches[0]
            batch.answer(answer)
            if len(batch.answers) == len(batch.requests):
                self.batches.popleft().end()
                self.size -= batch.size
                is_free = True
        self._hear()
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
        quads = bytes(memoryview(pieces)[:size])  # a slice would be one more copy
        del pieces[:size]
        self._header = None
        return header, quads

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if self.batches:
            self.on_death(sum(len(batch.requests) - len(batch.answers) for batch in self.batches))
        self._give_up()
