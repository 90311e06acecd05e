"""A crawl with revisits follows a generated web that changes in fast time, through kills.

What the store had at any moment is known from the stream of changes, what it should have had from the oracle.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp, expm1
from pathlib import Path
from statistics import mean

import pytest

from rdfaspider.site.answers import answer
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores.changes import Change, statements
from rdfaspider.stores.stream.files import read
from rdfaspider.urls import host

PROJECT = Path(__file__).parent.parent

# Seconds of the web in a second, and of a day of the web in ours.
SPEED = 10_000.0
DAY = 4.0
DELAY = 0.1
# Seconds until what was fetched must be in the store, also on a busy machine.
GRACE = 3.0
SETTINGS = {
    "FRONTIER_REVISIT": 1,
    "FRONTIER_REVISIT_MEAN": 3.0,
    "FRONTIER_REVISIT_SHORTEST": 1.0,
    "FRONTIER_REVISIT_LONGEST": 30.0,
    "FRONTIER_REVISIT_MISSED": DAY,
    "STORE_CHANGES": 1,
    "ROBOTS_SITEMAPS": 1,
    "FRONTIER_RETRIES": 0,
    "EXTRACT_PROCESSES": 0,
    "POLITENESS_DELAY": DELAY,
    "POLITENESS_SERVER_DELAY": 0,
    "PROGRESS_INTERVAL": 0,
}


def parameters(
    hosts: int = 4, pages: int = 4, period: float = 12.0, life: float = 40.0
) -> Parameters:
    """Return a web whose median page changes every `period` of our seconds."""
    return Parameters(
        seed=7,
        hosts=hosts,
        levels=2,
        pages=pages,
        links_across=2,
        changing=0.8,
        spread=1.0,
        period=period * SPEED,
        vanishing=0.15,
        moving=0.1,
        returning=0.4,
        life=life * SPEED,
        validators=0.8,
        lying_validators=0.2,
        lastmod=0.7,
        lying_lastmod=0.3,
        feeds=True,
        speed=SPEED,
        began=time.time(),
    )


def start(directory: Path, proxy: str, seeds: str, **more: object) -> subprocess.Popen[bytes]:
    settings = {**SETTINGS, **more}
    options = [word for item in settings.items() for word in ("-s", "{}={}".format(*item))]
    arguments = ["crawl", "rdfa", "-a", f"seeds={seeds}", "-a", "scope=all", *options]
    log = os.open(directory / "crawl.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "rdfaspider", *arguments],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy},
            stderr=log,
        )
    finally:
        os.close(log)


@dataclass
class Result:
    """What a crawl did, from the access log of the web, and what its store had when."""

    web: Web
    log: Path
    changes: Path
    kills: list[float]
    began: float
    ended: float
    versions: dict[str, list[tuple[float, frozenset[bytes]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.oracle = Oracle(self.web)
        states: dict[str, set[bytes]] = defaultdict(set)
        for patch in read(self.changes):
            states[patch.page] -= set(patch.removed)
            states[patch.page] |= set(patch.added)
            known = self.versions.setdefault(patch.page, [])
            known.append((patch.time, frozenset(states[patch.page])))

    def requests(self) -> Iterator[tuple[float, str, int]]:
        for line in self.log.read_text().splitlines():
            moment, _, _, url, status = line.split()
            yield float(moment), url, int(status)

    def web_time(self, moment: float) -> float:
        return (moment - self.web.parameters.began) * self.web.parameters.speed

    def stored(self, url: str, moment: float) -> frozenset[bytes]:
        """Return what the store had of a page at a moment."""
        before = [version for time_, version in self.versions.get(url, ()) if time_ <= moment]
        return before[-1] if before else frozenset()

    def share(self, moment: float) -> float:
        """Return the share of the graphs that were those of the oracle at a moment."""
        at = self.web_time(moment)
        hosts = range(self.web.parameters.hosts)
        urls = {url for number in hosts for url in self.oracle.urls(number, at=at)}
        urls |= {url for url in self.versions if self.stored(url, moment)}
        right = 0
        for url in urls:
            true = Change.replacing(url, self.oracle.triples(url, at=at))
            right += frozenset(statements(true)) == self.stored(url, moment)
        return right / len(urls)

    def shares(self, warm_up: float, step: int = 1) -> list[float]:
        """Return the shares at each step of some seconds after the first ones, kills or not."""
        seconds = range(int(self.began + warm_up) + 1, int(self.ended), step)
        return [self.share(float(second)) for second in seconds]

    def ideal(self, warm_up: float) -> float:
        """Return the share that the best schedule reaches with as many visits, knowing all rates of change.

        A page is right for (1 - exp(-x)) / x of the time if it is visited every x of its mean times between
        changes. The best intervals solve 1 - (1 + x) exp(-x) = price / its mean time, with one price for all.
        """
        since = self.began + warm_up
        visits = [
            url
            for moment, url, _ in self.requests()
            if since <= moment < self.ended and not url.endswith((".txt", ".xml"))
        ]
        budget = len(visits) / (self.ended - since)
        history, still, periods = self.web.history, 0, list[float]()
        for number in range(self.web.parameters.hosts):
            for index in range(self.web.tree.count):
                if history.is_changing(number, index):
                    periods.append(history.period(number, index) / SPEED)
                else:
                    still += 1
        low, high = 0.0, max(periods)
        for _ in range(60):
            price = (low + high) / 2
            spent = sum(1 / (_best(price / each) * each) for each in periods if price < each)
            low, high = (price, high) if spent > budget else (low, price)
        fresh = sum(-expm1(-x) / x for each in periods if high < each and (x := _best(high / each)))
        return (still + fresh) / (still + len(periods))

    def ghosts(self) -> list[str]:
        """Return pages whose graph was still there some seconds after their second miss, a day apart."""
        found, misses = [], defaultdict[str, list[float]](list)
        requests = list(self.requests())
        for moment, url, status in requests:
            if status not in (404, 410):
                misses.pop(url, None)
                continue
            misses[url].append(moment)
            end = moment + GRACE
            is_cut = end > self.ended or any(moment <= kill < end for kill in self.kills)
            is_back = any(
                moment < later < end and other == url and answer_ == 200
                for later, other, answer_ in requests
            )
            is_second = status == 410 or moment - misses[url][0] >= DAY
            if is_second and not is_cut and not is_back and self.stored(url, end):
                found.append(url)
        return found

    def breaches(self) -> int:
        """Return how often a host was asked too soon."""
        times = defaultdict[str, list[float]](list)
        for moment, url, _ in self.requests():
            times[host(url)].append(moment)
        return sum(b - a < 0.9 * DELAY for each in times.values() for a, b in pairwise(each))

    def bytes_of(self) -> tuple[int, int]:
        """Return how many bytes of bodies of pages were sent, and how many were saved by 304."""
        sent = saved = 0
        for moment, url, status in self.requests():
            if status in (200, 304) and not url.endswith((".txt", ".xml")):
                size = len(answer(self.web, url, self.web_time(moment)).body)
                sent, saved = sent + size * (status == 200), saved + size * (status == 304)
        return sent, saved


def _best(goal: float) -> float:
    """Return the x for which 1 - (1 + x) exp(-x) is a number below 1."""
    low, high = 0.0, 60.0
    for _ in range(50):
        middle = (low + high) / 2
        if 1 - (1 + middle) * exp(-middle) < goal:
            low = middle
        else:
            high = middle
    return high


def crawl(directory: Path, web: Parameters, runs: list[float], **settings: object) -> Result:
    """Crawl a web in runs of some seconds, each ended by a kill but for the last."""
    log, kills = directory / "access.log", list[float]()
    log.touch()
    seeds = ",".join(Web(web).url(number, 0) for number in range(web.hosts))
    began = ended = 0.0
    with running(web, log=log) as proxy:
        for number, seconds in enumerate(runs, start=1):
            size = log.stat().st_size
            process = start(directory, proxy, seeds, **settings)
            try:
                while log.stat().st_size == size:
                    assert process.poll() is None, (directory / "crawl.log").read_text()
                    time.sleep(0.02)
                began = began or time.time()
                time.sleep(seconds)
                assert process.poll() is None, (directory / "crawl.log").read_text()
                ended = time.time()
                if number < len(runs):
                    kills.append(ended)
                    process.kill()
                else:
                    process.send_signal(signal.SIGINT)
                process.wait(60)
            finally:
                process.kill()
                process.wait()
    return Result(Web(web), log, directory / "crawl/changes", kills, began, ended)


def check(
    result: Result, warm_up: float, mean_least: float, least: float = 0.0, step: int = 1
) -> None:
    shares, ideal = result.shares(warm_up, step), result.ideal(warm_up)
    sent, saved = result.bytes_of()
    statuses = [status for _, _, status in result.requests()]
    print(
        f"\nshare of graphs equal to the oracle's: mean {mean(shares):.3f}, least {min(shares):.3f},"
        f" {len(shares)} checks; the best schedule has {ideal:.3f}; {len(statuses):,} requests,"
        f" {statuses.count(304):,} of them 304;"
        f" {sent:,} bytes of pages sent, {saved:,} saved"
    )
    print(" ".join(f"{share:.3f}" for share in shares))
    assert result.ghosts() == []
    assert result.breaches() == 0
    assert statuses.count(304) > 0
    assert saved > 0
    assert mean(shares) >= mean_least * ideal
    assert min(shares) >= least * ideal


@pytest.mark.slow
def test_a_crawl_follows_a_web_that_changes(tmp_path: Path) -> None:
    check(crawl(tmp_path, parameters(), [14.0, 14.0]), 8.0, 0.65)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_a_crawl_follows_a_web_that_changes_through_many_kills(tmp_path: Path) -> None:
    """The web is large enough that the chance of single pages does not decide a check: 1,456 pages."""
    chance = random.Random(1)
    runs = [chance.uniform(60.0, 150.0) for _ in range(6)]
    web = parameters(hosts=16, pages=9, period=320.0, life=400.0)
    result = crawl(
        tmp_path,
        web,
        runs,
        FRONTIER_REVISIT_MEAN=27.0,
        FRONTIER_REVISIT_SHORTEST=4.0,
        FRONTIER_REVISIT_LONGEST=240.0,
    )
    check(result, 60.0, mean_least=0.95, least=0.95, step=5)
