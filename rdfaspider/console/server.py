"""The web server of the console.

It shares the process of the crawl, so it takes little of it: a number of connections and the size of requests
are limited, files are served by exact name, and an error is answered by a sentence.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web
from aiohttp.http import HttpProcessingError

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.stores import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from rdfaspider.console.guards import Guards

logger = logging.getLogger(__name__)

# Connections at the same time; a browser has up to six. More would take files from the fetches.
_CONNECTIONS = 64
# Bytes of a request: some ten thousand seeds.
_LARGEST = 1 << 20
_IDLE = 20.0  # seconds after which an idle connection is closed
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)

_TYPES = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
_STATIC = files("rdfaspider.console") / "static"
# Where a page loads what few pages need, and how.
_PLACE = b"<!-- vendor -->\n"
_VENDOR = (
    '<link rel="stylesheet" href="/static/vendor/{0}.css">\n'
    '<script src="/static/vendor/{0}.js" defer></script>\n'
)


class Server:
    """Serves routes at a port of 127.0.0.1."""

    def __init__(self, guards: Guards, routes: Iterable[web.RouteDef]) -> None:
        self.app = web.Application(middlewares=[guards.check, _explain], client_max_size=_LARGEST)
        self.app.add_routes(routes)
        self._runner = web.AppRunner(
            self.app,
            access_log=None,
            logger=logger,
            handle_signals=False,
            keepalive_timeout=_IDLE,
        )
        self._server: asyncio.Server | None = None

    async def start(self, port: int) -> int:
        """Listen; return the port. OSError if another program has it."""
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connected, "127.0.0.1", port)
        listening: int = self._server.sockets[0].getsockname()[1]
        return listening

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()

    def _connected(self) -> asyncio.BaseProtocol:
        server = self._runner.server
        assert server is not None
        if len(server.connections) >= _CONNECTIONS and not self._drop_idle(server.connections):
            return _Full()
        protocol: asyncio.BaseProtocol = server()
        return protocol

    def _drop_idle(self, connections: list[Any]) -> bool:
        """Close the oldest connection on which nothing is being answered; tell whether there was one.

        Otherwise a program that sends half a request would keep its place for ever.
        """
        for connection in connections:
            if connection._current_request is None:  # aiohttp has no public way to ask
                connection.force_close()
                return True
        return False


def _is_ours(record: logging.LogRecord) -> bool:
    """Tell whether a line of the log is about us, not about a request that is no HTTP and was answered so."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


logger.addFilter(_is_ours)


class _Full(asyncio.Protocol):
    """Refuses a connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(_FULL)
        transport.close()


@web.middleware
async def _explain(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Turn an error into a sentence for the reader."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        return as_json({"error": error.reason}, error.status)
    except ValueError as error:
        return as_json({"error": str(error)}, 400)
    except (FrontierUnavailable, StoreUnavailable) as error:
        return as_json({"error": str(error)}, 503)
    except Exception:
        logger.exception("The console could not answer %s", request.path)
        return as_json({"error": "The console could not answer: the log says why."}, 500)


_encode = msgspec.json.Encoder().encode


def as_json(value: Any, status: int = 200) -> web.Response:
    """Return a value as an answer."""
    return web.Response(body=_encode(value), status=status, content_type="application/json")


def file_routes() -> list[web.RouteDef]:
    """Return a route for each file of the console, and for the icon that browsers ask for unasked."""
    files = [web.get(f"/static/{name}", _send_file) for name in _names()]
    return [*files, web.get("/favicon.ico", _send_icon)]


def page(vendor: str = "") -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Return a handler that answers by the frame of all pages, with a script and style of others."""

    async def send(request: web.Request) -> web.StreamResponse:
        return _answer(request, "page.html", vendor)

    return send


async def _send_file(request: web.Request) -> web.StreamResponse:
    return _answer(request, request.path.removeprefix("/static/"))


async def _send_icon(request: web.Request) -> web.StreamResponse:
    return _answer(request, "icon.svg")


def _answer(request: web.Request, name: str, vendor: str = "") -> web.Response:
    body, tag = _read(name, vendor)
    # It may be kept, but must be asked for: the next version has the same names.
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("If-None-Match") == tag:
        return web.Response(status=304, headers=headers)
    kind = _TYPES.get(name.rpartition(".")[2], "text/plain")
    return web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)


@cache
def _read(name: str, vendor: str) -> tuple[bytes, str]:
    body = _STATIC.joinpath(name).read_bytes()
    if vendor:
        body = body.replace(_PLACE, _VENDOR.format(vendor).encode())
    return body, f'"{hashlib.sha256(body).hexdigest()[:16]}"'


def _names(folder: Any = _STATIC, before: str = "") -> list[str]:
    names = []
    for entry in folder.iterdir():
        if entry.is_dir():
            names += _names(entry, f"{before}{entry.name}/")
        else:
            names.append(before + entry.name)
    return sorted(names)
