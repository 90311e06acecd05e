"""Languages and sketches of pages, by the digest of their bodies, and which of them are near copies.

They follow from the body alone. So pages with the same body share them, and a page that is fetched again and
has not changed keeps them.

Layout: a RocksDB database in a directory of its own, with these column families.

    facts     digest (10) → language, certainty, words, as a msgpack array
    sketches  digest (10) → seconds since the epoch (4), when it was fetched first; the sketch (128)
    clusters  digest (10) → digest of the first of its cluster (10), similarity to it in percent (1)
    meta      "clusters" → "whole" if the last clustering has ended

What survives a kill: every `put` that has returned. All of it can be made again from the archive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from rocksdict import AccessType, DBCompressionType, Options, Rdict, WriteBatch

from rdfaspider import rocksdb
from rdfaspider.closable import Closable
from rdfaspider.pages.row import KEY
from rdfaspider.pages.sketch import SIZE

if TYPE_CHECKING:
    from collections.abc import Sequence

# The directory of the database, in that of all that is found out after a crawl.
TEXTS = "texts"

_FAMILIES = ("facts", "sketches", "clusters", "meta")
_WHOLE = b"clusters"
# Clusters that are written at a time.
_BATCH = 10_000
_END = b"\xff" * (KEY + 1)


class TextFacts(msgspec.Struct, array_like=True, frozen=True):
    """What is known of the text of a page; the certainty is in percent."""

    language: str = ""
    certainty: int = 0
    words: int = 0


class Analysed(NamedTuple):
    """A body that was analysed; the sketch is empty if the text is too short for one."""

    digest: bytes
    facts: TextFacts
    sketch: bytes
    fetched: int


class Near(NamedTuple):
    """The cluster of a body: the digest of its first, and how similar it is to that."""

    first: bytes
    similarity: float


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TextFacts).decode


class AnalysisTable(Closable):
    """The database. Digests may be longer than its keys."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        if what := rocksdb.fault(path):
            raise OSError(_damaged(path, what))
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.create_missing_column_families(True)
        access = AccessType.read_only() if read_only else AccessType.read_write()
        if not read_only:
            path.mkdir(parents=True, exist_ok=True)
        try:
            families = {name: _options() for name in _FAMILIES}
            self._database = Rdict(str(path), options, families, access)
        except Exception as error:  # rocksdict raises nothing more special
            raise OSError(_damaged(path, " ".join(str(error).split()))) from error
        if not read_only:
            rocksdb.note_opening(path)
        self._families: dict[str, Any] = {
            name: self._database.get_column_family(name) for name in _FAMILIES
        }
        self._handles = {name: self._database.get_column_family_handle(name) for name in _FAMILIES}

    # --- texts ---

    def put(self, analysed: Iterable[Analysed]) -> None:
        """Store analyses, all of them or none."""
        batch = WriteBatch(raw_mode=True)
        facts, sketches = self._handles["facts"], self._handles["sketches"]
        for digest, found, sketch, fetched in analysed:
            batch.put(digest[:KEY], _encode(found), facts)
            if len(sketch) == SIZE:
                when = max(0, min(fetched, 0xFFFFFFFF)).to_bytes(4, "big")
                batch.put(digest[:KEY], when + sketch, sketches)
        self._database.write(batch)

    def __contains__(self, digest: bytes) -> bool:
        return self._families["facts"].get(digest[:KEY]) is not None

    def facts(self, digests: Sequence[bytes]) -> list[TextFacts | None]:
        """Return what is known of each body, None if nothing is."""
        return [None if data is None else _decode(data) for data in self._get("facts", digests)]

    def sketches(self) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield digest, time and sketch of each body that has one."""
        cursor = self._families["sketches"].iter()
        cursor.seek_to_first()
        while cursor.valid():
            value = cursor.value()
            yield cursor.key(), int.from_bytes(value[:4], "big"), value[4:]
            cursor.next()

    def _get(self, family: str, digests: Sequence[bytes]) -> list[bytes | None]:
        keys = [digest[:KEY] for digest in digests]
        values: list[bytes | None] = self._families[family].get(keys) if keys else []
        return values

    # --- clusters ---

    def set_clusters(self, clusters: Iterable[tuple[bytes, bytes, float]]) -> int:
        """Replace all clusters by pairs of a digest and its first, with their similarity; return how many.

        Until that has ended, there are none.
        """
        family, meta = self._handles["clusters"], self._handles["meta"]
        batch, count = WriteBatch(raw_mode=True), 0
        batch.delete(_WHOLE, meta)
        batch.delete_range(b"", _END, family)
        for digest, first, similarity in clusters:
            batch.put(digest, first + bytes((round(100 * similarity),)), family)
            count += 1
            if not count % _BATCH:
                self._database.write(batch)
                batch = WriteBatch(raw_mode=True)
        batch.put(_WHOLE, b"whole", meta)
        self._database.write(batch)
        return count

    def clusters(self, digests: Sequence[bytes]) -> list[Near | None]:
        """Return the cluster of each body, None if it is in none."""
        if self._families["meta"].get(_WHOLE) is None:
            return [None] * len(digests)
        found = self._get("clusters", digests)
        return [None if data is None else Near(data[:KEY], data[KEY] / 100) for data in found]

    def close(self) -> None:
        self._handles.clear()
        for family in self._families.values():
            family.close()
        self._families.clear()
        self._database.close()


def open_analysis(directory: Path) -> AnalysisTable | None:
    """Open what was analysed, to read it; None if nothing was."""
    path = directory / TEXTS
    return AnalysisTable(path, read_only=True) if rocksdb.is_there(path) else None


def _options() -> Options:
    options = Options(raw_mode=True)
    options.set_compression_type(DBCompressionType.zstd())
    return options


def _damaged(path: Path, what: str) -> str:
    return (
        f"The analysis in {path} cannot be opened ({what}): if no other command writes it, delete the"
        " directory and run scrapy pages --analyse again."
    )
