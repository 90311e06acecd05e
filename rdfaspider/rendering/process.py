"""A browser as the crawl sees it: a child process, a socket to it, and a directory for its files."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import socket
import subprocess
from contextlib import suppress
from tempfile import TemporaryFile, mkdtemp
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from rdfaspider.children import command
from rdfaspider.rendering.isolation import kill_tree, memory_of, tree
from rdfaspider.rendering.resources import Resource, Wish

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    # Called with what a page asks for, at any time while it is rendered.
    Fetch = Callable[[Wish], Awaitable[Resource]]

logger = logging.getLogger(__name__)

# Seconds until a browser must be ready.
_START_S = 60.0
# Seconds between two looks at the memory of a browser that renders a page.
_LOOK_S = 0.2
# Seconds beyond its time limit after which a page that has not even failed is given up.
_GRACE_S = 2.0
# Seconds until it must have ended its browser when the crawl is done with it.
_END_S = 5.0
# Bytes of output that are read of a browser that could not start.
_TAIL = 2000


class RenderingFailed(Exception):
    """A page could not be rendered; `reason` is timeout, memory, crash, error or busy."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Rendered(NamedTuple):
    """A document as its scripts left it, in UTF-8; `is_cut` if they had not ended by then.

    `moves` are URLs to which they wanted to go.
    """

    document: bytes
    moves: list[str]
    is_cut: bool


class BrowserProcess(asyncio.Protocol):
    """A child process with a browser. It renders one page at a time; one that fails is not used again."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Start the process; raise OSError if the system has no room for it."""
        self.pages = 0
        self.is_lost = False
        self._memory = options["memory"]
        self._timeout = options["timeout"]
        self._requests = options["requests"]
        self._most = options["bytes"]
        self._pieces = bytearray()
        self._header: dict[str, Any] | None = None
        self._answer: asyncio.Future[tuple[dict[str, Any], bytes]] | None = None
        self._fetch: Fetch | None = None
        self._fetching: set[asyncio.Task[None]] = set()
        self._transport: asyncio.Transport | None = None
        self._output = TemporaryFile()  # noqa: SIM115  # `end` closes it
        # What Chromium and Playwright write goes there, and with it; the paths of sockets must be short.
        self._directory = mkdtemp(prefix="rdfa-")
        self._channel, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = subprocess.Popen(
                    command("rdfaspider.rendering.worker", json.dumps(dict(options))),
                    env={**os.environ, "TMPDIR": self._directory},
                    stdin=theirs.fileno(),
                    stdout=self._output,
                    stderr=self._output,
                    start_new_session=True,  # Ctrl-C is for the crawl, which ends it
                )
            except OSError:
                self._channel.close()
                self._output.close()
                shutil.rmtree(self._directory, ignore_errors=True)
                raise

    async def start(self) -> Self:
        """Return the browser when it is ready; raise OSError with the reason if it cannot start."""
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        try:
            async with asyncio.timeout(_START_S):
                await loop.create_connection(lambda: self, sock=self._channel)
                await self._answer
        except (TimeoutError, RenderingFailed):
            words = self._last_words()
            await self.end()
            raise ChildProcessError(words or "it was not ready in time") from None
        except BaseException:
            await self.end()
            raise
        return self

    async def render(self, url: str, content_type: str, body: bytes, fetch: Fetch) -> Rendered:
        """Return the document that the scripts of a page leave; raise RenderingFailed."""
        if self.is_lost:
            raise RenderingFailed("crash")
        loop = asyncio.get_running_loop()
        self.pages += 1
        self._answer, self._fetch, self._left = loop.create_future(), fetch, self._requests
        self._send({"render": url, "type": content_type}, body)
        watching = asyncio.ensure_future(self._watch())
        try:
            async with asyncio.timeout(self._timeout + _GRACE_S):
                message, document = await self._answer
        except TimeoutError:
            raise RenderingFailed("timeout") from None
        finally:
            self._fetch = None
            watching.cancel()
            for task in self._fetching:
                task.cancel()
        if "rendered" not in message:
            raise RenderingFailed(str(message.get("failed", "error")))
        moves = [str(each) for each in message.get("moves", ())]
        return Rendered(document, moves, bool(message["rendered"]))

    async def _watch(self) -> None:
        """Fail the page when the browser uses too much memory."""
        while True:
            await asyncio.sleep(_LOOK_S)
            if memory_of(tree(self.process.pid)) > self._memory:
                self._fail("memory")
                return

    def give_up(self) -> None:
        """Fail the page that is being rendered, because the crawl ends."""
        self._fail("busy")

    def _fail(self, reason: str) -> None:
        self.is_lost = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(RenderingFailed(reason))

    def _send(self, message: dict[str, Any], body: bytes = b"") -> None:
        if self._transport is not None and not self._transport.is_closing():
            line = json.dumps({**message, "size": len(body)}).encode()
            self._transport.write(b"".join((line, b"\n", body)))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._fail("crash")

    def data_received(self, data: bytes) -> None:
        self._pieces += data
        # A browser that was taken over by a page must not fill our memory.
        if len(self._pieces) > 4 * self._most + (1 << 20):
            self._fail("error")
            return
        try:
            while (found := self._next()) is not None:
                self._take(*found)
        except (ValueError, KeyError, TypeError):
            self._fail("error")

    def _next(self) -> tuple[dict[str, Any], bytes] | None:
        pieces = self._pieces
        if self._header is None:
            if (end := pieces.find(b"\n")) < 0:
                return None
            self._header = json.loads(pieces[:end])
            del pieces[: end + 1]
        header, size = self._header, int(self._header["size"])
        if len(pieces) < size:
            return None
        body = bytes(memoryview(pieces)[:size])
        del pieces[:size]
        self._header = None
        return header, body

    def _take(self, message: dict[str, Any], body: bytes) -> None:
        if "ask" in message:
            number = int(message["ask"])
            wish = Wish(str(message["url"]), str(message["kind"]), str(message["origin"]))
            self._left -= 1
            if self._fetch is not None and self._left >= 0:
                task = asyncio.ensure_future(self._reply(number, wish, self._fetch))
                self._fetching.add(task)
                task.add_done_callback(self._fetching.discard)
        elif self._answer is not None and not self._answer.done():
            self._answer.set_result((message, body))

    async def _reply(self, number: int, wish: Wish, fetch: Fetch) -> None:
        found = await fetch(wish)
        if found.refused:
            self._send({"answer": number, "refused": found.refused})
        else:
            answer = {"answer": number, "status": found.status, "headers": dict(found.headers)}
            self._send(answer, found.body)

    def _last_words(self) -> str:
        number = self._output.fileno()
        start = max(0, os.fstat(number).st_size - _TAIL)
        lines = os.pread(number, _TAIL, start).decode(errors="replace").strip().splitlines()
        return lines[-1].strip().rstrip(".") if lines else ""

    async def end(self) -> None:
        """End the process and all that it has started, and wait until they are gone."""
        self._fail("busy")
        if self._transport is None:
            self._channel.close()
        else:
            self._transport.abort()
        # In a thread: the system takes a while to free the memory of what was killed.
        await asyncio.to_thread(self._kill)
        with suppress(OSError):
            self._output.close()

    def _kill(self) -> None:
        try:
            self.process.wait(_END_S)  # it sees that the socket is closed, and ends all
        except subprocess.TimeoutExpired:
            kill_tree(self.process.pid)
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)
