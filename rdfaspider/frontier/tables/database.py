"""The RocksDB database of a local frontier.

One directory, these column families (numbers are big-endian, so that they sort):

    urls      key of a URL                    → state, hops, depth, attempts (3 bytes), number (5), the
                                                past of a kept page, hint
    numbers   first number of a block         → the keys of the block, a line each, in number order
    waiting   host (4), rank, number (5)      → depth, attempts, hint, hops, the key's rest (waiting.py)
    later     time (8), number (5)            → nothing: a waiting URL that may not be tried before
    inbox     sequence (8), page number (5)   → depth (1), hops, contexts, URLs found there, a line each
    links     depth (1), number (5)           → the links of a finished page whose depth may decrease
    hosts     key of a host                   → its record (hosts.py)
    meta      name                            → format version, counters, the order's pointers
    notes     name                            → what others store with the frontier, such as robots.txt
    failures  number (5)                      → why a URL failed or was denied, and when (failures.py)
    referrers first number of a block         → on which pages its URLs were found (links/referrers.py)
    outbox    key of a page                   → its links not yet forwarded to other shards (links/outbox.py)
    edges     number (5)                      → the links of a done page (links/edges.py)
    pages     number (5)                      → the row of an ended page (pages.py)
    digests   kind (1), digest or number      → which pages have the same body (copies.py)
    due       host (4), time (4), number (5)  → nothing: the next visit of a kept page (visits.py)
    alarms    time (4), host (4)              → the key of a host with pages that are due then
    said      number (5)                      → misses and validators of a kept page

Every change of state is one write batch over all of them. A batch survives the death of the process whole
or not at all; `close` makes it survive the death of the machine.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ParamSpec, TypeVar

from rocksdict import AccessType, Checkpoint, Rdict, RdictIter, WriteBatch, WriteBufferManager

from rdfaspider import rocksdb
from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.tables.tuning import MANY, buffers, open_families, options_of_large

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

VERSION = b"4"

FAMILIES = (
    *("urls", "numbers", "waiting", "later", "inbox", "links", "hosts", "meta", "notes"),
    *("failures", "referrers", "outbox", "edges", "pages", "digests", "due", "alarms", "said"),
)


def guarded(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Wrap a method of an object with a `_database` so that RocksDB errors become FrontierUnavailable."""

    @wraps(method)
    def call(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            return method(*arguments, **options)
        except Exception as error:
            if type(error) is not Exception:  # rocksdict raises nothing more special
                raise
            owner: Any = arguments[0]
            raise owner._database.fail(error) from error

    return call


class Family:
    """One column family: sorted bytes to bytes. `handle` names it in a batch.

    RocksDB releases its directory when the last handle and cursor are gone, so no other object keeps them.
    """

    def __init__(self, database: Rdict, name: str) -> None:
        self._path = Path(database.path())
        self.handle = database.get_column_family_handle(name)
        self._family: Any = database.get_column_family(name)
        self.get: Callable[[bytes], bytes | None] = self._family.get
        self.cursor: Callable[[], RdictIter] = self._family.iter

    def get_all(self, keys: list[bytes]) -> list[bytes | None]:
        """Return the value of each key; sorted keys are the fastest."""
        values: list[bytes | None] = self._family.get(keys)
        return values

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._family[key] = value

    def pairs(self, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys from `start` on with their values, in order."""
        cursor = self.cursor()
        cursor.seek(start)
        while cursor.valid():
            yield cursor.key(), cursor.value()
            cursor.next()
        try:
            cursor.status()
        except Exception as error:  # a damaged file has ended it too soon
            raise FrontierUnavailable(explain(self._path, error)) from error

    def begin_flush(self) -> None:
        """Have what is in memory written to a file in the background."""
        self._family.flush(False)

    def change(self, options: dict[str, str]) -> None:
        """Change options of RocksDB, until the database is closed."""
        self._family.set_options(options)

    def close(self) -> None:
        self._family.close()
        del self.handle, self.get, self.cursor, self._family


class Database:
    """The column families of a frontier, and batches over them.

    A damaged database is refused and left as it is. Beside a running crawl, only a secondary of RocksDB
    sees a consistent state; it needs a directory for its own logs. But a secondary ignores files that it
    cannot read, so a database that is not in use is opened read-only instead.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._scratch = ""
        self.is_broken = self._is_large = False
        self._memory = WriteBufferManager(buffers(), allow_stall=False)
        try:
            is_new = _examine(path, read_only=read_only)
            if not read_only:
                path.mkdir(parents=True, exist_ok=True)
            elif not rocksdb.is_sealed(path) and rocksdb.is_in_use(path):
                self._scratch = mkdtemp(prefix="rdfaspider-")
            self._open(is_new)
        except FrontierUnavailable:
            raise
        except Exception as error:  # rocksdict raises nothing more special
            raise FrontierUnavailable(explain(path, error)) from error

    def _open(self, is_new: bool) -> None:
        access = AccessType.read_write()
        if self._scratch:
            access = AccessType.secondary(self._scratch)
        elif self._read_only:
            access = AccessType.read_only()
        elif not (is_new or rocksdb.is_sealed(self.path)):
            Database(self.path, read_only=True).close()  # after a kill, check what is left of it
        try:
            self._database = open_families(
                self.path, access, FAMILIES, self._memory, is_secondary=bool(self._scratch)
            )
        except BaseException:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise
        if not self._read_only:
            rocksdb.note_opening(self.path)
        self._families = [Family(self._database, name) for name in FAMILIES]
        self.urls, self.numbers, self.waiting, self.later = self._families[:4]
        self.inbox, self.links, self.hosts, self.meta, self.notes = self._families[4:9]
        self.failures, self.referrers, self.outbox = self._families[9:12]
        self.edges, self.pages, self.digests = self._families[12:15]
        self.due, self.alarms, self.said = self._families[15:]
        try:
            self._check_version(is_new)
        except BaseException:
            self._let_go()
            raise

    def _check_version(self, is_new: bool) -> None:
        version = self.meta.get(b"version")
        if version is None and is_new:
            self.meta[b"version"] = VERSION
        elif version is None:
            raise FrontierUnavailable(explain(self.path, "Corruption: it has no format number"))
        elif version != VERSION:
            raise FrontierUnavailable(
                f"The frontier {self.path} has format {version.decode()}, and this"
                f" version of rdfaspider reads format {VERSION.decode()}: finish that crawl with the"
                " version that began it, or begin a new one with -s JOBDIR=DIRECTORY."
            )

    def fit(self, urls: int) -> None:
        """Change to the options of a large frontier once it has so many URLs.

        They hold until it is closed. It is opened as a small one, and may merge some files before this is
        called, which costs no more than some hundred megabytes written.
        """
        if urls >= MANY and not self._is_large:
            for family in (self.urls, self.waiting):
                self._write(family.change, options_of_large())
            self._memory.set_buffer_size(buffers(is_large=True))
            self._is_large = True

    @property
    def sequence(self) -> int:
        """Return a number that grows with each write."""
        return self._database.latest_sequence_number()

    def batch(self) -> WriteBatch:
        return WriteBatch(raw_mode=True)

    def write(self, batch: WriteBatch) -> None:
        """Write a batch atomically. After a failure write nothing more: memory is then ahead of the disk,
        and the disk is right."""
        self._write(self._database.write, batch)

    def put(self, family: Family, key: bytes, value: bytes) -> None:
        """Write one pair, with the guarantees of a batch that has nothing else."""
        self._write(family.__setitem__, key, value)

    def _write(self, write: Callable[..., None], *what: Any) -> None:
        if self.is_broken:
            raise FrontierUnavailable("The frontier could not be written and takes nothing more.")
        try:
            write(*what)
        except Exception as error:
            self.is_broken = True
            raise FrontierUnavailable(f"The frontier cannot be written: {error}") from error

    def fail(self, error: object) -> FrontierUnavailable:
        """Stop writing, because RocksDB has failed; return the exception to raise."""
        self.is_broken = True
        return FrontierUnavailable(explain(self.path, error))

    def copy_to(self, path: Path) -> None:
        """Copy what is written; the copy shares its files on the same disk."""
        Checkpoint(self._database).create_checkpoint(str(path))

    def close(self) -> None:
        """Close the database; then what was written survives the death of the machine too."""
        self._let_go()
        if not (self._read_only or self.is_broken):
            rocksdb.seal(self.path)

    def _let_go(self) -> None:
        if not (self._read_only or self.is_broken):
            for family in self._families:  # closed one by one, each would wait for the disk alone
                family.begin_flush()
        for family in self._families:
            family.close()
        self._database.close()
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)


def _examine(path: Path, *, read_only: bool) -> bool:
    """Refuse a damaged or missing database; return whether the frontier is new.

    One that was killed while it was made is new too: it has no data file.
    """
    if what := rocksdb.fault(path):
        raise FrontierUnavailable(_damaged(path, what))
    if read_only and not rocksdb.is_there(path):
        raise FrontierUnavailable(
            f"There is no frontier in {path}: run a crawl first, or name the crawl's directory"
            " with -s JOBDIR=DIRECTORY."
        )
    return not read_only and not any(path.glob("*.sst"))


def explain(path: Path, error: object) -> str:
    """Turn an error of RocksDB or the system into a sentence with advice."""
    words = " ".join(str(error).split())
    if re.search("lock hold by|While lock file", words):
        return (
            f"The frontier {path} is in use by another crawl: wait until that one ends,"
            " or give this one a directory of its own with -s JOBDIR=DIRECTORY."
        )
    if re.search("Corruption|Column family not found|No such file", words):
        return _damaged(path, words)
    return f"The frontier {path} cannot be opened: {words}"


def _damaged(path: Path, what: str) -> str:
    return (
        f"The frontier {path} is damaged ({what}): restore it from a backup, or move it away and give"
        " the seeds again to start over; the store is separate."
    )
