"""Turns of hosts for fetches other than their own URLs: a robots.txt that moved there.

To fetch from another host than that of the page in flight, a worker borrows its turn, and repays it when
the fetch has ended. In between the host rests, and so does the server at its address, unless that is the
page's own server, whose turn the page has anyway. A borrower that must wait is told when to return, each a
turn later than the one before, so that a thousand borrowers do not return at once.

A host that the frontier knows has its own clock, in memory or on disk. The clocks of others are in memory
(`Hosts.strangers`), and pass to the host when it becomes known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.schedule.hosts import STRANGER, Clocks, Host

if TYPE_CHECKING:
    from rdfaspider.frontier.schedule.hosts import Hosts
    from rdfaspider.frontier.schedule.lending import Lending
    from rdfaspider.frontier.schedule.schedule import Schedule
    from rdfaspider.frontier.schedule.servers import Server

# Seconds after which to ask again for a busy host without a delay.
_AGAIN = 1.0


class Borrowing:
    """Lends turns of the hosts of a local frontier; the caller saves the hosts that are returned."""

    def __init__(self, hosts: Hosts, schedule: Schedule, lending: Lending, lease: float) -> None:
        self._hosts = hosts
        self._schedule = schedule
        self._lending = lending
        self._lease = lease
        # By host or server: when the last borrower that waits has had its turn.
        self._queues = Clocks()
        # Hosts whose turns are lent; when these fetches end is not known.
        self._lent: set[bytes] = set()

    def borrow(
        self, own: Host | None, key: bytes, address: str, now: float, *, alone: bool = False
    ) -> tuple[float, Host | None]:
        """Take the turn of a host for a page of `own`; return the seconds to wait, and the host if it is
        lent.

        If `alone`, another shard keeps the clock of its server.
        """
        host = self._hosts.peek(key) or self._hosts.stranger(key, address)
        server = None if alone else self._server(host, address, own)
        pause = self._hosts.politeness.pause(host)
        if self._is_busy(host, server):
            free = max(host.blocked, now + max(pause, _AGAIN))
        else:
            free = max(self._hosts.ready_at(host), server.clock if server else 0.0)
        if free > now:
            name = server.address.encode() if server and server.address else key
            due = max(free, self._queues[name])
            self._queues[name] = due + max(pause, 0.001)
            return due - now, None
        self._lent.add(key)
        if server is not None:
            self._lending.begin(key, server, now)
        self._rest(host, now + self._lease)
        return 0.0, host

    def repay(self, key: bytes, now: float) -> Host | None:
        """Make a host, and the server lent with it, rest from now; None if it was not lent."""
        if key not in self._lent:
            return None
        self._lent.discard(key)
        self._lending.end(key, now)
        host = self._hosts.peek(key) or self._hosts.stranger(key, "")
        self._rest(host, now)
        return host

    def _server(self, host: Host, address: str, own: Host | None) -> Server | None:
        """Return the server of a host, None if it is that of the page or the user's own."""
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
        host.asked = until
        if host.id == STRANGER:
            self._hosts.strangers[host.key] = until
