"""Servers: which addresses are one server, and which servers are the user's own.

Those are the ones on this machine and its networks, and those that the user names.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Network = IPv4Network | IPv6Network

# Concurrent fetches from one of the user's own hosts.
AT_ONCE = 256

# Loopback and private. ::1 has a network of 64 bits, which is one server (`server_of`), to itself.
_OWN = tuple(
    ip_network(text)
    for text in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "::/64",
        "fc00::/7",
        "fec0::/10",
    )
)


# Behind it are addresses of IPv4, all within one network (RFC 6052).
_NAT64 = IPv6Network("64:ff9b::/96")


def server_of(address: IPv4Address | IPv6Address) -> str:
    """Return the name of the server at an address.

    Of IPv6 that is its network of 64 bits: its owner has all addresses there, and may give each host
    another.
    """
    if isinstance(address, IPv4Address):
        return str(address)
    if inner := address.ipv4_mapped:
        return str(inner)
    if address in _NAT64:
        return str(IPv4Address(int(address) & 0xFFFFFFFF))
    return str(IPv6Network((int(address) >> 64 << 64, 64)))


class OwnServers:
    """Tells the user's own servers from others, by the name of a host and its address.

    `allowed` has entries as RESOLVER_ALLOW has them: an address, a network or a name, some with a port.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._networks: list[Network] = list(_OWN)
        self._names = {"localhost"}
        for entry in allowed:
            host = _without_port(entry.strip().lower())
            network = _network(host)
            if network is None:
                self._names.add(host.rstrip("."))
            else:
                self._networks.append(network)

    def includes(self, name: str, address: str | None = None) -> bool:
        """Tell whether a host is the user's own; the address is None or "" if unknown."""
        name = name.rstrip(".")
        if name in self._names or name.endswith(".localhost"):
            return True
        return any(self._is_own(_network(text)) for text in (name, address or ""))

    def _is_own(self, found: Network | None) -> bool:
        return found is not None and any(
            found.version == own.version and found.overlaps(own) for own in self._networks
        )

    @property
    def slots(self) -> dict[str, dict[str, float]]:
        """Return Scrapy's DOWNLOAD_SLOTS for the hosts that are known in advance to be own."""
        single = (str(net.network_address) for net in self._networks if net.num_addresses == 1)
        names = ("127.0.0.1", "::1", *sorted(self._names), *single)
        return {name: {"delay": 0.0, "concurrency": AT_ONCE} for name in names}


def _network(text: str) -> Network | None:
    try:
        return ip_network(text.strip("[]"))
    except ValueError:
        return None


def _without_port(entry: str) -> str:
    host, colon, port = entry.rpartition(":")
    has_port = colon and port.isdecimal() and (host.endswith("]") or ":" not in host)
    return (host if has_port else entry).strip("[]")
