"""How many URLs a worker asks for, in virtual time: in an order that learns, those that it can begin now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from rdfaspider.frontier import Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from tests.frontier.virtual import Member, Room

RTT = 0.004


class Watched:
    """A worker of a service, of whose URLs is written down how long they were at hand."""

    def __init__(self, frontier: LocalFrontier, connections: int) -> None:
        self.room = Room(frontier, rtt=RTT)
        self.delays: list[float] = []
        self.most_begun = 0
        self._handed_out: dict[str, float] = {}
        self._frontier = frontier
        self._connections = connections

    @contextmanager
    def open(self) -> Iterator[Member]:
        take = self._frontier.take

        def hand_out(now: float) -> Taken | None:
            if (taken := take(now)) is not None:
                self._handed_out[taken.url] = now
            return taken

        with patch.object(self._frontier, "take", hand_out), self.room.open(1, self._connections):
            self.member = self.room.members[0]
            begin = self.member.frontier.take

            def begun(now: float) -> Taken | None:
                if (taken := begin(now)) is not None:
                    self.delays.append(now - self._handed_out[taken.url])
                    self.most_begun = max(self.most_begun, len(self.held) - len(self.at_hand))
                return taken

            with patch.object(self.member.frontier, "take", begun):
                yield self.member

    @property
    def held(self) -> dict[Taken, int]:
        return self.member.frontier._session.held

    @property
    def at_hand(self) -> list[Taken]:
        return list(self.member.frontier._session.at_hand)

    def land(self, member: Member, taken: Taken, now: float) -> None:
        member.frontier.finish(taken, "done", now, gain=1.0)


@contextmanager
def watching(directory: Path, order: str, connections: int) -> Iterator[Watched]:
    politeness = Politeness(delay=0.0)
    with LocalFrontier(str(directory / "frontier"), order=order, politeness=politeness) as frontier:
        frontier.put([f"http://h{n % 100}.test/{n}" for n in range(2_000)])
        yield Watched(frontier, connections)


def test_an_order_that_learns_chooses_when_a_fetch_can_begin(tmp_path: Path) -> None:
    with watching(tmp_path, "harvest", 16) as watched, watched.open():
        assert watched.room.run(1_000, watched.land) == 1_000
    assert watched.most_begun == 16, "all connections are in use"
    assert max(watched.delays) < 3 * RTT, "nothing was chosen before it was wanted"
    # One round trip for each fetch is lost, and nothing else.
    assert watched.room.now < 1_000 / 16 * (0.5 + 3 * RTT) * 1.2


def test_other_orders_have_urls_at_hand(tmp_path: Path) -> None:
    with watching(tmp_path, "breadth", 16) as watched, watched.open():
        watched.room.run(1_000, watched.land)
    assert watched.most_begun == 16
    assert max(watched.delays) > 0.1


def test_a_worker_that_can_fetch_fewer_than_before_asks_for_fewer(tmp_path: Path) -> None:
    with watching(tmp_path, "harvest", 16) as watched, watched.open() as member:
        watched.room.run(300, watched.land)
        member.free = 3
        watched.delays.clear()
        watched.room.run(250, watched.land)
    assert max(watched.delays[50:]) < 3 * RTT, "what was at hand before is used up"
