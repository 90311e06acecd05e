"""What revisits cost: time of a page, and bytes of a URL."""

from __future__ import annotations

import random
import time
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest
from rocksdict import BottommostLevelCompaction, CompactOptions

from rdfaspider.focus.visits.planner import DAY, RevisitRules
from rdfaspider.frontier import Keep
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.tables import tuning
from rdfaspider.frontier.tables.database import Database

RULES = RevisitRules(mean=10 * DAY)
HOSTS = 300
# Pages in a turn.
TURN = 50
# Pages whose bytes are counted, and for how many they stand.
SIZES = {20_000: 1_280_000, 125_000: 8_000_000, 250_000: 32_000_000}


class Crawl:
    """A crawl of pages with some links each, and the CPU time of its takes and ends."""

    def __init__(self, path: Path, rules: RevisitRules | None, links: int) -> None:
        self.frontier = LocalFrontier(
            str(path), politeness=Politeness(delay=0.0), revisits=rules, linkgraph=False
        )
        self._random, self._links, self._now, self.seconds = random.Random(1), links, 1.7e9, 0.0
        self.turns: list[float] = []
        self.frontier.put(self._urls(0 if links else 6_000))
        self.frontier.counts()
        self._said: dict[str, Any] = {} if rules is None else {"keep": Keep(None, 20.0)}

    def _urls(self, count: int) -> list[str]:
        draw = self._random.randrange
        hosts = [f"https://www.site{host}.example/" for host in range(HOSTS)]
        return hosts + [
            f"{hosts[draw(HOSTS)]}s{draw(7)}/article-{draw(10**6)}.html" for _ in range(count)
        ]

    def go(self, pages: int) -> None:
        before = self.seconds
        for _ in range(pages):
            links = self._urls(self._links)[HOSTS:]
            began = time.process_time()
            taken = self.frontier.take(self._now)
            assert taken is not None
            self.frontier.finish(taken, "done", self._now, links, **self._said)
            self.seconds += time.process_time() - began
            self._now += 0.01
        self.turns.append(self.seconds - before)

    def revisit(self, pages: int) -> float:
        """Return the CPU seconds of some visits to known pages, a third of which have changed."""
        while (taken := self.frontier.take(self._now)) is not None and taken.visit is None:
            self.frontier.finish(taken, "done", self._now, **self._said)
        self._now += 40 * DAY
        for _ in range(200):  # all are priced again after such a jump
            assert self.frontier.take(self._now - 39.9 * DAY) is None
        began = time.process_time()
        for number in range(pages):
            taken = self.frontier.take(self._now)
            assert taken is not None and taken.visit is not None
            keep = Keep(number % 3 == 0, 20.0)
            self.frontier.finish(taken, "done", self._now, keep=keep)
            self._now += 0.01
        return time.process_time() - began


def _time_of_a_page(crawl: Crawl, links: int) -> float:
    """Return microseconds. Links are looked up many at once, in some of the turns; without them all turns are
    alike, and the median leaves out those that others have disturbed."""
    turn = sum(crawl.turns) / len(crawl.turns) if links else median(crawl.turns)
    return turn / TURN * 1e6


# Without links, what a kept page has more is seen best.
@pytest.mark.parametrize("links", [40, 5, 0])
def test_a_page_costs_little_more_with_revisits(tmp_path: Path, links: int) -> None:
    without, with_them = (
        Crawl(tmp_path / name, rules, links) for name, rules in (("a", None), ("b", RULES))
    )
    for turn in range(60 if links else 120):  # short ones, because others use the machine too
        for crawl in (without, with_them)[:: 1 if turn % 2 else -1]:
            crawl.go(TURN)
    page, kept = (_time_of_a_page(crawl, links) for crawl in (without, with_them))
    ratio = kept / page
    print(f"\na page with {links} links: {page:,.0f} µs, revisits {ratio:.2f} times")
    if not links:
        again = with_them.revisit(2_000) / 2_000 * 1e6
        print(f"a revisit: {again / page:.2f} times a first visit without revisits")
    for crawl in (without, with_them):
        crawl.frontier.close()
    assert ratio < 1.2


