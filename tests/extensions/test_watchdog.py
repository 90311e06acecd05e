from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Scrapy

SLEEPER = """
import time
from scrapy import signals

class Sleeper:
    @classmethod
    def from_crawler(cls, crawler):
        sleeper = cls()
        crawler.signals.connect(sleeper.response_received, signals.response_received)
        return sleeper

    def response_received(self):
        if not hasattr(self, "has_slept"):
            self.has_slept = True
            time.sleep(1.5)
"""


def crawl(scrapy: Scrapy, **settings: object) -> str:
    with running(Parameters(levels=1, pages=5, latency=0.2)) as origin:
        result = scrapy(
            "crawl", "rdfa", "-a", f"seeds={origin}/", POLITENESS_DELAY=0, STATS_DUMP=1, **settings
        )
    assert result.returncode == 0, result.stderr
    return result.stderr


def test_a_loop_that_stands_still_is_counted_and_named(scrapy: Scrapy, tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    output = crawl(scrapy, EXTENSIONS='{"sleeper.Sleeper": 1}', LOG_LEVEL="DEBUG")
    stalls = re.search(r"'loop/stalls': (\d+)", output)
    longest = re.search(r"'loop/longest': ([\d.]+)", output)
    assert stalls is not None
    assert longest is not None
    assert int(stalls[1]) >= 1
    assert float(longest[1]) >= 1.2
    assert len(re.findall(r"WARNING The crawl stood still for", output)) == 1
    shown = output.partition("The loop stood still for")[2]
    assert "in response_received" in shown
    assert "time.sleep(1.5)" in shown
