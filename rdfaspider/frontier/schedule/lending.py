"""Turns of servers that are lent to pages of other shards.

A lent turn counts as a fetch in flight at the server, which rests when the turn is returned. A turn that is
not returned ends after a lease.

A server with hosts here would always serve them first, because they know the moment at which it is free. So
if a borrower must wait, the next turn may be promised to its shard: the server's own hosts then wait a
little longer. After that they come first, if there are any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfaspider.frontier.schedule.schedule import Schedule
    from rdfaspider.frontier.schedule.servers import Server

# Seconds after which to ask again for a busy server without a delay.
_AGAIN = 1.0
# Seconds for which a promised turn is kept.
_KEPT = 1.0


class Lending:
    """Lends turns of servers, by name, from a time on.

    The servers of hosts that are unknown here have no clock on disk: all rest once at the start.
    """

    def __init__(self, schedule: Schedule, lease: float, begins: float) -> None:
        self._schedule = schedule
        self._lease = lease
        self._begins = begins
        self._lent: dict[str | bytes, tuple[Server, float]] = {}

    @property
    def first(self) -> float | None:
        """Return when the first lease of a turn ends, None if none is lent."""
        return next(iter(self._lent.values()))[1] if self._lent else None

    def lend(self, name: str, address: str, shard: int, now: float) -> float:
        """Lend the turn of the server at an address to a page of a shard; return the seconds to wait, 0.0
        if it is lent."""
        server = self._schedule.servers.to_lend(address)
        if server is None:
            return 0.0
        if server.flying >= server.limit:
            return max(self._pause(server), _AGAIN)
        free = server.clock
        if self._is_promised(server) and server.promised[0] == shard:
            free = server.promised[1]
        free = max(free, self._begins + self._pause(server))
        if free > now:
            self._promise(server, shard, free, now)
            return free - now
        self.begin(name, server, now)
        return 0.0

    def _pause(self, server: Server) -> float:
        return self._schedule.hosts.politeness.server_pause(server)

    def _promise(self, server: Server, shard: int, free: float, now: float) -> None:
        is_promised = self._is_promised(server) and server.clock > now
        is_turn_of_own = server.clock == server.lent_until and server.sleepers
        if not (is_promised or is_turn_of_own or server.flying):
            server.promised = (shard, free)
            self._schedule.set_clock(server, free + _KEPT)

    def _is_promised(self, server: Server) -> bool:
        """Return whether no turn was taken since the last promise: otherwise the clock would differ."""
        return server.clock == server.promised[1] + _KEPT

    def lend_again(self, name: str, address: str, now: float) -> None:
        """Restore a turn that has been lent since before a restart."""
        server = self._schedule.servers.to_lend(address)
        if server is not None and name not in self._lent:
            self.begin(name, server, now)

    def begin(self, name: str | bytes, server: Server, now: float) -> None:
        """Count a fetch of a server as in flight."""
        self._lent[name] = server, now + self._lease
        server.flying += 1
        server.busy += 1
        server.hosts += 1  # so that it is not forgotten
        self._schedule.set_clock(server, now + self._pause(server))

    def end(self, name: str | bytes, now: float) -> None:
        """Make a server rest from now, if its turn was lent."""
        if name not in self._lent:
            return
        server, _ = self._lent.pop(name)
        server.flying -= 1
        server.busy -= 1
        server.hosts -= 1
        rested = server.clock if server.flying else max(server.clock, now + self._pause(server))
        server.lent_until = rested
        self._schedule.set_clock(server, rested)
        self._schedule.servers.to_lend(server.address or "")  # it may be forgotten now

    def expire(self, now: float) -> None:
        """End the turns whose lease is over."""
        while (first := self.first) is not None and first <= now:
            self.end(next(iter(self._lent)), now)
