"""What revisits cost: time of a page, and bytes of a URL."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.focus.visits.planner import DAY, RevisitRules
from rdfaspider.frontier import Keep
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.tables.database import Database

RULES = RevisitRules(mean=10 * DAY)
HOSTS = 300


class Crawl:
    """A crawl of pages with 40 links each, and the CPU time of its takes and ends."""

    def __init__(self, path: Path, rules: RevisitRules | None) -> None:
        self.frontier = LocalFrontier(
            str(path), politeness=Politeness(delay=0.0), revisits=rules, linkgraph=False
        )
        self.frontier.put(f"https://www.site{host}.example/" for host in range(HOSTS))
        self._said: dict[str, Any] = {} if rules is None else {"keep": Keep(None, 20.0)}
        self._random, self._now, self.seconds = random.Random(1), 1.7e9, 0.0

    def go(self, pages: int) -> None:
        draw = self._random.randrange
        for _ in range(pages):
            links = [
                f"https://www.site{draw(HOSTS)}.example/s{draw(7)}/article-{draw(10**6)}.html"
                for _ in range(40)
            ]
            began = time.process_time()
            taken = self.frontier.take(self._now)
            assert taken is not None
            self.frontier.finish(taken, "done", self._now, links, **self._said)
            self.seconds += time.process_time() - began
            self._now += 0.01


def test_a_page_costs_little_more_with_revisits(tmp_path: Path) -> None:
    without, with_them = Crawl(tmp_path / "a", None), Crawl(tmp_path / "b", RULES)
    for turn in range(12):
        for crawl in (without, with_them)[:: 1 if turn % 2 else -1]:
            crawl.go(250)
    ratio = with_them.seconds / without.seconds
    print(
        f"\na page with 40 links: {without.seconds / 3_000 * 1e6:,.0f} µs, revisits {ratio:.2f} times"
    )
    for crawl in (without, with_them):
        crawl.frontier.close()
    assert ratio < 1.2


@pytest.mark.parametrize("validators", [False, True])
def test_a_kept_page_takes_few_bytes(tmp_path: Path, validators: bool) -> None:
    rng, now, count = random.Random(1), 1.7e9, 40_000
    options: dict[str, Any] = {"politeness": Politeness(delay=0.0), "linkgraph": False}
    with LocalFrontier(str(tmp_path / "f"), revisits=RULES, **options) as frontier:
        frontier.put(
            f"https://www.site{number % 400}.example/s{number % 7}/article-{number * 7919 % 1000003}.html"
            for number in range(count)
        )
        for _ in range(count):
            taken = frontier.take(now)
            assert taken is not None
            now += 0.4 + rng.random()
            keep = Keep(None, rng.lognormvariate(3.0, 1.0))
            if validators and rng.random() < 0.6:
                modified = time.gmtime(1.6e9 + rng.random() * 1e8)
                keep = keep._replace(
                    etag=f'"{rng.getrandbits(28):x}-{rng.getrandbits(40):x}"',
                    last_modified=time.strftime("%a, %d %b %Y %H:%M:%S GMT", modified),
                )
            frontier.finish(taken, "done", now, keep=keep)
    database, sizes = Database(tmp_path / "f"), {}
    for name in ("urls", "due", "alarms", "said"):
        family = database._database.get_column_family(name)
        family.compact_range(None, None)
        sizes[name] = int(family.property_value("rocksdb.total-sst-files-size") or 0) / count
        family.close()
    database.close()
    print("\nbytes a URL:", {name: round(size, 1) for name, size in sizes.items()})
    assert sum(sizes.values()) < (45 if validators else 30)
