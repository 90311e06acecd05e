"""A browser for the crawl: pages in, the documents that their scripts leave out, one at a time.

It runs in a child process, without network. The request for the page is answered with the bytes that came;
scripts and data are asked of the crawl; all else is refused. The page's clock is Chromium's virtual time: it
stands still while a request is under way and else runs as fast as scripts allow, so a page that waits for two
seconds costs none, and the same budget of time gives the same document on a busy machine.

A page that does not answer within its time fails, and the crawl ends this process: a new browser costs less
than to find out what is left of this one.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import signal
import socket
import sys
from contextlib import suppress
from threading import Thread
from typing import Any

from playwright.async_api import Error, async_playwright

from rdfaspider.rendering.isolation import (
    adopt_orphans,
    can_forbid_network,
    end_children,
    forbid_network,
)
from rdfaspider.rendering.resources import WANTED, is_tracker

_FLAGS = (
    # It has no network; here it is told not to try.
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--no-pings",
    "--disable-background-networking",
    "--block-new-web-contents",
    "--disable-gpu",
    "--disable-remote-fonts",
    "--mute-audio",
    "--js-flags=--max-old-space-size=512",
)
# Milliseconds of virtual time that a page's scripts get.
_BUDGET_MS = 5_000
# The share of a page's time after which its document is taken as it is.
_LATEST = 0.75
_LONGEST_URL = 8_000
# URLs to which scripts want to move that are noted.
_MOST_MOVES = 10
_DOCUMENT = """(() => {
  if (!document.documentElement) return "";
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
  return (type + document.documentElement.outerHTML).slice(0, %d);
})()"""


def main(options: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the crawl
    adopt_orphans()
    if not forbid_network() and can_forbid_network():
        sys.exit("the system does not let it forbid its browser the network (seccomp)")
    Thread(target=_end_with_crawl, args=(os.environ["TMPDIR"],), daemon=True).start()
    asyncio.run(_serve(json.loads(options)))


def _end_with_crawl(directory: str) -> None:
    """Wait until the crawl closes the socket or dies; then end all that was started here."""
    watched = select.poll()
    watched.register(0, select.POLLRDHUP)
    watched.poll()
    end_children()
    shutil.rmtree(directory, ignore_errors=True)
    os._exit(0)


async def _serve(options: dict[str, Any]) -> None:
    channel = socket.socket(fileno=os.dup(0))
    reader, writer = await asyncio.open_connection(sock=channel, limit=1 << 20)
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=options["browser"],
                args=_FLAGS,
                chromium_sandbox=options["sandbox"],
                handle_sigint=False,
            )
            crawl = _Crawl(writer)
            crawl.send({"ready": True})
            while line := await reader.readline():
                message = json.loads(line)
                body = await reader.readexactly(message["size"])
                if "render" in message:
                    page = _Page(browser, crawl, message, body, options)
                    crawl.task = asyncio.create_task(page.render())
                else:
                    crawl.take(message, body)
            await asyncio.Event().wait()  # the crawl has closed the socket: the thread ends all
    except Error as error:  # the last line of what is printed tells the crawl why
        sys.exit(" ".join(error.message.split())[:1000])


class _Crawl:
    """The crawl as a page sees it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._asked: dict[int, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}
        self.task: asyncio.Task[None] | None = None

    def send(self, message: dict[str, Any], body: bytes = b"") -> None:
        line = json.dumps({**message, "size": len(body)}).encode()
        self._writer.write(b"".join((line, b"\n", body)))

    async def ask(self, number: int, wish: dict[str, str]) -> tuple[dict[str, Any], bytes]:
        answer: asyncio.Future[tuple[dict[str, Any], bytes]]
        self._asked[number] = answer = asyncio.get_running_loop().create_future()
        self.send({"ask": number, **wish})
        return await answer

    def take(self, message: dict[str, Any], body: bytes) -> None:
        """Hand on an answer; it may be for a page that is done."""
        answer = self._asked.pop(message["answer"], None)
        if answer is not None and not answer.done():
            answer.set_result((message, body))


