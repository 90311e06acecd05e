"""Whole crawls of the generated web into a real RDF4J server that fails in every way it can."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import NamedNode, Quad

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores import StoreUnavailable, open_store
from rdfaspider.stores.outbox.database import OutboxDatabase
from tests.stores.conftest import PROJECT, gateway_to, rdf4j_server

if TYPE_CHECKING:
    from tests.conftest import Scrapy
    from tests.stores.conftest import Fault

# A write in the log of the RDF4J server.
WRITTEN = '/statements HTTP/1.1" 204'
SITE = Parameters(seed=4, hosts=6, levels=2, pages=4, links_across=3, triples=12)
OPTIONS = {"POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 8, "EXTRACT_PROCESSES": 0}


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Run an RDF4J server; the values are the URL of its repositories and its log."""
    directory = tmp_path_factory.mktemp("server") / "rdf4j"
    with rdf4j_server(directory) as (_, url):
        yield url, directory.with_suffix(".log")


def expected(parameters: Parameters, at: float = 0.0) -> set[Quad]:
    web = Web(parameters)
    oracle = Oracle(web)
    reach = oracle.reachable([web.url(0, 0)], 99)
    return {quad for url in reach.pages for quad in oracle.triples(url, at=at)}


def stored(url: str) -> set[Quad]:
    """Return what a repository holds, after checking that it holds nothing twice."""
    with open_store(f"rdf4j+{url}", read_only=True) as store:
        quads = list(store.quads())
        assert store.count() == len(quads) == len(set(quads))
    return set(quads)


def arguments(url: str, **settings: object) -> list[str]:
    seed = Web(SITE).url(0, 0)
    words = ["crawl", "rdfa", "-a", f"seeds={seed}", "-a", "scope=all"]
    for name, value in {**OPTIONS, "STORE_URL": f"rdf4j+{url}", **settings}.items():
        words += ["-s", f"{name}={value}"]
    return words


@contextmanager
def crawling(directory: Path, proxy: str, url: str, **settings: object) -> Iterator[list[str]]:
    """Run a crawl while the block runs and to its end; its output is then in the list."""
    output: list[str] = []
    command = [sys.executable, "-m", "rdfaspider", *arguments(url, **settings)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=directory, env=environment, stderr=pipe, text=True) as crawl:
        try:
            yield output
            output.append(crawl.communicate(timeout=200)[1])
        finally:
            crawl.kill()
    assert crawl.returncode == 0, output


