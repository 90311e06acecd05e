"""A sink around another: it sees all that is put, and leaves the rest to the one inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.stores import Sink

if TYPE_CHECKING:
    from pathlib import Path

    from rdfaspider.stores import Backlog


class SinkAround(Sink):
    """What a sink around another passes on unchanged."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.counters = sink.counters

    def copy_store(self, path: Path) -> bool:
        return self._sink.copy_store(path)

    @property
    def is_full(self) -> bool:
        return self._sink.is_full

    @property
    def backlog(self) -> Backlog:
        return self._sink.backlog
