"""Names on one server are one server: a crawl of many hosts at few addresses, by the server's own log."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.resolver import Resolver
from rdfaspider.site import robots
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from tests.conftest import Scrapy

PROJECT = Path(__file__).parents[1]

# The log has the time of the answer, not of the question; the two differ by what a busy machine adds.
TOLERANCE = 0.1


class HostsByNumber(Resolver):
    """Looks up w17.site.test in the web that is served, for the crawls of these tests."""

    @staticmethod
    def look_up(name: str) -> list[str]:
        web = Web(Parameters(addresses=int(os.environ["SITE_ADDRESSES"])))
        return [web.address(int(name.partition(".")[0].removeprefix("w")))]


def crawl_servers(
    directory: Path, parameters: Parameters, delay: float, seconds: int, pages: int = 0
) -> str:
    """Crawl for a while, or so many pages, and check the server's log by host and by address."""
    log = directory / "access.log"
    web = Web(parameters)
    with running(parameters, log=log) as origin:
        port = urlsplit(origin).port
        seeds = [
            f"http://{urlsplit(web.url(host, 0)).hostname}:{port}/"
            for host in range(parameters.hosts)
        ]
        (directory / "seeds.txt").write_text("\n".join(seeds))
        settings = {
            "TWISTED_DNS_RESOLVER": "tests.test_servers.HostsByNumber",
            "RESOLVER_ALLOW": "127.0.0.0/8",
            "POLITENESS_DELAY": delay,
            "POLITENESS_SERVER_DELAY": delay,
            "CLOSESPIDER_TIMEOUT": seconds,
            "CLOSESPIDER_PAGECOUNT": pages,
        }
        options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        result = subprocess.run(
            [
                sys.executable,
                "-m",
                "rdfaspider",
                "crawl",
                "rdfa",
                "-a",
                "seeds=seeds.txt",
                *options,
            ],
            cwd=directory,
            env={
                **os.environ,
                "PYTHONPATH": str(PROJECT),
                "SITE_ADDRESSES": str(parameters.addresses),
            },
            capture_output=True,
            text=True,
            timeout=seconds + 120,
            check=False,
        )
    assert result.returncode == 0, result.stderr
    return check_log(log, web, delay)


def check_log(log: Path, web: Web, delay: float) -> str:
    by_address: dict[str, list[float]] = defaultdict(list)
    by_host: dict[str, list[float]] = defaultdict(list)
    asked: dict[str, int] = defaultdict(int)
    for line in log.read_text().splitlines():
        moment, address, _, url, _ = line.split()
        host = str(urlsplit(url).hostname)
        assert address == web.address(int(host.partition(".")[0].removeprefix("w")))
        by_address[address].append(float(moment))
        by_host[host].append(float(moment))
        if url.endswith("/robots.txt"):
            asked[host] += 1
        else:
            assert robots.allows(web, url, "rdfaspider"), f"{url} is disallowed"
    for times in (*by_address.values(), *by_host.values()):
        times.sort()
        gaps = [second - first for first, second in pairwise(times)]
        assert min(gaps, default=delay) >= delay - TOLERANCE
    assert set(asked.values()) == {1}, "robots.txt once a host"
    requests = sum(map(len, by_host.values()))
    return (
        f"{requests:,} requests to {len(by_host):,} hosts at {len(by_address):,} addresses,"
        f" robots.txt {len(asked):,} times"
    )


def test_a_network_of_ipv6_is_one_server(scrapy: Scrapy, tmp_path: Path) -> None:
    """By the look-up as by the answer: each would move the host."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        port = listener.getsockname()[1]
        thread = Thread(target=answer_twice, args=(listener,))
        thread.start()
        result = scrapy("crawl", "rdfa", "-a", f"seeds=http://[::1]:{port}/", POLITENESS_DELAY=0.1)
        thread.join()
    assert "1 done" in result.stderr, result.stderr
    with LocalFrontier(str(tmp_path / "crawl" / "frontier")) as frontier:
        assert [host.address for host in frontier._hosts.all()] == ["::/64"]


def answer_twice(listener: socket.socket) -> None:
    """Answer for robots.txt and a page."""
    for _ in range(2):
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.mark.slow
def test_hosts_of_one_server_are_asked_one_after_the_other(tmp_path: Path) -> None:
    parameters = Parameters(hosts=24, addresses=4, levels=1, disallowed=0.3)
    summary = crawl_servers(tmp_path, parameters, delay=0.2, seconds=60, pages=60)
    print(summary)
    assert int(summary.split()[0]) >= 60, "four servers, five requests a second each"
