"""The sink of a worker: that of its crawl, reached through the crawl's service."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.service.address import Address, Security
from rdfaspider.service.messages import StoreChanges
from rdfaspider.service.worker.connection import Connection
from rdfaspider.service.worker.session import Session
from rdfaspider.stores import Backlog, Sink, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.stores.changes import Change

# Seconds that a worker looks for its crawl, and waits while the store is full.
_SERVED = 600.0


class ServedSink(Sink):
    """Puts changes into the sink that a crawl serves to its workers."""

    is_full = False  # the crawl makes its workers wait
    backlog = Backlog()  # the crawl counts it

    def __init__(self, url: str) -> None:
        self.counters = Counter()
        connection = Connection(Address.parse(url), Security(), timeout=_SERVED)
        self._session = Session(connection, "", 0.0, _SERVED)
        self._is_connected = False

    def put(self, changes: Sequence[Change]) -> list[bool]:
        try:
            if not self._is_connected:
                self._session.greet()
                self._is_connected = True
            return self._session.ask(StoreChanges(list(changes)), list[bool], 2 * _SERVED)
        except FrontierUnavailable as error:
            raise StoreUnavailable(str(error)) from error

    def close(self) -> None:
        self._session.shut()
