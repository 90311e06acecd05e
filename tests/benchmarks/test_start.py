"""How long a crawl of one page takes, most of which is its start and its end.

    pytest tests/benchmarks/test_start.py -s

All commands run in turn, and the median of some rounds counts. Half of a crawl is the import of Scrapy, so
what is asserted is the ratio to that import in the same round, of CPU time with that of all child processes:
it is the same on a slow machine, and changes little on a busy one. Then the phases of the crawl are printed,
by the clock from the start of the process.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.conftest import PROJECT

pytestmark = pytest.mark.timeout(600)

ROUNDS = 15
WEB = Parameters(levels=0, pages=1)
# Times the CPU of the import of Scrapy; 1.6 to 1.7 on one machine, 1.8 to 1.9 on another.
MOST = 2.0
IMPORT = ("-c", "import scrapy.cmdline")

EXTENSION = """
import os, time
from scrapy import signals

class Phases:
    @classmethod
    def from_crawler(cls, crawler):
        phases = cls()
        phases.noted = {}
        for name in ("spider_opened", "response_received", "spider_closed"):
            def note(name=name):
                phases.noted.setdefault(name, time.time())
            phases.__dict__[name] = note  # signals hold their receivers weakly
            crawler.signals.connect(note, getattr(signals, name))
        crawler.signals.connect(phases.write, signals.engine_stopped)
        return phases

    def write(self):
        with open(os.environ["PHASES"], "w") as file:
            print(*self.noted.values(), file=file)
"""


class Took(NamedTuple):
    clock: float
    cpu: float


def run(*arguments: str, **variables: str) -> Took:
    """Run Python, and return the seconds it took."""
    # What may slow down imports stays out.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    paths = os.pathsep.join(filter(None, (str(PROJECT), variables.pop("path", ""))))
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env={**kept, **variables, "PYTHONPATH": paths},
        capture_output=True,
        check=True,
    )
    clock, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(clock, cpu)


def crawl(url: str, directory: Path) -> list[str]:
    shutil.rmtree(directory, ignore_errors=True)
    settings = (f"JOBDIR={directory}", "POLITENESS_DELAY=0")
    options = [part for setting in settings for part in ("-s", setting)]
    return ["crawl", "rdfa", "-a", f"seeds={url}/", *options]


def test_a_crawl_of_one_page(tmp_path: Path) -> None:
    took: dict[str, list[Took]] = {}
    with running(WEB) as url:
        for number in range(ROUNDS + 1):
            commands = {
                "import scrapy.cmdline": IMPORT,
                "scrapy crawl": ("-m", "scrapy", *crawl(url, tmp_path / "1")),
                "python -m rdfaspider crawl": ("-m", "rdfaspider", *crawl(url, tmp_path / "2")),
                "python -m rdfaspider --help": ("-m", "rdfaspider", "--help"),
                "scrapy list": ("-m", "scrapy", "list"),
            }
            for name, command in commands.items():
                once = run(*command)
                if number:  # the first compiles modules
                    took.setdefault(name, []).append(once)
    print()
    bare = took["import scrapy.cmdline"]
    ratios = {}
    for name, all_of_it in took.items():
        clock, cpu = (median(column) for column in zip(*all_of_it, strict=True))
        ours = median(each.clock - least.clock for each, least in zip(all_of_it, bare, strict=True))
        ratios[name] = median(
            each.cpu / least.cpu for each, least in zip(all_of_it, bare, strict=True)
        )
        print(f"{name:28} {clock:.3f} s, {ours:+.3f} s; CPU {cpu:.3f} s, {ratios[name]:.2f} times")
    assert ratios["scrapy crawl"] < MOST
    assert ratios["python -m rdfaspider crawl"] < MOST


def test_phases(tmp_path: Path) -> None:
    (tmp_path / "phases.py").write_text(EXTENSION)
    noted: list[list[float]] = []
    with running(WEB) as url:
        for _ in range(ROUNDS):
            command = crawl(url, tmp_path / "crawl")
            command += ["-s", 'EXTENSIONS={"phases.Phases": 0}']
            begin = time.time()
            run("-m", "scrapy", *command, path=str(tmp_path), PHASES=str(tmp_path / "noted"))
            times = [*map(float, (tmp_path / "noted").read_text().split()), time.time()]
            noted.append([each - begin for each in times])
    opened, response, closed, exited = (median(column) for column in zip(*noted, strict=True))
    print(
        f"\nopened {opened:.3f} s, response {response:.3f} s, closed {closed:.3f} s, exit {exited:.3f} s"
    )
    assert opened < response < closed < exited
