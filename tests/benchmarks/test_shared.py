"""How fast, even and safe a crawl on many workers is that share it by way of Redis. Run by name with -s.

The last test crawls a generated web with scrapy-redis beside, where that is installed. What is compared is
CPU time, and of one run.
"""

from __future__ import annotations

import importlib.util
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path

import pytest
from redis.crc import key_slot

from rdfaspider.service.server.partitions import PARTITIONINGS
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.frontier import redis_servers
from tests.frontier.redis_servers import SLOTS
from tests.losses import fetched
from tests.test_workers import Workers, crawl_through, kill_workers


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[redis_servers.Server]:
    with redis_servers.server(tmp_path / "redis") as server:
        yield server


# --- partitions ---


def host_names(vectors: Path) -> list[str]:
    """Return the names of hosts in the external vectors: pages, robots.txt files, tests."""
    found: set[str] = set()
    for path in vectors.rglob("*"):
        if path.is_file():
            text = path.read_text("utf-8", "replace")
            found.update(re.findall(r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)+)", text.lower()))
    return sorted(found)


def test_balance_of_partitions(vectors: Path) -> None:
    names = host_names(vectors)
    print(f"\n{len(names):,} host names; the fullest partition against an even share")
    counts = (4, 8, 16, 32)
    print(f"{'function':<12}" + "".join(f"{count:>8}" for count in counts))
    for name, function in PARTITIONINGS.items():
        worst = [
            max(Counter(function(host, count) for host in names).values()) * count / len(names)
            for count in counts
        ]
        print(f"{name:<12}" + "".join(f"{ratio:>8.2f}" for ratio in worst))
    assert len(names) > 100


# --- crawls ---

PARAMETERS = Parameters(seed=7, hosts=120, levels=2, pages=4, links_across=3, latency=0.05)


@contextmanager
def crew(
    directory: Path, redis: redis_servers.Server, parameters: Parameters, **settings: object
) -> Iterator[tuple[Workers, Path]]:
    directory.mkdir(exist_ok=True)
    log = directory / "access.log"
    log.touch()
    with running(parameters, log=log) as proxy:
        workers = Workers(directory, proxy, redis.url, Web(parameters).url(0, 0))
        workers.settings = settings
        try:
            yield workers, log
        finally:
            workers.end()


@pytest.mark.parametrize("number", [1, 2, 4])
def test_workers_and_pages(redis: redis_servers.Server, tmp_path: Path, number: int) -> None:
    """Table 8 of the RDFa Web Spider and figure 11 of KSpider: pages a second against workers."""
    with crew(tmp_path, redis, PARAMETERS) as (workers, log):
        for _ in range(number):
            workers.start()
        workers.finish(280)
    times = sorted(moment for moments in fetched(log).values() for moment in moments)
    shares = [len({quad.graph_name for quad in quads}) for quads in workers.quads()]
    even = statistics.mean(shares)
    print(
        f"\n{number} workers: {len(times):,} pages, {len(times) / (times[-1] - times[0]):.0f}/s; shares"
        f" {shares}, at most {max(abs(share - even) for share in shares) / even:.0%} from even"
    )
    assert max(abs(share - even) for share in shares) <= 0.2 * even


@pytest.mark.timeout(500)
def test_load_is_even_while_workers_are_killed(redis: redis_servers.Server, tmp_path: Path) -> None:
    """Kill a worker every five seconds, and have another join; nothing is lost, and none does much more
    than another while both live. Who lives for a moment only has no share to speak of."""
    parameters = replace(PARAMETERS, hosts=240, addresses=14)
    trouble = kill_workers(10, pause=5.0, seed=2)
    found = crawl_through(tmp_path, parameters, redis.url, trouble, delay=2.0)
    for pages, even in found:
        print(f"{pages:>6,} pages, an even share is {even:>7,.1f}: {pages / even - 1:+.0%}")
    assert sum(even >= 100 for _, even in found) >= 4
    assert all(abs(pages / even - 1) <= 0.2 for pages, even in found if even >= 100)


# --- a Redis that goes away ---