@pytest.mark.parametrize(
    ("count", "visits"), [(20_000, 1), (20_000, 4), (125_000, 4), (250_000, 4)]
)
@pytest.mark.parametrize("validators", [False, True])
@pytest.mark.timeout(1_800)
def test_a_kept_page_takes_few_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, validators: bool, count: int, visits: int
) -> None:
    """Two figures: of the files as they lie, in the mean over the last round of visits or at the end of the
    only one, and of what is alive in them.

    RocksDB drops moved entries when it merges files. The files of a small crawl are written once, and never
    merged. So the write buffers are as small for these pages as they are for a million and more, and the
    other options are those of a frontier with so many.
    """
    many = 0 if SIZES[count] >= tuning.MANY else tuning.MANY
    monkeypatch.setattr("rdfaspider.frontier.tables.database.MANY", many)
    monkeypatch.setattr(tuning, "_WRITE_BUFFER", tuning._WRITE_BUFFER * count // SIZES[count])
    rng, now, moments = random.Random(1), 1.7e9, list[dict[str, float]]()
    options: dict[str, Any] = {"politeness": Politeness(delay=0.0), "linkgraph": False}
    with LocalFrontier(str(tmp_path / "f"), revisits=RULES, **options) as frontier:
        frontier.put(
            f"https://www.site{number % 400}.example/s{number % 7}/article-{number * 7919 % 1000003}.html"
            for number in range(count)
        )
        for number in range(visits * count):
            while (taken := frontier.take(now)) is None:
                now += DAY
            now += 0.4 + rng.random()
            keep = Keep(
                None if number < count else rng.random() < 0.3, rng.lognormvariate(3.0, 1.0)
            )
            if validators and rng.random() < 0.6:
                modified = time.gmtime(1.6e9 + rng.random() * 1e8)
                keep = keep._replace(
                    etag=f'"{rng.getrandbits(28):x}-{rng.getrandbits(40):x}"',
                    last_modified=time.strftime("%a, %d %b %Y %H:%M:%S GMT", modified),
                )
            frontier.finish(taken, "done", now, keep=keep)
            if number >= (visits - 1) * count > 0 and number % (count // 50) == 0:
                moments.append(_sizes(frontier._database, count))
    database = Database(tmp_path / "f")
    moments.append(_sizes(database, count))
    alive = _sizes(database, count, is_compacted=True)
    database.close()
    as_they_lie = {name: fmean(sizes[name] for sizes in moments) for name in alive}
    for name, sizes in (("as they lie", as_they_lie), ("alive", alive)):
        each = ", ".join(f"{family} {size:.1f}" for family, size in sizes.items())
        print(f"\nbytes a URL {name}: {sum(sizes.values()):.1f} ({each})", end="")
    largest = max(sum(sizes.values()) for sizes in moments)
    print(f"\nat most {largest:.1f}, just before files are merged", end="")
    most = 45.0 if validators else 30.0
    assert sum(alive.values()) < most
    if count > 20_000:  # more pages are in more levels, of which all but the last are soon stale
        most *= 1.1
    assert sum(as_they_lie.values()) < most
    assert largest < 1.1 * most


def _sizes(database: Database, count: int, *, is_compacted: bool = False) -> dict[str, float]:
    """Return the bytes of a page in each family, of all files or once they are rewritten."""
    sizes, wholly = {}, CompactOptions()
    wholly.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    for name in ("urls", "due", "alarms", "said"):
        family = database._database.get_column_family(name)
        if is_compacted:
            family.compact_range(None, None, wholly)
        sizes[name] = int(family.property_value("rocksdb.live-sst-files-size") or 0) / count
        family.close()
    return sizes
