"""Somebody sets the clock while a crawl runs, or between two runs."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from rdfaspider.frontier import open_frontier
from rdfaspider.frontier.politeness import Experience, Politeness
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

PROJECT = Path(__file__).parent.parent
DELAY = 0.3

# A crawl in whose process the wall clock jumps: `2:-3600,4:60` is by an hour back after two seconds, and by
# a minute forth after four.
JUMPING = """
import sys, time
jumps = [tuple(map(float, jump.split(":"))) for jump in sys.argv.pop(1).split(",")]
begun, real = time.monotonic(), time.time
time.time = lambda: real() + sum(by for at, by in jumps if time.monotonic() - begun > at)
from rdfaspider.__main__ import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("jump", [-7200.0, 3600.0])
def test_a_jump_of_the_clock_neither_ends_a_crawl_nor_makes_it_impolite(
    tmp_path: Path, jump: float
) -> None:
    log = tmp_path / "access.log"
    with running(Parameters(seed=8, levels=2, pages=4), log=log) as origin:
        arguments = ["crawl", "rdfa", "-a", f"seeds={origin}/", "-s", f"POLITENESS_DELAY={DELAY}"]
        result = subprocess.run(
            [sys.executable, "-c", JUMPING, f"2:{jump}", *arguments],
            cwd=tmp_path,
            env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert result.returncode == 0, result.stderr
    assert "21 URLs = 21 done + 0 failed + 0 denied + 0 waiting" in result.stderr
    times = [float(line.split()[0]) for line in log.read_text().splitlines()]
    assert times[-1] - times[0] > 5, "the clock has jumped meanwhile"
    assert min(after - before for before, after in pairwise(times)) >= DELAY


def test_a_clock_that_was_set_back_between_two_runs_does_not_stop_hosts(tmp_path: Path) -> None:
    options = {"politeness": Politeness(delay=10.0)}
    with open_frontier(str(tmp_path / "frontier"), now=100_000.0, **options) as frontier:
        frontier.put([f"http://a.test/{number}" for number in range(3)])
        taken = frontier.take(100_000.0)
        assert taken
        frontier.report(taken.host, 100_000.0, Experience(refused=True, wanted=60.0))
        frontier.finish(taken, "done", 100_000.0)
    with open_frontier(str(tmp_path / "frontier"), now=92_800.0, **options) as frontier:
        seconds = frontier.wait(92_800.0)
        assert seconds is not None
        assert 10.0 <= seconds <= 60.0, "the host still rests as long as it was told to"
