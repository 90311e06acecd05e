from __future__ import annotations

import pytest

from rdfaspider.urls.own import OwnServers

ALLOWED = [
    "wiki.intranet",
    "203.0.113.7",
    "[2001:db8:1::5]:8080",
    "198.51.100.0/24",
    "shop.test:81",
]


@pytest.mark.parametrize(
    ("name", "address", "is_own"),
    [
        ("127.0.0.1", None, True),
        ("[::1]", None, True),
        ("localhost", None, True),
        ("a.localhost", "", True),
        ("10.1.2.3", "", True),
        ("site.test", "192.168.1.9", True),
        ("site.test", "::/64", True),
        ("site.test", "fd00:1:2:3::/64", True),
        ("site.test", None, False),
        ("site.test", "", False),
        ("site.test", "93.184.216.34", False),
        ("site.test", "2606:2800::/64", False),
        ("169.254.169.254", None, False),
        ("localhost.test", None, False),
    ],
)
def test_own_is_this_machine_and_its_networks(name: str, address: str | None, is_own: bool) -> None:
    assert OwnServers().includes(name, address) is is_own


@pytest.mark.parametrize(
    ("name", "address", "is_own"),
    [
        ("wiki.intranet", None, True),
        ("www.wiki.intranet", None, False),
        ("shop.test", "93.184.216.34", True),
        ("site.test", "203.0.113.7", True),
        ("203.0.113.8", None, False),
        ("site.test", "2001:db8:1::/64", True),
        ("site.test", "2001:db8:2::/64", False),
        ("site.test", "198.51.100.200", True),
    ],
)
def test_own_is_what_the_user_allows(name: str, address: str | None, is_own: bool) -> None:
    assert OwnServers(ALLOWED).includes(name, address) is is_own


def test_scrapys_slots_have_what_is_known_beforehand() -> None:
    slots = OwnServers(ALLOWED).slots
    assert {"127.0.0.1", "localhost", "wiki.intranet", "203.0.113.7", "2001:db8:1::5"} <= set(slots)
    assert "198.51.100.0" not in slots
