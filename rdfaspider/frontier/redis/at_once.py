"""Without reading ahead: every call goes to Redis at once, by the caller's time.

So tests run in simulated time, and commands look at a crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.redis.batch import Batch

if TYPE_CHECKING:
    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.redis.desk import Desk
    from rdfaspider.frontier.redis.link import RedisLink


class AtOnce:
    """Empties the desk with each call. An onlooker is one whom the workers do not see."""

    def __init__(self, link: RedisLink, desk: Desk, now: float, *, is_onlooker: bool) -> None:
        self._link = link
        self._desk = desk
        self._is_onlooker = is_onlooker
        self._turn = 0
        self.now = now  # as the caller said last

    def tell(self, now: float | None = None) -> None:
        """Bring everything to Redis, and what that brings in turn."""
        self.now = self.now if now is None else now
        while self._desk.is_pending:
            batch = Batch()
            self._desk.add_pending(batch, self.now)
            self._look_with(batch)

    def look(self) -> None:
        """See how all partitions are."""
        self._look_with(Batch())
        self.tell()

    def _look_with(self, batch: Batch) -> None:
        self._desk.add_looks(batch, self.now, self.now, silent=self._is_onlooker)
        batch.deal_with(self._link.run(batch.stages))
        self._desk.board.conclude()

    def take(self, now: float) -> Taken | None:
        self.tell(now)
        if not self._desk.at_hand:
            self._find_one()
        return self._desk.at_hand.pop().taken if self._desk.at_hand else None

    def _find_one(self) -> None:
        """Have a URL at hand if one is ready."""
        scripts = self._desk.scripts
        for step in range(scripts.partitions):
            partition = (self._turn + step) % scripts.partitions
            while reply := self._link.one(scripts.take(partition, self.now, 1)):
                self._desk.read(partition, reply)
                self._ask_servers()
                if self._desk.at_hand:
                    self._turn = partition + 1
                    return
                if not reply[0]:
                    break

    def _ask_servers(self) -> None:
        batch = Batch()
        for lease in self._desk.asking:
            self._desk.add_ask(batch, lease, self.now)
        self._desk.asking = []
        batch.deal_with(self._link.run(batch.stages))
        self.tell()

    def wait(self, now: float) -> float | None:
        self.tell(now)
        self.look()
        first = self._desk.board.first
        if first is not None and first <= now and self._desk.politeness.server_delay is not None:
            # The host is ready, but its server may not be: only a try can tell.
            if not self._desk.at_hand:
                self._find_one()
                self.look()
            first = now if self._desk.at_hand else self._desk.board.first
        return None if first is None else max(first - now, 0.0)

    def unplaced(self, most: int) -> list[bytes]:
        """Return up to so many hosts that wait to be placed."""
        self.look()
        named: list[bytes] = []
        for partition, count in enumerate(self._desk.board.unplaced):
            if count and len(named) < most:
                room = most - len(named)
                named += self._link.one(self._desk.scripts.unplaced(partition, self.now, room))
        return named

    def leave(self) -> bool:
        """Tell that everything is in Redis, as it always is."""
        return True
