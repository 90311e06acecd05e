"""The rule that decides which addresses may be connected to."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING

from rdfaspider.resolver.addresses import canonical, forbidden, literal
from rdfaspider.urls.hosts import authority, split_port

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfaspider.resolver.addresses import Address

_DEFAULT_PORTS = {"http": 80, "https": 443}

# A seed may allow these by naming them. Nobody crawls a metadata service on purpose.
_NAMEABLE = frozenset(("loopback", "private"))


class Guard:
    """Refuses addresses that are not public, except those on its list.

    An entry is an address (`127.0.0.1`, `::1`), a network (`10.0.0.0/8`) or a name
    (`wiki.intranet`), and all but a network may have a port (`127.0.0.1:8080`, `[::1]:8080`).
    Without a port it allows all ports. A name stands for itself, not for names below it, and allows
    any address that it resolves to. Other forms of an allowed address (`::ffff:127.0.0.1`) stay
    refused, and only its own address allows a metadata service: no network or name includes it.
    """

    def __init__(self, allow: Iterable[str] = ()) -> None:
        """Raise ValueError for an entry that is none of these."""
        # (network, port) and (name, port); port 0 is any.
        self._networks: list[tuple[IPv4Network | IPv6Network, int]] = []
        self._names: set[tuple[str, int]] = set()
        for entry in allow:
            self.allow(entry)

    def allow(self, entry: str) -> None:
        text = entry.strip().lower()
        try:
            self._networks.append((ip_network(text.strip("[]")), 0))
            return
        except ValueError:
            pass
        host, port = _host_and_port(text)
        try:
            self._networks.append((ip_network(host), port))
        except ValueError:
            if not host or set(host) & set("/:*@[] "):
                raise ValueError(
                    f"{entry!r} is neither an address, a network, a host name nor one with a port."
                ) from None
            self._names.add((canonical(host), port))

    def refuses(self, address: Address, port: int, name: str) -> str:
        """Return why `name` at `address` must not be connected to, or "" when it may."""
        reason = forbidden(address)
        if not reason:
            return ""
        networks = [
            network
            for network, allowed in self._networks
            if allowed in (0, port) and address in network
        ]
        if reason == "metadata":
            listed = any(network.num_addresses == 1 for network in networks)
        else:
            listed = bool(networks or self._names & {(name, port), (name, 0)})
        return "" if listed else reason


def named_servers(urls: Iterable[str]) -> list[str]:
    """Return the entries that let a crawl reach the servers that its user named by their address.

    These are host and port of the normalised URLs whose host is a loopback or private address, or
    `localhost`. A name that resolves to such an address is not among them, since its owner, not the
    user, decides where it points.
    """
    entries: dict[str, None] = {}
    for url in urls:
        try:
            host, port = _host_and_port(authority(url))
        except ValueError:  # port 0
            continue
        if {forbidden(address) for address in literal(host)} & _NAMEABLE:
            port = port or _DEFAULT_PORTS[url.partition(":")[0]]
            entries[f"[{host}]:{port}" if ":" in host else f"{host}:{port}"] = None
    return list(entries)


def _host_and_port(text: str) -> tuple[str, int]:
    """Split `host[:port]`; the host loses its brackets, and port 0 means that there is none."""
    host, port = split_port(text)
    if not port and host == text:
        return text.strip("[]"), 0
    if not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise ValueError(f"{text!r} has no port between 1 and 65535.")
    return host.removeprefix("[").removesuffix("]"), int(port)
