"""What pages and servers reserve is kept with the page, and refuses nothing unless a setting says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rdfaspider.extract import extract
from rdfaspider.extract.facts import Facts
from rdfaspider.pipelines.rights import Rights, rights_of
from rdfaspider.robots import Robots
from rdfaspider.stores import open_store
from tests.conftest import Scrapy

TDM = "http://www.w3.org/ns/tdmrep#"
PAGES = {
    "/": (
        "<a href=meta>1</a><a href=header>2</a><a href=ai>3</a><a href=closed>4</a><a href=open>5</a>",
        {},
    ),
    "/meta": ('<meta name="tdm-reservation" content="1"><meta name=tdm-policy content=/terms>', {}),
    "/header": ("", {"tdm-reservation": "1", "tdm-policy": "http://a.test/p olicy"}),
    "/ai": ("<meta name=robots content='noai, NoImageAI'>", {"X-Robots-Tag": "noarchive"}),
    "/closed": ("", {}),
    "/open": (
        '<meta name="tdm-reservation" content="0"><a rel="nofollow license" href="/by">CC</a>',
        {},
    ),
    "/robots.txt": ("User-agent: *\nDisallowAITraining: /closed\n", {}),
}


class Reserving(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text, headers = PAGES.get(self.path, ("", {}))
        kind = "text/plain" if self.path == "/robots.txt" else "text/html"
        if kind == "text/html":
            text += f'<p about="" property="schema:name">{self.path}</p>'
        body = text.encode()
        self.send_response(200)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Reserving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def crawl(scrapy: Scrapy, web: str, **settings: object) -> str:
    done = scrapy(
        *("crawl", "rdfa", "-a", f"seeds={web}/"),
        POLITENESS_DELAY=0,
        STORE_PROVENANCE=1,
        STATS_DUMP=1,
        ROBOTS_SITEMAPS=0,
        **settings,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_what_is_reserved_is_kept_with_the_page(scrapy: Scrapy, web: str, tmp_path: Path) -> None:
    log = crawl(scrapy, web)
    listed = scrapy("pages", "-o", "pages.jsonl")
    assert listed.returncode == 0, listed.stderr
    rows = {
        row["url"].removeprefix(web): row
        for row in map(json.loads, (tmp_path / "pages.jsonl").read_text().splitlines())
    }
    signals = {path: row.get("signals") for path, row in rows.items() if path in PAGES}
    assert signals == {
        "/": None,
        "/meta": "tdm-reservation",
        "/header": "tdm-reservation",
        "/ai": "noai noimageai noarchive",
        "/closed": "no-training",
        "/open": None,
    }
    assert rows["/meta"]["policy"] == f"{web}/terms"
    assert rows["/header"]["policy"] == "http://a.test/p%20olicy"
    assert rows["/open"]["license"] == f"{web}/by"
    assert "'extract/signal/tdm-reservation': 2" in log
    assert "extract/refused" not in log
    with open_store(str(tmp_path / "crawl" / "store"), read_only=True) as store:
        told = {
            (row["page"].value.removeprefix(web), row["p"].value, row["o"].value)
            for row in store.query(
                "SELECT ?page ?p ?o { ?fetch <http://www.w3.org/ns/prov#generated> ?page ; ?p ?o .\n"
                f"FILTER(STRSTARTS(STR(?p), '{TDM}') || ?p IN (<http://purl.org/dc/terms/license>,"
                " <http://purl.org/dc/terms/accessRights>)) }"
            )
        }
        assert store.query("ASK { ?page <http://schema.org/name> '/meta' }")
    assert told == {
        ("/meta", f"{TDM}reservation", "1"),
        ("/meta", f"{TDM}policy", f"{web}/terms"),
        ("/header", f"{TDM}reservation", "1"),
        ("/header", f"{TDM}policy", "http://a.test/p%20olicy"),
        *(
            ("/ai", "http://purl.org/dc/terms/accessRights", name)
            for name in ("noai", "noimageai", "noarchive")
        ),
        ("/closed", "http://purl.org/dc/terms/accessRights", "no-training"),
        ("/open", "http://purl.org/dc/terms/license", f"{web}/by"),
    }


def test_a_setting_refuses_what_is_reserved(scrapy: Scrapy, web: str, tmp_path: Path) -> None:
    log = crawl(scrapy, web, EXTRACT_REFUSE="tdm-reservation,no-training")
    assert "'extract/refused/tdm-reservation': 2" in log
    with open_store(str(tmp_path / "crawl" / "store"), read_only=True) as store:
        names = {
            row["n"].value for row in store.query("SELECT ?n { ?s <http://schema.org/name> ?n }")
        }
    assert names == {"/", "/ai", "/open"}


@pytest.mark.parametrize(
    ("lines", "open_", "closed"),
    [
        ("User-agent: *\nDisallowAITraining: /a\nAllowAITraining: /a/b", ["/", "/a/b"], ["/a/c"]),
        ("User-agent: other\nDisallowAITraining: /", ["/"], []),
        (
            "User-agent: other\nDisallowAITraining: /\nUser-agent: rdfaspider\nDisallow: /x",
            ["/"],
            [],
        ),
        ("User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /", [], ["/", "/x"]),
        (
            "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /ok/ train-ai=y",
            ["/ok/x"],
            ["/x"],
        ),
        ("User-agent: *\nDisallow: /x\nContent-Signal: search=yes", ["/x"], []),
    ],
)
def test_robots_speaks_of_training(lines: str, open_: list[str], closed: list[str]) -> None:
    rules = Robots(lines.encode(), "rdfaspider")
    for robots in (rules, Robots.from_bytes(rules.to_bytes())):
        assert all(robots.allows_training(f"http://a.test{path}") for path in open_)
        assert not any(robots.allows_training(f"http://a.test{path}") for path in closed)
        assert all(robots.allows(f"http://a.test{path}") for path in closed)  # it may be fetched


@pytest.mark.parametrize(
    ("file", "header", "meta", "reserved", "policy"),
    [
        ("1 /f", "", "", True, "/f"),
        ("1 /f", "1", "", True, "/f"),
        ("1 /f", "1 /h", "", True, "/h"),
        ("1 /f", "0", "", False, ""),
        ("1 /f", "0 /h", "1", True, "/f"),
        ("1 /f", "1 /h", "0 /m", False, ""),
        ("1 /f", "1 /h", "1 /m", True, "/m"),
        ("", "0", "1 /m", True, "/m"),
        ("1 /f", "yes", "2", True, "/f"),
        ("", "", "- /m", False, ""),
    ],
)
def test_the_page_overrides_its_answer_which_overrides_its_service(
    file: str, header: str, meta: str, reserved: bool, policy: str
) -> None:
    (file_, file_policy), (header_, header_policy), (meta_, meta_policy) = (
        each.replace("-", "").partition(" ")[::2] for each in (file, header, meta)
    )
    page = f"<meta name=TDM-reservation content='{meta_}'><meta name=tdm-policy content='{meta_policy}'>"
    rights = rights_of(
        "http://a.test/x/",
        extract(page.encode(), "http://a.test/x/").facts,
        (),
        [(file_, file_policy), (header_, header_policy)],
    )
    assert rights == Rights(
        ("tdm-reservation",) if reserved else (), policy and f"http://a.test{policy}"
    )


def test_of_two_meta_elements_the_one_that_reserves_counts() -> None:
    both = b"<meta name=tdm-reservation content=1><meta name=tdm-reservation content=0>"
    assert extract(both, "http://a.test/").facts.reservation == "1"


def test_hostile_signals_are_no_iris() -> None:
    page = (
        b'<a rel=license href="javascript:alert(1)">x</a><meta name=tdm-policy content="http://[">'
    )
    facts = extract(page, "http://a.test/").facts
    assert (facts.license, facts.policy, facts.signals) == ("", "", [])
    assert rights_of("http://a.test/", Facts(), (), [("1 ", "http://[")]) == Rights(
        ("tdm-reservation",)
    )
