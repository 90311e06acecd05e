from __future__ import annotations

from ipaddress import ip_address

import pytest

from rdfaspider.resolver.guard import Guard, named_servers


def refuses(guard: Guard, address: str, port: int = 80, name: str = "some.example") -> str:
    return guard.refuses(ip_address(address), port, name)


def test_without_a_list_only_public_addresses_pass() -> None:
    assert refuses(Guard(), "8.8.8.8") == ""
    assert refuses(Guard(), "127.0.0.1") == "loopback"


@pytest.mark.parametrize(
    ("entry", "allowed", "refused"),
    [
        ("127.0.0.1", [("127.0.0.1", 80, "a"), ("127.0.0.1", 81, "b")], [("127.0.0.2", 80, "a")]),
        ("127.0.0.1:80", [("127.0.0.1", 80, "a")], [("127.0.0.1", 81, "a"), ("::1", 80, "a")]),
        ("::1", [("::1", 80, "a")], [("127.0.0.1", 80, "a")]),
        ("[::1]", [("::1", 80, "a")], [("::2", 80, "a")]),
        ("[::1]:80", [("::1", 80, "a")], [("::1", 81, "a")]),
        ("10.0.0.0/8", [("10.9.8.7", 1, "a")], [("11.0.0.1", 1, ""), ("192.168.0.1", 1, "a")]),
        ("fd00::/8", [("fd12::1", 1, "a")], [("fc00::1", 1, "a")]),
        ("Wiki.Intranet.", [("10.0.0.1", 5, "wiki.intranet")], [("10.0.0.1", 5, "intranet")]),
        ("wiki:80", [("10.0.0.1", 80, "wiki")], [("10.0.0.1", 81, "wiki")]),
        ("bücher", [("10.0.0.1", 80, "xn--bcher-kva")], [("10.0.0.1", 80, "bcher")]),
        ("168.63.129.16", [("168.63.129.16", 80, "a")], [("169.254.169.254", 80, "a")]),
        ("fd00::/8", [("fd00::1", 80, "a")], [("fd00:ec2::254", 80, "a")]),
        ("0.0.0.0/0", [("10.0.0.1", 80, "a")], [("169.254.169.254", 80, "a")]),
        ("wiki", [("10.0.0.1", 80, "wiki")], [("169.254.169.254", 80, "wiki")]),
        ("127.0.0.1", [], [("::ffff:127.0.0.1", 80, "a"), ("2002:7f00:1::", 80, "a")]),
    ],
)
def test_entries_allow_what_they_say_and_no_more(
    entry: str, allowed: list[tuple[str, int, str]], refused: list[tuple[str, int, str]]
) -> None:
    guard = Guard([f" {entry} "])
    for address, port, name in allowed:
        assert refuses(guard, address, port, name) == ""
    for address, port, name in refused:
        assert refuses(guard, address, port, name) == refuses(Guard(), address, port, name)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        " ",
        ":80",
        "a:",
        "a:0",
        "a:65536",
        "a:b",
        "10.0.0.1/8",
        "*.example",
        "http://a/",
        "a@b",
        "a b",
    ],
)
def test_other_entries_are_value_errors(entry: str) -> None:
    with pytest.raises(ValueError):
        Guard([entry])


@pytest.mark.parametrize(
    ("url", "entries"),
    [
        ("http://127.0.0.1:8080/a?b", ["127.0.0.1:8080"]),
        ("http://127.0.0.1/", ["127.0.0.1:80"]),
        ("https://localhost/", ["localhost:443"]),
        ("http://user@a.localhost:1/", ["a.localhost:1"]),
        ("http://[::1]:8080/", ["[::1]:8080"]),
        ("http://[fd00::1]/", ["[fd00::1]:80"]),
        ("http://10.0.0.1/", ["10.0.0.1:80"]),
        ("http://169.254.169.254/", []),
        ("http://0.0.0.0/", []),
        ("http://8.8.8.8/", []),
        ("http://127.0.0.1:0/", []),
        ("http://example.org/", []),
    ],
)
def test_seeds_open_the_server_they_name(url: str, entries: list[str]) -> None:
    assert named_servers([url, url]) == entries
    Guard(entries)  # and all of them can be read
