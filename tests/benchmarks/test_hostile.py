"""What a tenth of hostile hosts costs the others: their pace, and the memory of the crawl.

    pytest tests/benchmarks/test_hostile.py -s

The same good hosts are crawled alone and among hosts that are silent, send a byte a second, have slow name
servers, send pages or heads without end, or hang up. Hosts of either kind have more pages than are fetched.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.hostile import (
    Manner,
    addresses,
    crawl,
    drip,
    drip_head,
    endless_head,
    hints,
    huge,
    name_of,
    pages,
    reset,
    serving,
    silent,
    with_robots,
)

MANNERS: tuple[Manner, ...] = (
    silent,
    with_robots(silent),
    drip,
    with_robots(drip),
    drip_head,
    with_robots(huge(16)),
    with_robots(huge(1000)),
    with_robots(hints),
    with_robots(endless_head),
    with_robots(reset),
)
PAGES = 200  # links away, of each host
URLS = 10  # of each hostile host, all seeds

# Seconds until the first pages are there and all good hosts are known.
WARM_UP = 15.0


class Measured(NamedTuple):
    """Good pages a second, and the most memory of the crawl, in megabytes."""

    pace: float
    megabytes: float


def measure(directory: Path, good: int, bad: int, delay: float, seconds: float) -> Measured:
    """Crawl good and bad hosts for so many seconds."""
    directory.mkdir()
    kind, others = addresses(2, good), addresses(3, bad)
    hosts: dict[str, Manner] = dict.fromkeys(kind, pages(PAGES, latency=0.05))
    hosts |= {address: MANNERS[n % len(MANNERS)] for n, address in enumerate(others)}
    with serving(hosts) as web:
        seeds = [f"http://{name_of(each, 'good.com')}:{web.port}/" for each in kind]
        for number, address in enumerate(others):
            # Every eighth is not even found.
            zone = f"b{number}slow20.com" if number % 8 == 7 else "bad.com"
            seeds += [f"http://{name_of(address, zone)}:{web.port}/{path}" for path in range(URLS)]
        crawled = crawl(
            directory,
            seeds,
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
    return Measured(found / seconds, crawled.megabytes)


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
    return summary


def test_a_tenth_of_hostile_hosts(tmp_path: Path) -> None:
    print("\n" + compare(tmp_path, good=900, bad=100, delay=9.0, seconds=40))


def test_as_many_hostile_hosts_as_others(tmp_path: Path) -> None:
    print("\n" + compare(tmp_path, good=120, bad=120, delay=2.0, seconds=40))
