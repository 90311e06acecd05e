"""The pages of the console in a real browser: true numbers, working controls, no errors, no others asked."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.conftest import PROJECT
from tests.console.conftest import WEB
from tests.console.crawls import Console, crawling

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SEED = Web(WEB).url(0, 0)
PAGES = (
    "/",
    "/hosts",
    "/hosts?name=w0.site.test",
    "/query?query=SELECT%20*%20{?s%20?p%20?o}LIMIT%2020",
    "/search",
    "/search?words=the&type=",
    f"/thing?iri={SEED}%23it",
    f"/thing?page={SEED}",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("no chromium: make .cache/chromium.ready installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page of a browser, with all that it asked for and complained of."""

    def __init__(self, browser: Browser, console: Console, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on(
            "console", lambda said: self.complaints.append(f"{said.text} {said.location['url']}")
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.home = f"http://127.0.0.1:{console.port}"
        self.page.goto(console.url)
        assert self.page.url == f"{self.home}/", "the token stays in the address bar"

    def open(self, path: str) -> None:
        self.page.goto(self.home + path)
        self.page.wait_for_selector("h1")

    def check(self) -> None:
        """Close the page; fail if it complained, or asked anybody else."""
        self.context.close()
        assert self.complaints == []
        assert [url for url in self.asked if not url.startswith((self.home, "data:"))] == []


@pytest.fixture
def steered(tmp_path: Path) -> Iterator[Console]:
    with (
        running(WEB) as proxy,
        crawling(
            tmp_path,
            *("-a", f"seeds={Web(WEB).url(0, 0)}"),
            proxy=proxy,
            POLITENESS_DELAY=0.1,
            POLITENESS_SERVER_DELAY=0,
        ) as console,
    ):
        console.until(lambda: console.counts()["failed"] > 0)
        yield console


def number(text: str) -> int:
    found = re.search(r"[\d,]+", text)
    assert found, text
    return int(found[0].replace(",", ""))


def test_the_numbers_are_true_and_the_controls_work(browser: Browser, steered: Console) -> None:
    console = steered
    watched = Watched(browser, console)
    page = watched.page
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("The crawl pauses").wait_for()
    page.get_by_role("button", name="Resume").wait_for()
    console.settle()
    page.wait_for_timeout(1500)

    crawl = console.get("crawl")
    counts = crawl["counts"]
    _, body = console.request("GET", "/metrics", authorization=f"Bearer {console.token}")
    lines = body.decode().splitlines()
    stats = dict(line.split(" ") for line in lines if line[0] != "#")
    tiles = {
        tile.locator("dt").inner_text(): number(tile.locator(".number").inner_text())
        for tile in page.locator(".tile").all()
    }
    assert tiles["Pages"] == crawl["pages"] == int(stats["rdfaspider_frontier_done_page"]) > 5
    assert tiles["Triples"] == crawl["triples"] == int(stats["rdfaspider_store_quads"])
    assert tiles["Waiting"] == counts["waiting"] == int(stats["rdfaspider_frontier_waiting"])
    assert tiles["Failed"] == counts["failed"] == int(stats["rdfaspider_frontier_failed"])
    keys = [number(item.inner_text()) for item in page.locator("ul.key li").all()]
    assert (
        sum(keys)
        == counts["seen"]
        == number(page.get_by_role("heading", name="URLs").first.inner_text())
    )
    page.get_by_text("it adds up").wait_for()

    page.get_by_role("button", name="with status 404").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("of the whole crawl").wait_for()
    failed = console.get("urls", state="failed", reason="404")["rows"]
    assert dialog.locator("tbody tr").count() == len(failed) == counts["failed"]
    dialog.get_by_role("button", name="Close").click()

    page.get_by_label("Try failed URLs again").fill(".")
    page.get_by_role("button", name="Requeue").click()
    page.get_by_text("waits again").or_(page.get_by_text("wait again")).wait_for()
    console.until(lambda: console.counts()["failed"] == 0)
    page.get_by_label("Delay, in seconds").fill("0.01")
    page.get_by_role("button", name="Set", exact=True).click()
    page.get_by_text("is 0.01 seconds").wait_for()
    page.get_by_label("Exclude URLs").fill("regex:/music")
    page.get_by_role("button", name="Exclude", exact=True).click()
    page.locator("code", has_text="regex:/music").wait_for()
    page.get_by_label("Add seeds").fill(Web(WEB).url(3, 0))
    page.get_by_role("button", name="Add").click()
    page.get_by_text("1 seed added").wait_for()
    page.get_by_role("button", name="Resume").click()
    console.until(lambda: console.counts()["denied"] > 0)

    watched.open("/hosts")
    page.get_by_role("link", name="w3.site.test").wait_for()
    page.get_by_label("Search hosts").fill("w3")
    page.get_by_text("1 found").wait_for()
    page.get_by_role("button", name="done").click()
    page.locator("th[aria-sort=descending]", has_text="done").wait_for()
    page.get_by_role("link", name="w3.site.test").click()
    page.get_by_text("robots.txt, as understood").wait_for()
    page.get_by_text("w3.site.test/robots.txt").wait_for()
    page.locator(".tree li li").first.wait_for()

    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop it").click()
    page.get_by_text("The crawl stops").wait_for()
    assert "Crawl stopped after" in console.wait()
    page.get_by_text("The console does not answer").wait_for()
    # Only now the browser may complain: nobody answers.
    watched.complaints = [each for each in watched.complaints if "ERR_" not in each]
    watched.check()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (400, "dark")])
def test_a_page_fits_and_asks_nobody(
    browser: Browser, console: Console, path: str, width: int, scheme: Any
) -> None:
    watched = Watched(
        browser, console, viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    watched.open(path)
    watched.page.wait_for_timeout(1000 if "thing" not in path and "query" not in path else 4000)
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    watched.check()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(browser: Browser, console: Console, path: str, scheme: Any) -> None:
    axe = PROJECT / ".cache" / "axe" / "axe.min.js"
    if not axe.exists():
        pytest.skip("no axe-core: make .cache/axe.ready fetches it")
    watched = Watched(browser, console, color_scheme=scheme, bypass_csp=True)
    watched.open(path)
    if path.startswith("/query?"):  # meanwhile its buttons are grey
        watched.page.wait_for_selector(".yasr_results table", timeout=60_000)
    watched.page.wait_for_timeout(3500)
    watched.page.evaluate(axe.read_text(encoding="utf-8"))
    found = watched.page.evaluate("axe.run()")
    watched.context.close()
    serious = [
        (each["id"], each["nodes"][0]["html"])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert len(found["passes"]) > 15, "hardly anything was judged"
