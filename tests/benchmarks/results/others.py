"""What KSpider and WIRE say of themselves in numbers, and ours."""

from __future__ import annotations

import random
from pathlib import Path

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.benchmarks.results.tables import Table, crawl, stopwatch
from tests.benchmarks.results.thesis import counter
from tests.benchmarks.test_frontier import LINKS, NO_LIMITS, size_on_disk, urls

COUNT = 200_000
RETRIEVED = 20_000


def kspider(directory: Path) -> Table:
    """Time and size of a stored URL."""
    keys = list(dict.fromkeys(urls(COUNT)))
    path = directory / "frontier"
    with LocalFrontier(str(path), limits=NO_LIMITS) as frontier:
        with stopwatch() as stored:
            for start in range(0, len(keys), LINKS):
                frontier.put(keys[start : start + LINKS], depth=1)
            frontier.wait(0.0)
        records = [frontier.trie.record(key) for key in random.Random(1).sample(keys, RETRIEVED)]
        numbers = [record.number for record in records if record is not None]
        with stopwatch() as retrieved:
            found = [frontier.trie.url(number) for number in numbers]
        if len(set(found)) != RETRIEVED:
            raise AssertionError("a URL cannot be retrieved")
        families = [each._family for each in (frontier._database.urls, frontier._database.numbers)]
        for family in families:
            family.flush(True)
        tables = sum(each.property_int_value("rocksdb.total-sst-files-size") for each in families)
        del families, family  # RocksDB closes when the last is gone
    total = sum(map(len, keys))
    return Table(
        "KSpider, section 4: a URL stored and retrieved",
        ["", "KSpider", "ours"],
        [
            ["µs to compress and store a URL", "92", _micros(stored, len(keys))],
            ["µs to retrieve a URL by its number", "6", _micros(retrieved, RETRIEVED)],
            ["size of URLs and numbers, of that of the URLs", "~50%", f"{tables / total:.0%}"],
            ["size with all that the frontier knows", "", f"{size_on_disk(path) / total:.0%}"],
        ],
        f"{COUNT:,} URLs of about 60 characters, {LINKS} at a time; in brackets the CPU time, with all"
        " threads. KSpider has its URLs in memory, in a tree; ours are on disk, with their state and depth,"
        " found by URL and by number. All that the frontier knows has the queues of its hosts too, each URL"
        " with its place in the order, and RocksDB's log.",
    )


def _micros(taken: list[float], count: int) -> str:
    clock, cpu = (each / count * 1e6 for each in taken)
    return f"{clock:.0f} ({cpu:.0f})"


def rates(directory: Path) -> Table:
    """Pages a second and a day of one machine."""
    web = Parameters(seed=9, levels=5, pages=5, links_inside=10, triples=3)
    with running(web) as origin:
        done = crawl(directory / "one", f"{origin}/")
    pages = counter(done.log, "frontier/done/page")
    pace = pages / done.seconds
    return Table(
        "KSpider, WIRE, Tarantula: pages of a machine",
        ["", "machines", "pages/s", "pages a day", "pages a CPU second"],
        [
            ["KSpider", "4", "618", "", ""],
            ["WIRE", "1", "", "~2,000,000", ""],
            ["Tarantula", "1", "~2", "", ""],
            ["ours", "1", *(f"{x:,.0f}" for x in (pace, pace * 86_400, pages / done.cpu))],
        ],
        "The papers crawled the web, and WIRE waits by default 15 s between two pages of a site, 5 s at large"
        f" ones. Ours is a generated site of {pages:,} small pages on the same machine, asked for 16 at once"
        " and without a delay, from the start of the command to its end; its day is computed from this pace."
        " What pages of the web cost is in [speed.md](speed.md)."
        " Tarantula had 10 threads and a shared line of 2 Mbit/s; its Figures 7 to 9 are drawn for any"
        " crawl by `scrapy report`.",
    )
