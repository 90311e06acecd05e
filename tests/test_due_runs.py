"""Runs that visit what is due and then end, as cron and systemd start them, against servers that change."""

from __future__ import annotations

import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest

from rdfaspider.stores import open_store
from tests.console.test_outside import watching

PROJECT = Path(__file__).parent.parent
PAGES = 5
SETTINGS = {
    "FRONTIER_REVISIT": 1,
    "FRONTIER_REVISIT_DUE": 1,
    "FRONTIER_REVISIT_SHORTEST": 1,
    "FRONTIER_REVISIT_EVERY": 1,
    "FRONTIER_RETRY_DELAY": 1,
    "POLITENESS_DELAY": 0,
    "POLITENESS_BACKOFF": 1,
    "POLITENESS_CONTACT": "a@site.test",
    "RESOLVER_ALLOW": "127.0.0.1",
    "EXTRACT_PROCESSES": 0,
    "PROGRESS_INTERVAL": 0,
}


@dataclass
class Site:
    """A front page that links articles; tests change what it answers."""

    articles: dict[str, int] = field(default_factory=lambda: {f"/{n}": 0 for n in range(PAGES)})
    every: float = 0.0  # seconds until the front page links another article
    gone: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)  # by robots.txt
    refusing: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    url: str = ""
    began: float = field(default_factory=monotonic)

    def answer(self, path: str) -> tuple[int, str]:
        self.asked[path] += 1
        if self.every:
            count = int((monotonic() - self.began) / self.every)
            self.articles.update({f"/new/{n}": 0 for n in range(count)})
        if self.refusing[path] > 0:
            self.refusing[path] -= 1
            return 503, ""
        if path == "/robots.txt" and self.forbidden:
            return 200, "User-agent: *\n" + "".join(f"Disallow: {p}$\n" for p in self.forbidden)
        if path in self.gone:
            return 410, ""
        if path == "/":
            links = "".join(f'<a href="{each}">{each}</a>' for each in self.articles)
            return 200, f"<!DOCTYPE html><title>Front</title>{links}"
        if path not in self.articles:
            return 404, ""
        version = self.articles[path]
        # One statement more in each version.
        names = (f"{path} in version {version}, {number}" for number in range(version + 1))
        body = "".join(f'<p property="http://schema.org/name">{name}</p>' for name in names)
        return 200, f"<!DOCTYPE html><title>x</title>{body}"


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = served.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}/"
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


def run(site: Site, directory: Path, **more: object) -> str:
    """Run what cron would run, until it ends by itself; return its summary."""
    site.asked.clear()
    with start(site, directory, **more) as crawl:
        summary = crawl.communicate(timeout=60)[1]
    assert crawl.returncode == 0, summary
    sleep(1.1)  # until pages are due again, since a run visits those that are due when it starts
    return summary


def start(site: Site, directory: Path, **more: object) -> subprocess.Popen[str]:
    options = [
        word for item in {**SETTINGS, **more}.items() for word in ("-s", "{}={}".format(*item))
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={site.url}", *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_visits_what_is_due_and_what_is_new_and_ends(
    site: Site, tmp_path: Path, workers: int
) -> None:
    summary = run(site, tmp_path, WORKERS=workers)
    assert "0 pages visited again in this run; 6 new pages" in summary
    site.articles["/0"] += 1
    site.gone.add("/1")
    site.refusing["/2"] = 1
    site.articles["/new"] = 0
    summary = run(site, tmp_path, WORKERS=workers)
    pages = Counter({path: n for path, n in site.asked.items() if path != "/robots.txt"})
    assert pages == {"/": 1, "/0": 1, "/1": 1, "/2": 2, "/3": 1, "/4": 1, "/new": 1}
    assert (
        "6 pages visited again in this run: 1 changed, 4 unchanged, 1 gone; 1 new page" in summary
    )
    summary = run(site, tmp_path, WORKERS=workers, FRONTIER_REVISIT_EVERY=3600)
    assert not [path for path in site.asked if path != "/robots.txt"], "nothing is due"
    assert "0 pages visited again in this run; 0 new pages" in summary


@pytest.mark.slow
def test_a_front_page_with_new_articles_is_visited_more_often_than_these(
    site: Site, tmp_path: Path
) -> None:
    site.every, site.began = 0.5, monotonic()
    run(
        site,
        tmp_path,
        FRONTIER_REVISIT_DUE=0,
        FRONTIER_REVISIT_EVERY=0,
        FRONTIER_REVISIT_MEAN=3,
        FRONTIER_REVISIT_LONGEST=100,
        CLOSESPIDER_TIMEOUT=15,
    )
    print(site.asked)
    assert site.asked["/"] > max(site.asked[f"/{n}"] for n in range(PAGES))


