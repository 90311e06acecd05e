"""The path of a newcomer, from the README on: install, crawl, stop, resume, query, export, deploy, share.

Everything runs in a copy of the project with a virtual environment of its own, which only the project's
own commands fill, against a real web server.
"""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.frontier import redis_servers

PROJECT = Path(__file__).parent.parent
PAGES = 40

PAGE = """<!DOCTYPE html>
<html lang="en" vocab="http://schema.org/">
<title>Page {number}</title>
<h1 typeof="Article" resource="#it"><span property="name">Page {number}</span></h1>
<p><a href="/page{left}.html">left</a> <a href="/page{right}.html">right</a></p>
<p><a href="/missing.html">missing</a></p>
</html>
"""

NGINX = """
daemon off;
master_process off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ }}
http {{
    types {{ text/html html; text/plain txt; }}
    access_log {directory}/access.log;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {directory}/site;
    }}
}}
"""


def wait_until(condition, seconds: float = 60.0) -> None:  # type: ignore[no-untyped-def]
    """Wait until something is so; a bounded poll."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def process(command: list[str], directory: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process while the block runs, and end it with its children."""
    with log.open("wb") as output:
        running = subprocess.Popen(
            command,
            cwd=directory,
            env=environment(directory),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield running
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGTERM)
            running.wait(60)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Serve some pages with nginx and return the address of the first."""
    program = shutil.which("nginx") or str(PROJECT / ".cache/nginx/usr/sbin/nginx")
    if not Path(program).exists():
        pytest.skip("no nginx: run sh tests/nginx.sh")
    directory = tmp_path / "nginx"
    (directory / "site").mkdir(parents=True)
    for number in range(PAGES):
        left, right = (2 * number + 1) % PAGES, (2 * number + 2) % PAGES
        text = PAGE.format(number=number, left=left, right=right)
        (directory / "site" / f"page{number}.html").write_text(text)
    port = redis_servers.free_port()
    configuration = directory / "nginx.conf"
    configuration.write_text(NGINX.format(directory=directory, port=port))
    address = f"http://127.0.0.1:{port}/page0.html"
    command = [program, "-p", str(directory), "-c", str(configuration)]
    with process(command, directory, directory / "log"):
        wait_until(lambda: answers(address))
        yield address


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a shell in which the project's own was activated."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**kept, "PATH": f"{home / '.venv' / 'bin'}:{os.environ['PATH']}"}


class Shell:
    """A shell in the newcomer's copy of the project."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, command: str, code: int = 0) -> str:
        """Run a command line and return all it says."""
        result = self.run(command)
        assert result.returncode == code, f"$ {command}\n{result.stdout}"
        assert "Traceback" not in result.stdout, f"$ {command}\n{result.stdout}"
        return result.stdout

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.home,
            env=environment(self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,  # to install it compiles for a minute or two, and others may compile beside it
            check=False,
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home = tmp_path / "rdfaspider"
    home.mkdir()
    for name in ("README.md", "Makefile", "pyproject.toml", "requirements.txt", "setup.py"):
        shutil.copy(PROJECT / name, home)
    shutil.copy(PROJECT / "scrapy.cfg", home)
    (home / "tests").mkdir()
    for name in ("demo.sh", "serve.sh"):
        shutil.copy(PROJECT / "tests" / name, home / "tests")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "locks", home / "locks")
    shutil.copytree(PROJECT / "rdfaspider", home / "rdfaspider", ignore=ignored)
    return Shell(home)


def hint(output: str, label: str) -> str:
    found = re.search(rf"^  {label}: (.+)$", output, re.MULTILINE)
    assert found, output
    return found[1]


@pytest.fixture
def apt(tmp_path: Path) -> Path:
    """Return the log of an apt-get that installs nothing."""
    for name, script in (("sudo", 'exec "$@"'), ("apt-get", f'echo "$@" >> {tmp_path}/log')):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    (tmp_path / "log").touch()
    return tmp_path / "log"


