"""An append-only log on disk: numbered files of one directory, to which whole records are appended.

The journal of the embedded store and the N-Quads files are both such logs; each knows its own records.
Layout: the number in a file's name rises, and only the last file is written to. No file is ever empty: it
gets its name when its first record is in it. Invariant: a record is there whole or not at all, unless the
process or the machine dies while it is written; then it is cut short at the end of the last file, which
the reader of the records must recognise. What survives: a record survives the death of the process when
`append` returns, and with `is_synced` the death of the machine too; else `close` does that.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path


class Log:
    """The files `PREFIXnumberSUFFIX` in a directory, for one writing process at a time.

    `size` is the number of bytes in the file that is being written to, 0 if there is none. Files that are
    never written to again may get another suffix, `packed`.
    """

    def __init__(
        self,
        directory: Path,
        prefix: str,
        digits: int,
        suffix: str,
        *,
        is_synced: bool,
        packed: str = "",
    ) -> None:
        self.directory = directory
        self.size = 0
        self._name = f"{prefix}{{:0{digits}}}{suffix}"
        endings = "|".join(map(re.escape, filter(None, (suffix, packed))))
        self._pattern = re.compile(f"{re.escape(prefix)}(\\d+)(?:{endings})")
        self._packed = packed
        self._is_synced = is_synced
        self._file: int | None = None

    def files(self) -> list[Path]:
        """Return the files in the order they were written; none if the directory is missing."""
        try:
            found = [
                path for path in self.directory.iterdir() if self._pattern.fullmatch(path.name)
            ]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(found, key=self._number)

    def _number(self, path: Path) -> int:
        found = self._pattern.fullmatch(path.name)
        assert found
        return int(found[1])

    def append(self, record: bytes) -> None:
        """Write a record to the end of the last file, or leave the file as it was."""
        if self._file is None:
            self._create(record)
        else:
            self._write(self._file, record)

    def _create(self, record: bytes) -> None:
        files = self.files()
        number = self._number(files[-1]) + 1 if files else 1
        path = self.directory / self._name.format(number)
        new = path.with_suffix(".new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        file = os.open(new, flags, 0o644)
        try:
            self._write(file, record)
            new.rename(path)
        except OSError:
            os.close(file)
            self.size = 0
            new.unlink(missing_ok=True)
            raise
        self._file = file

    def _write(self, file: int, record: bytes) -> None:
        try:
            rest = memoryview(record)
            while rest:
                rest = rest[os.write(file, rest) :]
            if self._is_synced:
                os.fsync(file)
        except OSError:
            with suppress(OSError):  # a record after half a record could not be read
                os.ftruncate(file, self.size)
            raise
        self.size += len(record)

    def resume(self) -> None:
        """Go on with the last file, if there is one that is not packed."""
        for path in self.files()[-1:]:
            if self._packed and path.name.endswith(self._packed):
                return
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND)
            self.size = os.fstat(self._file).st_size

    def seal(self) -> None:
        """Let the next record begin a new file."""
        if self._file is not None:
            os.close(self._file)
        self._file, self.size = None, 0

    def close(self) -> None:
        """Make what was written survive the death of the machine."""
        if self._file is not None:
            os.fsync(self._file)
        self.seal()
