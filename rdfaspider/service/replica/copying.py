"""Copies the frontier from the leader to a standby, over the connection that workers use.

The standby asks the leader to make a copy, which shares its files with the leader's directory, and fetches
file after file in parts. There is one copy at a time; a new request replaces the copy of a standby that
does not finish.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider import rocksdb
from rdfaspider.service.messages import Copy, MakeCopy, ReadCopy
from rdfaspider.service.worker.connection import Connection
from rdfaspider.service.worker.session import Session

if TYPE_CHECKING:
    from rdfaspider.service.address import Address, Security
    from rdfaspider.service.replica.journal import Journal
    from rdfaspider.service.replica.logged import LoggedFrontier

_PART = 4 << 20
# Seconds to look for the leader, and allowed for one answer.
_SEEKING, _PATIENCE = 2.0, 60.0


class Copies:
    """Gives away copies of a leader's frontier; they are made in a directory beside it."""

    def __init__(self, frontier: LoggedFrontier, journal: Journal, directory: Path) -> None:
        self._frontier = frontier
        self._journal = journal
        self._directory = directory.with_name(f"{directory.name}.copy")
        self._made = 0
        self.close()

    async def make(self, _: MakeCopy) -> Copy:
        """Make a copy, and return a log position that it certainly includes: what it has beyond is in the
        log too."""
        self.close()
        self._made += 1
        position = self._journal.position
        self._frontier.copy_to(self._directory)
        files = {file.name: file.stat().st_size for file in self._directory.iterdir()}
        await self._journal.flush()
        return Copy(self._made, position, self._journal.number, files)

    async def read(self, wanted: ReadCopy) -> bytes:
        """Return the next part of a file."""
        path = self._directory / wanted.file
        if wanted.copy != self._made or path.parent != self._directory:
            raise ConnectionError("Another copy was made meanwhile.")
        with path.open("rb") as file:
            file.seek(wanted.start)
            return file.read(_PART)

    def close(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self._directory, ignore_errors=True)


def fetch(address: Address, security: Security, directory: Path) -> tuple[str, int]:
    """Fetch a copy from a leader into a directory; return its log position and the leader's number.

    OSError if that fails.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    session = Session(Connection(address, security), "", 0.0, _SEEKING)
    try:
        session.greet()
        made = session.ask(MakeCopy(), Copy, _PATIENCE)
        for name, size in made.files.items():
            _fetch_file(session, made.copy, directory / Path(name).name, size)
    finally:
        session.shut()
    rocksdb.seal(directory)
    return made.position, made.number


def _fetch_file(session: Session, copy: int, path: Path, size: int) -> None:
    with path.open("wb") as file:
        while (start := file.tell()) < size:
            data = session.ask(ReadCopy(copy, path.name, start), bytes, _PATIENCE)
            if not data:
                raise ConnectionError("A file of the copy is shorter than announced.")
            file.write(data[: size - start])
