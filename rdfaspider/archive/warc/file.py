"""A WARC file that is being written, and what becomes of one whose writer died.

    NAME.warc.gz.open     locked by its writer; records are only ever appended
    NAME.warc.gz          whole

Invariant: what stands before `size` are whole records. What survives a kill: every record whose
`append` has returned. One that was being written is torn; `mend` cuts it off.
"""

from __future__ import annotations

import fcntl
import logging
import os
from secrets import token_hex
from time import gmtime, strftime
from typing import TYPE_CHECKING

from rdfaspider.archive.doubt import in_doubt, note
from rdfaspider.archive.index import index
from rdfaspider.archive.locks import create_locked, lock_left, remove_left
from rdfaspider.archive.warc.reader import OPEN, scan

if TYPE_CHECKING:
    from pathlib import Path

    from rdfaspider.archive.index.captures import Capture

logger = logging.getLogger(__name__)


class WarcFile:
    """A new file of a directory; `number` counts those of its writer, so that they sort."""

    def __init__(self, directory: Path, number: int) -> None:
        now = strftime("%Y%m%d%H%M%S", gmtime())
        self.name = f"rdfaspider-{now}-{number:05}-{token_hex(4)}.warc.gz"
        self.size = 0
        self._path = directory / f"{self.name}{OPEN}"
        new = directory / f"{self.name}.new"
        # Locked before it has its name: another worker that starts would take it for one that was left.
        self._file = create_locked(new)
        try:
            new.rename(self._path)
        except OSError:
            self.release()
            raise

    def append(self, data: bytes) -> None:
        """Write whole records; they are safe from the death of the process when this returns."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, self.size)  # half a record would hide all that come after it
            raise
        self.size += len(data)

    def close(self) -> None:
        """Give the file its name; it survives the death of the machine too."""
        os.fsync(self._file)
        self._path.rename(self._path.with_name(self.name))
        self.release()

    def release(self) -> None:
        """Let go of the file as it is, if that was not done; whoever starts next mends it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def mend(directory: Path) -> dict[str, Capture]:
    """Cut the torn ends of files off that dead writers left, and index what is not; return what is in doubt.

    Workers that start together wait for each other, so that all know what is.
    """
    with (directory / "mend.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in directory.glob("*.warc.gz.new"):
            remove_left(path)
        for path in sorted(directory.glob(f"*.warc.gz{OPEN}")):
            if (file := lock_left(path)) is not None:
                try:
                    _mend(directory, path, file)
                finally:
                    os.close(file)
        return in_doubt(directory)


def _mend(directory: Path, path: Path, file: int) -> None:
    name = path.name.removesuffix(OPEN)
    size = os.fstat(file).st_size
    captures, start = index.resume(directory, name)
    if start > size:  # the machine died, and the disk had kept the index alone
        captures, start = [], 0
    end = start
    for member, capture in scan(path, name, start):
        # A page is whole with its response, which comes last; the first record is the file's own.
        if capture is not None:
            captures.append(capture)
        if capture is not None or member.offset == 0:
            end = member.offset + member.length
    if end < size:
        os.ftruncate(file, end)
        logger.warning(
            "The last %d bytes of %s are of a page that was not whole.", size - end, name
        )
    os.fsync(file)
    index.add_segment(directory, captures)
    note(directory, name, captures)
    if end:
        path.rename(path.with_name(name))
    else:
        path.unlink()
    index.forget(directory, name)
