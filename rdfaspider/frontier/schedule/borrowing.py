"""Schedule of hosts that are taken for something that is none of their URLs: a robots.txt that moved there.

Whoever wants to fetch from another host than that of the page in flight borrows its turn, and repays it when
the fetch has ended. In between the host rests, and so does the server at its address, unless that is the
server of the page itself, whose turn it is anyway. Who is told to wait is told when to come back, each a
turn later than the one before, so that a thousand that want to go to one host do not all come at once.

The clock of a host that the frontier knows is its own, in memory or on disk. Those of others are in memory
(`Hosts.strangers`), and go to the host when it becomes known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.schedule.clocks import Clocks
from rdfaspider.frontier.schedule.hosts import STRANGER, Host

if TYPE_CHECKING:
    from rdfaspider.frontier.schedule.hosts import Hosts
    from rdfaspider.frontier.schedule.lending import Lending
    from rdfaspider.frontier.schedule.schedule import Schedule
    from rdfaspider.frontier.schedule.servers import Server

# Seconds after which a host that is being fetched from is asked for again, if it has no delay.
_AGAIN = 1.0


class Queue:
    """Tells those who must wait for a turn when to come back, one after the other."""

    def __init__(self) -> None:
        self._ends = Clocks()

    def seconds(self, name: bytes, free: float, pause: float, now: float) -> float:
        """Return the seconds to wait for a turn that is free at a time, behind all who wait already."""
        due = max(free, self._ends[name])
        self._ends[name] = due + max(pause, 0.001)
        return due - now


class Borrowing:
    """Lends turns of the hosts of a local frontier; the hosts that it returns are to be saved."""

    def __init__(self, hosts: Hosts, turns: Schedule, lending: Lending, lease: float) -> None:
        self._hosts = hosts
        self._schedule = turns
        self._lending = lending
        self._lease = lease
        self._queue = Queue()
        # Hosts whose turns are out: when these fetches end is not known.
        self._lent: set[bytes] = set()

    def borrow(
        self, own: Host | None, key: bytes, address: str, now: float, *, alone: bool = False
    ) -> tuple[float, Host | None]:
        """Take the turn of a host for a page of one's own; return the seconds to wait if that cannot be.

        If `alone`, that of its server is somebody else's business.
        """
        host = self._hosts.peek(key) or self._hosts.stranger(key, address)
        server = None if alone else self._server(host, address, own)
        pause = self._hosts.politeness.pause(host)
        if self._is_busy(host, server):
            free = max(host.blocked, now + max(pause, _AGAIN))
        else:
            free = max(host.clock, host.blocked, server.clock if server else 0.0)
        if free > now:
            name = server.address.encode() if server and server.address else key
            return self._queue.seconds(name, free, pause, now), None
        self._lent.add(key)
        if server is not None:
            self._lending.begin(key, server, now)
        self._rest(host, now + self._lease)
        return 0.0, host

    def repay(self, key: bytes, now: float) -> Host | None:
        """Let a host, and the server that was lent with it, rest from now; None if it was not lent."""
        if key not in self._lent:
            return None
        self._lent.discard(key)
        self._lending.end(key, now)
        host = self._hosts.peek(key) or self._hosts.stranger(key, "")
        self._rest(host, now + self._hosts.politeness.pause(host))
        return host

    def _server(self, host: Host, address: str, own: Host | None) -> Server | None:
        """Return the server of a host, unless it is that of the page, or nobody else can be there."""
        if host.is_own:
            return None
        where = address if host.address is None else host.address
        server = host.server or self._schedule.servers.to_lend(where)
        return None if own is not None and server is own.server else server

    def _is_busy(self, host: Host, server: Server | None) -> bool:
        if host.key in self._lent or len(host.in_flight) >= host.at_once:
            return True
        return server is not None and server.flying >= server.limit

    def _rest(self, host: Host, until: float) -> None:
        host.clock = until
        if host.id == STRANGER:
            self._hosts.strangers[host.key] = until