def wait_for(site: Site, requests: int) -> None:
    deadline = monotonic() + 60
    while site.asked.total() < requests:
        assert monotonic() < deadline, site.asked
        sleep(0.01)


STATES = ("done", "failed", "denied", "kept", "waiting")
GRAPHS = "SELECT (COUNT(DISTINCT ?g) AS ?n) (COUNT(*) AS ?m) WHERE { GRAPH ?g { ?s ?p ?o } }"


def scrapy(directory: Path, *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "rdfaspider", *words],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def numbers_of(directory: Path) -> dict[str, dict[str, int]]:
    """Return the numbers of a crawl that has stopped, by the place that shows them."""
    short = scrapy(directory, "report")
    scrapy(directory, "report", "--full", "-o", "full")
    (full,) = json.loads((directory / "full" / "report.json").read_text())
    with watching(directory) as console:
        shown, curves = console.get("crawl"), console.get("curves")

    def row(label: str) -> int:
        (found,) = re.findall(rf"^{label} +([\d,]+)$", short, re.MULTILINE)
        return int(found.replace(",", ""))

    with open_store(str(directory / "crawl" / "store"), read_only=True) as store:
        ((graphs, triples),) = ([int(n.value) for n in row] for row in store.query(GRAPHS))
    sizes = {int(size): count for size, count in full["pages"]["triples"].items()}
    counts = shown["counts"]
    return {
        "report": {
            "seen": row("URLs discovered"),
            "waiting": row("of these waiting"),
            "failed": row("of these failed"),
            "pages": row("pages, all visits"),
            "triples": row("triples stored"),
        },
        "full report": {
            **{name: full["urls"][name] for name in ("seen", *STATES)},
            "pages": full["history"]["pages"],
            "graphs": full["triples"]["graphs"],
            "triples": full["triples"]["triples"],
        },
        "table of pages": {
            "graphs": sum(count for size, count in sizes.items() if size),
            "triples": sum(size * count for size, count in sizes.items()),
        },
        "last sample": {
            "seen": full["history"]["samples"][-1]["seen"],
            "pages": curves["pages"][-1],
            "triples": full["history"]["samples"][-1]["triples"],
        },
        "console": {
            **{name: counts[name] for name in ("seen", "done", "failed", "denied", "kept")},
            "waiting": counts["waiting"] + counts["in_flight"],
            "pages": shown["pages"],
            "triples": shown["triples"],
        },
        "store": {"graphs": graphs, "triples": triples},
    }


def numbers_in(summary: str) -> dict[str, int]:
    """Return the numbers of a closing summary."""

    def number(pattern: str) -> int:
        return int(re.findall(pattern, summary)[-1].replace(",", ""))

    return {
        "seen": number(r"([\d,]+) URLs = "),
        **{
            name: number(rf"URLs = .*?([\d,]+) {name}")
            for name in STATES
            if name != "kept" or " kept" in summary
        },
        "triples": number(r"([\d,]+) triples (?:from [\d,]+ pages stored|of pages in the store)"),
    }


def check_sums(directory: Path, summary: str = "") -> dict[str, int]:
    """Check that every number is the same wherever it is shown, and that they add up; return them."""
    shown = numbers_of(directory)
    if summary:
        shown["summary"] = numbers_in(summary)
    else:  # a killed crawl may have stored pages that are fetched again
        del shown["table of pages"]
    numbers = shown["full report"]
    for name in numbers:
        by_place = {place: each[name] for place, each in shown.items() if name in each}
        assert len(set(by_place.values())) == 1, (name, by_place, summary)
    assert numbers["seen"] == sum(numbers[state] for state in STATES)
    return numbers


def kill_worker(crawl: subprocess.Popen[str]) -> str:
    """Kill a worker of a crawl; return the summary of the crawl."""
    workers = Path(f"/proc/{crawl.pid}/task/{crawl.pid}/children").read_text().split()
    os.kill(int(workers[0]), signal.SIGKILL)
    summary = crawl.communicate(timeout=120)[1]
    assert "was ended by signal 9" in summary
    return summary


