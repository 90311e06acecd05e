"""The stream of changes: for each visit that found another graph, the statements added and removed.

`Recorder` stands in front of a sink, whatever its store is. It passes changes on, compares each page with the
last version that the stream has of it (`versions.py`), and writes the difference as RDF Patch (`patch.py`) to
files, which are rotated and bounded (`files.py`). `graph.py` makes RDF of patches, for SPARQL.

A page is acknowledged when it is in the sink and in the stream. If the process dies in between, the page is
fetched again and compared again with the version that the stream has: nothing is lost, and nothing is written
twice. Graphs that are only added to, such as the provenance of a crawl, are not recorded.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf
from time import time as now
from typing import TYPE_CHECKING

from rdfaspider.stores.around import SinkAround
from rdfaspider.stores.changes import statements
from rdfaspider.stores.stream.files import PatchFiles, read_back, rewrite
from rdfaspider.stores.stream.patch import Patch, patches_in
from rdfaspider.stores.stream.versions import NAME, Versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rdfaspider.stores import Sink
    from rdfaspider.stores.changes import Change


class Recorder(SinkAround):
    """A sink that records what the changes of another sink change."""

    def __init__(self, sink: Sink, directory: Path, limit: int) -> None:
        super().__init__(sink)
        try:
            self._versions = Versions(directory)
            try:
                self._files = PatchFiles(directory, limit)
                self._flush()
            except BaseException:
                self._versions.close()
                raise
        except BaseException:
            with suppress(OSError):
                sink.close()
            raise

    def put(self, changes: Sequence[Change]) -> list[bool]:
        answers = self._sink.put(changes)
        # Its own comparison: after a kill the store may have a page that the stream has not.
        new = [
            (change, digest)
            for change, is_new in zip(changes, answers, strict=True)
            if change.replaces and (digest := change.digest()) != self._known(change, is_new)
        ]
        if new:
            with self._versions.transaction():
                self._versions.settle(self._files.last)
                number = self._versions.next_number()
                for change, digest in new:
                    number += self._record(change, digest, number)
            self._flush()
        return answers

    def _known(self, change: Change, is_new: bool) -> bytes | None:
        known = self._versions.digest(change.graph)
        # A page that never had a statement is no news. One that was stored before the stream began is, though
        # nobody knows any more which statements it had.
        return change.digest() if known is None and not change.quads and not is_new else known

    def _record(self, change: Change, digest: bytes, number: int) -> bool:
        before, after = self._versions.statements(change.graph), statements(change)
        old, new = set(before or ()), set(after)
        patch = Patch(
            self._versions.crawl,
            number,
            change.time or now(),
            change.graph,
            [line for line in before or () if line not in new],
            [line for line in after if line not in old],
            change.cause,
            before is None,
        )
        self._versions.set(change.graph, digest, after)
        is_empty = not (patch.removed or patch.added)  # the same statements, differently escaped
        if is_empty and not (before is None and change.cause):
            return False
        self._versions.add(number, patch.text())
        self.counters["changes"] += 1
        self.counters["changes/added"] += len(patch.added)
        self.counters["changes/removed"] += len(patch.removed)
        return True

    def _flush(self) -> None:
        self._files.append(self._versions.pending())

    def close(self) -> None:
        try:
            self._files.close()
            self._versions.close()
        finally:
            self._sink.close()


def version_at(directory: Path, graph: str, moment: float) -> list[bytes] | None:
    """Return the statements of a page at a time, None if it had not been visited by then.

    ValueError if the page is not in the stream, or the stream does not reach back so far.
    """
    with Versions(directory, read_only=True) as versions:
        lines, following, pending = versions.last(graph)
    if lines is None:
        raise ValueError(f"The stream of changes has no page {graph}.")
    version, oldest = set(lines), inf
    for patch in _back(directory, following, pending):
        oldest = min(oldest, patch.time)
        if patch.page != graph:
            continue
        if patch.time <= moment:
            return sorted(version)
        version.difference_update(patch.added)
        version.update(patch.removed)
        if patch.is_first:
            return None
    if moment >= oldest:  # its last change is in a file that is gone
        return sorted(version)
    raise ValueError(f"The stream of changes of {graph} does not reach back so far.")


def _back(directory: Path, following: int, pending: Sequence[tuple[int, bytes]]) -> Iterator[Patch]:
    """Yield the patches below a number, the latest first; those that are pending may not be in the files."""
    for number, text in reversed(pending):
        following = number
        yield from patches_in(text)
    for patch in read_back(directory):
        if patch.number < following:
            yield patch


def is_there(directory: Path) -> bool:
    """Tell whether there is a stream of changes in a directory."""
    return (directory / NAME).exists()


def forget(directory: Path, is_removed: Callable[[str], bool]) -> None:
    """Delete pages from the stream, as if they had never come."""
    with Versions(directory) as versions:
        files = PatchFiles(directory, 1 << 60)
        files.append(versions.pending())
        files.close()
        rewrite(directory, is_removed)
        versions.forget(is_removed)
