"""What a tenth of hostile hosts costs the others: their pace, and the memory of the crawl.

    pytest tests/benchmarks/test_hostile.py -s

The same good hosts are crawled alone and among hosts that are hostile in every way of tests/hostile.py, pages
for the extractor included, or have slow name servers. Hosts of either kind have more pages than are fetched.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.hostile import Manner, addresses, crawl, hostile, name_of, pages, serving

PAGES = 200  # links away, of each host
URLS = 10  # of each hostile host, all seeds

# Seconds until the first pages are there and all good hosts are known.
WARM_UP = 15.0


class Measured(NamedTuple):
    """Good pages a second, the most memory of the crawl, in megabytes, and what it said at the end."""

    pace: float
    megabytes: float
    said: str


def measure(directory: Path, good: int, bad: int, delay: float, seconds: float) -> Measured:
    """Crawl good and bad hosts for so many seconds."""
    directory.mkdir()
    kind, others = addresses(2, good), addresses(3, bad)
    hosts: dict[str, Manner] = dict.fromkeys(kind, pages(PAGES, latency=0.05))
    manners = list(hostile(victim=f"http://{name_of(kind[0], 'good.com')}/robots.txt").values())
    hosts |= {address: manners[n % len(manners)] for n, address in enumerate(others)}
    with serving(hosts) as web:
        seeds = [f"http://{name_of(each, 'good.com')}:{web.port}/" for each in kind]
        for number, address in enumerate(others):
            # Every eighth is not even found. They are strangers to each other.
            zone = f"b{number}slow20.com" if number % 8 == 7 else f"bad{number}.com"
            seeds += [f"http://{name_of(address, zone)}:{web.port}/{path}" for path in range(URLS)]
        crawled = crawl(
            directory,
            seeds,
            most_seconds=180,
            POLITENESS_DELAY=delay,
            FRONTIER_RETRIES=2,
            FRONTIER_RETRY_DELAY=5,
            POLITENESS_BACKOFF=5,
            EXTRACT_PROCESSES=2,
            CLOSESPIDER_TIMEOUT=WARM_UP + seconds + 1,
        )
        begin = crawled.opened + WARM_UP
        visits = web.pages_of(set(kind))
    found = sum(begin <= visit.moment < begin + seconds for visit in visits)
    assert crawled.code == 0, crawled.output
    return Measured(found / seconds, crawled.megabytes, summary_of(crawled.output))


def summary_of(output: str) -> str:
    """Return the closing summary, after checking that its sum adds up."""
    summary = output[output.index("Crawl stopped by CLOSESPIDER_TIMEOUT") :].partition("  Data in")[
        0
    ]
    numbers = re.findall(r"[\d,]+", summary.splitlines()[1])
    seen, *states = (int(number.replace(",", "")) for number in numbers)
    assert seen == sum(states), summary
    return summary


def compare(directory: Path, good: int, bad: int, delay: float, seconds: float) -> str:
    """Check what hostile hosts cost; return a summary."""
    alone = measure(directory / "alone", good, 0, delay, seconds)
    among = measure(directory / "among", good, bad, delay, seconds)
    summary = (
        f"{good} hosts alone: {alone.pace:.1f} pages/s, {alone.megabytes:.0f} MB; with {bad} hostile:"
        f" {among.pace:.1f} pages/s ({among.pace / alone.pace:.2f}), {among.megabytes:.0f} MB"
    )
    assert among.pace >= 0.8 * alone.pace, summary
    assert among.megabytes < alone.megabytes + 300, summary
    assert "DOWNLOAD_MAXSIZE" in among.said, among.said
    return f"{summary}\n{among.said}"


def test_a_tenth_of_hostile_hosts(tmp_path: Path) -> None:
    print("\n" + compare(tmp_path, good=900, bad=100, delay=9.0, seconds=40))


def test_as_many_hostile_hosts_as_others(tmp_path: Path) -> None:
    print("\n" + compare(tmp_path, good=120, bad=120, delay=2.0, seconds=40))
