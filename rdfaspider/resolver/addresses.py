"""Which addresses a crawler has no business with, and the many ways to write one.

The tables are those of the IANA special-purpose registries as of 2025, written out because those of
`ipaddress` differ between versions of Python. Of IPv6 only the global unicast block is allowed,
without its special parts. An IPv4 address inside another address (mapped, 6to4, NAT64, …) must be
public too, because a gateway would deliver there.
"""

from __future__ import annotations

import socket
from bisect import bisect_right
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

import idna

if TYPE_CHECKING:
    from collections.abc import Iterable

Address = IPv4Address | IPv6Address

LOOPBACK = ("127.0.0.1", "::1")

# Where clouds hand out credentials, beyond 169.254.169.254 and its neighbours: Azure's address is a
# public one, the others would be called private.
_METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fd00:42::42",
        "fd00:c1::a9fe:a9fe",
    )
)

_IPV4 = {
    "0.0.0.0/8": "unspecified",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "private",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "linklocal",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "reserved",
    "192.88.99.0/24": "reserved",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "private",
    "198.51.100.0/24": "reserved",
    "203.0.113.0/24": "reserved",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}

# First match wins, and what matches no row is reserved.
_IPV6 = [
    (IPv6Network(text), reason)
    for text, reason in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", ""),
        ("64:ff9b::/96", ""),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "reserved"),
        ("3fff::/20", "reserved"),
        ("2000::/3", ""),
        ("fc00::/7", "private"),
        ("fec0::/10", "private"),
        ("fe80::/10", "linklocal"),
        ("ff00::/8", "multicast"),
    )
]

# Blocks with an IPv4 address inside, and how many bits are to the right of it.
_CARRIERS = [
    (IPv6Network(text), shift)
    for text, shift in (
        ("::ffff:0:0/96", 0),
        ("::ffff:0:0:0/96", 0),
        ("64:ff9b::/96", 0),
        ("2002::/16", 80),
    )
]

# The rows of _IPV4 as three columns, sorted; they do not overlap, and the first begins at 0.0.0.0.
_ROWS = sorted((IPv4Network(text), reason) for text, reason in _IPV4.items())
_FIRST = [int(network.network_address) for network, _ in _ROWS]
_LAST = [int(network.broadcast_address) for network, _ in _ROWS]
_REASON = [reason for _, reason in _ROWS]


@lru_cache(maxsize=10_000)
def forbidden(address: Address) -> str:
    """Return why no page may send the crawler to an address, or "" for a public one."""
    if isinstance(address, IPv6Address):
        return _forbidden_ipv6(IPv6Address(int(address)))  # without its zone
    if address in _METADATA:
        return "metadata"
    row = bisect_right(_FIRST, int(address)) - 1
    return _REASON[row] if int(address) <= _LAST[row] else ""


def _forbidden_ipv6(address: IPv6Address) -> str:
    if address in _METADATA:
        return "metadata"
    inner = _carried(address)
    if inner is not None and (reason := forbidden(inner)):
        return reason
    return next((reason for network, reason in _IPV6 if address in network), "reserved")


def _carried(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address inside an IPv6 address, or None."""
    number = int(address)
    for network, shift in _CARRIERS:
        if address in network:
            return IPv4Address(number >> shift & 0xFFFFFFFF)
    # ISATAP (RFC 5214): any prefix, then 0:5efe or 200:5efe, then the address.
    if number >> 32 & 0xFFFFFFFF in (0x5EFE, 0x02005EFE):
        return IPv4Address(number & 0xFFFFFFFF)
    return None


def addresses(texts: Iterable[str]) -> tuple[Address, ...]:
    """Return the valid addresses among texts in the usual form, each once."""
    found: dict[Address, None] = {}
    for text in texts:
        with suppress(ValueError):
            found[ip_address(text)] = None
    return tuple(found)


def canonical(host: str) -> str:
    """Return a host name as it is looked up: ASCII, lower case, no dot at the end.

    Raise ValueError if it is not a host name.
    """
    name = host.rstrip(".").lower()
    if not name.isascii():
        # Browsers use IDNA 2008; the standard library handles the rest, such as emoji.
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except idna.IDNAError:
            name = name.encode("idna").decode("ascii")
        name = name.rstrip(".")  # not all full stops are ASCII
    # The C library would stop reading at a NUL or a space, and see another host.
    if not name.isprintable() or " " in name or not 0 < len(name) <= 253:
        raise ValueError(f"Not a host name: {host[:80]!r}.")
    return name


# Called for each request, mostly with the same hosts.
@lru_cache(maxsize=10_000)
def literal(host: str) -> tuple[Address, ...]:
    """Return the addresses that a host stands for without any look-up; none for other names.

    Besides the usual forms these are all that the C library accepts as an IPv4 address (`127.1`,
    `0x7f.1`, `2130706433`, `0177.0.0.1`), and `localhost` with all names below it (RFC 6761).
    """
    try:
        name = canonical(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return ()
    if name == "localhost" or name.endswith(".localhost"):
        return tuple(map(ip_address, LOOPBACK))
    with suppress(ValueError):
        return (ip_address(name),)
    with suppress(OSError):
        return (IPv4Address(socket.inet_aton(name)),)
    return ()
