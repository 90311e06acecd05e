"""Checks the directory of a RocksDB database before RocksDB opens it.

If CURRENT is missing, RocksDB makes a new database, and deletes the files that the new one does not know. It
takes a truncated MANIFEST for an older state, and deletes what came later. So each database is checked first,
and a damaged one is left as it is.

Layout: `SEAL` has the first line of CURRENT and then, on a line each, the names and sizes of the files at the
last clean close. Opening the database for writing, with any program, makes a new MANIFEST and CURRENT, and so
invalidates the seal. A database with a valid seal was closed cleanly, is not open for writing, and has all
its files in full. `OPENED` has the name and the size of the MANIFEST when the database was last opened for
writing; from then on it only grows.
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

SEAL = "SEAL"
OPENED = "OPENED"

# After a clean close the logs hold nothing that is not in the other files.
_FILE = re.compile(r"CURRENT|MANIFEST-\d+|\d+\.(sst|blob)")
# The content of CURRENT while a database is created, before any other file can have data.
_FIRST = "MANIFEST-000001"

_PROBE = """
import fcntl, sys
with open(sys.argv[1], "rb") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        sys.exit(3)
"""


def is_there(path: Path) -> bool:
    """Tell whether a directory has a database, or the remains of one."""
    return path.is_dir() and any(_has_data(file) for file in path.iterdir())


def _has_data(file: Path) -> bool:
    """Tell whether a file exists only in a database that was completely created."""
    return (
        file.name == "CURRENT"
        or file.suffix in (".sst", ".blob")
        or file.name.startswith("OPTIONS-")
        or (file.suffix == ".log" and _size(file) > 0)
    )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # deleted by the process that has the database open
        return 0


def fault(path: Path) -> str:
    """Return why a database must not be opened, in a few words, or "" if it may be.

    Raise OSError if it cannot be read.
    """
    if path.exists() and not path.is_dir():
        return "it is not a directory"
    if not is_there(path):
        return ""
    current = path / "CURRENT"
    if not current.is_file():
        return "CURRENT is not a file" if current.exists() else "CURRENT is missing"
    head = _head(path)
    if not re.fullmatch(r"MANIFEST-\d+", head):
        return "CURRENT is damaged"
    if not (path / head).is_file():
        return f"{head} is missing"
    if head == _FIRST:  # its process was killed while creating it
        has_data = any(path.glob("*.sst"))
        return "CURRENT was replaced by that of an empty database" if has_data else ""
    if not is_sealed(path) and not any(path.glob("*.log")):
        return "the log of its last writes, a file *.log, is missing"
    return _broken_seal(path) or _shrunk(path, head)


def _head(path: Path) -> str:
    with (path / "CURRENT").open("rb") as file:
        line = file.read(100)
    return line[:-1].decode("ascii", "replace") if line.endswith(b"\n") else ""


def _broken_seal(path: Path) -> str:
    for name, size in _sealed(path).items():
        try:
            found = (path / name).stat().st_size
        except FileNotFoundError:
            return f"{name} is missing"
        if found != size:
            return f"{name} has {found:,} bytes instead of {size:,}"
    return ""


def _shrunk(path: Path, head: str) -> str:
    try:
        name, _, size = (path / OPENED).read_text(encoding="ascii").partition(" ")
        least = int(size) if name == head else 0
    except (OSError, ValueError):
        return ""
    found = _size(path / head)
    return f"{head} has {found:,} bytes and had {least:,}" if found < least else ""


def _sealed(path: Path) -> dict[str, int]:
    """Return the sizes of files by name; none if there is no valid seal."""
    try:
        head, *lines = (path / SEAL).read_text(encoding="ascii").splitlines()
        if head != _head(path):
            return {}
        return {name: int(size) for name, _, size in (line.partition(" ") for line in lines)}
    except (OSError, ValueError):
        return {}


def is_sealed(path: Path) -> bool:
    """Tell whether the database was closed cleanly and not opened for writing since."""
    return bool(_sealed(path))


def note_opening(path: Path) -> None:
    """Record the MANIFEST of a database that was just opened for writing."""
    with suppress(OSError):
        head = _head(path)
        (path / OPENED).write_text(f"{head} {_size(path / head)}", encoding="ascii")


def seal(path: Path) -> None:
    """Record the files of a database that was just closed.

    If this process still reads it elsewhere, RocksDB has not closed it, and may still change its files.
    """
    with suppress(OSError):  # without a seal less damage is noticed, but nothing is lost
        if _is_open_here(path):
            (path / SEAL).unlink(missing_ok=True)
            return
        files = sorted(file for file in path.iterdir() if _FILE.fullmatch(file.name))
        lines = [_head(path), *(f"{file.name} {file.stat().st_size}" for file in files)]
        new = path / f"{SEAL}.new"
        new.write_text("\n".join(lines), encoding="ascii")
        new.replace(path / SEAL)


def _is_open_here(path: Path) -> bool:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():  # not Linux
        return is_in_use(path)
    return (path / "LOCK").resolve() in map(_target, descriptors.iterdir())


def _target(link: Path) -> Path | None:
    try:
        return link.readlink()
    except OSError:  # closed meanwhile
        return None


def is_in_use(path: Path) -> bool:
    """Tell whether a process has the database open for writing.

    Another process checks, because a process that closes a file loses its locks on it.
    """
    lock = path / "LOCK"
    if not lock.exists():
        return False
    command = [sys.executable, "-I", "-S", "-c", _PROBE, str(lock)]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 3
