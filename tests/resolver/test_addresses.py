from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rdfaspider.resolver.addresses import addresses, canonical, forbidden, literal
from rdfaspider.urls import normalise
from rdfaspider.urls.hosts import host

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
169.253.255.255 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.167.255.255 192.169.0.0
198.17.255.255 198.20.0.0 203.0.112.255 223.255.255.255 168.63.129.15
2001:200::1 2606:4700::1111 2a00:1450::1 64:ff9b::808:808 ::ffff:8.8.8.8 2002:808:808::1
2606:4700::5efe:808:808
"""

REFUSED = {
    "loopback": "127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 2002:7f00:1:: 2a00::5efe:127.0.0.1",
    "private": "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255"
    " 100.64.0.0 100.127.255.255 198.18.0.0 fc00:: fdff::1 fec0::1 64:ff9b::a00:1",
    "linklocal": "169.254.0.0 169.254.255.255 fe80::1 fe80::1%eth0 febf::1 fe80::5efe:8.8.8.8",
    "metadata": "169.254.169.254 100.100.100.200 168.63.129.16 fd00:ec2::254 fd00:ec2::254%eth0"
    " ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe",
    "multicast": "224.0.0.0 239.255.255.255 ff00:: ff02::1",
    "unspecified": "0.0.0.0 0.255.255.255 :: ::ffff:0.0.0.0",
    "reserved": "240.0.0.0 255.255.255.255 192.0.2.1 2001:db8::1 2001::1 2001:1ff:ffff::1 ::2 100::1"
    " 64:ff9b:1::1 4000::1 3fff::1 5f00::1 ::127.0.0.1 ::ffff:0:8.8.8.8",
}


@pytest.mark.parametrize("text", PUBLIC.split())
def test_public_addresses_pass(text: str) -> None:
    assert forbidden(ip_address(text)) == ""


@pytest.mark.parametrize(
    ("text", "reason"), [(text, reason) for reason in REFUSED for text in REFUSED[reason].split()]
)
def test_others_are_refused(text: str, reason: str) -> None:
    assert forbidden(ip_address(text)) == reason


@given(st.ip_addresses())
def test_what_python_knows_not_to_be_global_is_refused(address: IPv4Address | IPv6Address) -> None:
    if not address.is_global or address.is_multicast:
        assert forbidden(address)


@given(st.ip_addresses(v=4))
@example(IPv4Address("127.0.0.1"))
def test_a_wrapped_address_is_judged_as_the_one_inside(inner: IPv4Address) -> None:
    number = int(inner)
    for outer in (0xFFFF << 32, 0x64FF9B << 96):
        assert forbidden(IPv6Address(outer | number)) == forbidden(inner)
    assert forbidden(IPv6Address(0x2002 << 112 | number << 80)) == forbidden(inner)


NUMBER = st.sampled_from(("d", "#x", "#X", "o"))


@given(st.ip_addresses(v=4), st.integers(1, 4), st.lists(NUMBER, min_size=4, max_size=4))
@example(IPv4Address("127.0.0.1"), 1, ["d"] * 4)
def test_every_notation_of_an_address_is_known(
    address: IPv4Address, parts: int, notations: list[str]
) -> None:
    octets = address.packed
    numbers = [*octets[: parts - 1], int.from_bytes(octets[parts - 1 :])]
    written = zip(numbers, notations, strict=False)
    text = ".".join(f"0{n:o}" if form == "o" else format(n, form) for n, form in written)
    assert literal(text) == literal(f"{text}.") == (address,)
    assert host(normalise(f"http://{text}/")) == str(address)


@given(st.text(max_size=30) | st.from_regex(r"[0-9a-fx.:]*", fullmatch=True))
@example("1 a")
@example("1\x00")
def test_no_name_is_an_address_to_the_system_but_not_to_us(text: str) -> None:
    try:
        name = canonical(text)
        found = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)
    except (OSError, ValueError):
        return
    assert str(found[0][4][0]) in map(str, literal(name))


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST.", "a.localhost", "a.b.localhost.", "ⓛocalhost。"]
)
def test_localhost_is_loopback(name: str) -> None:
    assert [str(address) for address in literal(name)] == ["127.0.0.1", "::1"]


@pytest.mark.parametrize(
    "name",
    ["example.org", "localhost.example.org", "notlocalhost", "", ".", "1.2.3.4.5", "0x", "a%b"],
)
def test_names_are_no_literals(name: str) -> None:
    assert literal(name) == ()


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Example.ORG", "example.org"),
        ("example.org.", "example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("faß.example", "xn--fa-hia.example"),
        ("i❤.example", "xn--i-7iq.example"),
        ("under_score.example", "under_score.example"),
    ],
)
def test_names_have_one_form(written: str, name: str) -> None:
    assert canonical(written) == name


@pytest.mark.parametrize("text", ["", ".", "a" * 254, "é" * 300, "a b", "1\0", "a\n", "a\x7f"])
def test_what_is_no_name_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        canonical(text)


@given(st.text())
@example("a。")
def test_names_never_raise_anything_else(text: str) -> None:
    try:
        name = canonical(text)
    except ValueError:
        return
    assert canonical(name) == name


def test_bad_addresses_are_left_out() -> None:
    assert addresses(["1.1.1.1", "no", "1.1.1.1", "::1%x"]) == (
        ip_address("1.1.1.1"),
        ip_address("::1%x"),
    )
