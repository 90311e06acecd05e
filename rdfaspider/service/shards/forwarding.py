"""What must be told to several shards, one after the other.

The links of a page go to the shards of their hosts, and when these have answered, the page is ended at its
own: so whoever is killed in between leaves a page in flight, which is fetched again, and no link is lost. If
a shard is away, its links go to the page's own shard with the end, which keeps them (outbox.py) until a
worker has told the other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfaspider.frontier.sharding import shard_of_origin
from rdfaspider.service.messages import Forwarded, Put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rdfaspider.frontier import Ending, Taken
    from rdfaspider.service.client import ServedFrontier

# Links, with their contexts, by shard.
Parts = dict[int, tuple[list[str], list[int]]]


def divide(urls: Iterable[str], contexts: Sequence[int], total: int) -> Parts:
    """Return URLs by their shards, each with its context if there are any."""
    parts: Parts = {}
    if not contexts:
        for url in urls:
            # As shard_of, without a call more: this is done for every link.
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
    """What shards are being told; `tickets` are the messages that must be answered.

    `then` is called when they have been, with True, or when one of them is away, with False.
    """

    tickets: dict[int, int]
    then: Callable[[bool], None]


class Forwarding:
    """Runs errands to shards; `run` does what can be done now."""

    def __init__(self, shards: Sequence[ServedFrontier]) -> None:
        self._shards = shards
        self._under_way: list[Delivery] = []
        self._answered = -1

    def __len__(self) -> int:
        return len(self._under_way)

    def finish(self, taken: Taken, parts: Parts, now: float, said: Ending) -> None:
        """End a page that is done when the shards of its links know them."""
        home, depth = taken.host % len(self._shards), taken.depth
        own, contexts = parts.pop(home, ([], []))
        said["abroad"] = [link for links, _ in parts.values() for link in links]
        said["contexts"] = contexts + [each for _, rest in parts.values() for each in rest]

        def end(is_told: bool) -> None:
            said["told"] = depth if is_told else None
            self._shards[home].finish(taken, "done", now, own, **said)

        self._begin(parts, depth + said.get("depth_step", 1), said.get("hops", 0), end)

    def forward(self, home: int) -> None:
        """Tell the other shards what one keeps for them, if all are there."""
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
        errand = Delivery(tickets, then)
        if self._is_done(errand):
            then(True)
        else:
            self._under_way.append(errand)

    def _is_done(self, errand: Delivery) -> bool:
        tickets, shards = errand.tickets.items(), self._shards
        return all(shards[number].session.answered >= ticket for number, ticket in tickets)

    def run(self) -> None:
        """Go on with what has been answered, and with what will not be before long."""
        if not self._under_way:
            return
        answered = sum(shard.session.answered for shard in self._shards)
        away = {number for number, shard in enumerate(self._shards) if shard.session.is_away}
        if answered == self._answered and not away:
            return
        self._answered = answered
        waiting, self._under_way = self._under_way, []
        for errand in waiting:
            if self._is_done(errand):
                errand.then(True)
            elif away and not away.isdisjoint(errand.tickets):
                errand.then(False)
            else:
                self._under_way.append(errand)
