"""No way to name a forbidden address leads to it.

A canary listens on loopback. Every test that it stays unvisited has a twin, or a first half, in which
it is visited, so that silence means refusal and not deafness.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from tests.resolver.conftest import UNGUARDED

Listening = Any  # conftest.Server
Fetch = Callable[..., Any]

# Ways to write this machine's loopback.
LOOPBACK = """
127.0.0.1 127.1 127.0.1 127.0.0.1. 127.000.000.001 127.0.0.3 127.255.255.254
2130706433 0x7f000001 0x7F000001 0x7f.1 0x7f.0.0.1 0x7f.0x0.0x0.0x1 017700000001 0177.1 0177.0.0.01
0 0.0.0.0 0x0 00.0.0.0
localhost localhost. LOCALHOST LocalHost foo.localhost a.b.localhost foo.localhost.
[::1] [0:0:0:0:0:0:0:1] [0000::0001] [::] [::0.0.0.1]
[::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:0001] [::ffff:0.0.0.0]
example.org@127.0.0.1 example.org:80@127.0.0.1 a:b@localhost example.org%2F@127.1
"""

# Ways to write the rest that no page may name.
ELSEWHERE = """
[::127.0.0.1] [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::]
[2001:0:4136:e378:8000:63bf:80ff:fffe] [fe80::5efe:127.0.0.1] [2001:db8::5efe:10.0.0.1]
169.254.169.254 2852039166 0xa9fea9fe 0xa9.254.0251.0376 [::ffff:169.254.169.254] 169.254.170.2
[fd00:ec2::254] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::1] 100.100.100.200 168.63.129.16
10.0.0.1 10.1 167772161 172.16.0.1 172.31.255.254 192.168.0.1 192.168.1 100.64.0.1 198.18.0.1
[fd00::1] [fc00::1] [fec0::1] [fe80::1] [::ffff:10.0.0.1]
224.0.0.1 239.255.255.250 [ff02::1] 255.255.255.255 240.0.0.1 192.0.2.1 [2001:db8::1] [100::1]
"""

# What only a URL parser takes for an address.
DISGUISED = [
    "１２７.0.0.1",  # noqa: RUF001
    "127。0。0。1",
    "①②⑦.0.0.1",
    "ⓛocalhost",
    "%31%32%37.0.0.1",
    "example.org\\@127.0.0.1",
    "127.0.0.1#@example.org",
    "127.0.0.1\\.example.org",
]

# Names whose owner points them there.
NAMES = {
    "four.example": [["127.0.0.1"]],
    "six.example": [["::1"]],
    "both.example": [["::1", "127.0.0.1"]],
    "mapped.example": [["::ffff:127.0.0.1"]],
    "zero.example": [["0.0.0.0"]],
    "nought.example": [["::"]],
    "metadata.example": [["169.254.169.254"]],
    "mixed.example": [["10.0.0.1", "127.0.0.1"]],
    "zone.example": [["fe80::1%lo"]],
    "nat64.example": [["64:ff9b::7f00:1"]],
    "xn--bcher-kva.example": [["127.0.0.1"]],
}

LITERALS = [*LOOPBACK.split(), *ELSEWHERE.split()]
WAYS = [*LITERALS, *NAMES]

ALLOW_LOOPBACK = ["127.0.0.0/8", "0.0.0.0/8", "::/127", "::ffff:127.0.0.0/104", "::ffff:0:0/128"]


def urls(hosts: list[str], port: int) -> list[str]:
    return [f"{scheme}://{host}:{port}/" for host in hosts for scheme in ("http", "https")]


def test_there_are_more_than_forty_ways() -> None:
    assert len(set(WAYS)) == len(WAYS) > 40


def test_nothing_reaches_the_canary(canary: Listening, fetch: Fetch) -> None:
    asked = urls(WAYS, canary.port)
    fetched = fetch(asked, names=NAMES)
    assert canary.visits == []
    outcomes = dict(zip(asked, fetched.outcomes, strict=True))
    assert {u: o for u, o in outcomes.items() if o != "ForbiddenAddressError"} == {}
    assert sum(fetched.stats[k] for k in fetched.stats if "/refused/" in k) == len(asked)


def test_the_same_do_reach_it_when_allowed(canary: Listening, fetch: Fetch) -> None:
    asked = [f"http://{host}:{canary.port}/" for host in [*LOOPBACK.split(), *NAMES]]
    fetched = fetch(asked, names=NAMES, RESOLVER_ALLOW=ALLOW_LOOPBACK)
    assert len(canary.visits) == fetched.outcomes.count("200") >= 15


def test_nothing_that_twisted_connects_to_reaches_it(canary: Listening, fetch: Fetch) -> None:
    """Whatever else in the process uses Twisted asks the same resolver."""
    asked = urls(WAYS, canary.port)
    fetched = fetch(asked, UNGUARDED, names=NAMES, EXTENSIONS={})
    assert canary.visits == []
    assert "200" not in fetched.outcomes


def test_redirects_do_not_reach_it(canary: Listening, friend: Listening, fetch: Fetch) -> None:
    for number, host in enumerate(WAYS):
        friend.redirect(f"/{number}", f"http://{host}:{canary.port}/")
    asked = [f"http://127.0.0.2:{friend.port}/{number}" for number in range(len(WAYS))]
    fetched = fetch(asked, names=NAMES, RESOLVER_ALLOW=["127.0.0.2"])
    assert len(friend.visits) == len(WAYS)
    assert canary.visits == []
    assert set(fetched.outcomes) == {"ForbiddenAddressError"}


def test_a_name_that_changes_its_mind_does_not_reach_it(
    canary: Listening, friend: Listening, fetch: Fetch
) -> None:
    fetched = fetch(
        [f"http://rebind.example:{canary.port}/{n}" for n in range(3)],
        names={"rebind.example": [["127.0.0.2"], ["127.0.0.1"]]},
        RESOLVER_ALLOW=["127.0.0.2"],
        RESOLVER_HIT_SECONDS=0,  # every request is a new look-up
    )
    assert fetched.outcomes[0] == "200"
    assert fetched.outcomes[1:] == ["ForbiddenAddressError"] * 2
    assert len(friend.visits) == 1
    assert canary.visits == []


def test_of_several_addresses_only_the_allowed_are_tried(
    canary: Listening, friend: Listening, fetch: Fetch
) -> None:
    fetched = fetch(
        [f"http://mixed.example:{canary.port}/"],
        names={"mixed.example": [["127.0.0.1", "::1", "127.0.0.2"]]},
        RESOLVER_ALLOW=["127.0.0.2"],
    )
    assert fetched.outcomes == ["200"]
    assert len(friend.visits) == 1
    assert canary.visits == []


def test_a_seed_opens_its_own_server_alone(canary: Listening, fetch: Fetch) -> None:
    asked = [f"http://{host}:{canary.port}/" for host in ("localhost", "127.0.0.1", "a.localhost")]
    refused = ["ForbiddenAddressError"] * 3
    other = canary.port ^ 1
    assert fetch(asked, seeds=(f"http://localhost:{other}/",)).outcomes == refused
    assert canary.visits == []
    fetched = fetch(asked, seeds=(f"http://localhost:{canary.port}/start",))
    assert fetched.outcomes == ["200", *refused[1:]]
    assert canary.visits == ["GET / HTTP/1.1"]


@pytest.mark.parametrize("proxy", ["127.0.0.2", "proxy.example"])
def test_a_proxy_may_be_anywhere_but_its_targets_may_not(
    canary: Listening, friend: Listening, fetch: Fetch, proxy: str
) -> None:
    asked = urls(LITERALS, canary.port)
    target = "http://example.org/"
    fetched = fetch(
        [target, *asked, "https://example.org/"],
        names={"proxy.example": [["127.0.0.2"]]},
        proxy=f"http://{proxy}:{friend.port}",
    )
    assert fetched.outcomes[0] == "200"
    assert set(fetched.outcomes[1:-1]) == {"ForbiddenAddressError"}
    assert [visit.split()[0] for visit in friend.visits] == ["GET", "CONNECT"]
    assert canary.visits == []


def test_the_proxy_is_no_target(friend: Listening, fetch: Fetch) -> None:
    proxy = f"127.0.0.2:{friend.port}"
    fetched = fetch([f"http://{proxy}/", f"http://{proxy}/"], proxy=f"http://{proxy}")
    assert set(fetched.outcomes) == {"ForbiddenAddressError"}
    assert friend.visits == []


def test_links_of_a_page_do_not_reach_it(
    canary: Listening, friend: Listening, crawl: Callable[..., Any], guarded: dict[str, Any]
) -> None:
    """The whole crawler, with robots.txt, a base and a page full of links."""
    port = canary.port
    start = f"http://127.0.0.2:{port}/"
    hosts = [*LITERALS, socket.gethostname(), *DISGUISED]
    links = "".join(f"<a href='//{host}:{port}/'>x</a>" for host in hosts)
    friend.serve("/", f"{links}<a href='/based'>x</a>")
    friend.serve("/based", f"<base href='http://[::1]:{port}/'><a href='secret'>x</a>")
    settings = {**guarded, "RESOLVER_ALLOW": f"127.0.0.2:{port}", "DOWNLOAD_TIMEOUT": 5}
    settings["DOWNLOAD_HANDLERS"] = json.dumps(settings["DOWNLOAD_HANDLERS"])
    found = crawl(start, "-a", "scope=all", EXTRACT_MAX_LINKS=1000, **settings)
    assert found.pages == {start, f"{start}based"}
    assert len(found.fates) > 40
    assert f"http://[::1]:{port}/secret" in found.fates
    assert canary.visits == []
