"""A crawl of more pages than the largest of the thesis, to its end.

It takes hours, so it may be stopped (end the crawl's own process) and goes on when it is measured again in
the same directory, RESULTS_LARGEST. What it did when is in its history, which leaves the stops out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from rdfaspider.extensions.history.samples import NAME, Sample, read
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.benchmarks.results.tables import PROJECT, QUICK, Table, cpu_of_children
from tests.benchmarks.speed.report import curves
from tests.benchmarks.test_frontier import size_on_disk

# 1,000 hosts of 1,893 pages.
WEB = Parameters(seed=11, hosts=1_000, levels=2, pages=43)
THESIS = 1_832_157
SETTINGS = {
    **QUICK,
    "POLITENESS_DELAY": 0.25,
    "POLITENESS_AT_ONCE": 1,
    "FRONTIER_RETRIES": 3,
    "POLITENESS_SERVER_DELAY": 0,
    "HISTORY_INTERVAL": 5,
    "PROGRESS_INTERVAL": 60,
}
TENTHS = 10
FIGURE = PROJECT / "docs" / "results-largest.svg"


def largest(directory: Path) -> Table:
    """Pages a second from the beginning to the last pages."""
    place = Path(os.environ.get("RESULTS_LARGEST") or directory)
    spent = _crawl(place)
    samples = read(place / "crawl" / NAME)
    end = samples[-1]
    if end.waiting:
        raise RuntimeError(
            f"{end.pages:,} pages so far, {end.waiting:,} URLs wait: measure it again to go on"
        )
    if end.pages <= THESIS:
        raise RuntimeError(f"the crawl has {end.pages:,} pages, too few")
    paces = [pace(samples, i / TENTHS, (i + 1) / TENTHS) for i in range(TENTHS)]
    title = f"A crawl of {end.pages:,} pages: pages a second by share of its pages"
    points = [((i + 0.5) * 100 / TENTHS, each) for i, each in enumerate(paces)]
    last = [(90.5 + i, pace(samples, (90 + i) / 100, (91 + i) / 100)) for i in range(10)]
    FIGURE.write_text(curves(title, {"each tenth": points, "the last tenth": last}))
    size = size_on_disk(place / "crawl")
    stops = "It ran without a stop."
    if end.run > 1:
        stops = f"It was stopped and went on {end.run - 1} times."
    return Table(
        "A crawl of more pages than the largest of the thesis, to its end",
        ["", "thesis, 23 nodes", "ours, one machine"],
        [
            ["pages", f"{THESIS:,}", f"{end.pages:,}"],
            ["GB downloaded", "150", f"{end.received / 1e9:,.1f}"],
            ["triples", "301,219", f"{end.quads:,}"],
            ["seconds of crawling", "12,214", f"{end.seconds:,.0f}"],
            ["pages a second", "150", f"{end.pages / end.seconds:,.0f}"],
            ["CPU seconds", "", f"{spent:,.0f}"],
            ["pages a second, best and worst tenth", "", f"{max(paces):,.0f}, {min(paces):,.0f}"],
            ["pages a second, last hundredth", "", f"{last[-1][1]:,.0f}"],
            ["MB of memory, at most", "", f"{max(each.memory for each in samples):,}"],
            ["MB on disk", "", f"{size / 1e6:,.0f}"],
            ["failed", "", f"{end.failed:,}"],
        ],
        "It has more pages, not more bytes: the thesis crawled the web and downloaded 150 GB, and pages here"
        f" are small. The web is generated: {WEB.hosts:,} hosts of the same size, each asked every"
        f" {SETTINGS['POLITENESS_DELAY']} s at most, in the thesis about once a second at most; its server"
        f" takes CPU of the same machine. {stops} Memory is that of the main process."
        f" ![Pages a second from the beginning to the end of the crawl]({FIGURE.name})",
    )


def _crawl(place: Path) -> float:
    """Crawl, or go on with it, until it ends or is stopped; return the CPU seconds of all runs."""
    place.mkdir(parents=True, exist_ok=True)
    seeds, runs = place / "seeds.txt", place / "cpu.jsonl"
    seeds.write_text("".join(f"{Web(WEB).url(host, 0)}\n" for host in range(WEB.hosts)))
    options = [word for item in SETTINGS.items() for word in ("-s", "{}={}".format(*item))]
    command = [
        sys.executable,
        "-m",
        "rdfaspider",
        "crawl",
        "rdfa",
        "-a",
        f"seeds={seeds}",
        *options,
    ]
    with running(WEB) as proxy, (place / "crawl.log").open("ab") as log:
        before = cpu_of_children()
        environment = {**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy}
        subprocess.run(command, cwd=place, env=environment, stderr=log, check=True)
        spent = cpu_of_children() - before
    with runs.open("a") as file:
        file.write(json.dumps(round(spent, 1)) + "\n")
    return sum(map(float, runs.read_text().split()))


def pace(samples: list[Sample], begin: float, end: float) -> float:
    """Return the pages a second between two shares of a crawl's pages."""
    pages = samples[-1].pages
    return pages * (end - begin) / max(_second(samples, end) - _second(samples, begin), 1e-9)


def _second(samples: list[Sample], share: float) -> float:
    """Return when a share of the pages was there, between two samples in proportion."""
    wanted, before = share * samples[-1].pages, samples[0]
    for sample in samples:
        if sample.pages >= wanted:
            ahead = (wanted - before.pages) / max(sample.pages - before.pages, 1)
            return before.seconds + (sample.seconds - before.seconds) * ahead
        before = sample
    return samples[-1].seconds