def after(pages: int, happens: Callable[[], None]) -> Callable[[Workers, Path], None]:
    """Return trouble that happens when about so many pages are fetched; who was asked meanwhile is told."""

    def trouble(crew: Workers, log: Path) -> None:
        while log.read_bytes().count(b"\n") < pages:
            time.sleep(0.05)
        start = time.time()
        happens()
        ended = time.time() - start
        while max(moments_of(log)) < start + ended:
            time.sleep(0.05)
        late = [moment - start for moment in moments_of(log) if moment > start]
        quiet = max(b - a for a, b in pairwise([0.0, *late]))
        first = min(moment for moment in late if moment > ended) - ended
        print(f"\nafter {ended:.0f} s goes on within {first:.1f} s; {quiet:.0f} s without a fetch")

    return trouble


def moments_of(log: Path) -> list[float]:
    return [float(line.split()[0]) for line in log.read_text().splitlines()[:-1]]


AWAY = float(os.environ.get("SHARED_AWAY", "60"))


@pytest.mark.timeout(500)
@pytest.mark.parametrize("how", ["hangs", "restarts"])
def test_a_minute_without_redis(tmp_path: Path, how: str) -> None:
    with redis_servers.server(tmp_path / "redis", "--appendonly", "yes") as redis:

        def happens() -> None:
            if how == "hangs":
                redis.process.send_signal(signal.SIGSTOP)
                time.sleep(AWAY)
                redis.process.send_signal(signal.SIGCONT)
            else:
                redis.process.terminate()
                redis.process.wait()
                time.sleep(AWAY)
                redis.start()

        crawl_through(tmp_path, PARAMETERS, redis.url, after(600, happens))


