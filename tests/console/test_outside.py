"""`scrapy console`: a crawl that does not run, one with workers elsewhere, and several at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.conftest import PROJECT, Crawler, Scrapy
from tests.console.conftest import WEB
from tests.console.crawls import Console, crawling
from tests.console.test_browser import Watched, browser  # noqa: F401

pytestmark = pytest.mark.timeout(240)


@contextmanager
def watching(directory: Path, *arguments: str) -> Iterator[Console]:
    """Run `scrapy console` in a directory."""
    log = directory / "console.txt"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "rdfaspider", "console", *arguments],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("The console: "), log.read_text()
        try:
            yield Console(process, directory, line.split()[-1], log)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0, log.read_text()


@pytest.mark.slow
def test_a_crawl_that_does_not_run(
    crawl: Crawler,
    tmp_path: Path,
    browser: object,  # noqa: F811
) -> None:
    web = Parameters(seed=2, levels=2, pages=4, missing=0.2)
    with running(web) as url:
        found = crawl(f"{url}/", LOG_FILE="crawl.log", LOG_LEVEL="DEBUG")
    with watching(tmp_path, "-s", "LOG_FILE=crawl.log") as console:
        lines = console.get("log", level="INFO")
        assert any("Spider closed" in line["text"] for line in lines)
        assert {line["level"] for line in lines} <= {"INFO", "WARNING", "ERROR"}
        assert lines == sorted(lines, key=lambda line: -line["time"])
        shown = console.get("crawl")
        times = [row["time"] for row in shown["latest"]]
        assert len(times) == 12
        assert times == sorted(times, reverse=True)
        assert {row["url"] for row in shown["latest"]} <= set(found.fates)
        assert shown["state"] == "not running"
        assert not shown["controls"]
        counts = shown["counts"]
        assert counts["done"] + counts["failed"] + counts["denied"] == len(found.fates)
        assert counts["waiting"] == counts["in_flight"] == 0
        failed = {url for url, fate in found.fates.items() if fate == "failed/404"}
        outcomes = {row["reason"]: row["count"] for row in shown["outcomes"]}
        assert outcomes == Counter(fate.partition("/")[2] for fate in found.fates.values())
        behind = console.get("urls", state="failed", reason="404")["rows"]
        assert {row["url"] for row in behind} == failed
        (host,) = console.get("hosts")["rows"]
        assert host["done"] == counts["done"]
        details = console.get("host", name=host["name"])
        assert len(details["errors"]) == len(failed)
        assert details["robots"][0]["reached"]
        assert sum(row["urls"] for row in details["tree"]["rows"]) == len(found.fates)
        assert "does not run" in console.use("pause")
        response, body = console.request(
            "GET",
            "/sparql?query=SELECT%20(COUNT(*)%20AS%20%3Fn)%20%7B%3Fs%20%3Fp%20%3Fo%7D",
            authorization=f"Bearer {console.token}",
            accept="text/csv",
        )
        assert response.status == 200
        triples = {(quad.subject, quad.predicate, quad.object) for quad in found.quads}
        assert int(body.split()[1]) == len(triples)
        watched = Watched(browser, console)  # type: ignore[arg-type]
        for path in ("/", "/hosts", f"/hosts?name={host['name']}", "/query"):
            watched.open(path)
            watched.page.wait_for_timeout(500)
        watched.check()


@pytest.mark.slow
def test_several_crawls(scrapy: Scrapy, tmp_path: Path) -> None:
    with running(Parameters(levels=1, pages=3)) as url:
        for name in ("one", "two"):
            done = scrapy("crawl", "rdfa", "-a", f"seeds={url}/", JOBDIR=f"all/{name}",
                          POLITENESS_DELAY=0)  # fmt: skip
            assert done.returncode == 0
    with watching(tmp_path, "all") as console:
        assert [each["name"] for each in console.get("crawls")] == ["one", "two"]
        for name in ("one", "two"):
            assert console.get("crawl", crawl=name)["counts"]["done"] == 4
        second = scrapy("console", "all", CONSOLE_PORT=console.port)
        assert f"cannot listen at CONSOLE_PORT={console.port}: " in second.stderr
        assert "Errno" not in second.stderr
    assert "There is no crawl in elsewhere" in scrapy("console", "elsewhere").stderr


@pytest.mark.slow
def test_a_crawl_with_workers_is_steered_from_outside(tmp_path: Path) -> None:
    with (
        running(WEB) as proxy,
        crawling(
            tmp_path,
            *("-a", f"seeds={Web(WEB).url(0, 0)}"),
            proxy=proxy,
            POLITENESS_DELAY=0.1,
            POLITENESS_SERVER_DELAY=0,
            WORKERS=2,
        ) as inside,
    ):
        inside.until(lambda: inside.counts()["failed"] > 0)
        with watching(tmp_path, "-s", "JOBDIR=crawl") as console:
            console.use("pause")
            before = inside.settle()
            shown = console.get("crawl")
            assert shown["state"] == "paused"
            assert shown["counts"] == before
            assert {worker["name"] for worker in console.get("workers")} == {"1", "2"}
            assert console.get("hosts")["rows"][0]["waiting"] == before["waiting"]
            console.use("resume")
            inside.until(lambda: inside.counts()["done"] > before["done"])
            said = console.use("seeds", urls=f"{Web(WEB).url(4, 0)}\nhttp://127.0.0.1:22/")
            assert said.startswith("1 seed added. 1 not taken: 127.0.0.1 has a loopback address.")
            inside.until(lambda: len(inside.get("hosts")["rows"]) == 2)
            console.use("exclude", rule="keyword:/books")
            inside.until(lambda: inside.get("crawl")["excluded"] == ["keyword:/books"])
            console.use("stop")
            inside.wait()
            assert inside.process.returncode == 0


def _ends(shown: dict[str, Any]) -> dict[tuple[str, str], int]:
    rows = shown["outcomes"] or []
    return {
        (row["state"], row["reason"]): row["count"] for row in rows if row["state"] != "retried"
    }


@pytest.mark.slow
def test_a_crawl_with_workers_is_the_same_from_outside(
    tmp_path: Path,
    browser: object,  # noqa: F811
) -> None:
    """And it stays in view when it ends, is resumed, and is killed."""
    arguments = ("-a", f"seeds={Web(WEB).url(0, 0)}", "-a", "scope=all")
    settings: dict[str, Any] = {
        "POLITENESS_DELAY": 0.05,
        "POLITENESS_SERVER_DELAY": 0,
        "WORKERS": 2,
    }
    settings |= {"HISTORY_INTERVAL": 1, "LOG_FILE": "crawl.log"}
    with running(WEB) as proxy, ExitStack() as stack:
        with crawling(tmp_path, *arguments, proxy=proxy, **settings) as inside:
            console = stack.enter_context(
                watching(tmp_path, "-s", "JOBDIR=crawl", "-s", "LOG_FILE=crawl.log")
            )
            inside.until(lambda: inside.counts()["failed"] > 0)
            inside.until(lambda: inside.get("crawl")["triples"] > 100)
            inside.use("pause")
            inside.settle()

            def is_same() -> bool:
                shown, wanted = console.get("crawl"), inside.get("crawl")
                same = ("counts", "pages", "triples", "bytes", "errors", "warnings", "state")
                return _ends(shown) == _ends(wanted) and all(
                    shown[name] == wanted[name] for name in same
                )

            console.until(is_same)
            wanted = inside.get("crawl")
            shown = console.get("crawl")
            assert abs(shown["total_seconds"] - inside.get("crawl")["total_seconds"]) < 3
            assert shown["memory"] > 10
            urls = [row["url"] for row in shown["latest"]]
            assert len(urls) == 12
            lines = {line["text"] for line in console.get("log")}
            assert {line["text"] for line in inside.get("log")} <= lines
            assert console.get("curves")["triples"][-1] == wanted["triples"]
            query = "/sparql?query=ASK%20%7B%3Fs%20%3Fp%20%3Fo%7D"
            response, body = console.request("GET", query, authorization=f"Bearer {console.token}")
            assert response.status == 503
            assert b"Its own console" in body
            watched = Watched(browser, console)  # type: ignore[arg-type]
            watched.open("/")
            watched.page.wait_for_timeout(500)
            watched.check()
            inside.use("stop")
            inside.wait()
        console.until(lambda: console.get("crawl")["state"] == "not running", 10)
        ended = console.get("crawl")
        assert ended["counts"]["done"] == wanted["counts"]["done"]
        assert ended["pages"] >= wanted["pages"]
        assert (ended["forecast"], ended["memory"]) == (None, None)
        response, _ = console.request("GET", query, authorization=f"Bearer {console.token}")
        assert response.status == 200
        with crawling(tmp_path, proxy=proxy, **settings) as inside:
            console.until(lambda: console.get("crawl")["state"] == "running", 10)
            inside.until(lambda: inside.counts()["done"] > ended["counts"]["done"])
            os.kill(inside.process.pid, signal.SIGKILL)
            inside.process.wait()
            assert (tmp_path / "crawl" / "frontier.sock").is_socket(), "a kill leaves it"
            assert (tmp_path / "crawl" / "console").exists(), "and this"
            time.sleep(3)
            assert console.get("crawl")["state"] == "not running"


@pytest.mark.slow
def test_a_crawl_of_one_process_that_has_no_console_runs_elsewhere(
    tmp_path: Path,
) -> None:
    seed = Web(WEB).url(0, 0)
    with (
        running(WEB) as proxy,
        crawling(tmp_path, "-a", f"seeds={seed}", proxy=proxy, POLITENESS_DELAY=1) as inside,
    ):
        (tmp_path / "crawl" / "console").unlink()
        with watching(tmp_path, "-s", "JOBDIR=crawl") as console:
            shown = console.get("crawl")
            assert shown["state"] == "running elsewhere"
            assert shown["errors"] is shown["warnings"] is None, "its log is not known"
            assert not shown["has_log"]
            assert "another process" in console.use("pause")
            inside.until(lambda: console.get("crawl")["pages"])


@pytest.mark.slow
def test_a_worker_of_a_shared_crawl_shows_and_steers_all(tmp_path: Path) -> None:
    """The console of a worker asks the service, which it shares with the others."""
    service = subprocess.Popen(
        [sys.executable, "-m", "rdfaspider", "frontier", "serve", "-s", "JOBDIR=served",
         "-s", "POLITENESS_DELAY=0.1", "-s", "POLITENESS_SERVER_DELAY=0"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with (
            running(WEB) as proxy,
            crawling(
                tmp_path,
                *("-a", f"seeds={Web(WEB).url(0, 0)}"),
                proxy=proxy,
                FRONTIER_URL=f"unix:{tmp_path}/served/frontier.sock",
            ) as console,
        ):
            console.until(lambda: console.counts()["failed"] > 0)
            console.use("pause")
            console.settle()
            assert console.get("crawl")["state"] == "paused"

            def of_the_host() -> tuple[int, int, int]:
                (host,) = console.get("hosts")["rows"]
                details = console.get("host", name=host["name"])
                urls = details["tree"]["rows"][0]["urls"]
                return host["waiting"], len(details["errors"]), urls

            def of_the_crawl() -> tuple[int, int, int]:
                counts = console.counts()
                return counts["waiting"], counts["failed"], counts["seen"]

            # The worker asks for the counts now and then, so they come a little later.
            console.until(lambda: of_the_host() == of_the_crawl())
            before = console.counts()
            assert len(console.get("workers")) == 1
            assert console.use("requeue", pattern=".").startswith(f"{before['failed']} ")
            console.use("exclude", rule="keyword:/music")
            console.use("resume")
            console.until(lambda: console.counts()["denied"] > 0)
            console.use("stop")
            console.wait()
            assert console.process.returncode == 0
    finally:
        service.send_signal(signal.SIGINT)
        service.wait(20)
