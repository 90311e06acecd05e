"""URLs that wait for the turn of a server whose clock another shard keeps.

The clock of the server at an address is kept by one shard, whatever shards have its hosts. A URL of a host
elsewhere begins when that shard, its keeper, has lent the turn, which is given back when the URL is. If the
server must rest, the URL goes back to its own shard, and its host waits as long as the keeper has said. So no
clocks of two machines are compared, and nothing is held up here.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rdfaspider.frontier.sharding import keeper_of
from rdfaspider.service import BEAT
from rdfaspider.service.messages import ServerTurn, SlowDown
from rdfaspider.service.session import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.frontier import Taken
    from rdfaspider.service.client import ServedFrontier

# Servers of hosts that are remembered.
_REMEMBERED = 10_000


class Keepers:
    """Asks shards for the turns of servers.

    Layout: `_asked` has URLs whose keepers have not answered, `_lent` those that may begin, and `_out` the
    keeper of each URL that has a turn, from when it is lent until it is given back.
    """

    def __init__(self, shards: Sequence[ServedFrontier]) -> None:
        self._shards = shards
        self._asked: dict[str, tuple[Taken, int]] = {}
        self._lent: deque[Taken] = deque()
        self._out: dict[Taken, int] = {}
        self._addresses: dict[int, str] = {}
        # What keepers have answered to others who have asked, None as long as they have not.
        self._others: dict[str, float | None] = {}

    def __len__(self) -> int:
        return len(self._asked) + len(self._lent)

    @property
    def wait(self) -> float:
        """Return in how many seconds to look again, if there is anything."""
        return 0.0 if any(map(self._may_begin, self._lent)) else LONGEST

    def address_of(self, host: int) -> str:
        """Return the address of the server of a host that has something in flight here, "" if it has none."""
        return self._addresses.get(host, "")

    def needs(self, taken: Taken, now: float) -> bool:
        """Ask for the turn of the server of a URL; False if it has that already."""
        total = len(self._shards)
        home = taken.host % total
        address = self._shards[home].session.take_server(taken)
        if not address:
            return False
        self._remember(taken.host, address)
        keeper = keeper_of(address, total)
        if keeper == home:
            return False
        self._shards[keeper].session.ask_turn(ServerTurn(taken.url, address, home))
        self._asked[taken.url] = taken, keeper
        self._shards[keeper].flush(now)
        return True

    def _remember(self, host: int, address: str) -> None:
        self._addresses.pop(host, None)  # so that it is the youngest now
        if len(self._addresses) >= _REMEMBERED:
            del self._addresses[next(iter(self._addresses))]
        self._addresses[host] = address

    def run(self, now: float) -> None:
        """Take in what keepers have answered."""
        for keeper, shard in enumerate(self._shards):
            session = shard.session
            if session.answers:
                for url, seconds in session.take_answers().items():
                    self._answered(url, keeper, seconds, now)
            if self._asked and session.is_away:
                for url in [url for url, (_, asked) in self._asked.items() if asked == keeper]:
                    self._put_back(self._asked.pop(url)[0], BEAT, now)

    def _answered(self, url: str, keeper: int, seconds: float, now: float) -> None:
        if url in self._others:
            self._others[url] = seconds
            return
        taken, _ = self._asked.pop(url, (None, keeper))
        if taken is not None and seconds == 0.0:
            self._lent.append(taken)
            self._out[taken] = keeper
        elif taken is not None:
            self._put_back(taken, seconds, now)
        elif seconds == 0.0:  # it was not waited for
            self._shards[keeper].session.give_back(url)
            self._shards[keeper].flush(now)

    def _put_back(self, taken: Taken, seconds: float, now: float) -> None:
        home = self._shards[taken.host % len(self._shards)]
        home.session.do(SlowDown(taken.host, None, seconds))
        home.release(taken, now)

    def next(self) -> Taken | None:
        """Return a URL that may begin, None if there is none."""
        for _ in range(len(self._lent)):
            taken = self._lent.popleft()
            if self._may_begin(taken):
                return taken
            self._lent.append(taken)
        return None

    def _may_begin(self, taken: Taken) -> bool:
        home = self._shards[taken.host % len(self._shards)]
        return not (home.is_held_up or self._shards[self._out[taken]].is_held_up)

    def ask(self, name: str, address: str, keeper: int, home: int, now: float) -> float | None:
        """Ask for a turn that is not a page's; return the seconds to wait for it, 0.0 if it is lent, or None
        if that is not known yet."""
        if name not in self._others:
            self._others[name] = None
            self._shards[keeper].session.ask_turn(ServerTurn(name, address, home))
            self._shards[keeper].flush(now)
        self.run(now)
        if (seconds := self._others[name]) is not None:
            del self._others[name]
        return seconds

    def forget(self, name: str) -> None:
        """Do not wait for such a turn any more."""
        self._others.pop(name, None)
        for shard in self._shards:
            shard.session.give_back(name)

    def give_back(self, taken: Taken, now: float) -> None:
        """Say that a URL is not being fetched any more, if it had a turn."""
        if (keeper := self._out.pop(taken, None)) is not None:
            self._shards[keeper].session.give_back(taken.url)
            self._shards[keeper].flush(now)

    def give_all_back(self, now: float) -> None:
        """Let go of everything that has not begun."""
        for taken in [*(taken for taken, _ in self._asked.values()), *self._lent]:
            self.give_back(taken, now)
            self._shards[taken.host % len(self._shards)].release(taken, now)
        self._asked.clear()
        self._lent.clear()
