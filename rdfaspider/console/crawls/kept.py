"""What a crawl that does not run has left on disk for people: its latest pages, and its log."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfaspider.console.crawls.latest import Latest
from rdfaspider.console.crawls.logtail import LEVELS, Line
from rdfaspider.pages.row import unpack
from rdfaspider.service.server.workerlog import WorkerLog
from rdfaspider.urls.iris import without_userinfo

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

    from rdfaspider.frontier import Counts
    from rdfaspider.pages.table import Ended

# Latest pages that are shown, lines of the log, and bytes read of its file.
_SHOWN, _LINES, _TAIL = 12, 200, 1 << 20
_LONGEST = 4_000  # characters of a line
# As Scrapy writes a line: 2026-11-16 13:55:12 [rdfa] INFO: text
_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:\[([^\]]*)\] )?([A-Z]+):? ?(.*)")


class KeptPages:
    """The latest pages of a frontier, and how its done URLs ended, from the rows of pages (pages/row.py).

    That takes a pass over all URLs, so it is kept for as long as the frontier has the same counts.
    """

    def __init__(self) -> None:
        self._of: Counts | None = None
        self.latest: list[dict[str, Any]] = []
        self.reasons: Counter[str] = Counter()

    def is_of(self, counts: Counts) -> bool:
        return self._of == counts

    async def read(self, counts: Counts, ended: AsyncIterable[list[Ended]]) -> None:
        """Look at all URLs that have ended."""
        self._of = counts
        reasons: Counter[str] = Counter()
        best: list[tuple[int, str, Latest]] = []
        async for part in ended:
            for each in part:
                try:
                    row, _ = unpack(each.row or b"")
                except ValueError:
                    continue  # of another version, or there is none
                if each.state == "done":
                    reasons[row.reason or "page"] += 1
                if len(best) < _SHOWN or row.fetched > best[0][0]:
                    url, triples = without_userinfo(each.url), row.triples
                    latest = Latest(
                        row.fetched, url, each.state, row.reason, row.status, triples, row.title
                    )
                    push = heapq.heappush if len(best) < _SHOWN else heapq.heappushpop
                    push(best, (row.fetched, each.url, latest))
        self.reasons = reasons
        self.latest = [latest._asdict() for _, _, latest in sorted(best, reverse=True)]


def kept_log(frontier: str, file: str, level: str) -> list[dict[str, Any]]:
    """Return the last lines of a level or above, the newest first: of the log of all workers beside the
    frontier, or else of the crawl's own file; ValueError if there is no such level."""
    if level not in LEVELS:
        raise ValueError(f"There is no level {level[:20]}: choose one of {', '.join(LEVELS)}.")
    if lines := WorkerLog(frontier).last(_LINES, level):
        return [line_of(line) for line in reversed(lines)]
    wanted = LEVELS[LEVELS.index(level) :]
    found = [line for line in _lines(file) if line.level in wanted]
    return [line._asdict() for line in reversed(found[-_LINES:])]


def _lines(name: str) -> list[Line]:
    """Return the lines at the end of a log of Scrapy; those that continue another are joined to it."""
    if not name or not (path := Path(name)).is_file():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        text = file.read().decode("utf-8", "replace")
    lines: list[Line] = []
    for each in text.splitlines():
        if found := _LINE.match(each):
            moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").astimezone()
            lines.append(Line(moment.timestamp(), found[3], found[4][:_LONGEST]))
        elif lines and len(lines[-1].text) < _LONGEST:
            lines[-1] = lines[-1]._replace(text=f"{lines[-1].text}\n{each}"[:_LONGEST])
    return lines


def line_of(text: str) -> dict[str, Any]:
    """Return a line of the workers' log as it is shown."""
    try:
        date, clock, level, rest = text.split(" ", 3)
        moment = datetime.strptime(f"{date} {clock}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return {"time": 0.0, "level": "INFO", "text": text}
    return {"time": moment.timestamp(), "level": level, "text": rest}
