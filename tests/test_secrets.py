"""No secret is printed or written, and every command that is printed works when it is pasted."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.frontier import redis_servers

if TYPE_CHECKING:
    from tests.conftest import Scrapy

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parent.parent
SITE = Parameters(seed=6, levels=2, pages=4)
SECRET = "hunter2"

Result = subprocess.CompletedProcess[str]


def paste(command: str, directory: Path, **variables: str) -> Result:
    """Run a command as somebody would who pastes it into the same shell."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def hint(output: str, label: str) -> str:
    found = re.search(rf"^  {label}: (.+)$", output, re.MULTILINE)
    assert found, output
    return found[1]


def test_the_printed_commands_work_when_pasted(scrapy: Scrapy, tmp_path: Path) -> None:
    with running(SITE) as origin:
        seeds = tmp_path / "my seeds.txt"
        seeds.write_text(f"{origin}/\n")
        settings = {"JOBDIR": "my crawl", "POLITENESS_DELAY": 0, "FRONTIER_DEPTH": 9}
        begun = scrapy(
            "crawl",
            "rdfa",
            *("-a", f"seeds={seeds}", "-a", "scope=domain", "-s", "CLOSESPIDER_PAGECOUNT=3"),
            **settings,
        )
        resume = hint(begun.stderr, "Resume it").replace("PAGECOUNT=3", "PAGECOUNT=0")
        rest = paste(resume, tmp_path)
    assert rest.returncode == 0, rest.stderr
    assert "Resuming: " in rest.stderr
    assert "21 URLs = 21 done + 0 failed + 0 denied + 0 waiting" in rest.stderr
    answer = paste(hint(rest.stderr, "Query it"), tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "http://schema.org/" in answer.stdout


def test_seeds_of_standard_input_are_not_asked_for_again(scrapy: Scrapy, tmp_path: Path) -> None:
    with running(SITE) as origin:
        arguments = ("crawl", "rdfa", "-a", "seeds=-", "-s", "CLOSESPIDER_PAGECOUNT=1")
        begun = scrapy(*arguments, stdin=f"{origin}/\n", POLITENESS_DELAY=0)
        assert "seeds=" not in begun.stderr
        rest = paste(hint(begun.stderr, "Resume it") + " < /dev/null", tmp_path)
    assert rest.returncode == 0, rest.stderr


def test_a_crawl_with_a_store_that_is_down_shows_no_secret(scrapy: Scrapy, tmp_path: Path) -> None:
    settings = {
        "STORE_URL": f"gsp+http://me:{SECRET}-url@127.0.0.1:9/store",
        "STORE_TOKEN": f"{SECRET}-token",
        "STORE_HEADERS": f'{{"X-Key": "{SECRET}-header"}}',
    }
    crawling = {
        "LOG_LEVEL": "DEBUG",
        "STATS_DUMP": 1,
        "STORE_DRAIN_SECONDS": 1,
        "CLOSESPIDER_PAGECOUNT": 2,
        "POLITENESS_DELAY": 0,
        "HISTORY_INTERVAL": 1,
    }
    with running(SITE) as origin:
        seed = origin.replace("://", f"://me:{SECRET}-seed@")
        results = [scrapy("crawl", "rdfa", "-a", f"seeds={seed}/", **settings, **crawling)]
    assert "Crawled (200)" in results[0].stderr, "the log is that of DEBUG"
    assert "0 triples stored in gsp+http://…@127.0.0.1:9/store" in results[0].stderr
    assert "pages wait to be sent" in results[0].stderr
    results += [
        scrapy("sparql", "ASK {}", **settings),
        scrapy("export", **settings),
        scrapy("export", "--outbox", **settings),
        scrapy("frontier", **settings),
        scrapy("report", "-o", "report.html", **settings),
        scrapy("crawl", "rdfa", "-a", "depth=99", **settings),
    ]
    shown = "".join(result.stdout + result.stderr for result in results)
    for path in (tmp_path / "crawl" / "history.jsonl", tmp_path / "crawl" / "left_out.json"):
        shown += path.read_text()
    shown += (tmp_path / "report.html").read_text()
    assert SECRET not in shown, [line for line in shown.splitlines() if SECRET in line]
    assert "Traceback" not in shown


@pytest.mark.parametrize("is_right", [True, False])
def test_a_shared_crawl_shows_no_secret(scrapy: Scrapy, tmp_path: Path, is_right: bool) -> None:
    with redis_servers.server(tmp_path / "redis") as redis, running(SITE) as origin:
        with redis.client() as client:
            client.config_set("requirepass", SECRET)
        url = f"redis://:{SECRET if is_right else SECRET + '-wrong'}@127.0.0.1:{redis.port}/0"
        settings = {"FRONTIER_URL": url, "LOG_LEVEL": "DEBUG", "POLITENESS_DELAY": 0}
        results = [
            scrapy("crawl", "rdfa", "-a", f"seeds={origin}/", CLOSESPIDER_PAGECOUNT=2, **settings),
            scrapy("frontier", **settings),
            scrapy("seeds", "list", **settings),
        ]
        shown = "".join(result.stdout + result.stderr for result in results)
        assert SECRET not in shown, [line for line in shown.splitlines() if SECRET in line]
        if not is_right:
            assert [result.returncode for result in results] == [1, 1, 1]
            return
        resume = hint(results[0].stderr, "Resume it")
        assert "(first set $FRONTIER_URL_PASSWORD: secrets are not shown)" in results[0].stderr
        rest = paste(resume.replace("COUNT=2", "COUNT=0"), tmp_path, FRONTIER_URL_PASSWORD=SECRET)
        assert "21 done" in rest.stderr


def test_a_resumed_crawl_its_feed_and_refusals_show_no_secret(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    with running(SITE) as origin:
        seed = origin.replace("://", f"://me:{SECRET}-seed@")
        settings = {"LOG_LEVEL": "DEBUG", "POLITENESS_DELAY": 0, "HTTPAUTH_PASS": f"{SECRET}-auth"}
        settings |= {"HTTPAUTH_USER": "me", "HTTPAUTH_DOMAIN": "a.test", "CLOSESPIDER_PAGECOUNT": 2}
        results = [
            scrapy("crawl", "rdfa", "-a", f"seeds={seed}/", "-o", "items.jl", **settings),
            scrapy("crawl", "rdfa", "-o", "items.jl", **settings),
            scrapy("extract", f"{seed}/"),
            scrapy("fetch", f"{seed}/", LOG_LEVEL="DEBUG"),
        ]
    results += [
        scrapy("crawl", "rdfa", "-a", f"seeds=https://me:{SECRET}@www.w3.org/", JOBDIR="other"),
        scrapy("crawl", "rdfa", "-a", f"seeds=http://me:{SECRET}@[broken/", JOBDIR="other"),
        scrapy("extract", f"http://me:{SECRET}@127.0.0.1:9/"),
    ]
    shown = "".join(result.stdout + result.stderr for result in results)
    shown += (tmp_path / "items.jl").read_text()
    assert shown.count("Crawled (200)") >= 4
    assert SECRET not in shown, [line for line in shown.splitlines() if SECRET in line]
    assert "Traceback" not in shown
