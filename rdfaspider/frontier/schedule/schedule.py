"""Which host comes next: the heap of servers, the hosts of each, and the ready hosts.

A server is what answers at an address. Its hosts share its clock and its limit, so that a thousand names on
one machine are one machine (BUbiNG's workbench). Where servers do not matter, each host has a server to
itself.

Layout. A host that can give a URL sleeps in the heap of its server, by its own time. A server with a
sleeper and with room under its limit is in the heap of servers, by the time of its first sleeper or its
own, whichever is later. When that time comes, the host is engaged: it takes a place under the server's
limit and goes to the heap of ready hosts, by the urgency that the order gives it. A URL that is taken keeps
that place until it lands. A heap entry is valid while its stamp is the latest of its host or server, so
moving means pushing a new entry, and nothing is searched. Where new entries come often, stale ones are
swept out when there are many.

Invariant. A host that can give a URL has exactly one valid entry: asleep, ready, or among those that need
an address. `busy` of a server counts its engaged hosts and its URLs in flight.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier.schedule.hosts import NONE_IN_FLIGHT
from rdfaspider.frontier.schedule.servers import NEVER, Server, Servers, Unresolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.frontier.orders.order import Order
    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.frontier.schedule.hosts import Host, Hosts

# Among hosts of the same urgency, those with pages to be visited again come first, because how many come to
# hand is limited before, and those with nothing at hand come last.
_FIRST_PLACE = -1
_LAST_PLACE = 1 << 60


class Schedule:
    """Schedules hosts; the order compares the ready ones."""

    def __init__(self, hosts: Hosts, order: Order) -> None:
        self.hosts = hosts
        self._order = order
        self.servers = Servers(hosts.politeness)
        self.unresolved = Unresolved()
        # Whether addresses matter: to find servers, or to recognise the user's own.
        self.by_address = self.servers.matter or hosts.politeness.own is not None
        self._sleeping: list[tuple[float, int, Server]] = []
        self._ready = order.ready_hosts()
        self._stamps = 0
        self._taken = 0

    def restore(self, now: float, *, killed: bool) -> Iterator[Host]:
        """Schedule the hosts that have URLs waiting; yield those whose record has changed.

        After a kill each rests for its delay once more. A host that would rest for longer than that was
        asked in the future: the clock has been set back since, so its times are set back too.
        """
        for host in self.hosts.all():
            ahead = host.asked - now
            if ahead > 0:
                host.asked -= ahead
                host.blocked -= ahead
            if killed:
                host.asked = max(host.asked, now)
            if killed or ahead > 0:
                yield host
            if host.address and self.servers.matter and not host.is_own:
                server = self.servers.at(host.address)
                rested = host.asked + self.hosts.politeness.server_pause(server)
                server.clock = max(server.clock, rested)
            if host.waiting:
                self.update(self.hosts.remember(host))
        self.servers.watch_all()

    # --- where a host belongs ---

    def update(self, host: Host) -> None:
        """Put a host where it belongs: asleep until its time, or out of memory if it has no work."""
        server = host.server or self._settle(host)
        if host.engaged:
            self._disengage(host)
        self._stamps += 1
        host.stamp = self._stamps
        if server is None:
            self.forget_if_idle(host)
            return
        if len(host.in_flight) < host.at_once and host.can_give:
            heapq.heappush(server.sleepers, (self.hosts.ready_at(host), host.stamp, host.id))
        self._schedule_server(server)
        self.forget_if_idle(host)

    def _settle(self, host: Host) -> Server | None:
        """Find the server of a host that came into memory; None if it needs an address first."""
        if host.is_own:
            host.server = Server(None, NEVER)
        elif host.address is None and self.by_address:
            self.unresolved.add(host.id)
        elif host.address and self.servers.matter:
            host.server = self.servers.at(host.address)
            host.server.hosts += 1
        else:
            host.server = Server(None, NEVER)
        return host.server

    def set_politeness(self, rules: Politeness, now: float) -> None:
        """Set other rules, for what waits already, too."""
        before, resting = self.hosts.politeness, self.hosts.resting(now)
        self.hosts.politeness = rules
        for server in self.servers.all():
            change = rules.server_pause(server) - before.server_pause(server)
            self.set_clock(server, server.clock + change)
        for host in resting:
            self.update(host)

    def set_clock(self, server: Server, time: float) -> None:
        """Make a server rest until a time."""
        server.clock = time
        self._schedule_server(server)

    def _schedule_server(self, server: Server) -> None:
        """Update the place of a server in the heap of servers."""
        due = NEVER
        if server.busy < server.limit and self._drop_stale(server.sleepers):
            due = max(server.clock, server.sleepers[0][0])
        if due != server.due:
            self._stamps += 1
            server.due, server.stamp = due, self._stamps
            if due < NEVER:
                heapq.heappush(self._sleeping, (due, server.stamp, server))

    def forget_if_idle(self, host: Host) -> None:
        """Drop a host without work from memory."""
        if host.waiting or host.recalled or host.revisiting:
            return
        self.hosts.forget(host)
        self._order.forgotten(host)
        self.unresolved.discard(host.id)
        if host.server is not None and host.server.address is not None:
            self.servers.leave(host.server)
        host.server = None

    # --- whose turn it is ---

    def next_ready(self, now: float) -> Host | None:
        """Return the first ready host; the caller takes from it or makes it ready again."""
        self._wake(now)
        while (entry := self._first_ready()) is not None:
            self._ready.pop()
            host = self.hosts[entry[-1]]
            server = host.server
            assert server is not None
            # A borrower of the server may have taken the place meant for this host.
            has_place = server.busy <= server.limit
            if has_place and max(self.hosts.ready_at(host), server.clock) <= now:
                return host
            self.update(host)  # the host was blocked meanwhile, or its server was asked
        return None

    def hungry(self, most: int, now: float) -> list[Host]:
        """Return up to `most` of the first ready hosts, as long as they have nothing at hand."""
        hosts: list[Host] = []
        while len(hosts) < most and (entry := self._first_ready()) is not None:
            if not _is_hungry(self.hosts[entry[-1]]):
                break
            host = self.next_ready(now)
            if host is None or not _is_hungry(host):
                if host is not None:
                    self.make_ready(host)
                break
            hosts.append(host)
        return hosts

    def make_ready(self, host: Host) -> None:
        """Put an engaged host among the ready ones, at the place of its first URL at hand."""
        self._stamps += 1
        host.stamp = self._stamps
        place = host.queue[-1][0] if host.queue else _LAST_PLACE
        if host.recalled:
            place = _FIRST_PLACE
        self._ready.push(host.key, (self._order.urgency(host), place, host.stamp, host.id))

    def compare_again(self, host: Host) -> None:
        """Compare a ready host again, because it has other URLs now."""
        if host.engaged and not host.queue:
            self.make_ready(host)
            if len(self._ready) > 64 + 4 * len(self.hosts):
                self._ready.sweep(self._is_valid)

    def _first_ready(self) -> tuple[Any, int, int, int] | None:
        """Return the first valid entry; drop stale ones before it."""
        while (entry := self._ready.first()) is not None and not self._is_valid(entry):
            self._ready.pop()
        return entry

    def _is_valid(self, entry: tuple[Any, ...]) -> bool:
        host = self.hosts.by_id(entry[-1])
        return host is not None and host.stamp == entry[-2]

    def next_time(self, now: float) -> float | None:
        """Return when the first host will be ready, None if no host has work to hand out."""
        if self._first_ready() is not None:
            return now
        while self._sleeping and self._sleeping[0][2].stamp != self._sleeping[0][1]:
            heapq.heappop(self._sleeping)
        return self._sleeping[0][0] if self._sleeping else None

    def _wake(self, now: float) -> None:
        """Engage every host whose time, and whose server's time, has come."""
        while self._sleeping and self._sleeping[0][0] <= now:
            _, stamp, server = heapq.heappop(self._sleeping)
            if server.stamp == stamp:
                server.due = NEVER
                self._engage(server, now)
        self.servers.forget_quiet(now)

    def _engage(self, server: Server, now: float) -> None:
        sleepers = server.sleepers
        while server.busy < server.limit and self._drop_stale(sleepers) and sleepers[0][0] <= now:
            host = self.hosts[heapq.heappop(sleepers)[-1]]
            host.engaged = True
            server.busy += 1
            self.make_ready(host)
        self._schedule_server(server)

    def _disengage(self, host: Host) -> None:
        assert host.server is not None
        host.engaged = False
        host.server.busy -= 1

    def _drop_stale(self, heap: list[Any]) -> bool:
        """Drop stale entries from the head of a heap of hosts; return whether a valid one is left.

        An entry ends in the stamp it was made with and the id of its host.
        """
        while heap and not self._is_valid(heap[0]):
            heapq.heappop(heap)
        return bool(heap)

    # --- taking and landing ---

    def depart(self, host: Host, number: int, now: float) -> None:
        """Start the clocks of a host and its server, from which a URL is taken."""
        server = host.server
        assert server is not None
        host.before = (host.asked, server, server.clock)
        host.engaged = False  # its place under the limit is the URL's now
        self._taken += 1
        host.turn = self._taken
        self._ready.served(host.key, host.turn)
        if isinstance(host.in_flight, set):
            host.in_flight.add(number)
        else:
            host.in_flight = {number}
        server.flying += 1
        host.asked = now
        server.clock = now + self.hosts.politeness.server_pause(server, host)
        if len(host.in_flight) < host.at_once:  # else nothing is to be scheduled
            self.update(host)

    def adopt(self, host: Host, number: int, now: float) -> None:
        """Record that a URL of a host has been in flight for some time, wherever the host is."""
        if host.server is None:
            self.set_address(host, "")  # until its address is known
        server = host.server
        assert server is not None
        if host.engaged:
            self._disengage(host)
        self._stamps += 1
        host.stamp = self._stamps  # so that no entry is valid
        server.busy += 1
        self.depart(host, number, now)
        self._schedule_server(server)

    def land(self, host: Host, number: int, now: float, *, asked: bool) -> None:
        """Take a URL out of flight: host and server rest from now, if nothing else is in flight there.

        If the host was not asked after all, restore the clocks, unless they have moved on since.
        """
        server = host.server
        assert server is not None
        if len(host.in_flight) > 1 and isinstance(host.in_flight, set):
            host.in_flight.discard(number)
        else:
            host.in_flight = NONE_IN_FLIGHT
        server.busy -= 1
        server.flying -= 1
        if not asked:
            self._forget_departure(host, server)
            return
        if not host.in_flight:
            host.asked = max(host.asked, now)
        if not server.flying:
            rested = now + self.hosts.politeness.server_pause(server, host)
            server.clock = max(server.clock, rested)

    def _forget_departure(self, host: Host, server: Server) -> None:
        if host.at_once > 1 or host.before is None:
            return
        host.asked, before, server_clock = host.before
        if server is before and server.busy == 0:
            server.clock = server_clock

    # --- addresses ---

    def set_address(self, host: Host, address: str) -> None:
        """Move a host to the server at an address, with what it has in flight."""
        self.unresolved.discard(host.id)
        old = host.server
        if old is not None:
            if host.engaged:
                self._disengage(host)
            old.busy -= len(host.in_flight)
            old.flying -= len(host.in_flight)
            self.servers.leave(old)
        host.address, host.server = address, None
        self.hosts.mark(host)
        new = self._settle(host)
        assert new is not None
        new.busy += len(host.in_flight)
        new.flying += len(host.in_flight)
        if host.in_flight:
            new.clock = max(new.clock, old.clock if old else 0.0)
        self.update(host)
        if old is not None:
            self._schedule_server(old)


def _is_hungry(host: Host) -> bool:
    """Return whether a host has new URLs and none at hand."""
    return not host.queue and not host.recalled and host.has_new