def test_all_sums_agree_after_a_worker_is_killed(site: Site, tmp_path: Path) -> None:
    site.forbidden, site.gone = {"/1"}, {"/2"}
    with start(site, tmp_path, WORKERS=2, POLITENESS_DELAY=0.1) as crawl:
        wait_for(site, 2)
        summary = kill_worker(crawl)
    states = {"seen": 6, "done": 0, "failed": 1, "denied": 1, "kept": 4, "waiting": 0}
    assert check_sums(tmp_path, summary) == {**states, "pages": 4, "graphs": 3, "triples": 3}


@pytest.mark.slow
@pytest.mark.timeout(900)  # a busy machine takes minutes for the fifteen commands
def test_all_sums_agree_after_kills_and_a_full_disk(site: Site, tmp_path: Path) -> None:
    site.articles = {f"/{number}": number % 7 for number in range(60)}
    site.forbidden, site.gone = {f"/{number}" for number in range(50, 55)}, {"/55"}
    options = {"WORKERS": 2, "POLITENESS_DELAY": 0.05, "FRONTIER_RETRIES": 0}

    with start(site, tmp_path, **options) as crawl:
        wait_for(site, 20)
        summary = kill_worker(crawl)
    assert "done in this run: 55 pages" in summary
    states = {"seen": 61, "done": 0, "failed": 1, "denied": 5, "kept": 55, "waiting": 0}
    triples = sum(n % 7 + 1 for n in range(60) if not 50 <= n <= 55)
    expected = {**states, "pages": 55, "graphs": 54, "triples": triples}
    assert check_sums(tmp_path, summary) == expected

    site.articles.update({f"/{number}": number % 7 + 2 for number in range(40)})
    site.articles.update({f"/{number}": 1 for number in range(60, 90)})
    site.gone.update(f"/{number}" for number in range(40, 50))
    site.asked.clear()
    with start(site, tmp_path, **options) as crawl:
        wait_for(site, 40)
        crawl.kill()
    sums = check_sums(tmp_path)
    assert sums["pages"] > 55, "nothing was read before the crawl was killed"
    site.asked.clear()
    with start(site, tmp_path, **options) as crawl:
        wait_for(site, 12)
        resource.prlimit(crawl.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        summary = crawl.communicate(timeout=120)[1]
    assert crawl.returncode == 1
    assert "{jobdir}" not in summary
    check_sums(tmp_path, summary)
    sleep(1.1)
    summary = run(site, tmp_path, **options)
    read = [int(path[1:]) for path in site.articles if path not in site.gone | site.forbidden]
    triples = sum(site.articles[f"/{number}"] + 1 for number in read)
    sums = check_sums(tmp_path, summary)
    assert (sums["seen"], sums["waiting"]) == (91, 0)
    assert (sums["graphs"], sums["triples"]) == (len(read), triples)


def _recipe(first_line: str) -> str:
    """Return the block of the docs that has a line."""
    blocks = re.split(r"\n(?! {4}|\n {4})", (PROJECT / "docs/operations.md").read_text())
    block = next(each for each in blocks if first_line in each)
    return "".join(line[4:] + "\n" for line in block.splitlines() if line.startswith("    "))


@pytest.mark.slow
def test_the_line_for_cron_runs_and_its_directory_can_be_moved(site: Site, tmp_path: Path) -> None:
    options = " ".join("-s {}={}".format(*item) for item in SETTINGS.items())
    line = _recipe("flock -n").split(maxsplit=5)[5]
    line = line.replace(".venv/bin/rdfaspider", f"{sys.executable} -m rdfaspider")
    line = line.replace(" >>", f" {options} >>")

    def run_in(directory: Path) -> int:
        site.asked.clear()
        command = ["sh", "-c", line.replace("/srv/rdfa", str(directory))]
        environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
        return subprocess.run(command, env=environment, timeout=60, check=False).returncode

    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    (first / "seeds.txt").write_text(site.url)
    assert run_in(first) == 0
    assert site.asked["/0"] == 1
    with (first / "crawl.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run_in(first) == 1
    assert not site.asked, "another run goes on"
    site.articles["/0"] += 1
    shutil.copytree(first, second)
    shutil.rmtree(first)
    assert run_in(second) == 0
    assert "1 changed, 5 unchanged; 0 new pages" in (second / "crawl.log").read_text()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze checks units")
def test_the_units_for_systemd_are_right(tmp_path: Path) -> None:
    service = _recipe("[Service]").replace("/srv/rdfa/.venv/bin/rdfaspider", sys.executable)
    units = {"rdfaspider.service": service, "rdfaspider.timer": _recipe("[Timer]")}
    for name, text in units.items():
        (tmp_path / name).write_text(text)
    command = ["systemd-analyze", "verify", *(str(tmp_path / name) for name in units)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
