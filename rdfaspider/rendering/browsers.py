"""The browsers of a crawl."""

from __future__ import annotations

import asyncio
import shutil
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rdfaspider.children import ChildrenUnavailable
from rdfaspider.rendering.process import BrowserProcess, RenderingFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rdfaspider.rendering.process import Fetch, Rendered

# Names under which systems have Chromium or one of its kin.
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "microsoft-edge")
# Pages after which a browser is replaced: its memory grows.
_PAGES = 200
# Failures to start in a row after which no more are tried.
_ATTEMPTS = 3


class BrowsersUnavailable(ChildrenUnavailable):
    """No browser can be started; the message says why."""

    finish_reason = "render_error"


def find_browser(path: str) -> str:
    """Return the browser to use, `path` if given; raise ValueError with a sentence if there is none."""
    if find_spec("playwright") is None:
        raise ValueError("Playwright is not installed: pip install 'rdfaspider[render]'.")
    if path:
        if found := shutil.which(path):
            return found
        raise ValueError(f"RENDER_BROWSER={path} is no program.")
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    raise ValueError("There is no Chromium: install one, or set RENDER_BROWSER to its path.")


class Browsers:
    """Renders pages in a limited number of browsers, which start when they are needed.

    options    of each browser: its path, and the limits of a page (`worker`, `process`)
    on_crash   called when a browser has died and its page is rendered again
    """

    def __init__(
        self, number: int, options: Mapping[str, Any], on_crash: Callable[[], None] = lambda: None
    ) -> None:
        self._options = options
        self._number = number
        self._places = asyncio.Semaphore(number)
        self._on_crash = on_crash
        self._idle: list[BrowserProcess] = []
        self._busy: set[BrowserProcess] = set()
        self._waiting = 0
        self._trouble = ""
        self._is_closed = False

    async def open(self) -> None:
        """Start the first browser, to find out if none can."""
        self._idle.append(await self._start())

    def is_behind(self) -> bool:
        """Return whether more pages wait than keep the browsers busy."""
        return self._waiting > 4 * self._number

    async def render(self, url: str, content_type: str, body: bytes, fetch: Fetch) -> Rendered:
        """Return the document that the scripts of a page leave.

        Raise RenderingFailed, or BrowsersUnavailable. A page whose browser dies is rendered once more.
        """
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            try:
                return await self._render(url, content_type, body, fetch)
            except RenderingFailed as failure:
                if failure.reason != "crash" or self._is_closed:
                    raise
            self._on_crash()
            return await self._render(url, content_type, body, fetch)
        finally:
            self._places.release()

    async def _render(self, url: str, content_type: str, body: bytes, fetch: Fetch) -> Rendered:
        if self._is_closed:
            raise RenderingFailed("busy")
        browser = await self._take()
        self._busy.add(browser)
        is_whole = False
        try:
            found = await browser.render(url, content_type, body, fetch)
            is_whole = True
            return found
        finally:
            self._busy.discard(browser)
            if is_whole and not self._is_closed and browser.pages < _PAGES:
                self._idle.append(browser)
            else:
                await browser.end()

    async def _take(self) -> BrowserProcess:
        """Return an idle browser that is alive, or a new one."""
        while self._idle:
            browser = self._idle.pop()
            if not browser.is_lost:
                return browser
            await browser.end()
        return await self._start()

    async def _start(self) -> BrowserProcess:
        for _ in range(_ATTEMPTS):
            if self._trouble:  # of all pages
                break
            try:
                return await BrowserProcess(self._options).start()
            except OSError as error:
                trouble = str(error)
        else:
            self._trouble = trouble
        raise BrowsersUnavailable(f"No browser can be started ({self._trouble}).")

    def hurry(self) -> None:
        """Give up all pages, because the crawl ends."""
        self._is_closed = True
        for browser in self._busy:
            browser.give_up()

    async def close(self) -> None:
        """Fail the pages that are being rendered, and end all browsers."""
        self.hurry()
        while self._idle:
            await self._idle.pop().end()
        while self._busy:
            await asyncio.sleep(0.05)
