"""Servers: what answers at an address, whatever names its hosts have, with one clock and one limit."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from rdfaspider.frontier.manners import ServerManners

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfaspider.frontier.politeness import Politeness

NEVER = float("inf")


class Server(ServerManners):
    """What answers at one address; `address` is None if it serves one host whose address does not matter."""

    __slots__ = (
        "address",
        "busy",
        "clock",
        "due",
        "flying",
        "lent_until",
        "limit",
        "promised",
        "sleepers",
        "stamp",
    )

    def __init__(self, address: str | None, limit: float) -> None:
        super().__init__()
        self.address = address
        self.limit = limit
        self.clock = 0.0
        self.busy = 0
        self.flying = 0  # of these, URLs in flight
        # For schedule.py: the time of its valid entry in the heap of servers, and its sleeping hosts.
        self.due = NEVER
        self.stamp = -1
        self.sleepers: list[tuple[float, int, int]] = []
        # For lending.py: its clock after a turn that was lent; the shard to which the next turn is
        # promised, and from when.
        self.lent_until = 0.0
        self.promised = (-1, -1.0)

    @property
    def is_busy(self) -> bool:
        return self.busy >= self.limit


class Servers:
    """The servers by address, while they have hosts in memory or their clocks run."""

    def __init__(self, politeness: Politeness) -> None:
        self.matter = politeness.has_servers
        self._limit = politeness.at_once
        self._by_address: dict[str, Server] = {}
        self._quiet: deque[Server] = deque()

    def __len__(self) -> int:
        return len(self._by_address)

    def all(self) -> Iterable[Server]:
        return self._by_address.values()

    def at(self, address: str) -> Server:
        """Return the server at an address; call `leave` when it is no longer needed."""
        server = self._by_address.get(address)
        if server is None:
            server = self._by_address[address] = Server(address, self._limit)
        return server

    def to_lend(self, address: str) -> Server | None:
        """Return the server at an address, None if servers do not matter or it has none."""
        if not self.matter or not address:
            return None
        server = self.at(address)
        if server.hosts <= 0:
            self._quiet.append(server)
        return server

    def leave(self, server: Server) -> None:
        """Take a host away from a server."""
        server.hosts -= 1
        self._quiet.append(server)

    def forget_quiet(self, now: float) -> None:
        """Drop servers without hosts once their clocks have run out."""
        while self._quiet and (self._quiet[0].hosts > 0 or self._quiet[0].clock <= now):
            server = self._quiet.popleft()
            if server.hosts <= 0 and self._by_address.get(server.address or "") is server:
                del self._by_address[server.address or ""]

    def watch_all(self) -> None:
        """Mark all servers to be dropped unless they get hosts."""
        self._quiet.extend(self._by_address.values())


class Unresolved:
    """Hosts without an address: those to return, and those returned, with the time to return them again."""

    def __init__(self) -> None:
        self._to_name: dict[int, None] = {}
        self._named: dict[int, float] = {}

    def __bool__(self) -> bool:
        return bool(self._to_name or self._named)

    def add(self, host: int) -> None:
        if host not in self._named:
            self._to_name[host] = None

    def discard(self, host: int) -> None:
        self._to_name.pop(host, None)
        self._named.pop(host, None)

    def take(self, most: int, now: float, lease: float) -> list[int]:
        """Return hosts to resolve; one without an address after a lease is returned again."""
        while self._named and self._named[first := next(iter(self._named))] <= now:
            del self._named[first]
            self._to_name[first] = None
        chosen = list(islice(self._to_name, max(most, 0)))
        for host in chosen:
            del self._to_name[host]
            self._named[host] = now + lease
        return chosen
