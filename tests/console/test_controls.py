"""Each control does what it says, in a crawl of one process and in one with workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.console.conftest import WEB
from tests.console.crawls import Console, crawling

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(params=[1, 2], ids=["one process", "two workers"])
def steered(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Console]:
    """Return the console of a crawl of one host of several, with a delay."""
    with (
        running(WEB) as proxy,
        crawling(
            tmp_path,
            *("-a", f"seeds={Web(WEB).url(0, 0)}"),
            proxy=proxy,
            POLITENESS_DELAY=0.1,
            POLITENESS_SERVER_DELAY=0,
            WORKERS=request.param,
        ) as console,
    ):
        console.until(lambda: console.counts()["done"] > 5)
        yield console


def reasons(console: Console, state: str) -> dict[str, int]:
    rows = console.get("crawl")["outcomes"]
    return {row["reason"]: row["count"] for row in rows if row["state"] == state}


@pytest.mark.slow
def test_all_controls(steered: Console) -> None:
    console = steered

    assert "pauses" in console.use("pause")
    before = console.settle()
    assert console.get("crawl")["state"] == "paused"
    time.sleep(1.5)
    assert console.counts() == before, "something was fetched"
    assert console.use("resume") == "The crawl goes on."
    console.until(lambda: console.counts()["done"] > before["done"])

    assert "is 0.05 seconds" in console.use("delay", seconds=0.05)
    assert console.use("delay", seconds="soon").startswith("The delay must be a number")
    console.until(lambda: {row["delay"] for row in console.get("hosts")["rows"]} == {0.05}, 20)

    own = Web(WEB).url(0, 0).split("/")[2]
    assert f"fetches of {own} is 0.07 seconds" in console.use("delay", seconds=0.07, host=own)
    for wrong in ("http://x/", "a b", "x/y", "a" * 300):
        assert "not the name of a host" in console.use("delay", seconds=1, host=wrong)
    console.until(lambda: {row["delay"] for row in console.get("hosts")["rows"]} == {0.07}, 20)

    assert console.use("seeds", urls=f"{Web(WEB).url(3, 0)}\nno url\nhttp://127.0.0.1:22/\n") == (
        "1 seed added. 1 not taken: 127.0.0.1 has a loopback address. If it is a server of yours, add it"
        " to RESOLVER_ALLOW. Not a URL: no url."
    )
    other = Web(WEB).url(3, 0).split("/")[2]

    def hosts() -> dict[str, int]:
        return {row["name"]: row["done"] for row in console.get("hosts")["rows"]}

    console.until(lambda: hosts().get(other, 0) > 3)

    console.until(lambda: console.counts()["failed"] > 0)
    said = console.use("requeue", pattern=".")
    assert said.endswith(("failed URL waits again.", "failed URLs wait again."))
    assert int(said.split()[0]) > 0
    assert "is not a regular expression" in console.use("requeue", pattern="(")
    assert console.use("requeue", pattern="^(([a-z:/.0-9])+)+[!]$") == "0 failed URLs wait again."
    assert console.use("requeue", reason="500") == "0 failed URLs wait again."
    console.until(lambda: not console.use("requeue", reason="404").startswith("0 "))

    assert "are not fetched any more" in console.use("exclude", rule="regex:/(music|books)")
    assert console.use("exclude", rule="nonsense").startswith("Not a rule")
    console.until(lambda: reasons(console, "denied").get("excluded", 0) > 3)
    excluded_at = time.time() + 2  # what was in flight may still end

    def latest() -> list[str]:
        rows = console.get("urls", state="done", reason="page")["rows"]
        return [row["url"] for row in rows if row["time"] > excluded_at]

    console.until(lambda: len(latest()) > 10)
    assert not [url for url in latest() if "/music" in url or "/books" in url]
    behind = console.get("urls", state="denied", reason="excluded")
    assert all("/music" in row["url"] or "/books" in row["url"] for row in behind["rows"])
    counts = console.counts()
    assert counts["seen"] == sum(value for name, value in counts.items() if name != "seen")

    if console.get("crawl")["settings"]["workers"] == "":
        workers = console.until(lambda: console.get("workers"))
        assert {worker["name"] for worker in workers} == {"1", "2"}
        assert sum(worker["ended"] for worker in workers) > 50
        assert all(worker["silent"] < 10 for worker in workers)

    assert console.use("stop").startswith("The crawl stops")
    log = console.wait()
    assert console.process.returncode == 0, log
    assert "Crawl stopped after" in log
    assert "excluded while the crawl ran" in log
    assert not (console.directory / "crawl" / "console").exists()


@pytest.mark.slow
def test_what_was_excluded_stays_excluded(tmp_path: Path) -> None:
    with running(WEB) as proxy:
        arguments = ("-a", f"seeds={Web(WEB).url(0, 0)}")
        settings = {"POLITENESS_DELAY": 0.1, "POLITENESS_SERVER_DELAY": 0}
        with crawling(tmp_path, *arguments, proxy=proxy, **settings) as console:
            console.until(lambda: console.counts()["done"] > 3)
            console.use("exclude", rule="keyword:/places")
            console.use("stop")
            console.wait()
        with crawling(tmp_path, proxy=proxy, **settings) as console:
            assert console.get("crawl")["excluded"] == ["keyword:/places"]
            console.until(lambda: reasons(console, "denied").get("excluded", 0) > 0)