@pytest.mark.slow
def test_what_changed_is_written_again_and_the_rest_is_not_touched(
    repositories: tuple[str, Path], scrapy: Scrapy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = replace(SITE, changing=0.2, period=100_000.0)
    url, log = f"{repositories[0]}/changes", repositories[1]
    before = log.read_text().count(WRITTEN)
    for at in (0.0, 100_000.0):
        with running(web, start=at) as proxy:
            monkeypatch.setenv("http_proxy", proxy)
            # One page a batch, so that the server's log has a line for each graph that is written.
            result = scrapy(*arguments(url, STORE_BATCH_QUADS=1, STORE_BATCH_SECONDS=0))
        assert result.returncode == 0, result.stderr
        quads = stored(url)
        assert quads == expected(web, at)
        for leftover in (tmp_path / "crawl" / "frontier").glob("*"):
            leftover.unlink()
    changed = {quad.graph_name for quad in expected(web) ^ expected(web, 100_000.0)}
    pages = len({quad.graph_name for quad in quads})
    assert 0 < len(changed) < pages / 2
    assert log.read_text().count(WRITTEN) - before == pages + len(changed)


@pytest.mark.slow
def test_faults_lose_nothing_and_the_page_at_fault_can_be_sent_later(
    repositories: tuple[str, Path], scrapy: Scrapy, tmp_path: Path
) -> None:
    """Writes fail by turns, some of them though the server has made them, and one page always."""
    faults: list[Fault] = [500, None, "hang", None, "drop", "late", None, 503]
    poison = Web(SITE).url(1, 2)
    with gateway_to(repositories[0]) as gateway, running(SITE) as proxy:

        def fault(body: bytes) -> Fault:
            if f"GRAPH <{poison}> {{".encode() in body:
                return 400
            return faults[gateway.writes % len(faults)]

        gateway.fault = fault
        url = f"{gateway.url}/faults"
        settings = {"STORE_BATCH_QUADS": 300, "STORE_BATCH_SECONDS": 1, "STORE_TIMEOUT": 2}
        with crawling(tmp_path, proxy, url, **settings) as output:
            pass
        real = f"{repositories[0]}/faults"
        everything = expected(SITE)
        graph = NamedNode(poison)
        assert stored(real) == {quad for quad in everything if quad.graph_name != graph}
        assert f"refuses {poison}: 400: the words of the gateway" in output[0]
        assert "wait in the outbox crawl" not in output[0]
        gateway.fault = lambda body: None
        result = scrapy("export", "--send", STORE_URL=f"rdf4j+{url}")
        assert result.returncode == 0, result.stderr
        assert stored(real) == everything


@pytest.mark.slow
def test_a_page_that_the_server_fails_at_is_set_aside_and_all_others_are_stored(
    repositories: tuple[str, Path], scrapy: Scrapy, tmp_path: Path
) -> None:
    web = replace(SITE, hosts=2)
    poison = Web(web).url(1, 2)
    with gateway_to(repositories[0]) as gateway, running(web) as proxy:
        gateway.fault = lambda body: 500 if f"<{poison}> {{".encode() in body else None
        url = f"{gateway.url}/errors"
        with crawling(tmp_path, proxy, url) as output:
            pass
    others = {quad for quad in expected(web) if quad.graph_name != NamedNode(poison)}
    assert stored(f"{repositories[0]}/errors") == others
    assert "1 page that the store refused (scrapy export --aside)" in output[0]
    aside = scrapy("export", "--aside").stdout
    assert aside.startswith(f"# 500 <{poison}> the words of the gateway\n")


def test_the_crawl_fetches_until_the_outbox_is_full_and_goes_on_when_it_is_not(
    repositories: tuple[str, Path], tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    log.touch()
    limit = 0.02
    with gateway_to(repositories[0]) as gateway, running(SITE, log=log) as proxy:
        gateway.fault = lambda body: 503
        url = f"{gateway.url}/full"
        with crawling(tmp_path, proxy, url, STORE_OUTBOX_MB=limit, CONCURRENT_REQUESTS=4):
            fetched = wait_until_held(log, tmp_path, limit)
            assert 0 < fetched < len({quad.graph_name for quad in expected(SITE)})
            gateway.fault = lambda body: None
    assert stored(f"{repositories[0]}/full") == expected(SITE)


def wait_until_held(log: Path, directory: Path, limit: float) -> int:
    """Wait until the outbox is full and for two seconds nothing was fetched; count the fetches."""
    deadline = time.monotonic() + 60
    fetched, since = -1, time.monotonic()
    while time.monotonic() < since + 2:
        assert time.monotonic() < deadline, "the crawl is not held back"
        time.sleep(0.05)
        count = log.read_text().count("\n")
        if count != fetched or waiting(directory) < limit * (1 << 20):
            fetched, since = count, time.monotonic()
    return fetched


def waiting(directory: Path) -> int:
    try:
        database = OutboxDatabase(str(directory / "crawl" / "outbox"), read_only=True)
    except StoreUnavailable:
        return 0
    database.close()
    return database.size


def crawl_through_deaths(
    directory: Path, site: Parameters, deaths: int, delay: float, batch: int, sail: str = "native"
) -> tuple[str, set[Quad]]:
    """Kill the server in the midst of each second write, so many times; compare with the oracle.

    Returns what the crawl said, and what is stored; the web's log is `access.log`.
    """
    chance = random.Random(1)
    left = iter(range(deaths))
    with rdf4j_server(directory / "rdf4j") as (server, base), gateway_to(base) as gateway:

        def die() -> None:
            time.sleep(chance.uniform(0.0, 0.1))
            server.kill()
            server.start()

        def fault(body: bytes) -> Fault:
            if gateway.writes % 2 == 0 and next(left, None) is not None:
                gateway.dying = die
            return None

        gateway.fault = fault
        settings = {"POLITENESS_DELAY": delay, "STORE_BATCH_QUADS": batch, "STORE_REBUILD": True}
        settings |= {"STORE_BATCH_SECONDS": 0.5, "STORE_DRAIN_SECONDS": 60}
        with (
            running(site, log=directory / "access.log") as proxy,
            crawling(directory, proxy, f"{gateway.url}/deaths?sail={sail}", **settings) as output,
        ):
            pass
        assert next(left, None) is None, "the crawl ended before the last death"
        # A death may fall between two writes, and then nothing was damaged.
        assert 1 <= output[0].count("rebuilt and filled") <= deaths
        assert "wait in the outbox crawl" not in output[0]
        found = stored(f"{base}/deaths")
        assert found == expected(site)
        return output[0], found


@pytest.mark.slow
@pytest.mark.parametrize("sail", ["native", pytest.param("lmdb", marks=pytest.mark.campaign)])
def test_a_server_that_is_killed_again_and_again_loses_nothing(tmp_path: Path, sail: str) -> None:
    """Five times, and a larger crawl, are in tests/benchmarks/test_stores.py."""
    crawl_through_deaths(tmp_path, SITE, deaths=2, delay=0.3, batch=300, sail=sail)
