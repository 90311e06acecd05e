"""A real scrapyd: the project is deployed as an egg, and two jobs of it share one crawl over Redis."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.frontier.redis import report
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores import open_store
from tests.frontier import redis_servers

PROJECT = Path(__file__).parent.parent
PARAMETERS = Parameters(seed=3, hosts=6, levels=1, pages=4, links_across=3)


class Scrapyd:
    """A scrapyd on a port, and its answers."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/"

    def ask(self, path: str, **data: str | list[str]) -> dict[str, Any]:
        body = urllib.parse.urlencode(data, doseq=True).encode() if data else None
        with urllib.request.urlopen(self.url + path, body, timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
        assert found.get("status") == "ok", found
        return found

    def schedule(self, job: str, *settings: str, **arguments: str) -> None:
        self.ask(
            "schedule.json",
            project="rdfaspider",
            spider="rdfa",
            jobid=job,
            setting=list(settings),
            **arguments,
        )

    def wait_for(self, job: str, state: str, seconds: float = 90.0) -> None:
        end = time.monotonic() + seconds
        while True:
            jobs = self.ask("listjobs.json?project=rdfaspider")
            if job in [each["id"] for each in jobs[state]]:
                return
            assert time.monotonic() < end, jobs
            time.sleep(0.2)


@contextmanager
def scrapyd(directory: Path, proxy: str) -> Iterator[Scrapyd]:
    """Run a scrapyd in a directory while the block runs."""
    if importlib.util.find_spec("scrapyd") is None:
        pytest.skip("no scrapyd: pip install scrapyd scrapyd-client 'setuptools<81'")
    port = redis_servers.free_port()
    lines = ("[scrapyd]", f"http_port = {port}", "bind_address = 127.0.0.1", "poll_interval = 0.5")
    (directory / "scrapyd.conf").write_text("\n".join((*lines, "max_proc = 4")) + "\n")
    environment = {**os.environ, "http_proxy": proxy, "no_proxy": "127.0.0.1"}
    environment.pop("PYTHONPATH", None)
    with (directory / "scrapyd.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "scrapyd"],
            cwd=directory,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    server = Scrapyd(port)
    try:
        for _ in range(300):
            try:
                server.ask("daemonstatus.json")
                break
            except (urllib.error.URLError, OSError):
                assert process.poll() is None, (directory / "scrapyd.log").read_text()
                time.sleep(0.1)
        yield server
    finally:
        # Its jobs would outlive it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def deploy(directory: Path, server: Scrapyd) -> None:
    """Deploy the project from a copy, as a user does from the project itself."""
    copy = directory / "project"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "rdfaspider", copy / "rdfaspider", ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "requirements.txt", "README.md", "scrapy.cfg"):
        shutil.copy(PROJECT / name, copy)
    target = (copy / "scrapy.cfg").read_text().replace("http://127.0.0.1:6800/", server.url)
    (copy / "scrapy.cfg").write_text(target)
    command = [str(Path(sys.executable).parent / "scrapyd-deploy"), "local"]
    result = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert '"status": "ok"' in result.stdout, result.stdout + result.stderr


def test_two_jobs_of_scrapyd_share_a_crawl(tmp_path: Path) -> None:
    web = Web(PARAMETERS)
    with (
        redis_servers.server(tmp_path / "redis") as redis,
        running(PARAMETERS) as proxy,
        scrapyd(tmp_path, proxy) as server,
    ):
        deploy(tmp_path, server)
        spiders = server.ask("listspiders.json?project=rdfaspider")["spiders"]
        assert spiders == ["rdfa"]
        common = [
            f"FRONTIER_URL={redis.url}",
            "POLITENESS_DELAY=0.05",
            "FRONTIER_WAIT=1",
            "EXTRACT_PROCESSES=0",
        ]
        for job in ("one", "two"):
            server.schedule(job, f"JOBDIR={tmp_path / job}", *common, scope="all")
        with redis.client() as client:
            client.lpush("rdfa:start_urls", web.url(0, 0))
        oracle = Oracle(web)
        reach = oracle.reachable([web.url(0, 0)], 15)
        end = time.monotonic() + 120
        while not client.exists("{rdfa}:crawl"):
            assert time.monotonic() < end, (tmp_path / "scrapyd.log").read_text()
            time.sleep(0.2)
        with report.onlooker(redis.url) as frontier:
            while frontier.counts().done < len(reach.pages):
                assert time.monotonic() < end, frontier.counts()
                time.sleep(0.2)
            frontier.redis_time()
            assert len(frontier.crew.workers()) == 2
        server.ask("cancel.json", project="rdfaspider", job="one")
        with report.onlooker(redis.url) as frontier:
            frontier.crew.tell(state="stop")
        for job in ("one", "two"):
            server.wait_for(job, "finished")
    found = set()
    for job in ("one", "two"):
        with open_store(str(tmp_path / job / "store"), read_only=True) as store:
            found |= {
                str(row["g"]) for row in store.query("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")
            }
    assert found == {str(quad.graph_name) for url in reach.pages for quad in oracle.triples(url)}


def test_two_jobs_do_not_write_to_one_embedded_store(tmp_path: Path) -> None:
    with (
        redis_servers.server(tmp_path / "redis") as redis,
        running(PARAMETERS) as proxy,
        scrapyd(tmp_path, proxy) as server,
    ):
        deploy(tmp_path, server)
        settings = [f"FRONTIER_URL={redis.url}", "FRONTIER_WAIT=1", f"JOBDIR={tmp_path / 'same'}"]
        server.schedule("first", *settings)
        with redis.client() as client:
            end = time.monotonic() + 60
            while not client.exists("{rdfa}:crawl"):
                assert time.monotonic() < end
                time.sleep(0.2)
        server.schedule("second", *settings)
        server.wait_for("second", "finished")
        # What a job says on its way out is in the log of scrapyd itself.
        log = (tmp_path / "scrapyd.log").read_text()
        assert "same/store is in use by another crawl" in log
        assert "-s JOBDIR=DIRECTORY" in log
        server.ask("cancel.json", project="rdfaspider", job="first")
        server.wait_for("first", "finished")
