"""A crawl with revisits of pages that change, vanish, move and come back: what becomes of their graphs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

import pytest

from rdfaspider.archive.index.index import captures_in
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.robots.record import RobotsRecord
from rdfaspider.stores import open_store
from rdfaspider.stores.stream.files import read
from rdfaspider.stores.stream.patch import Patch

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parent.parent

HTML = {"Content-Type": "text/html"}
Answer = tuple[int, dict[str, str], str]

# A day in this crawl, and its shortest time between two visits of a page.
DAY = 3.0
SETTINGS: dict[str, object] = {
    "FRONTIER_REVISIT": 1,
    "FRONTIER_REVISIT_EVERY": 1.0,
    "FRONTIER_REVISIT_SHORTEST": 1.0,
    "FRONTIER_REVISIT_LONGEST": 2.0,
    "FRONTIER_REVISIT_MISSED": DAY,
    "STORE_CHANGES": 1,
    "STORE_PROVENANCE": 1,
    "ARCHIVE": 1,
    "FRONTIER_RETRIES": 0,
    "EXTRACT_PROCESSES": 0,
    "POLITENESS_DELAY": 0.02,
    "POLITENESS_SERVER_DELAY": 0,
    "POLITENESS_CONTACT": "a@site.test",
    "RESOLVER_ALLOW": "127.0.0.1",
    "PROGRESS_INTERVAL": 0,
}


def html(text: str, *links: str, head: str = "") -> str:
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>{text}</title>{head}</head><body>{anchors}'
        f'<p property="http://schema.org/name">{text}</p></body></html>'
    )


def page(text: str, *links: str, head: str = "", **headers: str) -> Answer:
    return 200, {**HTML, **headers}, html(text, *links, head=head)


class Site:
    """Answers by a function of the path and of how often it was asked for; a robots.txt can change."""

    def __init__(self, answers: dict[str, Callable[[int], Answer]]) -> None:
        self.answers = answers
        self.asked: Counter[str] = Counter()
        self.conditions: list[tuple[str, int, dict[str, str], int]] = []
        self._lock = Lock()

    def answer(self, path: str, headers: dict[str, str]) -> Answer:
        with self._lock:
            number = self.asked[path]
            self.asked[path] += 1
        found = self.answers.get(path)
        status, sent, body = found(number) if found else (404, dict[str, str](), "")
        etag = sent.get("ETag")
        if status == 200 and etag and headers.get("If-None-Match") == etag:
            status, body = 304, ""
        self.conditions.append((path, number, headers, status))
        return status, sent, body


@contextmanager
def served(site: Site) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, body = site.answer(self.path, dict(self.headers.items()))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 304:
                self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def start(directory: Path, seed: str, **more: object) -> subprocess.Popen[bytes]:
    settings = {**SETTINGS, **more}
    options = [word for item in settings.items() for word in ("-s", "{}={}".format(*item))]
    log = os.open(directory / "crawl.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        return _start(directory, seed, options, log)
    finally:
        os.close(log)


def _start(directory: Path, seed: str, options: list[str], log: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={seed}", *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stderr=log,
    )


def crawl_until(directory: Path, seed: str, is_over: Callable[[], bool], **more: object) -> None:
    """Run a crawl, which never ends by itself, until something has happened; then end it gently."""
    process = start(directory, seed, **more)
    try:
        deadline = time.monotonic() + 90
        while not is_over():
            assert process.poll() is None, (directory / "crawl.log").read_text()
            assert time.monotonic() < deadline, (directory / "crawl.log").read_text()[-3000:]
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def site() -> Site:
    def always(answer: Answer) -> Callable[[int], Answer]:
        return lambda _: answer

    def later(first: Answer, *others: Answer) -> Callable[[int], Answer]:
        """Answer with the first, then with the others, of which the last one lasts."""
        answers = (first, *others)
        return lambda number: answers[min(number, len(answers) - 1)]

    names = (
        *("gone", "missing", "flickering", "moved", "away", "hidden", "image", "failing", "still"),
        *("changing", "back", "stubborn", "flapping"),
    )
    root = page("root", *(f"/{name}" for name in names), "/feed.xml")
    return Site(
        {
            "/": always(root),
            "/robots.txt": always(
                (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow:\n")
            ),
            "/gone": later(page("gone"), (410, {}, "")),
            "/missing": later(page("missing"), (404, {}, "")),
            "/flickering": later(page("flickering"), (404, {}, ""), page("flickering")),
            "/moved": later(page("moved"), (301, {"Location": "/new"}, "")),
            "/new": always(page("new place")),
            "/away": later(page("away"), (302, {"Location": "/new"}, "")),
            "/hidden": later(
                page("hidden"), page("hidden", head='<meta name="robots" content="noindex">')
            ),
            "/image": later(page("image"), (200, {"Content-Type": "image/png"}, "png")),
            "/failing": later(page("failing"), (500, {}, ""), (500, {}, ""), page("failing")),
            "/still": always(page("still", ETag='"still"')),
            "/changing": lambda number: page(f"version {number}", ETag=f'"{number}"'),
            "/back": later(page("back"), (410, {}, ""), page("back again")),
            # Gone, then an answer that is none, then back with the validator of before.
            "/stubborn": later(
                page("stubborn", ETag='"s"'),
                (410, {}, ""),
                (304, {}, ""),
                page("stubborn", ETag='"s"'),
            ),
            "/flapping": later(
                page("flapping", ETag='"f"'),
                (410, {}, ""),
                (500, {}, ""),
                page("flapping", ETag='"f"'),
            ),
        }
    )


def names_in(directory: Path, url: str) -> dict[str, str]:
    """Return what each page says in the store."""
    query = "SELECT ?g ?name { GRAPH ?g { ?s <http://schema.org/name> ?name } }"
    with open_store(str(directory / "crawl/store"), read_only=True) as store:
        return {row["g"].value.removeprefix(url): row["name"].value for row in store.query(query)}


def test_graphs_end_as_their_pages_do(tmp_path: Path, site: Site) -> None:
    changing = ["gone", "missing", "moved", "away", "hidden", "image", "failing", "back", "still"]
    changing += ["stubborn", "flapping"]

    def is_over() -> bool:
        causes = Counter(patch.cause for patch in patches(tmp_path))
        return (
            {"410", "404", "noindex", "type"} <= set(causes)
            and causes["moved"] >= 2
            and all(site.asked[f"/{name}"] > 3 for name in changing)
        )

    with served(site) as url:
        crawl_until(tmp_path, f"{url}/", is_over)
    said = names_in(tmp_path, url)
    assert {"/", "/new", "/flickering", "/failing", "/still", "/back", "/changing"} <= set(said)
    assert not {"/gone", "/missing", "/moved", "/away", "/hidden", "/image"} & set(said)
    assert said["/back"] == "back again"
    assert {"/stubborn", "/flapping"} <= set(said), "no 304 for what was cleared"
    assert said["/failing"] == "failing"

    causes = {
        patch.page.removeprefix(url): patch.cause for patch in patches(tmp_path) if patch.cause
    }
    assert causes == {
        "/gone": "410",
        "/back": "410",
        "/stubborn": "410",
        "/flapping": "410",
        "/missing": "404",
        "/moved": "moved",
        "/away": "moved",
        "/hidden": "noindex",
        "/image": "type",
    }
    # The second miss came a day after the first.
    gone = next(p.time for p in patches(tmp_path) if p.page == f"{url}/missing" and p.cause)
    first = next(p.time for p in patches(tmp_path) if p.page == f"{url}/missing")
    assert gone - first >= DAY * 0.9
    assert is_stated(tmp_path, f"<{url}/moved> dcterms:isReplacedBy <{url}/new>")
    assert is_stated(tmp_path, f"<{url}/away> dcterms:isReplacedBy <{url}/new>")
    assert is_stated(tmp_path, f"<{url}/gone> prov:invalidatedAtTime ?when")

    # What is unchanged is not sent again, and the archive knows.
    still = [(headers, status) for path, _, headers, status in site.conditions if path == "/still"]
    assert [status for _, status in still].count(304) >= 2
    assert any(capture.status == "304" for capture in captures_in(tmp_path / "crawl/archive"))
    # What was cleared is asked for in full.
    asked = [headers for path, _, headers, _ in site.conditions if path == "/back"]
    assert "If-None-Match" not in asked[2]


def patches(directory: Path) -> list[Patch]:
    return [*read(directory / "crawl/changes")]


def is_stated(directory: Path, statement: str) -> bool:
    prefixes = (
        "PREFIX dcterms: <http://purl.org/dc/terms/> PREFIX prov: <http://www.w3.org/ns/prov#> "
    )
    with open_store(str(directory / "crawl/store"), read_only=True) as store:
        return bool(store.query(f"{prefixes} ASK {{ {statement} }}"))


def test_what_robots_txt_forbids_now_stays_and_is_stale(tmp_path: Path, site: Site) -> None:
    rules = "User-agent: *\nDisallow: {}\n"
    text = {"Content-Type": "text/plain"}
    site.answers = {
        "/": lambda _: page("root", "/private"),
        "/private": lambda _: page("private"),
        "/robots.txt": lambda number: (200, text, rules.format("/private" if number else "")),
    }
    with served(site) as url:

        def is_seen() -> bool:
            return site.asked["/private"] >= 1 and site.asked["/"] >= 2

        crawl_until(tmp_path, f"{url}/", is_seen)
        with LocalFrontier(str(tmp_path / "crawl/frontier")) as frontier:
            record = RobotsRecord.from_bytes(frontier.note(f"robots {url}") or b"")
            frontier.set_note(f"robots {url}", replace(record, expires=0.0).to_bytes())
        asked = site.asked["/"]
        crawl_until(tmp_path, f"{url}/", lambda: site.asked["/"] >= asked + 4)
    assert names_in(tmp_path, url) == {"/": "root", "/private": "private"}
    assert is_stated(tmp_path, f"<{url}/private> <urn:rdfaspider:stale> ?when")


def test_without_revisits_everything_is_as_it_was(tmp_path: Path, site: Site) -> None:
    with served(site) as url:
        process = start(tmp_path, f"{url}/", FRONTIER_REVISIT=0)
        assert process.wait(90) == 0
        assert set(site.asked.values()) == {1}
    assert not any("If-None-Match" in headers for _, _, headers, _ in site.conditions)
    assert all(not patch.cause for patch in patches(tmp_path))


def test_cycles_of_wire_go_where_the_profit_is(tmp_path: Path, site: Site) -> None:
    """Cycles of three URLs, the richer ones of those that may have changed first. In the first cycles nobody
    knows which these are."""
    still, changing = ("/still/1", "/still/2", "/still/3"), ("/changing/1", "/changing/2")
    site.answers = {"/": lambda _: page("root", *still, *changing)}
    site.answers |= {path: lambda _: page("the same") for path in still}
    site.answers |= {path: lambda number: page(f"version {number}") for path in changing}
    with served(site) as url:
        crawl_until(
            tmp_path,
            f"{url}/",
            lambda: min(site.asked[path] for path in changing) >= 10,
            FRONTIER_REVISIT_POLICY="wire",
            FRONTIER_REVISIT_CYCLE=3,
            FRONTIER_REVISIT_EVERY=0,
            FRONTIER_REVISIT_MEAN=4,  # a cycle takes two seconds
            FRONTIER_REVISIT_SHORTEST=0.3,
            FRONTIER_REVISIT_LONGEST=10_000,
        )
    assert min(site.asked[path] for path in still) >= 1
    rarely = sum(site.asked[path] for path in still) / len(still)
    often = sum(site.asked[path] for path in changing) / len(changing)
    assert often > 1.3 * rarely
