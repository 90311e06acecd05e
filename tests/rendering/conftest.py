"""Servers for pages with scripts, and what counts connections where nobody may connect."""

from __future__ import annotations

import shutil
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple, cast

import pytest

from tests.resolver.test_fetch import self_signed


@pytest.fixture(scope="session", autouse=True)
def chromium() -> str:
    """Return the browser, or skip where there is none."""
    pytest.importorskip("playwright", reason="no playwright: make test installs it")
    if (found := shutil.which("chromium")) is None:
        pytest.skip("no chromium: make .cache/chromium.ready installs it")
    return found


class Site(NamedTuple):
    """A server: where it is, what it answers by path, and the paths that it was asked for, with the times."""

    url: str
    pages: dict[str, str | bytes | tuple[str, str]]
    asked: list[str]
    times: list[float]


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        self.site.asked.append(self.path)
        self.site.times.append(time.monotonic())
        found = self.site.pages.get(self.path)
        kind = "text/html"
        if isinstance(found, tuple):
            kind, found = found
        elif self.path.endswith(".js"):
            kind = "text/javascript"
        elif self.path.endswith((".json", ".txt")):
            kind = "application/json" if self.path.endswith("json") else "text/plain"
        body = found.encode() if isinstance(found, str) else found or b""
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


Serve = Callable[..., Site]


@contextmanager
def serving(address: str, context: ssl.SSLContext | None) -> Iterator[Site]:
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer((address, 0), handler) as server:
        server.daemon_threads = True
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        port = cast("tuple[str, int]", server.server_address)[1]
        scheme = "http" if context is None else "https"
        handler.site = site = Site(f"{scheme}://{address}:{port}", {}, [], [])  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield site
        server.shutdown()
        thread.join()


@pytest.fixture
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Return what starts a server at an address of this machine, with TLS if asked."""
    with ExitStack() as stack:

        def start(address: str = "127.0.0.1", *, tls: bool = False) -> Site:
            context = None
            if tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self_signed(tmp_path_factory.mktemp("tls")))
            return stack.enter_context(serving(address, context))

        yield start


class Forbidden(NamedTuple):
    """An address at which nobody may connect, by TCP or UDP."""

    where: str
    tcp: socket.socket
    udp: socket.socket

    def touched(self) -> bool:
        """Tell whether anybody has come."""
        for each in (self.tcp, self.udp):
            each.setblocking(False)
            try:
                if each is self.udp:
                    each.recv(1)
                else:
                    each.accept()[0].close()
            except BlockingIOError:
                continue
            return True
        return False


@pytest.fixture
def forbidden() -> Iterator[Forbidden]:
    with socket.create_server(("127.0.0.9", 0)) as tcp:
        port = tcp.getsockname()[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind(("127.0.0.9", port))
            yield Forbidden(f"127.0.0.9:{port}", tcp, udp)
