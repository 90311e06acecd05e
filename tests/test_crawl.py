"""Whole crawls of the generated web, seen as a user sees them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

PROJECT = Path(__file__).parent.parent

# Everything a web does to a crawler that does not pass by itself, and no traps.
ROUGH = Parameters(
    seed=1,
    levels=3,
    pages=5,
    rdfa=0.4,
    jsonld=0.3,
    microdata=0.3,
    missing=0.05,
    broken=0.05,
    dropped=0.05,
    redirected=0.1,
    looping=0.05,
    duplicated=0.05,
    disallowed=0.25,
)


def test_a_rough_site_gives_what_the_oracle_says(crawl: Crawler) -> None:
    oracle = Oracle(Web(ROUGH))
    with running(ROUGH) as origin:
        found = crawl(f"{origin}/")
    reach = oracle.reachable([f"{origin}/"], depth=99, agent="rdfaspider")
    assert reach.denied
    assert found.pages == reach.pages.keys()
    assert found.fates.keys() == reach.fetched.keys() | reach.denied.keys()
    assert {u for u, fate in found.fates.items() if fate == "denied/robots"} == reach.denied.keys()
    assert found.quads == {quad for url in reach.pages for quad in oracle.triples(url)}
    failures = set(found.fates.values()) - {"done/page", "done/redirect", "denied/robots"}
    assert failures >= {"failed/404", "failed/500"}


def test_session_ids_do_not_multiply_the_pages(crawl: Crawler, tmp_path: Path) -> None:
    web, log = Parameters(seed=1, levels=3, sessions=1.0, sitemaps=False), tmp_path / "access.log"
    with running(web, log=log) as origin:
        crawl(f"{origin}/")
    asked = [line for line in log.read_text().splitlines() if "robots.txt" not in line]
    assert len(asked) <= 90, "85 pages, and ids that by chance have no digit, or no letter"


def test_the_summary_adds_up(crawl: Crawler) -> None:
    with running(ROUGH) as origin:
        found = crawl(f"{origin}/")
    sentence = r"([\d,]+) URLs = (\d+) done \+ (\d+) failed \+ (\d+) denied \+ (\d+) waiting"
    match = re.search(sentence, found.output)
    assert match
    seen, done, failed, denied, waiting = (int(n.replace(",", "")) for n in match.groups())
    assert seen == done + failed + denied + waiting == len(found.fates)
    fates = list(found.fates.values())
    assert failed == sum(fate.startswith("failed/") for fate in fates)
    assert denied == fates.count("denied/robots")
    assert waiting == 0
    assert f"{len(found.quads):,} triples" in found.output


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_depth(crawl: Crawler, depth: int) -> None:
    parameters = Parameters(seed=3, levels=3, pages=4)
    with running(parameters) as origin:
        found = crawl(f"{origin}/", "-a", f"depth={depth}")
    reach = Oracle(Web(parameters)).reachable([f"{origin}/"], depth)
    assert found.pages == reach.pages.keys()


def test_scope_across_hosts(crawl: Crawler, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = Parameters(seed=3, hosts=4, levels=1, pages=3, links_across=2)
    web = Web(parameters)
    oracle = Oracle(web)
    seed = web.url(0, 0)
    with running(parameters) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        here = crawl(seed, JOBDIR="host")
        everywhere = crawl(seed, "-a", "scope=all", JOBDIR="all")
    origin = web.origin(0)
    inside = oracle.reachable([seed], 99, accept=lambda url: url.startswith(f"{origin}/"))
    assert here.pages == inside.pages.keys()
    assert everywhere.pages == oracle.reachable([seed], 99).pages.keys()
    assert len(everywhere.pages) > len(here.pages)


def interrupt_after(pages: int, command: list[str], directory: Path) -> str:
    """Start a crawl, press Ctrl-C when the server has seen so many requests, return its output."""
    log = directory / "access.log"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(
        command, cwd=directory, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None and log.read_text().count("\n") < pages:
            pass
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    return output


def test_one_interrupt_stops_cleanly_and_the_crawl_resumes(crawl: Crawler, tmp_path: Path) -> None:
    parameters = Parameters(seed=5, levels=4, pages=4)
    oracle = Oracle(Web(parameters))
    (tmp_path / "access.log").touch()
    with running(parameters, log=tmp_path / "access.log") as origin:
        command = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={origin}/"]
        options = ["-s", "POLITENESS_DELAY=0", "-s", "POLITENESS_AT_ONCE=4"]
        output = interrupt_after(100, [*command, *options], tmp_path)
        assert "Crawl stopped after" in output
        assert "Send again to force" in output
        assert re.search(r"[1-9]\d* waiting", output)
        assert "Resume it: " in output
        rest = crawl(f"{origin}/")
    assert "+ 0 waiting" in rest.output
    assert "341 URLs = 341 done" in rest.output
    assert len(rest.fates) < 341
    fetched = [line.split()[3] for line in (tmp_path / "access.log").read_text().splitlines()]
    pages = [url for url in fetched if not url.endswith("/robots.txt")]
    assert sorted(pages) == sorted(oracle.urls(origin=origin)), "each page exactly once"
    assert rest.quads == {q for url in oracle.urls(origin=origin) for q in oracle.triples(url)}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "No seeds: say where to start with -a seeds="),
        (["-a", "seeds=missing.txt"], "missing.txt is neither a URL"),
        (["-a", "seeds=http://a.test/", "-a", "depth=deep"], "depth=deep is not a number"),
        (["-a", "seeds=http://a.test/", "-a", "scope=planet"], "choose host, domain or all"),
        (["-a", "seeds=http://a.test/", "-s", "URLS_REJECT=colour:red"], "Not a rule"),
        (["-a", "seeds=http://a.test/", "-s", "FILTER_DROP=nonsense"], "Not a rule"),
        (["-a", "seeds=http://a.test/", "-s", "EXTRACT_FORMATS=pdf"], "of rdfa, jsonld"),
        (["-a", "seeds=http://a.test/", "-s", "FRONTIER_ORDER=random"], "one of breadth"),
        (["-a", "seeds=http://a.test/", "-a", "depth=300"], "between 0 and 250"),
        (["-a", "seeds=https://www.w3.org/"], "POLITENESS_CONTACT"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, arguments: list[str], sentence: str
) -> None:
    result = scrapy("crawl", "rdfa", *arguments)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_store_in_use_stops_a_second_crawl_at_once(scrapy: Scrapy, tmp_path: Path) -> None:
    from rdfaspider.stores import open_store

    with open_store(str(tmp_path / "crawl" / "store")):
        result = scrapy("crawl", "rdfa", "-a", "seeds=http://a.test/")
    assert result.returncode == 1
    assert "is in use by another crawl" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_full_disk_stops_the_crawl_before_it_begins(scrapy: Scrapy) -> None:
    result = scrapy("crawl", "rdfa", "-a", "seeds=http://a.test/", FRONTIER_MIN_FREE_MB=10**9)
    assert result.returncode == 1
    assert "less than FRONTIER_MIN_FREE_MB" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    # How much is in the journal at the end depends on how fast it was loaded.
    ("kilobytes", "words"),
    [(300, "The crawl stops: "), (600, "cannot be written: |The crawl stops: ")],
)
def test_a_store_that_cannot_write_costs_no_page(
    crawl: Crawler, tmp_path: Path, kilobytes: int, words: str
) -> None:
    """A limit on the size of files stands for a disk that fills: the journal's, or the store's at the end."""
    parameters = Parameters(seed=2, levels=3, pages=4, triples=40, sentences=1)
    with running(parameters) as origin:
        command = f"ulimit -f {kilobytes}; exec {sys.executable} -m rdfaspider crawl rdfa"
        settings = "-s POLITENESS_OFF_FOR_OWN_SERVERS=1 -s EXTRACT_PROCESSES=0"
        stopped = subprocess.run(
            ["bash", "-c", f"{command} -a seeds={origin}/ {settings}"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert stopped.returncode == 1, stopped.stderr
        assert len(re.findall(words, stopped.stderr)) == 1, stopped.stderr
        assert "Traceback" not in stopped.stderr
        rest = crawl(f"{origin}/")
    oracle = Oracle(Web(parameters))
    assert rest.quads == {q for url in oracle.urls(origin=origin) for q in oracle.triples(url)}
    assert "+ 0 failed + 0 denied + 0 waiting" in rest.output


def test_many_hosts_need_few_open_files(tmp_path: Path) -> None:
    """A connection is kept in case a host is asked again, but not for every host there is."""
    parameters = Parameters(seed=3, hosts=400, levels=0, links_across=40)
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("".join(f"{Web(parameters).origin(host)}/\n" for host in range(400)))
    command = f"ulimit -n 256; exec {sys.executable} -m rdfaspider crawl rdfa -a seeds={seeds}"
    with running(parameters) as proxy:
        finished = subprocess.run(
            ["bash", "-c", f"{command} -a scope=all -s POLITENESS_OFF_FOR_OWN_SERVERS=1"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy},
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
        )
    assert finished.returncode == 0, finished.stderr
    # A robots.txt that could not be asked for is tried again after a minute.
    assert "Crawl finished after 0:" in finished.stderr, finished.stderr
    assert "400 URLs = 400 done + 0 failed + 0 denied + 0 waiting" in finished.stderr


def test_a_seed_that_moved_takes_the_scope_along_through_a_kill(
    crawl: Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = Parameters(seed=4, hosts=2, levels=2, pages=3, links_across=2, redirected=0.5)
    web = Web(parameters)
    oracle = Oracle(web)
    moved = next(
        url
        for index in range(web.tree.count)
        if (target := oracle.redirect(url := web.url(0, index)))
        and target.startswith(web.origin(1))
    )
    with running(parameters) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        crawl(moved, "-a", "depth=0")
        found = crawl(moved, "-a", "depth=0")
        assert found.fates == {}
        both = crawl(moved, JOBDIR="both")
    assert any(url.startswith(web.origin(1)) for url in both.pages)
