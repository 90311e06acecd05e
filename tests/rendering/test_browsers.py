"""Browsers: what hostile pages cannot do to them, and what is left when they or their crawl are killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rdfaspider.rendering.browsers import Browsers, find_browser
from rdfaspider.rendering.isolation import tree
from rdfaspider.rendering.process import Rendered, RenderingFailed
from rdfaspider.rendering.resources import Cache, Resource, Wish, is_tracker
from tests.conftest import PROJECT

URL = "https://site.test/page"
OPTIONS = {
    "sandbox": False,
    "agent": "test",
    "timeout": 20.0,
    "memory": 1 << 30,
    "requests": 5,
    "bytes": 100_000,
}
ENDLESS = "<script>for (;;) {}</script>"
GREEDY = "<script>const all = []; for (;;) all.push(new Uint8Array(1e8).fill(1));</script>"
# It asks for more than it may, and for what is not asked for.
CURIOUS = """<body><script>
for (let n = 0; n < 20; n++) fetch("/data?" + n).then(a => a.text()).then(t => document.body.append(t))
    .catch(() => document.body.append("-"));
</script>"""


@asynccontextmanager
async def opened(**options: object) -> AsyncIterator[Browsers]:
    browsers = Browsers(1, {"browser": find_browser(""), **OPTIONS, **options})
    try:
        yield browsers
    finally:
        await browsers.close()


async def no_answer(wish: Wish) -> Resource:
    return Resource(refused="test")


def render(page: str, **options: object) -> Rendered:
    async def run() -> Rendered:
        async with opened(**options) as browsers:
            return await browsers.render(URL, "text/html", page.encode(), no_answer)

    return asyncio.run(run())


def descendants() -> list[int]:
    """Return the browsers' processes that this one has started and that still run."""
    left = []
    for pid in tree(os.getpid()) - {os.getpid()}:
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if not any(word in command for word in (b"chrom", b"playwright", b"rendering")):
                continue  # a server that other tests use
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_bytes().rpartition(b") ")[2][:1] != b"Z":
            left.append(pid)
    return left


@pytest.mark.parametrize(
    ("page", "options", "reason"),
    [
        pytest.param(ENDLESS, {"timeout": 6.0}, "timeout", id="endless"),
        pytest.param(GREEDY, {"memory": 700 << 20}, "memory", id="greedy", marks=pytest.mark.slow),
    ],
)
def test_a_page_that_takes_too_much_fails_and_the_next_is_rendered(
    page: str, options: dict[str, object], reason: str
) -> None:
    async def run() -> Rendered:
        async with opened(**options) as browsers:
            began = time.monotonic()
            with pytest.raises(RenderingFailed, match=reason):
                await browsers.render(URL, "text/html", page.encode(), no_answer)
            assert time.monotonic() - began < 40
            assert not descendants(), "a browser outlives its page"
            return await browsers.render(URL, "text/html", b"<p>whole", no_answer)

    assert b"<p>whole</p>" in asyncio.run(run()).document
    assert not descendants()


SPY = """<body><p>page<script>
for (const url of ["https://site.test/own", "https://other.test/secret", "https://other.test/open"])
    fetch(url).then(a => a.text()).then(t => document.body.append(t), () => document.body.append("-"));
</script>"""


def test_a_script_reads_no_other_site_that_does_not_allow_it() -> None:
    async def answer(wish: Wish) -> Resource:
        headers = {"content-type": "text/plain"}
        if wish.url.endswith("open"):
            headers["access-control-allow-origin"] = "*"
        return Resource(200, headers, wish.url.rpartition("/")[2].encode())

    async def run() -> Rendered:
        async with opened() as browsers:
            return await browsers.render(URL, "text/html", SPY.encode(), answer)

    document = asyncio.run(run()).document.rpartition(b"</script>")[2]
    assert b"own" in document and b"open" in document
    assert b"secret" not in document


def test_an_empty_document_is_none() -> None:
    with pytest.raises(RenderingFailed, match="empty"):
        render("<p>data<script>document.documentElement.remove()</script>")


def test_a_page_gets_as_many_answers_and_bytes_as_it_may() -> None:
    asked: list[str] = []

    async def answer(wish: Wish) -> Resource:
        asked.append(wish.url)
        return Resource(200, {"content-type": "text/plain"}, b"+")

    async def run() -> list[Rendered]:
        async with opened(bytes=300) as browsers:
            long = b"<p>" + b"x" * 1000
            return [
                await browsers.render(URL, "text/html", body, answer)
                for body in (CURIOUS.encode(), long)
            ]

    _, long = asyncio.run(run())
    assert len(asked) == OPTIONS["requests"]
    assert len(long.document) == 300
    assert not descendants()


