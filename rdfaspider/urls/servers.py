"""Which addresses are one server."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Final

# Behind it are addresses of IPv4, all within one network (RFC 6052).
_NAT64: Final = IPv6Network("64:ff9b::/96")


def server_of(address: IPv4Address | IPv6Address) -> str:
    """Return the name of the server at an address.

    Of IPv6 that is its network of 64 bits: whoever has one address there has them all, and may give each
    host another.
    """
    if isinstance(address, IPv4Address):
        return str(address)
    if inner := address.ipv4_mapped:
        return str(inner)
    if address in _NAT64:
        return str(IPv4Address(int(address) & 0xFFFFFFFF))
    return str(IPv6Network((int(address) >> 64 << 64, 64)))
