"""A look into the frontier of a crawl, running or not, without touching it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rdfaspider.frontier import Counts
from rdfaspider.frontier.counters import Counters
from rdfaspider.frontier.database import Database
from rdfaspider.frontier.hosts import Hosts
from rdfaspider.frontier.keys import to_url
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.trie import DENIED, DONE, FAILED, LATER, WAITING, Record, Trie

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.frontier import HostView

STATES = {WAITING: "waiting", DONE: "done", FAILED: "failed", DENIED: "denied", LATER: "later"}


class FrontierReader:
    """Reads what a local frontier has written. What is in flight is read as waiting."""

    def __init__(self, path: str, *, delay: float) -> None:
        self._database = Database(Path(path), read_only=True)
        self._hosts = Hosts(self._database, Politeness(delay=delay))
        self.trie = Trie(self._database)

    def counts(self) -> Counts:
        counters = Counters(self._database)
        return Counts(
            waiting=sum(counters.unfinished),
            in_flight=0,
            done=counters.done,
            failed=counters.failed,
            denied=counters.denied,
            rejected=counters.rejected,
        )

    def hosts(self, now: float) -> Iterator[HostView]:
        return self._hosts.views(now)

    def record(self, url: str) -> Record | None:
        return self.trie.record(url)

    def failed(self, pattern: str) -> Iterator[tuple[str, Record]]:
        """Yield the failed URLs in which a regular expression is found."""
        wanted = re.compile(pattern)
        for key, record in self.trie.subtree():
            if record.state == FAILED and wanted.search(url := to_url(key)):
                yield url, record

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
