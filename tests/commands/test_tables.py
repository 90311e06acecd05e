"""What a crawl says of its pages and sites: the tables of `scrapy pages`, by what is printed."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from tests.resolver.conftest import Server, listening

if TYPE_CHECKING:
    from tests.conftest import Scrapy

HOSTS = ("127.0.0.1", "127.0.0.2")
PAGES = {
    "/": '<html lang=en><a href="/recipe">R</a> <a href="/gone">G</a> <a href="/plain">P</a>',
    "/recipe": '<html lang=de vocab="http://schema.org/"><p typeof=Recipe><b property=name>Cake</b>',
    "/plain": "<html lang=en>" + "word " * 500,
}
# Columns of the user's own; one fails for a page.
COLUMNS = {"letters": "own.letters", "shown": "own.shown", "share": "own.Share"}
OWN = """
def letters(page) -> int:
    return page.body.count(b"e") if b"word" in page.body else 1 // len(page.links)

def shown(page) -> str | None:
    return page.title or page.url.rpartition("/")[2] or None

class Share:
    def __call__(self, page) -> "float":
        return page.quad_count / len(page.body)
"""


@pytest.fixture
def server(scrapy: Scrapy, tmp_path: Path) -> Iterator[Server]:
    """Serve the pages at two addresses, and crawl them with columns of our own."""
    (tmp_path / "own.py").write_text(OWN)
    with listening(*HOSTS) as server:
        for path, text in PAGES.items():
            server.serve(path, text)
        server.pages["/gone"] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        # The second site links to nothing of its own.
        seeds = f"seeds=http://{HOSTS[0]}:{server.port}/,http://{HOSTS[1]}:{server.port}/plain"
        columns = ",".join(f"{name}: {path}" for name, path in COLUMNS.items())
        fast = {"POLITENESS_OFF_FOR_OWN_SERVERS": 1, "EXTRACT_PROCESSES": 0}
        done = scrapy("crawl", "rdfa", "-a", seeds, PAGES_COLUMNS=columns, **fast)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("The column letters stays empty for ") == 1
        (tmp_path / "own.py").unlink()
        yield server


def test_sites_and_columns_of_a_crawl(server: Server, scrapy: Scrapy, tmp_path: Path) -> None:
    shown = scrapy("pages", "--sites", "--sort", "pages")
    assert shown.returncode == 0, shown.stderr
    head, _, first, second, *_ = shown.stdout.splitlines()
    assert head.split() == [
        "pages",
        "bytes",
        "statuses",
        "triples",
        "declared",
        "first",
        "last",
        "host",
    ]
    size = sum(len(text) for text in PAGES.values())
    assert first.split()[:6] == ["3", str(size), "200:3", "404:1", "3", "en:2"]
    assert first.split()[-1] == HOSTS[0] and second.split()[-1] == HOSTS[1]
    for name in ("sites.csv", "sites.jsonl"):
        assert "2 sites written" in scrapy("pages", "--sites", "-o", name).stderr
    rows = [json.loads(line) for line in (tmp_path / "sites.jsonl").read_text().splitlines()]
    assert [(row["host"], row["ended"], row["pages"]) for row in rows] == [
        (HOSTS[0], 4, 3),
        (HOSTS[1], 1, 1),
    ]
    assert rows[0]["first"] <= rows[0]["last"]
    with (tmp_path / "sites.csv").open(newline="") as file:
        assert [row["statuses"] for row in csv.DictReader(file)] == ["200:3 404:1", "200:1"]

    largest = scrapy("pages", "--sort", "size", "--most", "1").stdout.splitlines()
    assert largest[0].split()[0] == "size" and "/plain" in largest[2] and "--skip 1" in largest[-1]
    assert (
        "There is no column length: choose among url, host"
        in scrapy("pages", "--sort", "length").stderr
    )

    # The module is not needed any more.
    assert largest[0].split()[1:4] == list(COLUMNS)
    scrapy("pages", "--sort", "letters", "-o", "pages.parquet")
    own = parquet.read_table(tmp_path / "pages.parquet")
    assert [str(own.schema.field(name).type) for name in COLUMNS] == ["int64", "string", "float"]
    first, *_, last = own.to_pylist()
    assert (first["letters"], first["shown"]) == (PAGES["/plain"].count("e"), "plain")
    assert last["letters"] is None
    assert {row["shown"] for row in own.to_pylist()} == {"plain", "recipe", None}
    share = {row["url"]: row["share"] for row in own.to_pylist()}
    recipe = f"http://{HOSTS[0]}:{server.port}/recipe"
    assert share[recipe] == pytest.approx(3 / len(PAGES["/recipe"]))

    counted = scrapy("report", "--histogram", "letters").stdout.splitlines()
    assert [line.split() for line in counted[2:4]] == [["0", "1", "#" * 20], ["1", "2", "#" * 40]]
    assert "0 pages have other values, 2 have none." in counted
    sites = scrapy("report", "--histogram", "pages", "--sites").stdout.splitlines()
    assert [line.split()[:2] for line in sites[2:4]] == [["1", "1"], ["3", "1"]]
