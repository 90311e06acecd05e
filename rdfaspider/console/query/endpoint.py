"""The SPARQL endpoint of the console (SPARQL 1.1 Protocol, queries only).

A query runs in a process of its own, with little priority, over a copy of the embedded store or over the
server that the crawl writes to. It is killed when it takes too long, when its answer gets too large, or when
nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, Any

from aiohttp import web

from rdfaspider.children import command
from rdfaspider.console.server import as_json
from rdfaspider.frontier import is_shared
from rdfaspider.pipelines.store import store_access
from rdfaspider.settings.places import store_url
from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.kinds import is_embedded, is_queried, shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from scrapy.settings import BaseSettings

    from rdfaspider.console.query.snapshots import Snapshots
    from rdfaspider.stores.server.access import Access

# Queries at the same time; others wait for their turn.
_AT_ONCE = 2
_LARGEST = 100 << 20  # bytes of an answer
_WHOLE = 8 << 20  # bytes of one that is not passed on piece by piece
_CHUNK = 1 << 16
_LOOK = 0.5  # seconds between two looks whether somebody still waits
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]*")


class Endpoint:
    """Answers queries over a store. `snapshots` is None if the store is on a server, or nobody writes it."""

    def __init__(
        self, store: str, access: Access | None, snapshots: Snapshots | None, seconds: float
    ) -> None:
        self.store = store
        self._access = access
        self._snapshots = snapshots
        self._seconds = seconds
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def about(self) -> dict[str, Any]:
        """Return what a reader should know of the answers."""
        snapshot = None if self._snapshots is None else self._snapshots.latest
        return {
            "store": shown(self.store),
            "is_copy": self._snapshots is not None,
            "is_embedded": is_embedded(self.store),
            "age": None if snapshot is None else snapshot.age,
            "seconds": self._seconds,
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        task = await _task(request)
        async with self._child("rdfaspider.console.query.process", task) as (process, end):
            return await self._pass_on(request, process, end)

    async def ask(self, module: str, task: dict[str, Any]) -> bytes:
        """Return what a module answers about the store, in a process of its own, whole."""
        async with self._child(module, task) as (process, end):
            assert process.stdout is not None
            try:
                async with asyncio.timeout(max(0.0, end - monotonic())):
                    answer = await process.stdout.read(_WHOLE)
                    while part := await process.stdout.read(_WHOLE - len(answer)):
                        answer += part
            except TimeoutError:
                raise StoreUnavailable(self._too_long) from None
            if await process.wait() or len(answer) >= _WHOLE:
                raise StoreUnavailable("The store could not be read: it may need too much memory.")
            return answer

    @asynccontextmanager
    async def _child(
        self, module: str, task: dict[str, Any]
    ) -> AsyncIterator[tuple[asyncio.subprocess.Process, float]]:
        """Start a process with a task over the store, when it is its turn; lend it, and when it must have
        ended."""
        end = monotonic() + self._seconds
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._seconds):
                    await stack.enter_async_context(self._turns)
            except TimeoutError:
                raise StoreUnavailable("Too many queries run: try again.") from None
            task["store"], task["access"] = self.store, self._access and asdict(self._access)
            if self._snapshots is not None:
                snapshot = await stack.enter_async_context(self._snapshots.fresh())
                task["store"] = str(snapshot.path)
            process = await asyncio.create_subprocess_exec(
                *command(module),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=1 << 20,
                start_new_session=True,  # Ctrl-C is for the crawl
            )
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps(task).encode() + b"\n")
                yield process, end
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                process.stdin.close()
                await asyncio.sleep(0)  # a reading that was cancelled ends
                # What nobody has read would keep the end of the process from being noticed.
                while process.stdout is not None and await process.stdout.read(_CHUNK):
                    pass
                await process.wait()

    @property
    def _too_long(self) -> str:
        return f"The query took more than {self._seconds:g} seconds, and was ended."

    async def _pass_on(
        self,
        request: web.Request,
        process: asyncio.subprocess.Process,
        end: float,
    ) -> web.StreamResponse:
        assert process.stdout is not None
        line = await _within(request, process.stdout.readline(), end)
        if line is None:
            return as_json({"error": self._too_long}, 503)
        if not line:
            return as_json({"error": "The query was ended: it may need too much memory."}, 503)
        head = json.loads(line)
        if head["status"] != 200:
            return as_json({"error": head["error"]}, head["status"])
        response = web.StreamResponse(headers={"Content-Type": head["type"]})
        request["guards"].dressed(request, response)
        with suppress(ConnectionError):  # the reader has gone to another page
            await self._send(request, response, process, end)
        return response

    async def _send(
        self,
        request: web.Request,
        response: web.StreamResponse,
        process: asyncio.subprocess.Process,
        end: float,
    ) -> None:
        """Pass on what a process writes."""
        assert process.stdout is not None
        await response.prepare(request)
        part = await _within(request, process.stdout.read(_CHUNK), end)
        sent = 0
        while part:
            sent += len(part)
            if sent > _LARGEST:
                part = None
                break
            try:
                async with asyncio.timeout(max(0.0, end - monotonic())):
                    await response.write(part)  # a client that does not read would keep its turn
            except TimeoutError:
                part = None
                break
            part = await _within(request, process.stdout.read(_CHUNK), end)
        if (part is None or await process.wait()) and request.transport is not None:
            request.transport.abort()  # or it would look whole
        else:
            await response.write_eof()


async def _within(request: web.Request, reading: Any, end: float) -> bytes | None:
    """Return what a process writes; None if it takes too long, or nobody waits for it any more."""
    task = asyncio.ensure_future(reading)
    try:
        while True:
            done, _ = await asyncio.wait([task], timeout=_LOOK)
            if done:
                found: bytes = task.result()
                return found
            transport = request.transport
            if monotonic() > end or transport is None or transport.is_closing():
                return None
    finally:
        task.cancel()


async def _task(request: web.Request) -> dict[str, Any]:
    """Return the query of a request, by any of the ways of the protocol; ValueError if it has none."""
    given: Mapping[str, Any] = request.query
    query = given.get("query", "")
    graphs = [(name, value) for name, value in request.query.items()]
    if request.method == "POST":
        if request.content_type == "application/sparql-query":
            query = (await request.read()).decode("utf-8", "replace")
        elif request.content_type == "application/x-www-form-urlencoded":
            form = await request.post()
            query = str(form.get("query", ""))
            graphs += [(name, str(value)) for name, value in form.items()]
        else:
            raise ValueError("Send the query as a form, or as application/sparql-query.")
    if not query.strip():
        raise ValueError("This is a SPARQL endpoint: it needs a query. It takes no updates.")
    default = [value for name, value in graphs if name == "default-graph-uri"]
    named = [value for name, value in graphs if name == "named-graph-uri"]
    for graph in (*default, *named):
        if not _IRI.fullmatch(graph):
            raise ValueError(f"{graph[:100]} is not the IRI of a graph.")
    accept = request.headers.get("Accept", "")
    return {"query": query, "accept": accept, "default": default, "named": named}


def open_endpoint(settings: BaseSettings, snapshots: Snapshots | None = None) -> Endpoint | None:
    """Return the endpoint of the store that settings name, None if another process has that."""
    url = store_url(settings)
    if is_shared(url):
        return None
    seconds = settings.getfloat("CONSOLE_QUERY_TIMEOUT")
    return Endpoint(url, store_access(settings), snapshots, seconds)


def answering(endpoint: Endpoint | None) -> Endpoint:
    """Return an endpoint that answers queries; StoreUnavailable if there is none."""
    if endpoint is None:
        raise StoreUnavailable(
            "The store of this crawl is with another process, which has its console."
        )
    if not is_queried(endpoint.store):
        raise StoreUnavailable(
            "The triples of this crawl are in N-Quads files, which answer no queries: load them into a store."
        )
    return endpoint
