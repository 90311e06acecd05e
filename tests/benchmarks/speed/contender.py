"""How every contender runs: one crawl in a process of its own, metered from inside."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings

if TYPE_CHECKING:
    from scrapy import Spider

# What `scrapy startproject` and every guide to fast crawls of one's own server would have: no pauses,
# 16 fetches at a time, nothing written but errors.
COMMON = {
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "LOG_LEVEL": "ERROR",
}


def read_arguments() -> argparse.Namespace:
    """Read what the benchmark tells a contender."""
    parser = argparse.ArgumentParser()
    parser.add_argument("result", help="file for the measured numbers")
    parser.add_argument("directory", help="where the contender may write")
    parser.add_argument("seeds", help="file with a URL a line")
    parser.add_argument("--follow", action="store_true", help="follow links from the seeds")
    parser.add_argument("--redis", default="", help="URL of a Redis server")
    parser.add_argument("--store", default="", help="URL of a store, if it is not an own one")
    parser.add_argument("--samples", action="store_true", help="tell where the time goes")
    return parser.parse_args()


def run(
    spider: type[Spider] | str,
    settings: Settings | dict[str, Any],
    arguments: argparse.Namespace,
    **spider_arguments: str,
) -> None:
    """Crawl with a meter beside the extensions of the settings."""
    metered = settings.copy() if isinstance(settings, Settings) else Settings(settings)
    extensions = {**metered.getdict("EXTENSIONS"), "tests.benchmarks.speed.meter.Meter": 0}
    metered.set("EXTENSIONS", extensions, "cmdline")
    metered.set("SPEED_RESULT", arguments.result, "cmdline")
    metered.set("SPEED_SAMPLES", arguments.samples, "cmdline")
    process = AsyncCrawlerProcess(metered)
    process.crawl(spider, **spider_arguments)
    process.start()
