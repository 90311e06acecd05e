"""The journal of the embedded store: changes that are on disk but not in the store yet.

    00000001.nq, 00000002.nq …      changes in the order they came, a log (`rdfaspider/stores/log.py`)
    refused.nq                      changes that the store refused, each after a comment with the reason
    damaged.nq                      remains of changes that the disk has altered
    held                            how many quads of pages the store had when the last file was deleted

A change is a header line and the N-Quads of the graph, so any N-Quads reader can read the files:

    # <http://site.test/a> replaces 123 9f3c2a41 729    or `adds`; bytes of N-Quads, their CRC-32, and how
                                                        many quads of pages the store has after it

A change whose `append` has returned survives a kill. One that was being written is cut short, which its
size and checksum show, and is no change.
"""

from __future__ import annotations

import logging
import re
from itertools import accumulate
from typing import TYPE_CHECKING
from zlib import crc32

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.log import Log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)

REFUSED = "refused.nq"
DAMAGED = "damaged.nq"
HELD = "held"

# A line feed in a literal is escaped, so no line of N-Quads looks like this.
_CHANGE = rb"# <([^\n<> ]+)> (replaces|adds) (\d+) ([0-9a-f]{8}) (\d+)\n"
_HEADER = re.compile(rb"^" + _CHANGE, re.MULTILINE)
_REFUSAL = re.compile(rb"^(?:# [^\n]*\n)?" + _CHANGE, re.MULTILINE)


class Journal:
    """The changes in a directory, for one process at a time, which the store's lock guarantees."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            directory.mkdir(exist_ok=True)
        except FileExistsError as error:
            raise StoreUnavailable(f"{directory} is in the way of the store's journal.") from error
        except OSError as error:
            raise StoreUnavailable(_unreadable(directory, error)) from error
        self._log = _log(directory)
        # None if the store was changed by others than a crawl.
        path = directory / HELD
        self.held = int(path.read_text() or 0) if path.exists() else None

    @staticmethod
    def waits_in(directory: Path) -> bool:
        """Tell whether a directory may hold changes that the store does not have."""
        return bool(_files(_log(directory)))

    @staticmethod
    def held_in(directory: Path) -> int | None:
        """Return how many quads of pages a store has with its journal, None if that is not known."""
        for path in reversed(_files(_log(directory))):
            data = path.read_bytes()
            whole = [int(h[5]) for h in _HEADER.finditer(data) if h.end() + int(h[3]) <= len(data)]
            if whole:
                return whole[-1]
        path = directory / HELD
        return int(path.read_text() or 0) if path.exists() else None

    @property
    def size(self) -> int:
        """The number of bytes in the file that is being written to."""
        return self._log.size

    def read(self) -> Iterator[Change]:
        """Yield the changes of all files, in the order they came."""
        for path in _files(self._log):
            for graph, nquads, replaces, held in _records(path, self.directory / DAMAGED):
                self.held = held
                try:
                    yield Change.of_page(graph, nquads)._replace(replaces=replaces)
                except (SyntaxError, ValueError) as error:
                    self._refuse(_framed(graph, nquads, replaces, held), error)

    def append(self, changes: Sequence[Change], growths: Sequence[int] = ()) -> None:
        """Write changes, and by how many quads each makes the pages grow; they survive the death of the
        process when this returns."""
        if changes:
            counts = list(accumulate(growths or [0] * len(changes), initial=self.held or 0))
            self._log.append(b"".join(map(_record, changes, counts[1:])))
            self.held = counts[-1]

    def seal(self) -> list[Path]:
        """Let the next change begin a new file; return the files before it."""
        self._log.seal()
        return _files(self._log)

    def remove(self, files: Sequence[Path]) -> None:
        """Delete files that `seal` returned, in their order."""
        new = self.directory / f"{HELD}.new"
        new.write_text(str(self.held))
        new.replace(self.directory / HELD)
        for path in files:
            path.unlink()

    def refuse(self, change: Change, error: Exception) -> None:
        """Keep a change that the store cannot take, where a person finds it."""
        self._refuse(_record(change), error)

    def _refuse(self, record: bytes, error: Exception) -> None:
        with (self.directory / REFUSED).open("ab") as file:
            file.write(f"# {' '.join(str(error).split())}\n".encode() + record)

    def close(self) -> None:
        """Make what is left survive the death of the machine."""
        self._log.close()


def refused_in(store: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the graph of each change that an embedded store refused, and its text in the file."""
    path = store / "journal" / REFUSED
    data = path.read_bytes() if path.exists() else b""
    position = 0
    while found := _REFUSAL.search(data, position):
        position = found.end() + int(found[3])
        yield found[1].decode(), data[found.start() : position]


def forget_refused(store: Path, is_removed: Callable[[str], bool]) -> None:
    """Delete the refused changes of removed graphs."""
    path = store / "journal" / REFUSED
    kept = [text for graph, text in refused_in(store) if not is_removed(graph)]
    if kept:
        new = path.with_suffix(".new")
        new.write_bytes(b"".join(kept))
        new.replace(path)
    else:
        path.unlink(missing_ok=True)


def _log(directory: Path) -> Log:
    return Log(directory, "", 8, ".nq", is_synced=False)


def _files(log: Log) -> list[Path]:
    try:
        return log.files()
    except OSError as error:
        raise StoreUnavailable(_unreadable(log.directory, error)) from error


def _unreadable(path: Path, error: OSError) -> str:
    return (
        f"The store's journal {path} cannot be read ({error.strerror or error}): mend that, or move it away;"
        " then the pages in it are not in the store, and all others are."
    )


def _record(change: Change, held: int = 0) -> bytes:
    return _framed(change.graph, change.nquads(), change.replaces, held)


def _framed(graph: str, nquads: bytes, replaces: bool, held: int) -> bytes:
    verb = "replaces" if replaces else "adds"
    return f"# <{graph}> {verb} {len(nquads)} {crc32(nquads):08x} {held}\n".encode() + nquads


def _records(path: Path, damaged: Path) -> Iterator[tuple[str, bytes, bool, int]]:
    """Yield the graph and the N-Quads of each whole change in a file, whether they replace it, and how many
    quads of pages the store has after it.

    What follows the last whole change was being written when the crawl died. What lies between whole
    changes was altered by the disk: it is appended to the file `damaged`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreUnavailable(_unreadable(path, error)) from error
    position = end = 0
    while header := _HEADER.search(data, position):
        graph, verb, size, total, held = header.groups()
        position = header.end() + int(size)
        nquads = data[header.end() : position]
        if len(nquads) < int(size) or crc32(nquads) != int(total, 16):
            position = header.end()  # the next one may be whole
            continue
        if end < header.start():
            _keep_damaged(path, data[end : header.start()], damaged)
        end = position
        yield graph.decode(), nquads, verb == b"replaces", int(held)
    rest = data[end:]
    if rest and _is_cut_short(rest):
        logger.warning("The last %d bytes of %s are of a page that was not whole.", len(rest), path)
    elif rest:
        _keep_damaged(path, rest, damaged)


def _is_cut_short(rest: bytes) -> bool:
    """Tell whether the end of a file is the beginning of one change."""
    header = _HEADER.match(rest)
    if header is None:
        return rest.startswith(b"#") and b"\n" not in rest
    return len(rest) - header.end() < int(header[3])


def _keep_damaged(path: Path, data: bytes, damaged: Path) -> None:
    with damaged.open("ab") as file:
        file.write(data)
    logger.warning(
        "%d bytes of %s are damaged and were moved to %s: a page in them is not in the store.",
        len(data),
        path,
        damaged,
    )
