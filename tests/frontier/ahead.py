"""A worker as users run it: it reads ahead and tells in batches, here in virtual time without a network.

Messages go through the frames of the wire to the handler of a service, whose clock is the time that the test
gives. What a worker in a crawl would wait for is taken in before a call returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack
from unittest.mock import patch

from rdfaspider import clock
from rdfaspider.frontier import Counts, Ending, HostView, State, Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.service.messages import Exchange
from rdfaspider.service.server.handler import Handler
from rdfaspider.service.worker.client import ServedFrontier
from tests.frontier.virtual import DirectConnection


class AheadAlone(ServedFrontier):
    """A frontier by a service that is there for it alone, read ahead."""

    rtt = 0.0

    def __init__(self, engine: LocalFrontier, now: float) -> None:
        self.engine = engine
        self.now = now
        self._patch = patch.object(clock, "now", lambda: self.now)
        self._patch.start()
        self.handler = Handler(engine, lambda: self.now)
        super().__init__("", worker="only", connection=DirectConnection(self), now=now)

    def _settle(self) -> None:
        """Have everything told, and ask at once for what there may be now."""
        session = self.session
        session.next_want = 0.0
        while True:
            self._advance()
            if (session.did or session.borrowing) and not session.is_busy:  # without a pause
                session.begin(Exchange())
            if not (session.did or session.is_busy or session.borrowing):
                return

    def take(self, now: float) -> Taken | None:
        self.now = now
        self._settle()
        return super().take(now)

    def wait(self, now: float) -> float | None:
        self.now = now
        self._settle()
        return 0.0 if self.session.at_hand else self.session.wait

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        **said: Unpack[Ending],
    ) -> None:
        self.now = now
        super().finish(taken, state, now, links, **said)
        self._settle()

    def retry(self, taken: Taken, now: float, after: float = 0.0, **said: Any) -> None:
        self.now = now
        super().retry(taken, now, after, **said)
        self._settle()

    def release(self, taken: Taken, now: float) -> None:
        self.now = now
        super().release(taken, now)
        self._settle()

    def borrow(self, host: int | None, url: str, address: str, now: float, **said: Any) -> float:
        self.now = now
        super().borrow(host, url, address, now, **said)
        self._settle()
        return super().borrow(host, url, address, now, **said)

    def repay(self, url: str, now: float) -> None:
        self.now = now
        super().repay(url, now)
        self._settle()

    def hosts_to_resolve(self, most: int) -> list[tuple[int, str]]:
        self._settle()
        return super().hosts_to_resolve(most)

    def hosts(self, now: float) -> Iterator[HostView]:
        self._settle()
        return super().hosts(now)

    def counts(self) -> Counts:
        """Return the counts as the test sees them: what is at hand was not taken yet."""
        if self._is_closed:
            return super().counts()
        self.session.exchange(Exchange(look="exactly"), 1.0)
        counts, at_hand = self.session.counts, len(self.session.at_hand)
        waiting, in_flight = counts.waiting + at_hand, counts.in_flight - at_hand
        return replace(counts, waiting=waiting, in_flight=in_flight)

    def close(self) -> None:
        super().close()
        self.engine.close()
        self._patch.stop()


def read_ahead_alone(
    directory: Path,
    order: str,
    delay: float = 1.0,
    at_once: int = 1,
    server_delay: float | None = None,
    *,
    now: float = 0.0,
    **options: Any,
) -> AheadAlone:
    """Open the frontier of a directory by a service, for a worker that reads ahead."""
    manners = Politeness(delay=delay, at_once=at_once, server_delay=server_delay)
    path = str(directory / "frontier")
    return AheadAlone(LocalFrontier(path, order=order, politeness=manners, now=now, **options), now)
