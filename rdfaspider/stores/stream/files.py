"""The files of a stream of changes: patches in the order in which they were found.

    00000001.rdfp.gz, 00000002.rdfp.gz, 00000003.rdfp

A log (`rdfaspider/stores/log.py`) whose last file is written to. A file that is full is packed. When all
files together are larger than the limit, the oldest are deleted. Invariant: each file is a sequence of whole
patches, except that a kill may cut the last one of the last file short; the next writer removes that. While a
file is being packed, both forms are there for a moment, and the packed one counts.
"""

from __future__ import annotations

import gzip
import os
import re
import time
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.log import Log
from rdfaspider.stores.stream.patch import BEGIN, END, patches_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rdfaspider.stores.stream.patch import Patch

# A file is full at this size, or at a part of the limit, so that a limit is kept closely.
_FULL = 64 << 20
_PARTS = 8
# Seconds between two looks for more.
_PATIENCE = 0.2

_PLAIN, _PACKED = ".rdfp", ".rdfp.gz"
_ID = re.compile(rb"^H id <[^>\n]*-(\d+)> \.$", re.MULTILINE)


def _log(directory: Path) -> Log:
    return Log(directory, "", 8, _PLAIN, is_synced=False, packed=_PACKED)


def _files(directory: Path) -> list[Path]:
    """Return the files in order, of two forms of one the packed one."""
    files = {path.name[:8]: path for path in sorted(_log(directory).files())}
    return list(files.values())


class PatchFiles:
    """The files in a directory, for one writing process at a time.

    `last` is the number of the last patch that is in the files, 0 if there is none.
    """

    def __init__(self, directory: Path, limit: int) -> None:
        self.directory = directory
        self._limit = limit
        self._full = min(_FULL, max(1, limit // _PARTS))
        self._log = _log(directory)
        with _explained(directory):
            directory.mkdir(parents=True, exist_ok=True)
            self.last = self._mend()
            self._log.resume()

    def _mend(self) -> int:
        """Finish what a kill has interrupted; return the number of the last patch."""
        for path in self._log.files():
            if path.suffix != ".gz" and path.with_suffix(_PACKED).exists():
                path.unlink()
        while files := _files(self.directory):
            path = files[-1]
            data = _read(path)
            whole = data.rfind(b"\n" + END) + 1
            if whole:
                whole += len(END)
                if whole < len(data):
                    os.truncate(path, whole)
                return int(_ID.findall(data, max(0, data.rfind(BEGIN, 0, whole)), whole)[-1])
            path.unlink()  # the beginning of a patch
        return 0

    def append(self, patches: Sequence[tuple[int, bytes]]) -> None:
        """Write patches with their numbers; they survive the death of the process when this returns."""
        new = [text for number, text in patches if number > self.last]
        if not new:
            return
        with _explained(self.directory):
            self._log.append(b"".join(new))
            self.last = patches[-1][0]
            if self._log.size >= self._full:
                self._rotate()

    def _rotate(self) -> None:
        """Pack the full file, and delete the oldest ones beyond the limit."""
        path = self._log.files()[-1]
        self._log.close()
        _pack(path)
        files = _files(self.directory)
        sizes = [each.stat().st_size for each in files]
        while len(files) > 1 and sum(sizes) + self._full > self._limit:
            files.pop(0).unlink()
            sizes.pop(0)

    def close(self) -> None:
        """Make what was written survive the death of the machine."""
        self._log.close()


def _pack(path: Path) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(gzip.compress(path.read_bytes(), 6))
    # Its time says until when it was written to.
    os.utime(new, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    new.rename(path.with_suffix(_PACKED))
    path.unlink()


def _read(path: Path, offset: int = 0) -> bytes:
    """Return the text in a file from an offset on; another process may pack or delete the file meanwhile."""
    try:
        with path.open("rb") as file:
            if path.suffix == ".gz":
                return gzip.decompress(file.read())[offset:]
            file.seek(offset)
            return file.read()
    except FileNotFoundError:
        return b"" if path.suffix == ".gz" else _read(path.with_suffix(_PACKED), offset)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StoreUnavailable(f"{path} is damaged ({error}): move it away.") from error


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    try:
        yield
    except StoreUnavailable:
        raise
    except OSError as error:
        raise StoreUnavailable(
            f"The stream of changes {directory} cannot be written: {error.strerror or error}."
        ) from error


# --- reading ---


def read(directory: Path, since: float = 0.0) -> Iterator[Patch]:
    """Yield the patches in the files, in order; those before a time may be left out."""
    for path in _files(directory):
        if _is_since(path, since):
            yield from patches_in(_read(path))


def read_back(directory: Path, since: float = 0.0) -> Iterator[Patch]:
    """Yield the patches in the files, the latest first; those before a time may be left out."""
    for path in reversed(_files(directory)):
        if _is_since(path, since):
            yield from reversed([*patches_in(_read(path))])


def _is_since(path: Path, since: float) -> bool:
    """Tell whether a file was still written to at a time; a page is written soon after its visit."""
    try:
        return path.stat().st_mtime >= since
    except FileNotFoundError:  # it was packed or deleted in this moment
        return True


def follow(
    directory: Path, since: float = 0.0, is_over: Callable[[], bool] = lambda: False
) -> Iterator[Patch]:
    """Yield the patches in the files, and those that come, until it is over."""
    name, offset = "", 0  # the file that was read last, and how far
    while True:
        ends = is_over()  # before the look, so that nothing that came before the end is missed
        for path in _files(directory):
            if path.name[:8] < name or (not name and not _is_since(path, since)):
                continue
            if path.name[:8] > name:
                name, offset = path.name[:8], 0
            data = _read(path, offset)
            whole = data[: data.rfind(END) + len(END)] if END in data else b""
            offset += len(whole)
            yield from patches_in(whole)
        if ends:
            return
        time.sleep(_PATIENCE)


def rewrite(directory: Path, is_removed: Callable[[str], bool]) -> int:
    """Delete the patches of removed pages from all files; return how many there were."""
    count = 0
    for path in _files(directory):
        kept, gone = [], 0
        for patch in patches_in(_read(path)):
            if is_removed(patch.page):
                gone += 1
            else:
                kept.append(patch.text())
        if gone:
            count += gone
            data, new = b"".join(kept), path.with_suffix(".new")
            new.write_bytes(gzip.compress(data, 6) if path.suffix == ".gz" else data)
            new.rename(path)
            if not kept:
                path.unlink()
    return count