def test_a_browser_that_is_killed_is_replaced_and_its_page_rendered_again() -> None:
    crashes: list[int] = []

    async def run() -> Rendered:
        browsers = Browsers(1, {"browser": find_browser(""), **OPTIONS}, lambda: crashes.append(1))

        async def answer(wish: Wish) -> Resource:
            if not crashes:  # in the middle of the page
                for pid in descendants():
                    command = Path(f"/proc/{pid}/cmdline").read_bytes()
                    if b"chromium/chromium" in command and b"--type=" not in command:
                        os.kill(pid, signal.SIGKILL)
            return Resource(
                200, {"content-type": "text/javascript"}, b"document.body.append('made')"
            )

        try:
            page = b"<body><script src=/made.js></script>"
            return await browsers.render(URL, "text/html", page, answer)
        finally:
            await browsers.close()

    assert b"made</body>" in asyncio.run(run()).document
    assert crashes == [1]
    assert not descendants()


CRAWL = """
import asyncio, sys
from rdfaspider.rendering.browsers import Browsers
from rdfaspider.rendering.resources import Resource

async def answer(wish):
    print("asked", flush=True)
    await asyncio.sleep(100)

async def main():
    browsers = Browsers(1, {options})
    await browsers.render("http://a.test/", "text/html", {page}, answer)

asyncio.run(main())
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    """Return a directory with a name so short that sockets can be in it."""
    with TemporaryDirectory(dir="/tmp") as name:
        yield Path(name)


BUSY = "new Worker(URL.createObjectURL(new Blob(['for (;;) {}'])))"


@pytest.mark.parametrize(
    "script",
    [pytest.param("", id="waiting", marks=pytest.mark.slow), pytest.param(BUSY, id="busy")],
)
def test_no_browser_outlives_its_crawl(script: str, directory: Path) -> None:
    page = f"<script>{script}; fetch('/x')</script>".encode()
    options = {"browser": find_browser(""), **OPTIONS, "timeout": 100.0}
    crawl = subprocess.Popen(
        [sys.executable, "-c", CRAWL.format(options=options, page=page)],
        cwd=PROJECT,
        env={**os.environ, "TMPDIR": str(directory)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert crawl.stdout is not None
    assert crawl.stdout.readline() == "asked\n"
    started = tree(crawl.pid) - {crawl.pid}
    assert len(started) > 3
    crawl.kill()
    crawl.wait()
    crawl.stdout.close()
    deadline = time.monotonic() + 20
    while (left := [*running(started)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left
    while [*directory.iterdir()] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [*directory.iterdir()], "files of the browser are left"


def running(pids: set[int]) -> Iterator[int]:
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
        except OSError:
            continue
        if state not in b"ZX":
            yield pid


OFFLINE = """
import socket
from rdfaspider.rendering.isolation import forbid_network
print(forbid_network())
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            socket.socket(family, kind).close()
            print("open")
        except PermissionError:
            print("refused")
"""


def test_the_system_refuses_internet_sockets_to_a_browser() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    first, *sockets = done.stdout.split()
    if first == "False":
        pytest.skip("this system has no such filter")
    assert sockets == ["refused"] * 4 + ["open"] * 2


def test_a_system_without_a_browser_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        ValueError, match="There is no Chromium: install one, or set RENDER_BROWSER"
    ):
        find_browser("")
    with pytest.raises(ValueError, match=r"RENDER_BROWSER=/no/such is no program\."):
        find_browser("/no/such")


def test_trackers_are_known_by_their_hosts() -> None:
    assert is_tracker("https://www.google-analytics.com/analytics.js")
    assert not is_tracker("https://www.googletagmanager.com/gtm.js?id=GTM-1")
    assert not is_tracker("https://notclarity.ms/")


def test_the_cache_is_bounded_and_keeps_what_was_used_last() -> None:
    cache = Cache(10_000)
    wishes = [Wish(f"http://a.test/{number}.js", "script") for number in range(9)]
    for wish in wishes:
        cache.keep(wish, Resource(200, {}, b"x" * 1000))
        cache.get(wishes[0])
    kept = [number for number, wish in enumerate(wishes) if cache.get(wish)]
    assert kept == [0, 6, 7, 8]
    data = Wish("http://a.test/data", "fetch")
    cache.keep(data, Resource(200, {}, b"x"))
    assert cache.get(data) is None
