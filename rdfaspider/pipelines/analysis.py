"""Analyses the pages of a crawl: the language of each, and which are near copies of others.

The texts come from the crawl's archive. What was analysed during the crawl is taken over from the rows.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from hashlib import sha1
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rdfaspider.archive.answers import Answers, Wanted
from rdfaspider.archive.warc.reader import OPEN, open_file
from rdfaspider.extract import Limits, Options
from rdfaspider.extract.pool import ExtractionFailed, Pool
from rdfaspider.pages.analysis import TEXTS, Analysed, AnalysisTable, TextFacts
from rdfaspider.pages.clusters import check_numpy
from rdfaspider.pages.language import check_detector
from rdfaspider.pages.nearcopies import find_near_copies
from rdfaspider.pages.row import KEY, unpack
from rdfaspider.pipelines.archive import archive_directory
from rdfaspider.pipelines.reading import Tally
from rdfaspider.pipelines.replay import Bookmark, Position
from rdfaspider.terminal import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy.settings import BaseSettings

    from rdfaspider.archive.answers import Answer
    from rdfaspider.pages.table import Ended

    Task = asyncio.Task[Analysed | None]

# Pages, and bytes of them, that are read at the same time.
_PAGES = 128
_BYTES = 1 << 26
# Pages that are stored together, and the seconds after which fewer are.
_STORED = 500
_SOON = 1.0


class Analysis:
    """All that `scrapy pages --analyse` does, in a directory; ValueError if it cannot be done."""

    def __init__(
        self,
        settings: BaseSettings,
        directory: Path,
        processes: int | None = None,
        show: Callable[[str], None] = lambda text: None,
    ) -> None:
        check_numpy()
        check_detector()
        if processes is not None and processes < 1:
            raise ValueError(f"--processes takes a number from 1 on, not {processes}.")
        self._settings = settings
        self._directory = directory
        self._processes = processes or len(os.sched_getaffinity(0))
        self._show = show
        self.tally = Tally()

    def run(self, ended: Iterable[Ended]) -> None:
        """Analyse the pages of a crawl, whose ended URLs are given."""
        archive = archive_directory(self._settings)
        self._directory.mkdir(parents=True, exist_ok=True)
        with AnalysisTable(self._directory / TEXTS) as table:
            self._take_over(ended, table)
            if archive.is_dir():
                asyncio.run(self._read(archive, table))
            elif not self.tally["during"]:
                raise ValueError(
                    f"There is no archive in {archive} to read pages from: crawl with -s ARCHIVE=1, or with"
                    " -s PAGES_ANALYSE=during."
                )
            self.tally["near"] = find_near_copies(table, self._directory, self._show)

    def _take_over(self, ended: Iterable[Ended], table: AnalysisTable) -> None:
        """Store what was analysed during the crawl."""
        found: list[Analysed] = []
        for page in ended:
            try:
                row, digest = unpack(page.row or b"")
            except ValueError:
                continue
            if digest and (row.words or row.sketch):
                facts = TextFacts(row.detected, row.certainty, row.words)
                found.append(Analysed(digest, facts, row.sketch, row.fetched))
                self.tally["during"] += 1
            if len(found) >= _STORED:
                table.put(found)
                found = []
            self._show(f"{self.tally['during']:,} pages analysed during the crawl …")
        table.put(found)

    async def _read(self, archive: Path, table: AnalysisTable) -> None:
        settings = self._settings
        most = settings.getint("EXTRACT_MAX_BYTES")
        options = Options(
            formats=frozenset(), limits=Limits(links=0, body=most), anchors=False, analyse=True
        )
        timeout, memory = settings.getfloat("EXTRACT_TIMEOUT"), settings.getint("EXTRACT_MEMORY_MB")
        pool = Pool(self._processes, options, timeout=timeout, memory=memory)
        # One that loses its .open meanwhile is found twice, and counts once.
        files = [*archive.glob(f"*.warc.gz{OPEN}"), *archive.glob("*.warc.gz")]
        paths = sorted({path.name.removesuffix(OPEN): path for path in files}.values())
        bookmark = Bookmark(self._directory / "position.json", "analyse")
        answers = Answers(Wanted(_any, _any, _any, most + 1), self.tally)
        reading = TextReading(pool, table, bookmark, self.tally)
        found = _answers(paths, answers, bookmark.read())
        await reading.run(found, lambda: self._show(f"{self.tally['pages']:,} pages …"))

    def lines(self) -> Iterator[str]:
        """Yield sentences about what was done."""
        tally = self.tally
        known = tally["known"] + tally["during"]
        yield f"{plural(tally['pages'], 'text')} analysed, {known:,} known already."
        yield f"{plural(tally['near'], 'text')} in clusters of near copies."
        for name in sorted(tally):
            if name.startswith("failed/") or name == "damaged":
                yield f"{tally[name]:>9,} {name.replace('/', ': ')}"


def _any(text: str) -> bool:
    return True


def _answers(
    paths: list[Path], answers: Answers, start: Position | None
) -> Iterator[tuple[Position, Answer | None]]:
    """Yield the pages in the files of an archive, from a position on."""
    names = [path.name.removesuffix(OPEN) for path in paths]
    first = names.index(start.file) if start and start.file in names else 0
    for path, name in list(zip(paths, names, strict=True))[first:]:
        begin = start.offset if start and start.file == name else 0
        with open_file(path) as file:
            for offset, found in answers.read(file, path, begin):
                yield Position(name, offset), found


class TextReading:
    """Has texts read by a pool, each body once.

    What the bookmark notes is stored, so the same analysis goes on from there after a kill.
    """

    def __init__(self, pool: Pool, table: AnalysisTable, bookmark: Bookmark, tally: Tally) -> None:
        self.pool = pool
        self.table = table
        self.bookmark = bookmark
        self.tally = tally
        self._digests: set[bytes] = set()  # of bodies that are not stored yet
        self._bytes = 0
        self._read: list[Analysed] = []
        self._due = 0.0

    async def run(
        self,
        answers: Iterable[tuple[Position, Answer | None]],
        show: Callable[[], None] = lambda: None,
    ) -> None:
        under_way: deque[tuple[Position, Task]] = deque()
        await self.pool.open()
        self._due = monotonic() + _SOON
        try:
            for position, answer in answers:
                if answer is not None and (task := self._begin(answer)) is not None:
                    under_way.append((position, task))
                while len(under_way) >= _PAGES or self._bytes > _BYTES:
                    await self._end(*under_way.popleft())
                show()
            while under_way:
                await self._end(*under_way.popleft())
            self.table.put(self._read)
        finally:
            for _, task in under_way:
                task.cancel()
            await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)
            await self.pool.close()
        self.bookmark.remove()

    def _begin(self, answer: Answer) -> Task | None:
        body, _ = answer.html
        digest = sha1(body, usedforsecurity=False).digest()[:KEY]
        if not body or digest in self._digests or digest in self.table:
            self.tally["known"] += 1
            return None
        self._digests.add(digest)
        self._bytes += len(body)
        return asyncio.create_task(self._analyse(answer, digest))

    async def _analyse(self, answer: Answer, digest: bytes) -> Analysed | None:
        body, content_type = answer.html
        try:
            found = await self.pool.extract(body, answer.url, content_type)
        except ExtractionFailed as failure:
            self.tally[f"failed/{failure.reason}"] += 1
            return None
        finally:
            self._bytes -= len(body)
        facts = found.facts
        text = TextFacts(facts.detected, facts.certainty, facts.words)
        return Analysed(digest, text, bytes.fromhex(facts.sketch), int(answer.fetched))

    async def _end(self, position: Position, task: Task) -> None:
        if (analysed := await task) is not None:
            self._read.append(analysed)
            self.tally["pages"] += 1
        if len(self._read) >= _STORED or monotonic() > self._due:
            self.table.put(self._read)
            self._digests.difference_update([each.digest for each in self._read])
            self._read = []
            self.bookmark.note(position)
            self._due = monotonic() + _SOON
