"""What is told of the directory of a RocksDB database before RocksDB opens it.

RocksDB makes a new database where CURRENT is missing, and then deletes the files that the new one does not
know. A MANIFEST that was cut short is to it an older state, and it deletes what came since. So each database
is looked at first, and one that is damaged is left as it is.

Layout: `SEAL` has the first line of CURRENT and then, a line each, the names and sizes of the files at the
last clean end. Whoever opens the database to write, with this program or another, makes a new MANIFEST and
another CURRENT: then the seal counts no more. So a database whose seal counts was closed cleanly, is not open
for writing, and has all its files, as long as they are. `OPENED` has the name and the size of the MANIFEST
when the database was last opened to write: from then on that only grows.
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

SEAL = "SEAL"
OPENED = "OPENED"

# Logs have nothing that is not in the other files too when a database was closed cleanly.
_FILE = re.compile(r"CURRENT|MANIFEST-\d+|\d+\.(sst|blob)")
# What CURRENT says while a database is made, before there can be any other file with data.
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
    """Tell whether a directory has a database, or what is left of one."""
    return path.is_dir() and any(_has_data(file) for file in path.iterdir())


def _has_data(file: Path) -> bool:
    """Tell whether a file is one that a database has only when it is finished."""
    return (
        file.name == "CURRENT"
        or file.suffix in (".sst", ".blob")
        or file.name.startswith("OPTIONS-")
        or (file.suffix == ".log" and _size(file) > 0)
    )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # deleted meanwhile by whoever has the database open
        return 0


def fault(path: Path) -> str:
    """Return why a database must not be opened, in a few words, or "" if nothing is known against it.

    Raise OSError if it cannot be read.
    """
    if path.exists() and not path.is_dir():
        return "it is not a directory"
    if not is_there(path):
        return ""
    current = path / "CURRENT"
    if not current.is_file():
        return "CURRENT is no file" if current.exists() else "CURRENT is missing"
    head = _head(path)
    if not re.fullmatch(r"MANIFEST-\d+", head):
        return "CURRENT is damaged"
    if not (path / head).is_file():
        return f"{head} is missing"
    if head == _FIRST:  # it was being made when its process was killed
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
    """Return the sizes of files by their names; none if there is no seal that counts."""
    try:
        head, *lines = (path / SEAL).read_text(encoding="ascii").splitlines()
        if head != _head(path):
            return {}
        return {name: int(size) for name, _, size in (line.partition(" ") for line in lines)}
    except (OSError, ValueError):
        return {}


def is_sealed(path: Path) -> bool:
    """Tell whether the database was closed cleanly and has not been opened to write since."""
    return bool(_sealed(path))


def note_opening(path: Path) -> None:
    """Write down what is known of a database that was opened to write just now."""
    with suppress(OSError):
        head = _head(path)
        (path / OPENED).write_text(f"{head} {_size(path / head)}", encoding="ascii")


def seal(path: Path) -> None:
    """Write down the files of a database that was closed just now.

    If somebody in this process still reads it, RocksDB has not let go of it, and may change its files yet.
    """
    with suppress(OSError):  # without a seal less is noticed, and nothing is lost
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
    """Tell whether a process has the database open to write.

    Another process asks, for a process that closes a file loses its locks on it.
    """
    lock = path / "LOCK"
    if not lock.exists():
        return False
    command = [sys.executable, "-I", "-S", "-c", _PROBE, str(lock)]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 3
