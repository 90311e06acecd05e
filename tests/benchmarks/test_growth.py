"""What a crawl costs as it grows, and how long it takes to begin.

    pytest tests/benchmarks/test_growth.py -s
    SPEED_PAGES=200000 pytest tests/benchmarks/test_growth.py -s

The web has so many hosts that nearly every link is new: 25 URLs are discovered for each page that is
crawled, 5 million for 200,000. Its hosts are reached through its server as a proxy. SPEED_PIN=1 writes
docs/speed-growth.svg and the figures of docs/speed.json anew.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.benchmarks.speed import machine, report
from tests.benchmarks.speed.document import document
from tests.benchmarks.speed.meter import children_seconds

PAGES = int(os.environ.get("SPEED_PAGES", "10_000"))
WEB = Parameters(
    hosts=100_000, levels=4, pages=6, links_inside=24, links_across=12, triples=20, sentences=5
)
# Spans over which a crawl is compared with itself.
SPANS = 10

pytestmark = pytest.mark.timeout(7200)

Point = dict[str, float]


def test_a_crawl_costs_the_same_as_it_grows(tmp_path: Path) -> None:
    points = crawl(tmp_path)
    spans = [
        points[len(points) * i // SPANS : len(points) * (i + 1) // SPANS + 1] for i in range(SPANS)
    ]
    rows = [figures(span) for span in spans]
    print(
        f"\n{'pages':>9} {'discovered':>11} {'pages/s':>8} {'answers/s':>10} {'CPU':>6} {'MB':>6}"
    )
    for row in rows:
        print(
            f"{row['pages']:>9,.0f} {row['seen']:>11,.0f} {row['rate']:>8,.0f}"
            f" {row['answer_rate']:>10,.0f} {row['cost']:>6.2f} {row['memory']:>6,.0f}"
        )
    if os.environ.get("SPEED_PIN"):
        _pin(points, rows)
    # The first span warms up.
    early = statistics.median(row["cost"] for row in rows[1:4])
    late = statistics.median(row["cost"] for row in rows[-3:])
    assert late <= 1.2 * early
    assert rows[-1]["memory"] <= 1.25 * rows[SPANS // 2]["memory"]
    assert rows[-1]["seen"] >= 15 * rows[-1]["pages"]


def crawl(directory: Path) -> list[Point]:
    """Crawl so many pages and return what was written down each second."""
    seeds = directory / "seeds.txt"
    place = directory / "crawl"
    place.mkdir()
    with running(WEB) as url:
        seeds.write_text("".join(f"http://w{host}.site.test/\n" for host in range(64)))
        environment = {**os.environ, "http_proxy": url, "SPEED_PAGES": str(PAGES)}
        command = [sys.executable, "-m", "tests.benchmarks.speed.timeline"]
        subprocess.run(
            [*command, str(directory / "result.json"), str(place), str(seeds)],
            cwd=machine.PROJECT,
            env=environment,
            check=True,
        )
    lines = (place / "timeline.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def figures(span: list[Point]) -> Point:
    """Return the last point of a span with pages and answers a second, and the CPU of an answer.

    Hosts that are new come in waves, and each has a robots.txt to be asked for: pages a second tell of
    these waves, answers of the crawler. What an answer costs is told in pieces of work done at the same
    time, for the machine is not always equally fast.
    """
    start, end = span[0], span[-1]
    seconds = max(end["seconds"] - start["seconds"], 1e-9)
    answers = end["answers"] - start["answers"]
    pace = statistics.median(point["pace"] for point in span)
    return end | {
        "rate": (end["pages"] - start["pages"]) / seconds,
        "answer_rate": answers / seconds,
        "cost": (end["cpu"] - start["cpu"]) / max(answers, 1) / pace,
    }


def _pin(points: list[Point], rows: list[Point]) -> None:
    file = machine.PROJECT / "docs" / "speed.json"
    data = json.loads(file.read_text()) if file.exists() else {"ratios": {}}
    data["growth"] = [{name: round(row[name], 3) for name in row} for row in rows]
    file.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    lines = {
        "pages/s": [(row["pages"], row["rate"]) for row in rows],
        "answers/s": [(row["pages"], row["answer_rate"]) for row in rows],
        "MB": [(point["pages"], point["memory"]) for point in points],
        "URLs discovered": [(point["pages"], point["seen"]) for point in points],
    }
    title = f"A crawl of {points[-1]['pages']:,.0f} pages"
    file.with_name("speed-growth.svg").write_text(report.curves(title, lines))
    file.with_name("speed.md").write_text(document(data))


# Starting is nothing but computing, so CPU time is what the clock shows on a machine that is idle.


def test_scrapy_answers_at_once(tmp_path: Path) -> None:
    """`scrapy --help` in the project: CPU time, the best of some."""
    cost, clock = min(_cost(["--help"], tmp_path) for _ in range(5))
    print(f"\nscrapy --help: {cost:.2f} s of CPU time, {clock:.2f} s by the clock")
    assert cost < 0.7


def test_a_crawl_begins_soon(tmp_path: Path) -> None:
    """A whole `scrapy crawl` of one page, which is a little more than its beginning."""
    with running(Parameters()) as url:
        words = ["crawl", "rdfa", "-a", f"seeds={url}/", "-a", "depth=0", "-s", "LOG_LEVEL=ERROR"]
        words += ["-s", "POLITENESS_OFF_FOR_OWN_SERVERS=1", "-s", "EXTRACT_PROCESSES=0"]
        runs = [_cost([*words, "-s", f"JOBDIR={tmp_path / str(n)}"], tmp_path) for n in range(5)]
    cost, clock = min(runs)
    print(f"\nscrapy crawl of one page: {cost:.2f} s of CPU time, {clock:.2f} s by the clock")
    assert cost < 1.5


def _cost(words: list[str], directory: Path) -> tuple[float, float]:
    """Run `scrapy …` and return its seconds of CPU time and by the clock."""
    command = [sys.executable, "-m", "rdfaspider", *words]
    environment = {**os.environ, "PYTHONPATH": str(machine.PROJECT)}
    start, before = time.perf_counter(), children_seconds()
    subprocess.run(command, cwd=directory, env=environment, stdout=subprocess.DEVNULL, check=True)
    return children_seconds() - before, time.perf_counter() - start