@pytest.mark.parametrize(
    ("variable", "answer", "installs"),
    [
        ("", None, True),
        ("no", None, False),
        ("", b"n\n", False),
        ("", b"\n", True),
        ("yes", b"", True),
        ("no", b"", False),
    ],
)
def test_packages_are_named_before_they_are_installed_and_can_be_declined(
    apt: Path, variable: str, answer: bytes | None, installs: bool
) -> None:
    keyboard, terminal = pty.openpty()
    os.write(keyboard, answer or b"")
    done = subprocess.run(
        ["sh", "tests/apt.sh", "some-package", "another"],
        cwd=PROJECT,
        env={**os.environ, "PATH": f"{apt.parent}:{os.environ['PATH']}", "APT": variable},
        stdin=subprocess.DEVNULL if answer is None else terminal,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(keyboard)
    os.close(terminal)
    assert done.stdout.startswith("To be installed with apt-get: some-package another\n")
    assert (done.returncode == 0) == installs
    assert ("install -y" in apt.read_text()) == installs


def test_nothing_else_installs_packages() -> None:
    for file in (PROJECT / "Makefile", *PROJECT.glob("tests/*.sh")):
        assert file.name == "apt.sh" or "apt-get install" not in file.read_text(), file


@pytest.mark.slow
@pytest.mark.timeout(1800)  # it installs two environments
def test_the_path_of_a_newcomer(shell: Shell, site: str) -> None:
    installs_and_crawls_the_demo(shell)
    crawls_stops_and_resumes(shell, site)
    looks_at_what_was_found(shell)
    deploys_to_scrapyd(shell, site)
    shares_a_crawl(shell, site)


def installs_and_crawls_the_demo(shell: Shell) -> None:
    output = shell("make crawl")
    assert "341 URLs = 341 done" in output
    assert "http://schema.org/Book" in output
    assert "http://schema.org/Book" in shell(hint(output, "Query it"))


def crawls_stops_and_resumes(shell: Shell, site: str) -> None:
    command = ["scrapy", "crawl", "rdfa", "-a", f"seeds={site}", "-s", "POLITENESS_DELAY=0.05"]
    log = shell.home / "first.log"
    program = str(shell.home / ".venv" / "bin" / "scrapy")
    with process([program, *command[1:]], shell.home, log) as crawl:
        wait_until(lambda: (shell.home / "crawl" / "history.jsonl").exists())
        time.sleep(1)  # some pages; how many does not matter
        crawl.send_signal(signal.SIGINT)
        assert crawl.wait(60) == 0, log.read_text()
    stopped = log.read_text()
    assert "Send again to force" in stopped
    assert "seeds=" not in hint(stopped, "Resume it")
    rest = shell(hint(stopped, "Resume it"))
    assert "Resuming: " in rest
    assert f"{PAGES + 1} URLs = {PAGES} done + 1 failed + 0 denied + 0 waiting" in rest
    assert "http://schema.org/Article" in shell(hint(rest, "Query it"))


def looks_at_what_was_found(shell: Shell) -> None:
    assert f"{PAGES:,}" in shell("scrapy sparql 'SELECT (COUNT(*) AS ?n) { ?page a ?type }'")
    shell("scrapy export -o all.nq.gz")
    with gzip.open(shell.home / "all.nq.gz") as file:
        assert sum(1 for _ in file) == 3 * PAGES, "type, name and vocabulary of each page"
    assert "of these failed" in shell("scrapy report -o report.html")
    assert "<svg" in (shell.home / "report.html").read_text()
    assert "missing.html" in shell("scrapy frontier --failed missing")
    assert "is not known" in shell("scrapy frontier --url http://a.test/", code=1)
    assert "choose" in shell("scrapy crawl rdfa -a seeds=http://a.test/ -a scope=planet", code=1)


def deploys_to_scrapyd(shell: Shell, site: str) -> None:
    """On a host that has the requirements and scrapyd, but not the project itself."""
    shell("python3 -m venv host && host/bin/pip install -q -r requirements.txt scrapyd")
    shell("host/bin/pip install -q scrapyd-client 'setuptools>=77,<81'")
    host = shell.home / "host"
    found = shell("cd host && bin/pip list")
    assert "scrapyd" in found
    assert "rdfaspider" not in found
    port = redis_servers.free_port()
    (host / "scrapyd.conf").write_text(
        f"[scrapyd]\nhttp_port = {port}\nbind_address = 127.0.0.1\npoll_interval = 0.5\n"
        "jobs_dir = jobs\nlogs_dir = logs\n"
    )
    address = f"http://127.0.0.1:{port}/"
    target = (shell.home / "scrapy.cfg").read_text().replace("http://127.0.0.1:6800/", address)
    (shell.home / "scrapy.cfg").write_text(target)
    with process([str(host / "bin" / "scrapyd")], host, host / "scrapyd.log"):
        wait_until(lambda: answers(address + "daemonstatus.json"))
        assert '"status": "ok"' in shell("host/bin/scrapyd-deploy local")
        shell(
            f"host/bin/python -c \"import urllib.request as u; u.urlopen('{address}schedule.json',"
            f" b'project=rdfaspider&spider=rdfa&seeds={site}&setting=POLITENESS_DELAY=0.01')\""
        )
        wait_until(lambda: finished_jobs(address) == 1, 90)
    (jobdir,) = host.glob("jobs/rdfaspider/rdfa/*")
    log = "".join(path.read_text() for path in host.glob("logs/rdfaspider/rdfa/*.log"))
    assert f"{PAGES + 1} URLs = {PAGES} done + 1 failed" in log, log
    query = f"scrapy sparql -s JOBDIR={jobdir} 'SELECT (COUNT(*) AS ?n) {{ ?page a ?type }}'"
    assert f"{PAGES:,}" in shell(query)


def finished_jobs(address: str) -> int:
    url = address + "listjobs.json?project=rdfaspider"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return len(json.load(answer)["finished"])


def shares_a_crawl(shell: Shell, site: str) -> None:
    with redis_servers.server(shell.home / "redis") as redis:
        option = f"-s FRONTIER_URL={redis.url}"
        command = [str(shell.home / ".venv" / "bin" / "scrapy"), "crawl", "rdfa", *option.split()]
        command += ["-s", "FRONTIER_WAIT=1", "-s", "JOBDIR=worker1", "-s", "POLITENESS_DELAY=0.01"]
        command += ["-s", "RESOLVER_ALLOW=127.0.0.1"]
        log = shell.home / "worker1.log"
        with process(command, shell.home, log) as worker:
            wait_until(lambda: shell.run(f"scrapy frontier {option}").returncode == 0)
            assert "1 seeds pushed" in shell(f"scrapy seeds add {site} {option}")
            wait_until(lambda: f"{PAGES} done" in shell(f"scrapy frontier {option}"))
            shell(f"scrapy frontier --stop {option}")
            assert worker.wait(60) == 0, log.read_text()
    query = "scrapy sparql -s JOBDIR=worker1 'SELECT (COUNT(*) AS ?n) { ?page a ?type }'"
    assert f"{PAGES:,}" in shell(query)
