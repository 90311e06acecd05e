"""Hosts and name servers that never answer do not hold up those that do; real sockets, whole crawls."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.conftest import FATES, read_fates
from tests.hostile import (
    Manner,
    Web,
    addresses,
    crawl,
    drip,
    drip_head,
    name_of,
    pages,
    serving,
    silent,
)

GOOD = addresses(2, 5)
BAD = addresses(3, 200)
PAGES = 10  # of each good host
DELAY = 0.1


def good_seeds(web: Web) -> list[str]:
    # They come last in the order of seeds, which is by name.
    return [f"http://{name_of(address, 'zgood.com')}:{web.port}/" for address in GOOD]


def seconds_of_good_pages(directory: Path, web: Web, bad_seeds: list[str]) -> float:
    """Crawl until all good pages were asked for; return the seconds that took."""

    def is_done() -> bool:
        return len(web.pages_of(set(GOOD))) == len(GOOD) * PAGES

    done = crawl(directory, bad_seeds + good_seeds(web), until=is_done, POLITENESS_DELAY=DELAY)
    assert is_done(), f"{len(web.pages_of(set(GOOD)))} good pages in a minute"
    return max(visit.moment for visit in web.pages_of(set(GOOD))) - done.opened


@pytest.mark.slow
def test_silent_hosts_leave_room_for_those_that_answer(tmp_path: Path) -> None:
    hosts: dict[str, Manner] = dict.fromkeys(BAD, silent) | dict.fromkeys(GOOD, pages(PAGES))
    with serving(hosts) as web:
        bad = [f"http://{address}:{web.port}/" for address in BAD]
        seconds = seconds_of_good_pages(tmp_path, web, bad)
    assert seconds < 20, "as long as one silent host is waited for"


@pytest.mark.slow
@pytest.mark.parametrize("domains", [1, 400])
def test_slow_name_servers_leave_room_for_those_that_answer(tmp_path: Path, domains: int) -> None:
    with serving(dict.fromkeys(GOOD, pages(PAGES))) as web:
        names = [f"a{n}.a{n % domains}slow20.com" for n in range(400)]
        bad = [f"http://{name}:{web.port}/" for name in names]
        seconds = seconds_of_good_pages(tmp_path, web, bad)
    assert seconds < 20, "as long as one look-up takes"


@contextmanager
def full() -> Iterator[int]:
    """Yield a port to which nobody can connect, as too many wait to be accepted."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            with suppress(BlockingIOError):
                client.connect(listener.getsockname())
        yield listener.getsockname()[1]


def test_each_part_of_a_fetch_has_its_time(tmp_path: Path) -> None:
    with (
        serving({"127.4.0.1": silent, "127.4.0.2": drip_head, "127.4.0.3": drip}) as web,
        full() as port,
    ):
        crawl(
            tmp_path,
            [
                *(f"http://{address}:{web.port}/" for address in web.hosts),
                f"http://127.0.0.1:{port}/",
            ],
            FETCH_CONNECT_TIMEOUT=1,
            FETCH_FIRST_BYTE_TIMEOUT=2,
            DOWNLOAD_TIMEOUT=4,
            ROBOTS_OBEY=0,
            FEEDS=FATES,
        )
    fates = {
        url.split("/")[2].split(":")[0]: fate for url, fate in read_fates(tmp_path / "fates.csv")
    }
    assert fates == {
        "127.4.0.1": "failed/FirstByteTimeoutError",
        "127.4.0.2": "failed/FirstByteTimeoutError",
        "127.4.0.3": "failed/DownloadTimeoutError",
        "127.0.0.1": "failed/ConnectTimeoutError",
    }
