from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest
from pyoxigraph import RdfFormat, parse

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.web import Web

Scrapy = Callable[..., subprocess.CompletedProcess[str]]


@contextmanager
def started(*options: str) -> Iterator[subprocess.Popen[str]]:
    """Run `scrapy site` in the background, and end it at the latest after the block."""
    command = [sys.executable, "-m", "rdfaspider", "site", "--port", "0", *options]
    pipe = subprocess.PIPE
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_serves_greets_and_stops_without_a_traceback(tmp_path: Path) -> None:
    with started(f"--access-log={tmp_path / 'log'}") as process:
        assert process.stdout
        greeting = "".join(process.stdout.readline() for _ in range(3))
        assert "85 pages with 255 triples. Ctrl-C stops it" in greeting
        server = greeting.split()[0]
        with build_opener(ProxyHandler({})).open(f"{server}/books") as response:
            assert b"<title>" in response.read()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert f"scrapy crawl rdfa -a seeds={server}/\n" in greeting
    assert (process.returncode, errors) == (0, "")
    assert (tmp_path / "log").read_text().endswith(f" GET {server}/books 200\n")


def test_as_a_proxy_it_tells_how_to_use_it() -> None:
    with started("--proxy", "--hosts=100000") as process:
        assert process.stdout
        greeting = "".join(process.stdout.readline() for _ in range(3))
    server = greeting.split()[0]
    assert "up to 8,500,000 pages on 100,000 hosts" in greeting
    assert f"http_proxy={server} scrapy crawl rdfa -a seeds=http://w0.site.test/" in greeting


def test_a_port_that_is_taken_is_one_sentence(scrapy: Scrapy) -> None:
    with started() as process:
        assert process.stdout
        found = re.search(r":([0-9]+) ", process.stdout.readline())
        assert found
        result = scrapy("site", "--port", found[1])
    assert result.returncode == 1
    assert result.stderr == (
        f"scrapy site: port {found[1]} is taken; choose another, --port 0 takes any free one\n"
    )


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--rdfa", "2"], 2, "rdfa is a share between 0 and 1, not 2.0"),
        (["--port", "99999"], 1, "scrapy site: "),
        (["extra"], 2, "scrapy site takes options only"),
    ],
)
def test_wrong_options_get_a_sentence(
    scrapy: Scrapy, options: list[str], code: int, sentence: str
) -> None:
    result = scrapy("site", *options)
    assert (result.returncode, result.stdout.count("Traceback")) == (code, 0)
    assert sentence in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_the_oracle_counts(scrapy: Scrapy) -> None:
    result = scrapy("site", "--oracle", "counts", "--levels=5", "--pages=5", "--depth=2")
    assert result.stdout.splitlines()[0] == "exist: 3906 pages, 11718 triples"
    assert result.stdout.splitlines()[1].startswith("within 2 links of http://127.0.0.1:8000/: ")


def test_the_oracle_tells_urls_and_triples(scrapy: Scrapy) -> None:
    parameters = Parameters(hosts=3, disallowed=0.2, agent="rdfaspider")
    options = ["--proxy", "--hosts=3", "--disallowed=0.2", "--agent=rdfaspider", "--depth=4"]
    oracle = Oracle(Web(parameters))
    reach = oracle.reachable(["http://w0.site.test/"], 4, agent="rdfaspider")
    urls = scrapy("site", "--oracle=urls", *options).stdout.splitlines()
    assert urls == list(reach.pages)
    triples = scrapy("site", "--oracle=triples", *options).stdout
    wanted = frozenset[object]().union(*map(oracle.triples, urls))
    assert set(parse(triples, RdfFormat.N_QUADS)) == wanted
