"""Spidermon watches a crawl: its monitors see our stats, and their verdict is in the log."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

PROJECT = Path(__file__).parent.parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("spidermon") is None, reason="no Spidermon: pip install spidermon"
    ),
]
MONITORS = """
from spidermon import Monitor, MonitorSuite, monitors

class Harvest(Monitor):
    @monitors.name("Pages have triples")
    def test_triples(self):
        self.assertGreaterEqual(self.data.stats["store/quads"], LEAST)

class Suite(MonitorSuite):
    monitors = [Harvest]
"""


@pytest.mark.parametrize(("least", "verdict"), [(3, "OK"), (1_000_000, "FAILED")])
def test_monitors_judge_a_crawl(tmp_path: Path, least: int, verdict: str) -> None:
    (tmp_path / "watch.py").write_text(MONITORS.replace("LEAST", str(least)))
    settings = {
        "SPIDERMON_ENABLED": "1",
        "SPIDERMON_SPIDER_CLOSE_MONITORS": "watch.Suite",
        "EXTENSIONS": '{"spidermon.contrib.scrapy.extensions.Spidermon": 500}',
        "POLITENESS_DELAY": "0",
    }
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    path = os.pathsep.join(each for each in (str(PROJECT), os.environ.get("PYTHONPATH")) if each)
    with running(Parameters(seed=2, levels=1, pages=3)) as url:
        done = subprocess.run(
            [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={url}", *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert "Pages have triples" in done.stderr, done.stderr
    assert f"[Spidermon] {verdict}" in done.stderr, done.stderr
