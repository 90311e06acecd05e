"""The desk of one worker: what it holds, and what it has to tell Redis.

Links wait in the inbox, what has ended in `landings`, turns at servers in `turns`, notes in `notices`.
`add_pending` makes a batch of them, links first. What comes back is taken in by the methods that the
batch hands its replies to; they may leave more to be told.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier.redis.batch import (
    LANDS,
    LOOKS,
    PUTS,
    TAKES,
    Batch,
    ignore,
)
from rdfaspider.frontier.redis.calls import (
    Inbox,
    Landing,
    Lease,
    pack_links,
    read_lease,
    unpack_links,
)
from rdfaspider.frontier.redis.crew import Clock
from rdfaspider.frontier.redis.notices import Notices

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.hosts import Host
    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.frontier.redis.board import Board
    from rdfaspider.frontier.redis.crew import Crew
    from rdfaspider.frontier.redis.link import RedisLink, Script
    from rdfaspider.frontier.redis.scripts import Scripts

# Hosts and links that a worker remembers.
_HOSTS, _LINKS = 10_000, 100_000


class Desk:
    """`held` has the leases by number, `at_hand` a heap of those that are not handed out yet, `asking`
    those that want a turn at a server first. `ahead` is how long before its time a URL is taken."""

    def __init__(
        self,
        link: RedisLink,
        crew: Crew,
        scripts: Scripts,
        board: Board,
        partition_of: Callable[[str], int],
        ahead: float,
    ) -> None:
        self._link = link
        self.crew = crew
        self.scripts = scripts
        self.board = board
        self.ahead = ahead
        self.clock = Clock()
        self.inbox = Inbox(partition_of)
        self.landings: list[Landing] = []
        self.turns: list[tuple[Script, Callable[[Any], None]]] = []
        self.notices = Notices(link, crew, scripts)
        self.held: dict[int, Lease] = {}
        self.at_hand: list[Lease] = []
        self.asking: list[Lease] = []
        self.hosts: OrderedDict[int, Host] = OrderedDict()
        self.known: OrderedDict[str, int] = OrderedDict()
        self.filled: set[int] = set()
        self.done = 0
        self._before = (0.0, 0)  # time and pages at the last beat
        # Who goes to Redis at once is told by it what it knows.
        self._remembers = ahead > 0

    @property
    def politeness(self) -> Politeness:
        return self.scripts.politeness

    @property
    def is_pending(self) -> bool:
        """Tell whether there is anything to tell Redis."""
        return bool(self.landings or self.inbox.size or self.turns or self.notices.pending)

    # --- links, URLs, and what becomes of them ---

    def take_in(self, url: str, depth: int) -> None:
        """Have a link brought to Redis, unless this worker has done so already."""
        if self._remembers:
            if self.known.get(url, 256) <= depth:
                return
            self.known[url] = depth
            if len(self.known) > _LINKS:
                self.known.popitem(last=False)
        self.inbox.add(url, depth)

    def read(self, partition: int, reply: list[Any]) -> None:
        for lease in self._took(partition, reply):
            if self.politeness.server_delay is not None and lease.address:
                self.asking.append(lease)
            else:
                heapq.heappush(self.at_hand, lease)

    def _took(self, partition: int, reply: list[Any]) -> list[Lease]:
        given = [read_lease(row, partition, self.hosts) for row in reply[0]]
        self.board.note_next(partition, reply[1])
        for lease in given:
            self.held[lease.taken.number] = lease
            self.hosts.move_to_end(lease.taken.host)
        while len(self.hosts) > _HOSTS:
            self.hosts.popitem(last=False)
        return given

    def let_go(self, taken: Taken, now: float, *, asked: bool = True) -> Lease | None:
        lease = self.held.get(taken.number)
        if lease is None or lease.taken is not taken:
            return None
        del self.held[taken.number]
        if lease.address:
            self._leave_server(lease, now, "asked" if asked else "unasked")
        return lease

    def give_back(self, lease: Lease, now: float) -> None:
        if self.let_go(lease.taken, now) is not None:
            self.landings.append(self.landing("waiting", lease, now))

    def landing(self, what: str, lease: Lease, now: float) -> Landing:
        landing = Landing(what, lease.partition, lease.taken.number, now + self.clock.high)
        landing.token, landing.host = lease.token, lease.host
        landing.pause = self.politeness.pause(lease.host)
        return landing

    def land_page(self, landing: Landing, depth: int) -> None:
        """Take in the links of a page by its depth, and have it ended after that."""
        links, target, limits = landing.links, depth + landing.deeper, self.scripts.limits
        landing.depth, landing.rejected, landing.record = depth, 0, b""
        if target > max(limits.depth, limits.dynamic_depth):
            landing.rejected = len(links)
        else:
            for link in links:
                self.take_in(link, target)
        if depth > min(self.board.floor, self.inbox.floor):
            landing.record = pack_links(landing.deeper, links)
        self.landings.append(landing)

    # --- batches ---

    def add_pending(self, batch: Batch, there: float) -> None:
        """Add all that is to be brought to Redis: links first, then what has ended."""
        self.notices.add_pending(batch)
        self.filled = self.inbox.partitions()
        for partition, chunk in self.inbox.empty():
            script = self.scripts.put(partition, there, chunk)
            batch.add(PUTS, script, partial(self._bettered, partition))
        groups: dict[int, list[Landing]] = {}
        for landing in self.landings:
            groups.setdefault(landing.partition, []).append(landing)
        for partition, landings in groups.items():
            script = self.scripts.land(partition, there, self.board.floor, landings)
            batch.add(LANDS, script, partial(self._landed, landings))
        for script, handler in self.turns:
            batch.add(LANDS, script, handler)
        self.landings, self.turns = [], []

    def add_looks(self, batch: Batch, there: float, told: float | None, *, silent: bool) -> None:
        for partition in range(self.scripts.partitions):
            script = self.scripts.look(partition, there)
            batch.add(LOOKS, script, partial(self.looked, partition))
        about = {
            "held": len(self.held),
            "done": self.done,
            "rate": round((self.done - self._before[1]) / max(there - self._before[0], 0.1), 1),
            "trips": self._link.round_trips,
        }
        self._before = (there, self.done)
        batch.add(LOOKS, self.crew.beat(about, told, silent=silent), ignore)

    def _bettered(self, partition: int, reply: list[Any]) -> None:
        """Note shorter ways to URLs that this worker has in flight."""
        better, first = reply
        self.board.note_next(partition, first)
        for number, depth in zip(better[::2], better[1::2], strict=True):
            if lease := self.held.get(int(number)):
                lease.taken.depth = min(lease.taken.depth, int(depth))

    def _landed(self, landings: list[Landing], reply: list[Any]) -> None:
        """Take in the links of pages once more that were found by a shorter way meanwhile."""
        shallower, idle, first = reply
        self.board.note_next(landings[0].partition, first)
        better = {int(n): int(d) for n, d in zip(shallower[::2], shallower[1::2], strict=True)}
        for landing in landings:
            if landing.what == "done" and landing.subject in better:
                self.land_page(landing, better[int(landing.subject)])
            elif landing.what == "wake" and landing.record and landing.subject in idle:
                script = self.scripts.wake_next(landing.record.decode())
                self.turns.append((script, self._woken))

    def looked(self, partition: int, reply: list[Any]) -> None:
        for entry in self.board.looked(partition, reply):
            depth, links = unpack_links(entry)
            for link in links:
                self.inbox.add(link, depth)
            done = Landing("delivered", partition, "-", 0.0, depth=depth, record=entry)
            self.landings.append(done)

    # --- turns at servers ---

    def add_ask(self, batch: Batch, lease: Lease, there: float) -> None:
        """Ask for a turn at the server of a URL."""
        start, latest = max(lease.start, there), there + self.ahead
        script = self.scripts.ask_server(
            lease.address, lease.identity, start, latest, lease.host.key
        )
        batch.add(TAKES, script, partial(self._served, lease))

    def _served(self, lease: Lease, reply: bytes) -> None:
        start = float(reply)
        if not reply.startswith(b"-"):
            lease.start = start
            heapq.heappush(self.at_hand, lease)
            return
        if self.held.get(lease.taken.number) is lease:
            del self.held[lease.taken.number]
        landing = Landing("refused", lease.partition, lease.taken.number, lease.start)
        landing.token, landing.until = lease.token, -start
        self.landings.append(landing)

    def _leave_server(self, lease: Lease, now: float, how: str) -> None:
        moment, host = now + self.clock.high, b"" if how == "moved" else lease.host.key
        script = self.scripts.leave_server(lease.address, lease.identity, moment, how, host)
        self.turns.append((script, partial(self._left, host)))

    def _left(self, host: bytes, reply: bytes) -> None:
        self._woken(reply, host)

    def move(self, lease: Lease, address: str, now: float) -> None:
        """Move a fetch that is under way to another server."""
        if lease.address:
            self._leave_server(lease, now, "moved")
        lease.address = address
        if address:
            script = self.scripts.come_to_server(address, lease.identity, lease.start)
            self.turns.append((script, ignore))

    def wake(self, replies: list[bytes]) -> None:
        for reply in replies:
            self._woken(reply)

    def _woken(self, reply: bytes, other: bytes = b"") -> None:
        """Let a host know when its server may be asked: one that was refused, or the one that left."""
        if not reply:
            return
        moment, address, host = reply.split(b" ")
        if host:
            landing = Landing("wake", self.partition(host), host, float(moment), record=address)
            self.landings.append(landing)
        if other:
            until = float(moment) + (self.scripts.patience if host else 0.0)
            self.landings.append(Landing("wake", self.partition(other), other, until))

    def partition(self, host: bytes) -> int:
        return self.inbox.partition(host)
