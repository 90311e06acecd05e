"""A crawl that would go past the guard does not start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from rdfaspider.resolver.extension import check_wiring
from tests.resolver.conftest import UNGUARDED, Server

Fetch = Callable[..., Any]


def test_guarded_handlers_are_good(guarded: dict[str, Any]) -> None:
    check_wiring(Settings(guarded))


@pytest.mark.parametrize(
    ("scheme", "other"),
    [
        ("http", "http11.HTTP11DownloadHandler"),
        ("https", "_aiohttp.AiohttpDownloadHandler"),
        ("ftp", "ftp.FTPDownloadHandler"),
        ("file", "file.FileDownloadHandler"),
    ],
)
def test_others_are_not(guarded: dict[str, Any], scheme: str, other: str) -> None:
    guarded["DOWNLOAD_HANDLERS"][scheme] = f"scrapy.core.downloader.handlers.{other}"
    with pytest.raises(UsageError, match=scheme):
        check_wiring(Settings(guarded))


def test_others_may_be_let_in_which_is_said_once(
    guarded: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    other = guarded["DOWNLOAD_HANDLERS"] | {"http": UNGUARDED, "https": UNGUARDED}
    settings = {**guarded, "DOWNLOAD_HANDLERS": other}
    with pytest.raises(UsageError, match=r"HTTP11DownloadHandler .* set RESOLVER_ALLOW_UNGUARDED"):
        check_wiring(Settings(settings))
    check_wiring(Settings({**settings, "RESOLVER_ALLOW_UNGUARDED": True}))
    (said,) = caplog.messages
    assert said.startswith("DOWNLOAD_HANDLERS has HTTP11DownloadHandler for http and https, which")
    caplog.clear()
    worker = {"RESOLVER_ALLOW_UNGUARDED": True, "CREW_JOBDIR": "crawl"}
    check_wiring(Settings({**settings, **worker}))
    assert caplog.messages == []


def test_a_handler_that_is_gone_is_named(guarded: dict[str, Any]) -> None:
    gone = "rdfaspider.downloader.aiohttp.GuardedAiohttpDownloadHandler"
    guarded["DOWNLOAD_HANDLERS"]["https"] = gone
    with pytest.raises(UsageError, match=f"{gone} for https, which is not there .* leave it out"):
        check_wiring(Settings(guarded))


def test_the_defaults_of_scrapy_are_not() -> None:
    with pytest.raises(UsageError, match="TWISTED_DNS_RESOLVER"):
        check_wiring(Settings())


def test_a_crawl_without_guard_does_not_start(canary: Any, fetch: Fetch) -> None:
    fetched = fetch([f"http://127.0.0.1:{canary.port}/"], UNGUARDED)
    assert "UsageError" in fetched.error
    assert fetched.outcomes == []
    assert canary.visits == []


def test_without_the_resolver_nothing_is_fetched(canary: Any, fetch: Fetch) -> None:
    fetched = fetch(
        [f"http://127.0.0.1:{canary.port}/", f"http://localhost:{canary.port}/"],
        EXTENSIONS={},
        TWISTED_DNS_RESOLVER="scrapy.resolver.CachingThreadedResolver",
    )
    assert fetched.outcomes == ["RuntimeError"] * 2
    assert canary.visits == []


def test_addresses_survive_a_restart_until_they_expire(
    friend: Server, fetch: Fetch, tmp_path: Path
) -> None:
    job: dict[str, Any] = {"JOBDIR": str(tmp_path), "RESOLVER_ALLOW": ["127.0.0.2"]}
    urls, names = [f"http://wiki.example:{friend.port}/"], {"wiki.example": [["127.0.0.2"]]}
    assert fetch(urls, names=names, **job).stats == {"resolver/miss": 1}
    # Now its name server is down.
    again = fetch(urls, **job)
    assert again.outcomes == ["200"]
    assert again.stats == {"resolver/kept": 1, "resolver/hit": 1}
    # What a file says passes the guard too.
    assert fetch(urls, JOBDIR=str(tmp_path)).outcomes == ["ForbiddenAddressError"]
    expired = fetch(urls, RESOLVER_HIT_SECONDS=0, RESOLVER_STALE_SECONDS=0, **job)
    assert expired.outcomes == ["CannotResolveHostError"]
    (tmp_path / "addresses.json").write_bytes(b"[[")
    assert fetch(urls, names=names, **job).outcomes == ["200"]


def test_what_happened_is_in_the_stats(canary: Any, fetch: Fetch) -> None:
    port = canary.port
    hosts = ["four.example", "four.example", "wiki.example", "none.example", "10.0.0.1"]
    fetched = fetch(
        [f"http://{host}:{port}/" for host in hosts],
        names={"four.example": [["127.0.0.1"]], "wiki.example": [["127.0.0.1"]]},
        RESOLVER_ALLOW=["wiki.example"],
    )
    refused = "ForbiddenAddressError"
    assert fetched.outcomes == [refused, refused, "200", "CannotResolveHostError", refused]
    assert fetched.stats == {
        "resolver/miss": 3,
        "resolver/hit": 2,  # of a name that was asked for again, and of an address
        "resolver/failed": 1,
        "resolver/refused/loopback": 2,
        "resolver/refused/private": 1,
    }