@pytest.mark.timeout(500)
def test_a_cluster_fails_over(tmp_path: Path) -> None:
    """Kill the primary that has the crawl's keys, and then the one that has taken its place."""
    name = next(f"crawl{n}" for n in count() if key_slot(f"crawl{n}".encode()) < SLOTS // 3)
    with redis_servers.cluster(tmp_path / "cluster", replicated=True) as nodes:

        def happens() -> None:
            nodes[0].kill()
            time.sleep(12)
            nodes[0].start()  # it comes back as a replica
            time.sleep(5)
            nodes[3].kill()

        url = f"{nodes[2].url}?crawl={name}"
        crawl_through(tmp_path, PARAMETERS, url, after(600, happens), delay=2.0)


@pytest.mark.timeout(500)
def test_sentinels_choose_another_primary(tmp_path: Path) -> None:
    with redis_servers.watched(tmp_path / "watched") as watched:
        crawl_through(tmp_path, PARAMETERS, watched.url, after(600, watched.primary.kill))


@pytest.mark.timeout(500)
def test_a_replica_takes_over_behind_one_address(tmp_path: Path) -> None:
    with redis_servers.pair(tmp_path / "pair") as pair:

        def happens() -> None:
            pair.kill_first()
            time.sleep(5)
            pair.promote_second()

        crawl_through(tmp_path, PARAMETERS, pair.url, after(600, happens))


def cpu_of_children(run: Callable[[], None]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_cpu_of_a_crawl(redis: redis_servers.Server, tmp_path: Path) -> None:
    """One worker on the local frontier and on the shared one, with its node: CPU time for a page."""
    parameters = Parameters(seed=5, hosts=40, levels=2, pages=6, links_across=3)
    settings: dict[str, object] = {"POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 256}
    cost = {}
    for name, url in {"local": "{jobdir}/frontier", "shared": redis.url}.items():
        directory = tmp_path / name
        with crew(directory, redis, parameters, FRONTIER_URL=url, **settings) as (workers, log):

            def run(workers: Workers = workers) -> None:
                workers.start()
                workers.finish(250)

            seconds = cpu_of_children(run)
        pages = sum(map(len, fetched(log).values()))
        cost[name] = seconds / pages
        print(f"\n{name}: {pages:,} pages, {seconds / pages * 1e3:.2f} ms CPU a page")
    print(f"{cost['shared'] / cost['local']:.2f} times the CPU of the local frontier")
    assert cost["shared"] <= 1.6 * cost["local"]


# --- side by side with scrapy-redis ---

PLAIN = """
from scrapy.linkextractors import LinkExtractor
from scrapy_redis.spiders import RedisSpider

class Plain(RedisSpider):
    name = "plain"
    redis_key = "plain:start_urls"
    links = LinkExtractor()

    def parse(self, response):
        for link in self.links.extract_links(response):
            yield response.follow(link)
"""


def start_plain(directory: Path, proxy: str, redis: str) -> subprocess.Popen[bytes]:
    settings = {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True,
        "REDIS_URL": redis,
        "MAX_IDLE_TIME_BEFORE_CLOSE": 5,
        "DOWNLOAD_DELAY": 0.3,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "CONCURRENT_REQUESTS": 64,
        "ROBOTSTXT_OBEY": False,
        "LOG_LEVEL": "ERROR",
    }
    options = [word for k, v in settings.items() for word in ("-s", f"{k}={v}")]
    with (directory / "plain.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "scrapy", "runspider", "plain.py", *options],
            cwd=directory,
            env={**os.environ, "http_proxy": proxy},
            stderr=log,
        )


def test_scrapy_redis_side_by_side(redis: redis_servers.Server, tmp_path: Path) -> None:
    """Two workers, one of them killed and replaced: what is lost, how polite, how large, how fast."""
    if importlib.util.find_spec("scrapy_redis") is None:
        pytest.skip("no scrapy-redis: pip install scrapy-redis")
    parameters = Parameters(seed=9, hosts=40, levels=2, pages=3, links_across=3, latency=0.1)
    web = Web(parameters)
    (tmp_path / "plain.py").write_text(PLAIN)
    table: dict[str, dict[str, float]] = defaultdict(dict)

    def measure(name: str, start: Callable[[str], subprocess.Popen[bytes]]) -> None:
        log = tmp_path / f"{name}.log"
        log.touch()
        with running(parameters, log=log) as proxy:

            def run() -> None:
                processes = [start(proxy), start(proxy)]
                while log.stat().st_size < 8_000:
                    time.sleep(0.05)
                processes[0].send_signal(signal.SIGKILL)
                processes[0].wait()
                processes[0] = start(proxy)
                for process in processes:
                    process.wait(250)

            table[name]["cpu"] = cpu_of_children(run)
        times = fetched(log)
        hosts: dict[str, list[float]] = defaultdict(list)
        for url, moments in times.items():
            hosts[url.split("/")[2]] += moments
        gaps = [b - a for moments in hosts.values() for a, b in pairwise(sorted(moments))]
        table[name]["pages"] = len(times)
        table[name]["breaches"] = sum(gap < 0.29 for gap in gaps)
        with redis.client() as client:
            size = sum(client.memory_usage(key, samples=0) for key in client.scan_iter())
        table[name]["bytes"] = size / len(times)

    with redis.client() as client:
        client.lpush("plain:start_urls", web.url(0, 0))
    measure("scrapy-redis", lambda proxy: start_plain(tmp_path, proxy, redis.url))
    with redis.client() as client:
        client.flushall()
    crew = Workers(tmp_path, "", redis.url, web.url(0, 0))

    def start_ours(proxy: str) -> subprocess.Popen[bytes]:
        crew.proxy = proxy
        return crew.start()

    measure("rdfaspider", start_ours)
    most = max(row["pages"] for row in table.values())
    print(
        f"\n{'':<14}{'URLs':>7}{'lost':>6}{'breaches':>10}{'Redis bytes a URL':>19}{'pages/CPU s':>13}"
    )
    for name, row in table.items():
        print(
            f"{name:<14}{row['pages']:>7.0f}{most - row['pages']:>6.0f}{row['breaches']:>10.0f}"
            f"{row['bytes']:>19.0f}{row['pages'] / row['cpu']:>13.1f}"
        )
    assert table["rdfaspider"]["pages"] == most
    assert table["rdfaspider"]["breaches"] == 0
