"""The sink of a worker: it sends what the worker puts to the crawl, which writes it."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.service.line import Line
from rdfaspider.frontier.service.wire import Address, Security
from rdfaspider.stores import Sink, StoreUnavailable
from rdfaspider.stores.changes import Change

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

# Seconds that a worker tries to reach its crawl, and waits while the sink is full.
_PATIENCE = 600.0
# Triples are UTF-8; bytes that are not survive the way there and back.
_CODEC = ("utf-8", "surrogateescape")


class ServedSink(Sink):
    """Puts changes into the sink that a crawl serves to its workers."""

    is_full = False  # the crawl makes its workers wait
    backlog = (0, 0)
    backlog_quads = 0

    def __init__(self, url: str, security: Security | None = None) -> None:
        self.counters = Counter()
        self._line = Line(Address.parse(url), security or Security(), timeout=_PATIENCE)
        self._greeting = {
            **{"name": "", "run": os.urandom(8).hex(), "now": 0.0},
            **{"about": {}, "watch": [], "grants": 0, "holds": []},
        }
        self._is_connected = False

    def put(self, changes: Sequence[Change]) -> list[bool]:
        rows = [(graph, triples.decode(*_CODEC), *rest) for graph, triples, *rest in changes]
        try:
            are_new: list[bool] = self._ask({"ask": "store", "changes": rows})["are_new"]
        except FrontierUnavailable as error:
            raise StoreUnavailable(str(error)) from error
        return are_new

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        while True:
            self._line.submit(message, None if self._is_connected else self._greeting, _PATIENCE)
            answer = self._line.collect(2 * _PATIENCE)
            if answer is None:
                raise FrontierUnavailable("The crawl does not take this worker's pages.")
            self._is_connected = answer.reply is not None
            if answer.reply is not None:
                return answer.reply

    def close(self) -> None:
        self._line.close()


def answering(put: Callable[[Sequence[Change]], Awaitable[list[bool]]]) -> Any:
    """Return the handler of a worker's request to put changes into the sink."""

    async def answer(message: dict[str, Any]) -> dict[str, Any]:
        changes = [
            Change(str(graph), triples.encode(*_CODEC), int(quads), bool(replaces))
            for graph, triples, quads, replaces in message["changes"]
        ]
        return {"are_new": await put(changes)}

    return answer
