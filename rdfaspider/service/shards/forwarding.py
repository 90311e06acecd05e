"""Messages to several shards that depend on each other.

The links of a page go to the shards of their hosts, and when these have answered, the page ends at its own.
So a worker that is killed in between leaves a page in flight, which is fetched again, and no link is lost.
If a shard is away, its links go to the page's own shard, which keeps them (outbox.py) until a worker has
forwarded them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfaspider import clock
from rdfaspider.frontier.sharding import shard_of_origin
from rdfaspider.service.messages import Forwarded, OtherFloor, Put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rdfaspider.frontier import Ending, Taken
    from rdfaspider.service.worker.client import ServedFrontier

# Links, with their contexts, by shard.
Parts = dict[int, tuple[list[str], list[int]]]


def divide(urls: Iterable[str], contexts: Sequence[int], total: int) -> Parts:
    """Return URLs by shard, with their contexts if there are any."""
    parts: Parts = {}
    if not contexts:
        for url in urls:
            # shard_of, inlined: this is done for every link.
            number = shard_of_origin(url[: url.index("/", 8)], total)
            if number in parts:
                parts[number][0].append(url)
            else:
                parts[number] = ([url], [])
        return parts
    for url, context in zip(urls, contexts, strict=True):
        found, said = parts.setdefault(shard_of_origin(url[: url.index("/", 8)], total), ([], []))
        found.append(url)
        said.append(context)
    return parts


@dataclass(slots=True, eq=False)
class Delivery:
    """Links being sent to shards; `tickets` are the messages that must be answered.

    `then` is called with True when they are, with False when one of the shards is away.
    """

    tickets: dict[int, int]
    then: Callable[[bool], None]


class Forwarding:
    """Keeps track of deliveries; `run` does what can be done now."""

    def __init__(self, shards: Sequence[ServedFrontier]) -> None:
        self._shards = shards
        self._under_way: list[Delivery] = []
        self._answered = -1

    def __len__(self) -> int:
        return len(self._under_way)

    def finish(self, taken: Taken, parts: Parts, now: float, said: Ending) -> None:
        """End a done page when the shards of its links have received them."""
        home, depth = taken.host % len(self._shards), taken.depth
        own, contexts = parts.pop(home, ([], []))
        said["abroad"] = [link for links, _ in parts.values() for link in links]
        said["contexts"] = contexts + [each for _, rest in parts.values() for each in rest]

        def end(is_told: bool) -> None:
            said["told"] = depth if is_told else None
            self._shards[home].finish(taken, "done", now, own, **said)

        self._begin(parts, depth + said.get("depth_step", 1), said.get("hops", 0), end)

    def forward(self, home: int) -> None:
        """Forward the links that one shard keeps for the others, if all are there."""
        session = self._shards[home].session
        if any(shard.session.is_away for shard in self._shards):
            return
        for page, depth, hops, links, contexts in session.take_owed():

            def end(is_told: bool, page: str = page, depth: int = depth) -> None:
                if is_told:
                    session.do(Forwarded(page, depth))

            self._begin(divide(links, contexts, len(self._shards)), depth, hops, end)

    def _begin(self, parts: Parts, depth: int, hops: int, then: Callable[[bool], None]) -> None:
        shards = self._shards
        if any(shards[number].session.is_away for number in parts):
            then(False)
            return
        tickets = {}
        for number, (links, contexts) in parts.items():
            session = shards[number].session
            session.do(Put(links, depth, contexts, hops))
            tickets[number] = session.ticket
            shards[number].flush()
        delivery = Delivery(tickets, then)
        if self._is_done(delivery):
            then(True)
        else:
            self._under_way.append(delivery)

    def _is_done(self, delivery: Delivery) -> bool:
        tickets, shards = delivery.tickets.items(), self._shards
        return all(shards[number].session.answered >= ticket for number, ticket in tickets)

    def run(self) -> None:
        """Complete the deliveries that were answered, and those whose shard is away."""
        if not self._under_way:
            return
        answered = sum(shard.session.answered for shard in self._shards)
        away = {number for number, shard in enumerate(self._shards) if shard.session.is_away}
        if answered == self._answered and not away:
            return
        self._answered = answered
        waiting, self._under_way = self._under_way, []
        for delivery in waiting:
            if self._is_done(delivery):
                delivery.then(True)
            elif away and not away.isdisjoint(delivery.tickets):
                delivery.then(False)
            else:
                self._under_way.append(delivery)


class Floors:
    """Tells each shard the smallest unfinished depth of the others.

    A shard keeps the links of finished pages while a shorter way to them may be found (outlinks.py), by a
    page of any shard. Two rounds of reports are combined, because a link may be on its way during one.
    """

    def __init__(self, shards: Sequence[ServedFrontier]) -> None:
        self._shards = shards
        self._began = 0.0
        self._before = [0] * len(shards)
        self._told = [0] * len(shards)

    def share(self) -> None:
        """Send each shard what is new, once all have reported."""
        sessions = [shard.session for shard in self._shards]
        if self._shards[0].is_at_once or any(
            session.looked_at <= self._began for session in sessions
        ):
            return
        self._began = clock.now()
        floors = [session.floor for session in sessions]
        least = [min(pair) for pair in zip(floors, self._before, strict=True)]
        self._before = floors
        for number, session in enumerate(sessions):
            elsewhere = min(least[:number] + least[number + 1 :])
            if elsewhere != self._told[number]:
                self._told[number] = elsewhere
                session.do(OtherFloor(elsewhere))
