"""Pages that try to run a script in the console: by URLs, titles, literals and lines of the log."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.console.crawls import Console, crawling
from tests.console.test_browser import Watched, browser  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCRIPT = "<img src=x onerror=hacked()><script>hacked()</script>"
TITLE = "</title><svg onload=hacked()>" + SCRIPT
LINKS = [
    f"/{quote(SCRIPT)}",
    "/'-hacked()-'\"onmouseover=hacked()",
    "/javascript:hacked()",
    f"/?q={SCRIPT}",
    "/missing<script>",
]


# Answers beyond what pages can say: entities, which make tables parse a cell, and IRIs with quotes.
HOSTILE_ROWS = """SELECT ?g ?o ?i { GRAPH ?g { ?s ?p ?o }
  BIND(IRI(CONCAT("http://a.test/'onmouseover='hacked()'&amp;", STR(?p))) AS ?i)
  FILTER(CONTAINS(?o, "hacked"))
} LIMIT 20"""


class Hostile(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/robots.txt":
            self._send(200, f"User-agent: *\nDisallow: /{SCRIPT}\nDisallow: /x\n", "text/plain")
        elif "missing" in self.path:
            self._send(404, "no", "text/plain")
        else:
            further = f"/n{self.path.count('n') * 'n'}"  # so that the crawl does not end
            links = "".join(
                f'<a href="{link.replace(chr(34), "%22")}">x</a>' for link in [*LINKS, further]
            )
            literal = f"{SCRIPT}&amp;".replace("<", "&lt;").replace('"', "&quot;")
            title = TITLE.replace("<", "&lt;")
            self._send(
                200,
                f'<html><head><title>{title}</title></head><body vocab="http://schema.org/"'
                f' typeof="Thing"><p property="name" content="{literal}">{literal}</p>{links}</body></html>',
                "text/html; charset=utf-8",
            )

    def _send(self, status: int, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_no_script_of_the_web_runs(browser: Browser, site: str, tmp_path: Path) -> None:  # noqa: F811
    settings: dict[str, Any] = {"POLITENESS_DELAY": 0.3, "SEARCH": 1, "ARCHIVE": 1}
    with crawling(tmp_path, "-a", f"seeds={site}", **settings) as console:
        console.until(lambda: console.counts()["done"] >= 2)
        # A line of the log with a script: a seed that is refused is logged as it was given.
        console.use("seeds", urls=f"http://10.0.0.1/{SCRIPT}\n{SCRIPT}")
        console.use("exclude", rule=f"regex:{SCRIPT}")
        console.until(lambda: any("10.0.0.1" in line["text"] for line in console.get("log")))
        console.until(lambda: console.counts()["failed"] > 0)
        console.use("pause")
        watched = Watched(browser, console)
        page = watched.page
        hacks: list[str] = []
        page.expose_function("hacked", lambda *_: hacks.append("hacked"))
        page.on("dialog", lambda dialog: hacks.append(dialog.message))
        for path in (
            *("/", "/hosts", "/hosts?name=127.0.0.1", f"/hosts?name={quote(SCRIPT)}"),
            *("/search", "/search?words=onerror", f"/search?words={quote(SCRIPT)}"),
            *(f"/search?type={quote(SCRIPT)}", f"/thing?page={quote(site)}"),
            *(
                f"/thing?iri={quote(SCRIPT)}",
                "/thing?iri=javascript:hacked()",
                f"/thing?iri={quote(site)}",
            ),
        ):
            page.goto(watched.home + path)
            page.wait_for_selector("h1")
            page.wait_for_timeout(4000 if "/thing" in path else 1200)
            assert page.locator("main script, main img, main svg").count() == 0
            for link in page.locator("main a").all():
                assert (link.get_attribute("href") or "").startswith(("http://", "/"))
        page.goto(f"{watched.home}/")
        page.get_by_text("onerror=hacked()").first.wait_for()  # it is shown, as text
        page.get_by_role("button", name="with status 404").click()
        page.get_by_role("dialog").locator("td.url").first.wait_for()
        page.goto(f"{watched.home}/search?words=hacked")
        page.locator("mark", has_text="hacked").first.wait_for()
        page.goto(f"{watched.home}/thing?page={quote(site)}")
        page.locator(".literal", has_text="onerror=hacked()").first.wait_for()
        address = f"{watched.home}/api/record?url={quote(site)}"
        console.until(lambda: page.request.get(address).ok)
        record = page.goto(address)
        assert record and record.headers["content-type"].startswith("text/plain")
        assert record.headers["x-content-type-options"] == "nosniff"
        assert hacks == []
        _query_without_guard(browser, console, hacks)
        watched.complaints = [each for each in watched.complaints if "400" not in each]
        watched.check()


def _query_without_guard(browser: Browser, console: Console, hacks: list[str]) -> None:  # noqa: F811
    """Look at hostile literals and IRIs in the table of answers, in a browser that ignores the CSP."""
    watched = Watched(browser, console, bypass_csp=True)
    page = watched.page
    page.expose_function("hacked", lambda *_: hacks.append("on the page of queries"))
    page.goto(f"{watched.home}/query?query={quote(HOSTILE_ROWS)}")
    page.locator(".yasr td", has_text="onerror=hacked()").first.wait_for(timeout=30_000)
    page.locator(".tableFilter").fill("hacked")
    for link in page.locator(".yasr td a").all():
        link.hover(force=True)
    page.wait_for_timeout(1000)
    watched.context.close()
    assert hacks == []
