"""What pages reserve is kept with them in other people's projects too."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rdfaspider.robots.reservations import PLACE
from rdfaspider.stores import open_store
from tests.parts.test_addon import Plain, plain

__all__ = ["plain"]  # a fixture

ADDON = {"rdfaspider.Addon": 300}
FILE = [{"location": "/mine", "tdm-reservation": 1, "tdm-policy": "/terms"}]
PATHS = ("/mine", "/closed", "/header", "/open")


class Service(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        status, headers, text = 200, {"Content-Type": "text/html"}, ""
        if self.path == "/robots.txt":
            headers, text = {}, "User-agent: *\nDisallowAITraining: /closed\n"
        elif self.path == PLACE:
            status, headers = 302, {"Location": "/moved.json"}
        elif self.path == "/moved.json":
            headers, text = {"Content-Type": "application/json"}, json.dumps(FILE)
        elif self.path == "/header":
            headers |= {"tdm-reservation": "1"}
        if not text:
            text = f'<p about="" property="schema:name">{self.path}</p>'
        body = text.encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    Service.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def told(directory: Path, service: str) -> set[tuple[str, str, str]]:
    """Return what the provenance says of the rights of pages."""
    with open_store(str(directory / "store"), read_only=True) as store:
        return {
            (
                row["page"].value.removeprefix(service),
                row["p"].value.rpartition("/")[2].rpartition("#")[2],
                row["o"].value.removeprefix(service),
            )
            for row in store.query(
                "SELECT ?page ?p ?o { ?fetch <http://www.w3.org/ns/prov#generated> ?page ; ?p ?o ."
                " FILTER(STRSTARTS(STR(?p), 'http://www.w3.org/ns/tdmrep#')"
                " || ?p = <http://purl.org/dc/terms/accessRights>) }"
            )
        }


def test_rights_are_kept_with_pages(service: str, plain: Plain, tmp_path: Path) -> None:
    got, log = plain(
        *(service + path for path in PATHS),
        ADDONS=ADDON,
        POLITENESS_DELAY=0,
        STORE_PROVENANCE=1,
        ROBOTS_TDMREP=1,
    )
    assert len(got) == 4, log
    assert told(tmp_path, service) == {
        ("/mine", "reservation", "1"),
        ("/mine", "policy", "/terms"),
        ("/closed", "accessRights", "no-training"),
        ("/header", "reservation", "1"),
    }
    assert Service.asked.count(PLACE) == Service.asked.count("/moved.json") == 1
    assert "'robots/tdmrep/fetched/200': 1" in log


def test_the_file_is_not_asked_for_unless_a_setting_says_so(
    service: str, plain: Plain, tmp_path: Path
) -> None:
    _, log = plain(
        *(service + path for path in PATHS),
        ADDONS=ADDON,
        ADDON_PARTS="triples",
        STORE_PROVENANCE=1,
    )
    assert PLACE not in Service.asked
    assert told(tmp_path, service) == {("/header", "reservation", "1")}, "robots.txt is not read"
    assert "robots/tdmrep" not in log
