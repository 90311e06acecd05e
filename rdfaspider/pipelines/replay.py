"""Reads pages again that were kept in files, by the pipelines of a crawl and without the network."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.pipelines.reading import page_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set
    from pathlib import Path

    from rdfaspider.archive.answers import Answer
    from rdfaspider.items import Page
    from rdfaspider.pipelines.reading import Reading, Tally
    from rdfaspider.pipelines.store import StorePipeline

# Pages of a batch, or bytes of them.
_PAGES = 16
_BATCH_BYTES = 1 << 20
# Batches that are read at the same time, unless there are many processes, and bytes of them.
_BATCHES = 16
_BYTES = 1 << 26
# Seconds between two notes of how far it has come.
_NOTED = 1.0


class Position(NamedTuple):
    """Where a page is: the name of its file, and an offset in it."""

    file: str
    offset: int


class Bookmark:
    """How far a replay has come, so that the same one goes on from there.

    The file is replaced as a whole. What survives a kill: a position before which all pages are stored.
    """

    def __init__(self, path: Path, task: object) -> None:
        self.path = path
        self._task = json.dumps(task)
        self._next = monotonic() + _NOTED

    def read(self) -> Position | None:
        """Return where to go on, None at the beginning."""
        try:
            known = json.loads(self.path.read_bytes())
            return Position(*known["position"]) if known["task"] == self._task else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def note_in_time(self, position: Position) -> None:
        """Note where to go on, unless that was done a moment ago."""
        if monotonic() > self._next:
            self.note(position)
            self._next = monotonic() + _NOTED

    def note(self, position: Position) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"task": self._task, "position": position}))
        new.replace(self.path)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


class _Batch(NamedTuple):
    """Pages that are read and stored together, and where the last of them is."""

    task: asyncio.Task[None]
    position: Position | None
    urls: Set[str]
    size: int


class Replay:
    """Extracts, filters and stores pages, several batches at a time; of one URL the later page wins.

    Layout: the pages that are gathered for the next batch, and the batches under way, in order; the sums of
    their bytes. Invariant: no URL is among them twice.
    """

    def __init__(
        self, reading: Reading, store: StorePipeline, tally: Tally, processes: int = 0
    ) -> None:
        self.reading = reading
        self.store = store
        self.tally = tally
        self._most = max(_BATCHES, 4 * processes)
        self._gathered: dict[str, Page] = {}
        self._gathered_bytes = 0
        self._under_way: deque[_Batch] = deque()
        self._bytes_under_way = 0
        self._urls_under_way: set[str] = set()

    async def run(
        self,
        answers: Iterable[tuple[Position, Answer | None]],
        bookmark: Bookmark,
        show: Callable[[], None] = lambda: None,
    ) -> None:
        """Read all answers; what is noted in the bookmark is stored, or waits in the outbox."""
        last: Position | None = None
        await self.reading.extract.open_spider()
        try:
            for position, answer in answers:
                last = position
                if answer is not None and await self._gather(answer, bookmark):
                    self._begin(position)
                    show()
                    await asyncio.sleep(0)  # else it would begin only when this has to wait
            self._begin(None)
            while self._under_way:
                await self._end_first(bookmark)
        finally:
            tasks = [batch.task for batch in self._under_way]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.reading.extract.close_spider()
        await asyncio.to_thread(self.store.sink.close)
        if last is not None and self.waiting:
            bookmark.note(last)  # so that the next run does little more than send them
        else:
            bookmark.remove()

    @property
    def waiting(self) -> int:
        """The number of pages that the store has not taken."""
        return self.store.sink.backlog.pages

    async def _gather(self, answer: Answer, bookmark: Bookmark) -> bool:
        """Add a page to the next batch; tell whether that is large enough."""
        try:
            page = page_of(answer)
        except ValueError:  # of its URL
            self.tally["skipped/unreadable"] += 1
            return False
        if page.url in self._gathered:
            self._begin(None)
        while (
            page.url in self._urls_under_way
            or len(self._under_way) >= self._most
            or self._bytes_under_way > _BYTES
        ):
            await self._end_first(bookmark)
        self._gathered[page.url] = page
        self._gathered_bytes += len(page.body)
        return len(self._gathered) >= _PAGES or self._gathered_bytes >= _BATCH_BYTES

    def _begin(self, position: Position | None) -> None:
        """Read and store what is gathered; its last page is at the position, if that is known."""
        if self._gathered:
            pages = [*self._gathered.values()]
            task = asyncio.create_task(self._read(pages))
            batch = _Batch(task, position, self._gathered.keys(), self._gathered_bytes)
            self._under_way.append(batch)
            self._urls_under_way |= batch.urls
            self._bytes_under_way += batch.size
            self._gathered, self._gathered_bytes = {}, 0

    async def _end_first(self, bookmark: Bookmark) -> None:
        batch = self._under_way[0]
        await batch.task
        self._under_way.popleft()
        self._urls_under_way -= batch.urls
        self._bytes_under_way -= batch.size
        if batch.position is not None:
            bookmark.note_in_time(batch.position)

    async def _read(self, pages: Sequence[Page]) -> None:
        await self.reading.read(pages)
        stored = []
        for page in pages:
            if page.is_read:
                stored.append(page)
                self.tally["quads"] += page.quad_count
            else:
                self.tally[f"failed/{page.reason}"] += 1
        if stored:
            await self.store.store(stored)
        self.tally["pages"] += len(stored)
