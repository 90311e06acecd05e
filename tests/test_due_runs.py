"""Runs that visit what is due and then end, as cron and systemd start them, against servers that change."""

from __future__ import annotations

import os
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
        if path in self.gone:
            return 410, ""
        if path == "/":
            links = "".join(f'<a href="{each}">{each}</a>' for each in self.articles)
            return 200, f"<!DOCTYPE html><title>Front</title>{links}"
        if path not in self.articles:
            return 404, ""
        name = f"{path} in version {self.articles[path]}"
        return (
            200,
            f'<!DOCTYPE html><title>x</title><p property="http://schema.org/name">{name}</p>',
        )


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
    options = [
        word for item in {**SETTINGS, **more}.items() for word in ("-s", "{}={}".format(*item))
    ]
    result = subprocess.run(
        [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={site.url}", *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    sleep(1.1)  # until pages are due again, since a run visits those that are due when it starts
    return result.stderr


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
