"""A server of any number of hosts, which a crawl reaches as its proxy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import monotonic

import pytest

Answer = tuple[int, dict[str, str], str]
Answers = dict[str, Answer]


def moved(target: str) -> Answer:
    return 301, {"Location": target}, ""


def page(*links: str) -> Answer:
    body = "".join(f"<a href='{link}'>x</a>" for link in links)
    return 200, {"Content-Type": "text/html"}, f"<!DOCTYPE html>{body}"


class Asked(Counter[str]):
    """Counts requests, and knows when they came."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[tuple[str, float]] = []


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answers], Asked]]:
    """Return a function that answers URLs of any host, and counts the requests for each."""
    servers: list[tuple[ThreadingHTTPServer, Thread]] = []

    def start(answers: Answers) -> Asked:
        asked = Asked()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                asked[self.path] += 1
                asked.times.append((self.path, monotonic()))
                status, headers, body = answers.get(self.path, (404, {}, ""))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *arguments: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever)
        thread.start()
        servers.append((server, thread))
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.server_port}")
        return asked

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


Serve = Callable[[Answers], Asked]
