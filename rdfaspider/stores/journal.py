"""Changes that are on disk but not yet in the store: files to which they are only ever appended.

    00000001.nq, 00000002.nq …      changes in the order they came; the last file is written to
    refused.nq                      changes that the store could not take, each after a comment that says why
    damaged.nq                      what is left of changes that the disk has altered

A change is a line that says what follows, and the graph's N-Quads:

    # <http://site.test/a> replaces 123 9f3c2a41        or `adds`; bytes of N-Quads, their CRC-32

So the files can be read by whatever reads N-Quads. Invariant: the numbers rise, and a file is written to
no more when there is a higher one. What survives a kill: every change whose `append` has returned; one that
was being written is cut short, which its size and sum tell, and is no change.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.changes import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

logger = logging.getLogger(__name__)

REFUSED = "refused.nq"
DAMAGED = "damaged.nq"

# A line feed in a literal is escaped, so no line of N-Quads looks like this.
_CHANGE = rb"# <([^\n<> ]+)> (replaces|adds) (\d+) ([0-9a-f]{8})\n"
_HEAD = re.compile(rb"^" + _CHANGE, re.MULTILINE)
_REFUSAL = re.compile(rb"^(?:# [^\n]*\n)?" + _CHANGE, re.MULTILINE)


class Journal:
    """The files of changes in a directory, for one process at a time; the store's own lock sees to that.

    `size` is how many bytes the file has that is being written to.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            directory.mkdir(exist_ok=True)
        except FileExistsError as error:
            raise StoreUnavailable(f"{directory} is in the way of the store's journal.") from error
        except OSError as error:
            raise StoreUnavailable(_unreadable(directory, error)) from error
        self.size = 0
        self._file: int | None = None

    @staticmethod
    def waits_in(directory: Path) -> bool:
        """Tell whether there may be changes in the directory that the store has not taken."""
        return bool(_files(directory))

    def read(self) -> Iterator[Change]:
        """Yield the changes of all files, in the order they came."""
        for path in _files(self.directory):
            for graph, nquads, replaces in _records(path, self.directory / DAMAGED):
                try:
                    yield Change.of_page(graph, nquads)._replace(replaces=replaces)
                except (SyntaxError, ValueError) as error:
                    self._keep_aside(_framed(graph, nquads, replaces), error)

    def append(self, changes: Sequence[Change]) -> None:
        """Write changes down; they are safe from the death of the process when this returns."""
        if not changes:
            return
        if self._file is None:
            self._file = self._create()
        data = memoryview(b"".join(map(_record, changes)))
        self.size += len(data)
        while data:
            data = data[os.write(self._file, data) :]

    def seal(self) -> list[Path]:
        """Begin a new file with the next change; return the files before it."""
        if self._file is not None:
            os.close(self._file)
        self._file, self.size = None, 0
        return _files(self.directory)

    def remove(self, files: Sequence[Path]) -> None:
        """Forget the changes in files that `seal` returned, in their order."""
        for path in files:
            path.unlink()

    @property
    def refused(self) -> Path:
        """The file of what the store could not take."""
        return self.directory / REFUSED

    def refuse(self, change: Change, error: Exception) -> None:
        """Keep a change that the store cannot take where a person finds it."""
        self._keep_aside(_record(change), error)

    def _keep_aside(self, record: bytes, error: Exception) -> None:
        with self.refused.open("ab") as file:
            file.write(f"# {' '.join(str(error).split())}\n".encode() + record)

    def close(self) -> None:
        """Let what is left survive the death of the machine too."""
        if self._file is not None:
            os.fsync(self._file)
        self.seal()

    def _create(self) -> int:
        last = max((int(path.stem) for path in _files(self.directory)), default=0)
        path = self.directory / f"{last + 1:08}.nq"
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)


def refused_in(store: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the graph of each change that an embedded store could not take, and what the file says of it."""
    path = store / "journal" / REFUSED
    data = path.read_bytes() if path.exists() else b""
    position = 0
    while found := _REFUSAL.search(data, position):
        position = found.end() + int(found[3])
        yield found[1].decode(), data[found.start() : position]


def forget_refused(store: Path, is_removed: Callable[[str], bool]) -> None:
    """Drop what an embedded store could not take of graphs."""
    path = store / "journal" / REFUSED
    kept = [text for graph, text in refused_in(store) if not is_removed(graph)]
    if kept:
        new = path.with_suffix(".new")
        new.write_bytes(b"".join(kept))
        new.replace(path)
    else:
        path.unlink(missing_ok=True)


def _files(directory: Path) -> list[Path]:
    try:
        files = [*directory.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreUnavailable(_unreadable(directory, error)) from error
    return sorted(path for path in files if path.suffix == ".nq" and path.stem.isdecimal())


def _unreadable(path: Path, error: OSError) -> str:
    return (
        f"The store's journal {path} cannot be read ({error.strerror or error}): mend that, or move it away;"
        " then the pages in it are not in the store, and all others are."
    )


def _record(change: Change) -> bytes:
    return _framed(change.graph, change.nquads(), change.replaces)


def _framed(graph: str, nquads: bytes, replaces: bool) -> bytes:
    verb = "replaces" if replaces else "adds"
    return f"# <{graph}> {verb} {len(nquads)} {crc32(nquads):08x}\n".encode() + nquads


def _records(path: Path, damaged: Path) -> Iterator[tuple[str, bytes, bool]]:
    """Yield graph, N-Quads and whether they replace it, of each whole change in a file.

    What comes after the last whole one was being written when the crawl died. What is between others the
    disk has altered: it is appended to a file of its own.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreUnavailable(_unreadable(path, error)) from error
    position = end = 0
    while head := _HEAD.search(data, position):
        graph, verb, size, total = head.groups()
        position = head.end() + int(size)
        nquads = data[head.end() : position]
        if len(nquads) < int(size) or crc32(nquads) != int(total, 16):
            position = head.end()  # the next one may be whole
            continue
        if end < head.start():
            _keep_damaged(path, data[end : head.start()], damaged)
        end = position
        yield graph.decode(), nquads, verb == b"replaces"
    rest = data[end:]
    if rest and _is_cut_short(rest):
        logger.warning("The last %d bytes of %s are of a page that was not whole.", len(rest), path)
    elif rest:
        _keep_damaged(path, rest, damaged)


def _is_cut_short(rest: bytes) -> bool:
    """Tell whether the end of a file is the beginning of one change."""
    head = _HEAD.match(rest)
    if head is None:
        return rest.startswith(b"#") and b"\n" not in rest
    return len(rest) - head.end() < int(head[3])


def _keep_damaged(path: Path, data: bytes, damaged: Path) -> None:
    with damaged.open("ab") as file:
        file.write(data)
    logger.warning(
        "%d bytes of %s are damaged and were moved to %s: a page in them is not in the store.",
        len(data),
        path,
        damaged,
    )
