"""What a new URL costs while a frontier grows to a hundred million.

    python -m tests.benchmarks.frontier_growth DIRECTORY [URLS]

inserts URLs in steps of a million, and after each step writes a line to DIRECTORY/curve.jsonl, draws
DIRECTORY/curve.svg and prints where it stands. It takes 20 minutes to two hours for a hundred million, and
5 GB of disk. Stop it whenever you like: the same command goes on with the step that was interrupted, which
counts for nothing. The memory is that of the process since it was started.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from itertools import islice
from pathlib import Path

from rdfaspider.curves import Panel, draw
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from tests.benchmarks.test_frontier import (
    LINKS,
    NO_LIMITS,
    STRETCH,
    pace,
    resident,
    size_on_disk,
    urls,
)

STEP = 1_000_000
URLS = 100 * STEP
# Steps whose mean is compared, at the beginning and now. RocksDB merges in bursts, which come once in several
# steps when the frontier is large; in the first step it has little to merge.
BEGINNING, NOW = 5, 10

COSTS = ("own", "cpu")

Point = dict[str, float]


def insert(frontier: LocalFrontier, start: int, count: int) -> Point:
    """Insert new URLs, as the links of pages; return what one of them has cost.

    ``clock`` is what the crawl waits, ``own`` the CPU time of that, and ``cpu`` has what RocksDB does
    meanwhile in threads of its own too. ``pace`` is the CPU time of a fixed piece of work, in ms, for the
    speed of a shared machine changes by a factor of two.
    """
    source = urls(count, seed=start, start=start)
    waited, own, aside, paces = 0.0, 0.0, 0.0, []
    gc.collect()
    spent = time.process_time()
    for _ in range(0, count, LINKS * STRETCH):
        before = time.thread_time()
        batches = [list(islice(source, LINKS)) for _ in range(STRETCH)]
        made = time.thread_time()
        pace()
        paces.append(time.thread_time() - made)
        begin, ended = time.perf_counter(), time.thread_time()
        aside += ended - before
        for batch in batches:
            frontier.put(batch, depth=1)
        waited += time.perf_counter() - begin
        own += time.thread_time() - ended
    begin, ended = time.perf_counter(), time.thread_time()
    frontier.wait(0.0)
    waited += time.perf_counter() - begin
    own += time.thread_time() - ended
    spent = time.process_time() - spent - aside
    each = {"clock": waited, "own": own, "cpu": spent}
    point = {name: seconds / count * 1e6 for name, seconds in each.items()}
    return point | {"pace": statistics.mean(paces) * 1e3}


def grow(directory: Path, count: int) -> None:
    """Insert URLs until there are so many, from where the directory says that it stands."""
    log = directory / "curve.jsonl"
    points = read(log)
    with LocalFrontier(
        str(directory / "frontier"), politeness=Politeness(delay=0.0), limits=NO_LIMITS
    ) as frontier:
        done = int(points[-1]["urls"]) if points else 0
        was_interrupted = frontier.counts().seen > done
        while done < count:
            point = insert(frontier, done, STEP)
            done += STEP
            size = size_on_disk(directory / "frontier")
            point |= {"urls": done, "megabytes": resident(), "bytes": size / done}
            if was_interrupted:  # some of them were there already
                point = {"urls": done}
                was_interrupted = False
            points.append(point)
            with log.open("a") as file:
                file.write(json.dumps(point) + "\n")
            (directory / "curve.svg").write_text(drawn(points))
            print(told(points), flush=True)


def read(log: Path) -> list[Point]:
    """Return what was written; a kill may have left half a line."""
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) < len(lines):
        log.write_text("".join(whole))
    return [json.loads(line) for line in whole]


def told(points: list[Point]) -> str:
    """Return the last point, and what a URL costs now compared with the beginning."""
    measured = [point for point in points if "cpu" in point]
    if not measured:
        return f"{points[-1]['urls']:,.0f} URLs"
    last = measured[-1]
    words = (
        f"{last['urls']:>12,.0f} URLs: {last['clock']:.1f} µs, {last['own']:.1f} µs of CPU, with"
    )
    words += f" RocksDB's threads {last['cpu']:.1f}; {last['megabytes']:.0f} MB, {last['bytes']:.1f} bytes;"
    first, now = measured[:BEGINNING], measured[-NOW:]
    ratios = {name: paced(now, name) / paced(first, name) for name in ("clock", *COSTS)}
    words += " of the beginning: {clock:.2f} by the clock, {own:.2f} by CPU, with RocksDB's threads {cpu:.2f}"
    return words.format(**ratios)


def paced(points: list[Point], name: str) -> float:
    """Return the mean of a cost by the pace of the machine."""
    return statistics.mean(point[name] / point["pace"] for point in points)


def drawn(points: list[Point]) -> str:
    measured = [point for point in points if "cpu" in point]

    def curve(name: str, by: str = "") -> list[tuple[float, float]]:
        return [(point["urls"], point[name] / point.get(by, 1.0)) for point in measured]

    panels = [
        Panel("µs of CPU for a new URL", "URLs", [curve(name) for name in COSTS]),
        Panel(
            "the same by the pace of the machine", "URLs", [curve(name, "pace") for name in COSTS]
        ),
        Panel("memory, MB", "URLs", [curve("megabytes")]),
        Panel("bytes on disk for a URL", "URLs", [curve("bytes")]),
    ]
    return draw(
        panels, ["what the crawl waits for", "with RocksDB's threads"], "A growing frontier"
    )


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    grow(place, int(sys.argv[2]) if len(sys.argv) > 2 else URLS)
