"""The full-text index of a crawl: a database of SQLite, for one writer and any number of readers.

Layout of JOBDIR/search/index.sqlite:

    things        name, words, types, subject   FTS5: a row for each thing of each page; `types` has a token
                                                t12 for each type, its number in `terms`
    pages         first, count, url, host, time, digest, uses
                                                its things are the rows from first on of `things`
    terms         number, iri, last, things, uses   types and predicates: how many things have the type, how
                                                many statements the predicate; `last` word in lower case
    vocabularies  host, vocabulary, uses        statements by the namespaces of their predicates
    about         name, value                   which boot of the machine wrote it; whether it is whole

Invariant: the counts of `terms` and `vocabularies` are the sums over all `pages`. A page without things has
no row. Numbers of things only grow, so the newest have the highest.

What survives: a transaction is in the write-ahead log when `put` returns, and survives the death of the
process. The death of the machine may take the last ones, and a disk may damage the file: then it is deleted,
and rebuilt from store and archive. One that `is_whole` has all pages of the store.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rdfaspider.closable import Closable
from rdfaspider.search.things import Said, read
from rdfaspider.urls import host

if TYPE_CHECKING:
    from typing import TextIO

NAME = "index.sqlite"
_VERSION = 1
_BOOT = Path("/proc/sys/kernel/random/boot_id")

_TABLES = f"""
CREATE VIRTUAL TABLE things USING fts5(
    name, words, types, subject UNINDEXED, tokenize = "unicode61 remove_diacritics 2");
CREATE TABLE pages (
    first INTEGER PRIMARY KEY, count INTEGER, url TEXT UNIQUE, host TEXT, time REAL, digest BLOB, uses BLOB);
CREATE TABLE terms (
    number INTEGER PRIMARY KEY, iri TEXT UNIQUE, last TEXT, things INTEGER, uses INTEGER);
