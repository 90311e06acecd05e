"""What a crawl has on disk for people: how its URLs have ended, its latest pages, its log."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfaspider.console.crawls.latest import Latest
from rdfaspider.console.crawls.logtail import Line, levels_from
from rdfaspider.pages.row import glance, unpack
from rdfaspider.service.server.workerlog import WorkerLog
from rdfaspider.urls.iris import without_userinfo
from rdfaspider.urls.keys import to_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

    from rdfaspider.frontier.views.pages import Outcome

# Latest pages that are shown, lines of the log, and bytes read of its file.
_SHOWN, _LINES, _TAIL = 12, 200, 1 << 20
_LONGEST = 4_000  # characters of a line
# A line as we write it, 13:55:12 INFO text, or as Scrapy does: 2026-11-16 13:55:12 [rdfa] INFO: text
_LINE = re.compile(r"(\d{4}-\d\d-\d\d )?(\d\d:\d\d:\d\d) (?:\[[^\]]*\] )?([A-Z]+):? ?(.*)")


@dataclass(frozen=True)
class Endings:
    """How the URLs of a frontier have ended: the latest as they are shown, and all by state and reason."""

    latest: list[dict[str, Any]]
    counts: Counter[tuple[str, str]]


async def read_endings(outcomes: AsyncIterable[list[Outcome]]) -> Endings:
    """Look at all URLs that have ended; what a done one was is in the row of its page (pages/row.py)."""
    counts: Counter[tuple[str, str]] = Counter()
    best: list[tuple[int, bytes, Outcome]] = []
    async for part in outcomes:
        for each in part:
            try:
                seen = glance(each.row or b"")
            except ValueError:  # there is none, or it is of another version
                counts[each.state, each.reason or "unknown"] += 1
                continue
            reason = (seen.reason or "page") if each.state == "done" else each.reason or seen.reason
            counts[each.state, reason] += 1
            if len(best) < _SHOWN:
                heapq.heappush(best, (seen.fetched, each.key, each))
            elif seen.fetched > best[0][0]:
                heapq.heapreplace(best, (seen.fetched, each.key, each))
    return Endings([_shown(each) for _, _, each in sorted(best, reverse=True)], counts)


def _shown(each: Outcome) -> dict[str, Any]:
    row, _ = unpack(each.row or b"")
    url = without_userinfo(to_url(each.key))
    shown = Latest(row.fetched, url, each.state, row.reason, row.status, row.triples, row.title)
    return shown._asdict()


def kept_log(frontier: str, file: str, level: str) -> list[dict[str, Any]]:
    """Return the last lines of a level or above, the newest first: of the log of all workers beside the
    frontier, or else of the crawl's own file; ValueError if there is no such level."""
    wanted = levels_from(level)
    if lines := WorkerLog(frontier).last(_LINES, level):
        return [line_of(line) for line in reversed(lines)]
    found = [line for line in _lines(file) if line.level in wanted]
    return [line._asdict() for line in reversed(found[-_LINES:])]


def kept_problems(file: str) -> tuple[int | None, int | None]:
    """Return how many errors and warnings the file of a log has; None if nobody can tell, because there is
    none, or it is too long to be read as a whole."""
    if not file or not (path := Path(file)).is_file() or path.stat().st_size > _TAIL:
        return None, None
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    levels = Counter(match[3] for match in map(_LINE.match, lines) if match)
    return levels["ERROR"] + levels["CRITICAL"], levels["WARNING"]


def _lines(name: str) -> list[Line]:
    """Return the lines at the end of a log of Scrapy; those that continue another are joined to it."""
    if not name or not (path := Path(name)).is_file():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        text = file.read().decode("utf-8", "replace")
    found: list[list[str]] = []  # date, clock, level, text
    for each in text.splitlines():
        if match := _LINE.match(each):
            found.append(list(match.groups("")))
        elif found and len(found[-1][3]) < _LONGEST:
            found[-1][3] += f"\n{each}"
    return _dated(found, datetime.fromtimestamp(path.stat().st_mtime))


def _dated(found: list[list[str]], end: datetime) -> list[Line]:
    """Return lines with their times. Those without a date go back from the end of the file, and a later clock
    before an earlier one is that of the day before."""
    lines: list[Line] = []
    latest = end
    for date, clock, level, text in reversed(found):
        try:
            moment = datetime.fromisoformat(f"{date or f'{latest:%Y-%m-%d} '}{clock}")
        except ValueError:  # digits that are no date
            continue
        if not date and moment > latest:
            moment -= timedelta(days=1)
        latest = moment
        lines.append(Line(moment.astimezone().timestamp(), level, text[:_LONGEST]))
    return lines[::-1]


def line_of(text: str) -> dict[str, Any]:
    """Return a line of the workers' log as it is shown."""
    try:
        date, clock, level, rest = text.split(" ", 3)
        moment = datetime.strptime(f"{date} {clock}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return {"time": 0.0, "level": "INFO", "text": text}
    return {"time": moment.timestamp(), "level": level, "text": rest}
