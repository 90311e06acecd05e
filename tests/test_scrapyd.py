"""A real scrapyd on a host without the project: it is deployed as an egg, and its jobs crawl."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Quad

from rdfaspider.frontier import open_frontier
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores import open_store
from tests.environments import linked
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


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the Python of a host that has what docs/operations.md asks for, and not the project."""
    text = (PROJECT / "requirements.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    try:
        return linked(tmp_path_factory.mktemp("host"), *lines, "scrapyd", "scrapyd-client")
    except PackageNotFoundError as missing:
        pytest.skip(f"no {missing.name}: pip install scrapyd scrapyd-client 'setuptools>=77,<81'")


def test_the_host_does_not_have_the_project(host: str, tmp_path: Path) -> None:
    code = "import scrapy, scrapyd, lxml, pyoxigraph, rdfaspider"
    result = subprocess.run(
        [host, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert "No module named 'rdfaspider'" in result.stderr


def environment(**variables: str) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables


@contextmanager
def scrapyd(python: str, directory: Path, proxy: str) -> Iterator[Scrapyd]:
    """Run a scrapyd in a directory while the block runs."""
    port = redis_servers.free_port()
    lines = ("[scrapyd]", f"http_port = {port}", "bind_address = 127.0.0.1", "poll_interval = 0.5")
    (directory / "scrapyd.conf").write_text("\n".join((*lines, "max_proc = 4")) + "\n")
    with (directory / "scrapyd.log").open("wb") as log:
        process = subprocess.Popen(
            [python, "-P", "-m", "scrapyd"],
            cwd=directory,
            env=environment(http_proxy=proxy, no_proxy="127.0.0.1"),
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


def project(copy: Path) -> None:
    """Copy what a user has checked out."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "rdfaspider", copy / "rdfaspider", ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "requirements.txt", "README.md", "scrapy.cfg"):
        shutil.copy(PROJECT / name, copy)


def scrapyd_deploy(python: str, directory: Path, *arguments: str) -> str:
    """Do as the script scrapyd-deploy does; return what it says."""
    command = [python, "-P", "-c", "from scrapyd_client.deploy import main; main()", *arguments]
    result = subprocess.run(
        command, cwd=directory, env=environment(), capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def deploy(python: str, directory: Path, server: Scrapyd) -> None:
    """Deploy the project from a copy, as a user does from the project itself."""
    copy = directory / "project"
    project(copy)
    target = (copy / "scrapy.cfg").read_text().replace("http://127.0.0.1:6800/", server.url)
    (copy / "scrapy.cfg").write_text(target)
    assert '"status": "ok"' in scrapyd_deploy(python, copy, "local")


def test_an_egg_has_all_files_of_the_package(host: str, tmp_path: Path) -> None:
    project(tmp_path / "project")
    scrapyd_deploy(host, tmp_path / "project", "--build-egg", str(tmp_path / "egg"))
    with zipfile.ZipFile(tmp_path / "egg") as egg:
        packed = set(egg.namelist())
    files = (path for path in (PROJECT / "rdfaspider").rglob("*") if path.is_file())
    names = {str(path.relative_to(PROJECT)) for path in files if "__pycache__" not in path.parts}
    assert names <= packed


def stored(directory: Path) -> set[Quad]:
    with open_store(str(directory / "store"), read_only=True) as store:
        rows = store.query("SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }")
        return {Quad(row["s"], row["p"], row["o"], row["g"]) for row in rows}


def test_a_job_reads_every_page(host: str, tmp_path: Path) -> None:
    web = Web(PARAMETERS)
    with running(PARAMETERS) as proxy, scrapyd(host, tmp_path, proxy) as server:
        deploy(host, tmp_path, server)
        # Expansion reads the one file of data that other crawls do not.
        settings = (f"JOBDIR={tmp_path / 'crawl'}", "POLITENESS_DELAY=0.05", "EXTRACT_EXPAND=1")
        server.schedule("alone", *settings, seeds=web.url(0, 0), scope="all")
        server.wait_for("alone", "finished")
    oracle = Oracle(web)
    reach = oracle.reachable([web.url(0, 0)], 15)
    log = (tmp_path / "logs" / "rdfaspider" / "rdfa" / "alone.log").read_text()
    assert re.search(rf"done in this run: .*\b{len(reach.pages)} pages\b", log), log
    assert "extract-" not in log
    assert stored(tmp_path / "crawl") == {q for url in reach.pages for q in oracle.triples(url)}


@pytest.mark.slow
def test_two_jobs_of_scrapyd_share_a_crawl(host: str, tmp_path: Path) -> None:
    web = Web(PARAMETERS)
    with (
        redis_servers.server(tmp_path / "redis") as redis,
        running(PARAMETERS) as proxy,
        scrapyd(host, tmp_path, proxy) as server,
    ):
        deploy(host, tmp_path, server)
        spiders = server.ask("listspiders.json?project=rdfaspider")["spiders"]
        assert spiders == ["rdfa"]
        common = [f"FRONTIER_URL={redis.url}", "POLITENESS_DELAY=0.05", "FRONTIER_WAIT=1"]
        for job in ("one", "two"):
            server.schedule(job, f"JOBDIR={tmp_path / job}", *common, scope="all")
        with redis.client() as client:
            client.lpush("rdfa:start_urls", web.url(0, 0))
        oracle = Oracle(web)
        reach = oracle.reachable([web.url(0, 0)], 15)
        end = time.monotonic() + 120
        while not client.exists("{rdfa}:lease"):
            assert time.monotonic() < end, (tmp_path / "scrapyd.log").read_text()
            time.sleep(0.2)
        frontier: Any
        with open_frontier(redis.url, onlooks=True, read_ahead=0) as frontier:
            while frontier.counts().done < len(reach.pages):
                assert time.monotonic() < end, frontier.counts()
                time.sleep(0.2)
            assert len(frontier.workers()) == 2
        server.ask("cancel.json", project="rdfaspider", job="one")
        with open_frontier(redis.url, onlooks=True, read_ahead=0) as frontier:
            frontier.tell("state", "stop")
        for job in ("one", "two"):
            server.wait_for(job, "finished")
    found = stored(tmp_path / "one") | stored(tmp_path / "two")
    assert found == {quad for url in reach.pages for quad in oracle.triples(url)}


@pytest.mark.slow
def test_two_jobs_do_not_write_to_one_embedded_store(host: str, tmp_path: Path) -> None:
    with (
        redis_servers.server(tmp_path / "redis") as redis,
        running(PARAMETERS) as proxy,
        scrapyd(host, tmp_path, proxy) as server,
    ):
        deploy(host, tmp_path, server)
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
        assert "-s STORE_URL=DIRECTORY" in log
        server.ask("cancel.json", project="rdfaspider", job="first")
        server.wait_for("first", "finished")
