"""Reads pages again that were kept in files, by the pipelines of a crawl and without the network."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rdfaspider.archive.answers import Answer
    from rdfaspider.pipelines.reading import Reading, Tally
    from rdfaspider.pipelines.store import StorePipeline

# Pages, and bytes of them, that are read at the same time.
_PAGES = 64
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

    def read(self) -> Position | None:
        """Return where to go on, None at the beginning."""
        try:
            known = json.loads(self.path.read_bytes())
            return Position(*known["position"]) if known["task"] == self._task else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def note(self, position: Position) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"task": self._task, "position": position}))
        new.replace(self.path)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


class Replay:
    """Extracts, filters and stores pages, several at a time; of one URL the later page wins."""

    def __init__(self, reading: Reading, store: StorePipeline, tally: Tally) -> None:
        self.reading = reading
        self.store = store
        self.tally = tally
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._bytes = 0

    async def run(
        self,
        answers: Iterable[tuple[Position, Answer | None]],
        bookmark: Bookmark,
        show: Callable[[], None] = lambda: None,
    ) -> None:
        """Read all answers; what is noted in the bookmark is stored."""
        under_way: deque[tuple[Position, asyncio.Task[None]]] = deque()
        await self.reading.extract.open_spider()
        try:
            next_note = monotonic() + _NOTED
            for position, answer in answers:
                if answer is not None:
                    under_way.append((position, await self._begin(answer)))
                while len(under_way) >= _PAGES or self._bytes > _BYTES:
                    done, task = under_way.popleft()
                    await task
                    if monotonic() > next_note:
                        bookmark.note(done)
                        next_note = monotonic() + _NOTED
                show()
            for _, task in under_way:
                await task
        finally:
            for _, task in under_way:
                task.cancel()
            await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)
            await self.reading.extract.close_spider()
        await asyncio.to_thread(self.store.sink.close)
        bookmark.remove()

    async def _begin(self, answer: Answer) -> asyncio.Task[None]:
        if earlier := self._under_way.get(answer.url):
            await asyncio.wait([earlier])
        self._bytes += len(answer.body)
        task = asyncio.create_task(self._read(answer))
        self._under_way[answer.url] = task
        return task

    async def _read(self, answer: Answer) -> None:
        try:
            await self._store(answer)
        finally:
            self._bytes -= len(answer.body)
            if self._under_way.get(answer.url) is asyncio.current_task():
                del self._under_way[answer.url]

    async def _store(self, answer: Answer) -> None:
        try:
            page = await self.reading.read(answer)
        except ValueError:  # of its URL
            self.tally["skipped/unreadable"] += 1
            return
        if not page.is_read:
            self.tally[f"failed/{page.reason}"] += 1
            return
        await self.store.process_item(page)
        self.tally["pages"] += 1
        self.tally["quads"] += page.quad_count