class _Page:
    """A page while it is rendered."""

    _asks = 0  # of all pages, so that a late answer is not taken for one to the next page

    def __init__(
        self,
        browser: Any,
        crawl: _Crawl,
        task: dict[str, Any],
        body: bytes,
        options: dict[str, Any],
    ) -> None:
        self._browser = browser
        self._crawl = crawl
        self._url: str = task["render"]
        self._type: str = task["type"]
        self._body = body
        self._options = options
        self._left: int = options["requests"]
        self._is_answered = False
        self._moves: list[str] = []

    async def render(self) -> None:
        try:
            async with asyncio.timeout(self._options["timeout"]):
                document, is_cut = await self._load()
        except TimeoutError:
            self._crawl.send({"failed": "timeout"})
        except Error as error:
            gone = "crash" in error.message or "closed" in error.message
            self._crawl.send({"failed": "crash" if gone else "error"})
        else:
            if encoded := document.encode("utf-8", "replace"):
                self._crawl.send({"rendered": is_cut, "moves": self._moves}, encoded)
            else:  # its scripts have deleted all of it
                self._crawl.send({"failed": "empty"})

    async def _load(self) -> tuple[str, bool]:
        loop = asyncio.get_running_loop()
        latest = loop.time() + _LATEST * self._options["timeout"]
        context = await self._browser.new_context(
            service_workers="block",
            accept_downloads=False,
            user_agent=self._options["agent"],
            permissions=[],
            locale="en-US",
        )
        page = await context.new_page()
        failure: asyncio.Future[str] = loop.create_future()

        def crashed(_: object) -> None:
            if not failure.done():
                failure.set_exception(Error("crash"))

        page.on("crash", crashed)
        context.on("page", lambda other: asyncio.ensure_future(other.close()))
        await context.add_init_script("window.open = () => null")
        await context.route("**/*", self._route)
        session = await context.new_cdp_session(page)
        expired = asyncio.Event()
        session.on("Emulation.virtualTimeBudgetExpired", lambda _: expired.set())
        await _first(page.goto(self._url, wait_until="commit", timeout=0), failure)
        time = {"policy": "pauseIfNetworkFetchesPending", "budget": _BUDGET_MS}
        await _first(session.send("Emulation.setVirtualTimePolicy", time), failure)
        is_cut = False
        try:
            async with asyncio.timeout_at(latest):
                await _first(expired.wait(), failure)
        except TimeoutError:
            is_cut = True
        document = await _first(self._document(session), failure)
        await context.close()
        return document, is_cut

    async def _document(self, session: Any) -> str:
        """Return the document, read in a world of its own: the page's scripts cannot forge it."""
        frames = await session.send("Page.getFrameTree")
        world = await session.send(
            "Page.createIsolatedWorld", {"frameId": frames["frameTree"]["frame"]["id"]}
        )
        found = await session.send(
            "Runtime.evaluate",
            {
                "contextId": world["executionContextId"],
                "expression": _DOCUMENT % self._options["bytes"],
                "returnByValue": True,
            },
        )
        return str(found["result"].get("value", ""))

    async def _route(self, route: Any) -> None:
        """Answer or refuse a request of the page."""
        try:
            if not await self._answer(route, route.request):
                await route.abort("blockedbyclient")
        except Error:  # the page is done, or the request is of nothing that we know
            with suppress(Error):
                await route.abort()

    async def _answer(self, route: Any, request: Any) -> bool:
        kind = request.resource_type
        if request.is_navigation_request():
            await self._navigate(route, request)
        elif kind == "stylesheet":
            await route.fulfill(status=200, headers={"content-type": "text/css"}, body="")
        elif (
            kind in WANTED
            and request.method == "GET"
            and request.url.startswith(("http://", "https://"))
            and len(request.url) <= _LONGEST_URL
            and not is_tracker(request.url)
            and self._left > 0
        ):
            self._left -= 1
            return await self._fetch(route, request, kind)
        else:
            return False
        return True

    async def _navigate(self, route: Any, request: Any) -> None:
        is_top = request.frame.parent_frame is None
        if is_top and not self._is_answered:
            self._is_answered = True
            headers = {"content-type": self._type or "text/html"}
            await route.fulfill(status=200, headers=headers, body=self._body)
            return
        is_link = is_top and request.method == "GET" and len(request.url) <= _LONGEST_URL
        if is_link and len(self._moves) < _MOST_MOVES:
            self._moves.append(request.url)
        await route.abort("aborted")  # the page stays as it is

    async def _fetch(self, route: Any, request: Any, kind: str) -> bool:
        _Page._asks += 1
        origin = request.headers.get("origin", "")
        wish = {"url": request.url, "kind": kind, "origin": origin}
        answer, body = await self._crawl.ask(_Page._asks, wish)
        # Playwright would let the page read an answer that does not say who may.
        allowed = answer.get("headers", {}).get("access-control-allow-origin", "")
        if "refused" in answer or (origin and allowed not in ("*", origin)):
            return False
        await route.fulfill(status=answer["status"], headers=answer["headers"], body=body)
        return True


async def _first(awaited: Any, failure: asyncio.Future[str]) -> Any:
    """Return a result unless the page crashes before."""
    task = asyncio.ensure_future(awaited)
    done, _ = await asyncio.wait((task, failure), return_when=asyncio.FIRST_COMPLETED)
    if task not in done:
        task.cancel()
        return failure.result()
    return task.result()
