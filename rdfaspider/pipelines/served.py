"""The store of a crawl as its workers see it: what they put is written down by the crawl itself."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.service.connection import Connection
from rdfaspider.service.messages import StoreChanges
from rdfaspider.service.session import Session
from rdfaspider.service.wire import Address, Security
from rdfaspider.stores import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.stores.changes import Change

# Seconds that a worker looks for its crawl, and waits while the store is full.
_PATIENCE = 600.0


class ServedStore:
    """Puts changes into the store that a crawl serves; as far as a pipeline needs one."""

    is_full = False  # the crawl lets its workers wait
    backlog = (0, 0)
    backlog_quads = 0

    def __init__(self, url: str, security: Security | None = None) -> None:
        self.counters: Counter[str] = Counter()
        connection = Connection(Address.parse(url), security or Security(), timeout=_PATIENCE)
        self._session = Session(connection, "", 0.0, _PATIENCE)
        self._is_connected = False

    def put(self, changes: Sequence[Change]) -> list[bool]:
        """Have changes made; False for each that changes nothing."""
        try:
            if not self._is_connected:
                self._session.greet()
                self._is_connected = True
            return self._session.ask(StoreChanges(list(changes)), list[bool], 2 * _PATIENCE)
        except FrontierUnavailable as error:
            raise StoreUnavailable(str(error)) from error

    def close(self) -> None:
        self._session.shut()
