"""A real scrapydweb in front of a scrapyd that has the project: it starts a job, shows it and reads its log.

scrapydweb asks for old versions of Flask and SQLAlchemy, so it has an environment of its own:

    python -m venv web && web/bin/pip install scrapydweb
    RDFASPIDER_SCRAPYDWEB=web/bin/scrapydweb pytest tests/test_scrapydweb.py
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.frontier import redis_servers
from tests.test_scrapyd import PARAMETERS, Scrapyd, deploy, environment, host, scrapyd

__all__ = ["host"]  # a fixture


class ScrapydWeb:
    """A scrapydweb on a port, and its answers."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/1/"

    def ask(self, path: str, **form: str) -> str:
        body = urllib.parse.urlencode(form).encode() if form else None
        with urllib.request.urlopen(self.url + path, body, timeout=60) as answer:
            return str(answer.read().decode())


@pytest.fixture
def program() -> str:
    """Return the path of scrapydweb."""
    found = os.environ.get("RDFASPIDER_SCRAPYDWEB") or shutil.which("scrapydweb")
    if not found:
        pytest.skip("no scrapydweb: the head of this file says how to get it")
    return found


@contextmanager
def scrapydweb(program: str, directory: Path, server: Scrapyd) -> Iterator[ScrapydWeb]:
    """Run a scrapydweb for a scrapyd while the block runs."""
    directory.mkdir()
    port = redis_servers.free_port()
    lines = {
        "SCRAPYDWEB_BIND": "127.0.0.1",
        "SCRAPYDWEB_PORT": port,
        "SCRAPYD_SERVERS": [server.url.removeprefix("http://").rstrip("/")],
        "DATA_PATH": str(directory / "data"),
        "ENABLE_LOGPARSER": False,
        "CHECK_SCRAPYD_SERVERS": True,
    }
    text = "\n".join(f"{name} = {value!r}" for name, value in lines.items())
    (directory / "scrapydweb_settings_v11.py").write_text(text + "\n")
    with (directory / "scrapydweb.log").open("wb") as log:
        process = subprocess.Popen(
            [program],
            cwd=directory,
            env=environment(no_proxy="127.0.0.1"),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    web = ScrapydWeb(port)
    try:
        for _ in range(600):
            try:
                web.ask("api/daemonstatus/")
                break
            except (urllib.error.URLError, OSError):
                assert process.poll() is None, (directory / "scrapydweb.log").read_text()
                time.sleep(0.1)
        yield web
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
def test_a_job_is_started_and_shown(program: str, host: str, tmp_path: Path) -> None:
    site = Web(PARAMETERS)
    with (
        running(PARAMETERS) as proxy,
        scrapyd(host, tmp_path, proxy) as server,
        scrapydweb(program, tmp_path / "web", server) as web,
    ):
        deploy(host, tmp_path, server)
        assert json.loads(web.ask("api/listprojects/"))["projects"] == ["rdfaspider"]
        latest = "default: the latest version"
        spiders = json.loads(web.ask(f"api/listspiders/rdfaspider/{urllib.parse.quote(latest)}/"))[
            "spiders"
        ]
        assert spiders == ["rdfa"]
        # The two steps of its form "Run Spider": what is typed there reaches the crawl. With the settings of
        # the log its page of statistics can read what we write.
        typed = [
            *(f"-d seeds={site.url(0, 0)}", "-d scope=all"),
            *(f"-d setting=JOBDIR={tmp_path / 'crawl'}", "-d setting=POLITENESS_DELAY=0.05"),
            "-d setting=LOG_FORMAT=%(asctime)s [%(name)s] %(levelname)s: %(message)s",
            "-d setting=LOG_DATEFORMAT=%Y-%m-%d %H:%M:%S",
            "-d setting=STATS_DUMP=1",
        ]
        checked = json.loads(
            web.ask(
                "schedule/check/",
                project="rdfaspider",
                _version=latest,
                spider="rdfa",
                jobid="typed",
                additional="\r\n".join(typed),
            )
        )
        web.ask("schedule/run/", filename=checked["filename"])
        (job,) = _jobs(server, 60)
        assert job in web.ask("jobs/")
        server.wait_for(job, "finished", 300)
        assert job in web.ask("jobs/")
        log = web.ask(f"log/utf8/rdfaspider/rdfa/{job}/")
        stats = web.ask(f"log/stats/rdfaspider/rdfa/{job}/")
    assert "Crawl finished" in log
    assert '<td id="finish_reason">finished</td>' in stats
    assert '<strong class="green">' in stats  # it could count the pages
    assert (tmp_path / "crawl" / "store").is_dir()


def _jobs(server: Scrapyd, seconds: float) -> list[str]:
    """Return the jobs of a scrapyd, once it has any."""
    end = time.monotonic() + seconds
    while True:
        jobs = server.ask("listjobs.json?project=rdfaspider")
        names = [each["id"] for state in ("pending", "running", "finished") for each in jobs[state]]
        if names:
            return names
        assert time.monotonic() < end, jobs
        time.sleep(0.2)
