"""URLs that wait for the turn of a server whose clock another shard keeps.

One shard, the keeper, has the clock of the server at an address, whichever shards have its hosts. A URL of
a host elsewhere begins when the keeper has lent the turn, which is returned with the URL. If the server
must rest, the URL goes back to its own shard, and its host waits as long as the keeper says. So no clocks
of two machines are compared, and nothing is held up here.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rdfaspider.frontier.politeness import Demand
from rdfaspider.frontier.sharding import keeper_of
from rdfaspider.service import BEAT
from rdfaspider.service.messages import ServerTurn, SlowDown
from rdfaspider.service.worker.session import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.frontier import Taken
    from rdfaspider.service.worker.client import ServedFrontier

# Hosts whose server addresses are remembered.
_REMEMBERED = 10_000


class ServerTurns:
    """Asks shards for the turns of servers.

    Layout: `_asked` has URLs whose keepers have not answered, `_lent` those that may begin, and `_out` the
    keeper of each URL that has a turn, until it is returned.
    """

    def __init__(self, shards: Sequence[ServedFrontier]) -> None:
        self._shards = shards
        self._asked: dict[str, tuple[Taken, int]] = {}
        self._lent: deque[Taken] = deque()
        self._out: dict[Taken, int] = {}
        self._addresses: dict[int, str] = {}
        # Answers of keepers to requests that are not for pages, None while there is none.
        self._others: dict[str, float | None] = {}

    def __len__(self) -> int:
        return len(self._asked) + len(self._lent)

    @property
    def wait(self) -> float:
        """Return the seconds until the next look, if anything waits."""
        return 0.0 if any(map(self._may_begin, self._lent)) else LONGEST

    def address_of(self, host: int) -> str:
        """Return the server address of a host with something in flight here, "" if it has none."""
        return self._addresses.get(host, "")

    def needs(self, taken: Taken, now: float) -> bool:
        """Ask for the turn of a URL's server; return False if none is needed."""
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
        self._addresses.pop(host, None)  # so that it becomes the newest
        if len(self._addresses) >= _REMEMBERED:
            del self._addresses[next(iter(self._addresses))]
        self._addresses[host] = address

    def run(self, now: float) -> None:
        """Process the answers of keepers."""
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
        elif seconds == 0.0:  # no longer waited for
            self._shards[keeper].session.give_back(url)
            self._shards[keeper].flush(now)

    def _put_back(self, taken: Taken, seconds: float, now: float) -> None:
        home = self._shards[taken.host % len(self._shards)]
        home.session.do(SlowDown(taken.host, Demand(pause=seconds)))
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
        """Ask for a turn that is not for a page; return the seconds to wait for it, 0.0 if it is lent, None
        if there is no answer yet."""
        if name not in self._others:
            self._others[name] = None
            self._shards[keeper].session.ask_turn(ServerTurn(name, address, home))
            self._shards[keeper].flush(now)
        self.run(now)
        if (seconds := self._others[name]) is not None:
            del self._others[name]
        return seconds

    def forget(self, name: str) -> None:
        """Stop waiting for such a turn."""
        self._others.pop(name, None)
        for shard in self._shards:
            shard.session.give_back(name)

    def give_back(self, taken: Taken, now: float) -> None:
        """Return the turn of a URL that is no longer being fetched, if it had one."""
        if (keeper := self._out.pop(taken, None)) is not None:
            self._shards[keeper].session.give_back(taken.url)
            self._shards[keeper].flush(now)

    def give_all_back(self, now: float) -> None:
        """Release everything that has not begun."""
        for taken in [*(taken for taken, _ in self._asked.values()), *self._lent]:
            self.give_back(taken, now)
            self._shards[taken.host % len(self._shards)].release(taken, now)
        self._asked.clear()
        self._lent.clear()