CREATE INDEX lasts ON terms (last);
CREATE TABLE vocabularies (
    host TEXT, vocabulary TEXT, uses INTEGER, PRIMARY KEY (host, vocabulary)) WITHOUT ROWID;
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
PRAGMA user_version = {_VERSION};
"""


class IndexFailed(OSError):
    """Says in a sentence why the index cannot be used."""


class PageWords(NamedTuple):
    """A page as it is indexed: the IRI of its graph, its N-Triples, title and text; when it was visited."""

    url: str
    triples: bytes
    title: str = ""
    text: str = ""
    time: float = 0.0

    @property
    def is_empty(self) -> bool:
        return not (self.triples or self.title or self.text)

    def digest(self) -> bytes:
        parts = (self.triples, self.title.encode(), self.text.encode())
        return blake2b(b"\0".join(parts), digest_size=8).digest()


class _Uses(NamedTuple):
    """What a page adds to the counts, by number of the term."""

    things: dict[int, int]
    uses: dict[int, int]


class Index(Closable):
    """Writes the index in a folder. Not for several threads at once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder)
        self.counters: Counter[str] = Counter()
        self._terms: dict[str, int] = {}
        try:
            self._open()
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> None:
        for attempt in range(2):
            database = None
            try:
                database = self._database = sqlite3.connect(
                    self.path, isolation_level=None, timeout=60, check_same_thread=False
                )
                if not self._is_sound():
                    raise sqlite3.DatabaseError("not as it was left")
                highest = "SELECT first + count FROM pages ORDER BY first DESC LIMIT 1"
                row = database.execute(highest).fetchone()
                self._next: int = row[0] if row else 1
                return
            except sqlite3.DatabaseError as error:
                if database is not None:
                    database.close()
                if attempt or not _is_damage(error):
                    raise IndexFailed(
                        f"The index {self.path} cannot be opened: {error}."
                    ) from error
                _delete(self.path)

    def _is_sound(self) -> bool:
        """Create the tables if they are missing; tell whether nothing can be lost since the last run."""
        execute = self._database.execute
        execute("PRAGMA journal_mode = WAL")
        # In a write-ahead log, a commit survives the death of the process without waiting for the disk.
        execute("PRAGMA synchronous = NORMAL")
        (version,) = execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._database.executescript(f"BEGIN; {_TABLES} COMMIT;")
        elif version != _VERSION:
            return False
        opened = self._about("opened")
        if opened and opened != _boot():
            return False  # the machine died while it was open
        self._tell("opened", _boot())
        return True

    def _about(self, name: str) -> str:
        row = self._database.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def _tell(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    @property
    def is_whole(self) -> bool:
        """Whether it has all pages of the store."""
        return self._about("whole") == "yes"

    def set_whole(self) -> None:
        self._tell("whole", "yes")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            yield
            self._database.execute("COMMIT")
        except BaseException as error:
            self._terms.clear()  # some of them may not be there
            with suppress(sqlite3.Error):
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise IndexFailed(f"The index {self.path} cannot be written: {error}.") from error
            raise

    def put(self, pages: Sequence[PageWords]) -> None:
        """Index pages instead of what was known of them; those that are empty leave the index."""
        with self._transaction():
            for page in pages:
                digest = page.digest()
                known = self._row(page.url)
                if known is not None and known[2] == digest and not page.is_empty:
                    self._database.execute(
                        "UPDATE pages SET time = ? WHERE first = ?", (page.time, known[0])
                    )
                    continue
                if known is not None:
                    self._drop(page.url, *known)
                if not page.is_empty:
                    self._insert(page, digest)

    def remove(self, is_removed: Callable[[str], bool]) -> int:
        """Remove pages; return how many."""
        urls = [
            url for (url,) in self._database.execute("SELECT url FROM pages") if is_removed(url)
        ]
        with self._transaction():
            for url in urls:
                known = self._row(url)
                assert known is not None
                self._drop(url, *known)
        return len(urls)

    def has(self, url: str) -> bool:
        return self._row(url) is not None

    def _row(self, url: str) -> tuple[int, int, bytes, bytes] | None:
        find = "SELECT first, count, digest, uses FROM pages WHERE url = ?"
        row: tuple[int, int, bytes, bytes] | None = self._database.execute(find, (url,)).fetchone()
        return row

    def _insert(self, page: PageWords, digest: bytes) -> None:
        said = read(page.url, page.triples, page.title, page.text)
        if not said.things:
            return
        uses = self._counted(said)
        first, self._next = self._next, self._next + len(said.things)
        self._database.executemany(
            "INSERT INTO things (rowid, name, words, types, subject) VALUES (?, ?, ?, ?, ?)",
            (
                (
                    first + place,
                    thing.name,
                    thing.words,
                    " ".join(f"t{self._number(name)}" for name in thing.types),
                    thing.subject,
                )
                for place, thing in enumerate(said.things)
            ),
        )
        self._database.execute(
            "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                *(first, len(said.things), page.url, _host(page.url), page.time, digest),
                msgspec.msgpack.encode(uses),
            ),
        )
        self._count(_host(page.url), uses, 1)
        self.counters["search/pages"] += 1
        self.counters["search/things"] += len(said.things)

    def _counted(self, said: Said) -> _Uses:
        types = Counter(self._number(name) for thing in said.things for name in thing.types)
        predicates = {self._number(name): count for name, count in said.predicates.items()}
        return _Uses(dict(types), predicates)

    def _drop(self, url: str, first: int, count: int, digest: bytes, uses: bytes) -> None:
        end = first + count - 1
        self._database.execute("DELETE FROM things WHERE rowid BETWEEN ? AND ?", (first, end))
        self._database.execute("DELETE FROM pages WHERE first = ?", (first,))
        self._count(_host(url), msgspec.msgpack.decode(uses, type=_Uses), -1)

    def _count(self, of_host: str, uses: _Uses, sign: int) -> None:
        execute = self._database.execute
        for number, count in uses.things.items():
            change = "UPDATE terms SET things = things + ? WHERE number = ?"
            execute(change, (sign * count, number))
        vocabularies: Counter[str] = Counter()
        for number, count in uses.uses.items():
            change = "UPDATE terms SET uses = uses + ? WHERE number = ? RETURNING iri"
            ((iri,),) = execute(change, (sign * count, number)).fetchall()
            vocabularies[vocabulary_of(iri)] += sign * count
        for vocabulary, count in vocabularies.items():
            execute(
                "INSERT INTO vocabularies VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET uses = uses + ?",
                (of_host, vocabulary, count, count),
            )
        if sign < 0:
            execute("DELETE FROM vocabularies WHERE host = ? AND uses <= 0", (of_host,))

    def _number(self, iri: str) -> int:
        """Return the number of a type or predicate."""
        number = self._terms.get(iri)
        if number is None:
            find = "SELECT number FROM terms WHERE iri = ?"
            row = self._database.execute(find, (iri,)).fetchone()
            if row is None:
                put = "INSERT INTO terms (iri, last, things, uses) VALUES (?, ?, 0, 0) RETURNING number"
                ((number,),) = self._database.execute(put, (iri, last_of(iri))).fetchall()
            else:
                (number,) = row
            if len(self._terms) > 10_000:
                self._terms.clear()
            self._terms[iri] = number
        return number

    def close(self) -> None:
        """Close it; what is in the log goes to the file."""
        with suppress(sqlite3.Error):
            self._tell("opened", "")
        self._database.close()
        self._lock.close()

    def delete(self) -> None:
        """Delete the index, because it cannot be trusted; the next one is built from the store."""
        self._database.close()
        _delete(self.path)
        self._lock.close()


def vocabulary_of(iri: str) -> str:
    """Return the namespace of a term."""
    place = max(iri.rfind("#"), iri.rfind("/"))
    return iri[: place + 1] if place > 0 else iri


def last_of(iri: str) -> str:
    """Return the last word of the IRI of a term, in lower case."""
    return iri[len(vocabulary_of(iri)) :].lower()[:200]


def _host(url: str) -> str:
    try:
        return host(url)
    except IndexError:  # not the URL of a page
        return ""


def _boot() -> str:
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return "unknown"


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Tell whether an error says that the file is damaged, not that it cannot be read or is busy."""
    return not isinstance(error, sqlite3.OperationalError)


def _locked(folder: Path) -> TextIO:
    file = (folder / "LOCK").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise IndexFailed(f"The index {folder} is written by another process.") from None
    return file


def _delete(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def batches(pages: Iterable[PageWords], size: int = 50) -> Iterator[list[PageWords]]:
    """Yield pages in lists that make good transactions."""
    batch: list[PageWords] = []
    for page in pages:
        batch.append(page)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
