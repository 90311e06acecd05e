"""The store of a crawl as its workers see it: what they put is written down by the crawl itself."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.service.connection import Connection
from rdfaspider.service.wire import Address, Security
from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.changes import Change

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

# Seconds that a worker seeks its crawl, and waits while the store is full.
_PATIENCE = 600.0
# Texts of triples are UTF-8; what is not goes there and back unchanged.
_CODEC = ("utf-8", "surrogateescape")


class ServedStore:
    """Puts changes into the store that a crawl serves; as far as a pipeline needs one."""

    is_full = False  # the crawl lets its workers wait
    backlog = (0, 0)
    backlog_quads = 0

    def __init__(self, url: str, security: Security | None = None) -> None:
        self.counters: Counter[str] = Counter()
        self._connection = Connection(Address.parse(url), security or Security(), timeout=_PATIENCE)
        self._greeting = {
            **{"name": "", "run": os.urandom(8).hex(), "now": 0.0},
            **{"about": {}, "watch": [], "grants": 0, "holds": []},
        }
        self._is_connected = False

    def put(self, changes: Sequence[Change]) -> list[bool]:
        """Have changes made; False for each that changes nothing."""
        rows = [(graph, triples.decode(*_CODEC), *rest) for graph, triples, *rest in changes]
        try:
            are_new: list[bool] = self._ask({"ask": "store", "changes": rows})["are_new"]
        except FrontierUnavailable as error:
            raise StoreUnavailable(str(error)) from error
        return are_new

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        while True:
            self._connection.submit(
                message, None if self._is_connected else self._greeting, _PATIENCE
            )
            answer = self._connection.collect(2 * _PATIENCE)
            if answer is None:
                raise FrontierUnavailable("The crawl does not take this worker's pages.")
            self._is_connected = answer.reply is not None
            if answer.reply is not None:
                return answer.reply

    def close(self) -> None:
        self._connection.close()


def answering(put: Callable[[Sequence[Change]], Awaitable[list[bool]]]) -> Any:
    """Return what answers workers that put something into the store."""

    async def answer(message: dict[str, Any]) -> dict[str, Any]:
        changes = [
            Change(str(graph), triples.encode(*_CODEC), int(quads), bool(replaces))
            for graph, triples, quads, replaces in message["changes"]
        ]
        return {"are_new": await put(changes)}

    return answer
