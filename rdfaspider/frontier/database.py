"""The RocksDB database of a local frontier.

One directory, these column families (numbers are big-endian, so that they sort):

    urls      key of a URL                    → state, hops, depth, attempts (3 bytes), number (5), hint
    numbers   first number of a block         → the keys of the block, a line each, in number order
    waiting   host (4), rank, number (5)      → depth, attempts, hint, hops, the key's rest (waiting.py)
    later     time (8), number (5)            → nothing: a waiting URL that may not be tried before
    inbox     sequence (8)                    → depth (1), hops, contexts, URLs found there, a line each
    links     depth (1), number (5)           → the links of a finished page whose depth may still improve
    hosts     key of a host                   → its record (hosts.py)
    meta      name                            → format version, counters, the order's pointers
    notes     name                            → what others want to keep with the frontier: robots.txt
    failures  number (5)                      → why a URL failed or was denied, and when (failures.py)
    referrers first number of a block         → on which pages its URLs were found (referrers.py)

Crawls that earlier versions began lack the last two: opening such a crawl adds them, and a reader
finds them empty.

Every change of state is one write batch over all of them. A batch that was written survives the
death of the process whole or not at all; `close` makes it survive the death of the machine.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    RdictIter,
    WriteBatch,
)

from rdfaspider.frontier import FrontierUnavailable

VERSION = b"2"

FAMILIES = ("urls", "numbers", "waiting", "later", "inbox", "links", "hosts", "meta", "notes")
ADDED_FAMILIES = ("failures", "referrers")

# Families in which single keys are looked up; the others are only walked.
_ASKED_FOR = frozenset(("urls", "links", "hosts", "meta", "notes"))

# A filter errs once in a thousand times; an error costs as much as fifty right answers.
_FILTER_BITS = 14

_MEGABYTE = 1 << 20
# For all families together: blocks, filters and indexes that are read again and again.
_CACHE = 48 * _MEGABYTE
_WRITE_BUFFER = 16 * _MEGABYTE


class Family:
    """One column family: sorted bytes to bytes. `handle` names it in a batch.

    RocksDB lets go of its directory when the last handle and cursor are gone, so nobody else keeps them.
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

    def close(self) -> None:
        self._family.close()
        del self.handle, self.get, self.cursor, self._family


class Database:
    """The column families of a frontier, and batches over them."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        if not read_only:
            path.mkdir(parents=True, exist_ok=True)
        elif not (path / "CURRENT").exists():
            raise FrontierUnavailable(
                f"There is no frontier in {path}: run a crawl first, or name the crawl's directory"
                " with -s JOBDIR=DIRECTORY."
            )
        self._scratch = mkdtemp(prefix="rdfaspider-") if read_only else ""
        self.is_broken = False
        try:
            names = _families(path, read_only=read_only)
            self._database = _open(path, self._scratch, names)
        except Exception as error:  # rocksdict raises nothing more special
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise FrontierUnavailable(explain(path, error)) from error
        self._families = [Family(self._database, name) for name in names]
        self.urls, self.numbers, self.waiting, self.later = self._families[:4]
        self.inbox, self.links, self.hosts, self.meta, self.notes = self._families[4:9]
        self.failures, self.referrers = self._families[9:]
        self._check_version(path, read_only)

    def _check_version(self, path: Path, read_only: bool) -> None:
        try:
            version = self.meta.get(b"version")
        except Exception as error:
            self.close()
            raise FrontierUnavailable(explain(path, error)) from error
        if version is None and not read_only:
            self.meta[b"version"] = VERSION
        elif version is None:
            self.close()
            raise FrontierUnavailable(explain(path, "Corruption: it has no format number"))
        elif version != VERSION:
            self.close()
            raise FrontierUnavailable(
                f"The frontier {path} has format {version.decode()}, and this"
                f" version of rdfaspider reads format {VERSION.decode()}: finish that crawl with the"
                " version that began it, or begin a new one with -s JOBDIR=DIRECTORY."
            )

    def batch(self) -> WriteBatch:
        return WriteBatch(raw_mode=True)

    def write(self, batch: WriteBatch) -> None:
        """Write a batch whole. After a failure nothing more is written: what is in memory is ahead of
        the disk then, and the disk is right."""
        if self.is_broken:
            raise FrontierUnavailable("The frontier could not be written and takes nothing more.")
        try:
            self._database.write(batch)
        except Exception as error:
            self.is_broken = True
            raise FrontierUnavailable(f"The frontier cannot be written: {error}") from error

    def close(self) -> None:
        for family in self._families:
            family.close()
        self._database.close()
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)


def _families(path: Path, *, read_only: bool) -> list[str]:
    """Return the names of the families to open; one that a reader does not find is the empty default."""
    there = set(Rdict.list_cf(str(path))) if read_only else set(ADDED_FAMILIES)
    return [*FAMILIES, *(name if name in there else "default" for name in ADDED_FAMILIES)]


def _open(path: Path, scratch: str, names: list[str]) -> Rdict:
    cache = Cache(_CACHE)
    options = _options(cache)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_max_background_jobs(2)
    options.set_db_write_buffer_size(3 * _WRITE_BUFFER)
    options.set_max_total_wal_size(6 * _WRITE_BUFFER)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    families = {name: _options(cache, filtered=name in _ASKED_FOR) for name in names}
    # Waiting URLs go as fast as they come; what is left of them must not slow down the seeks.
    for name in ("waiting", "later", "inbox"):
        families[name].add_compact_on_deletion_collector_factory(10_000, 5_000, 0.5)
    if not scratch:
        return Rdict(str(path), options, column_families=families)
    # Beside a crawl that runs, only a secondary sees a whole state; its own logs need a place. It
    # keeps all files open, so that none can be compacted away under it.
    options.set_max_open_files(-1)
    access = AccessType.secondary(scratch)
    return Rdict(str(path), options, column_families=families, access_type=access)


def _options(cache: Cache, *, filtered: bool = True) -> Options:
    options = Options(raw_mode=True)
    blocks = BlockBasedOptions()
    blocks.set_block_cache(cache)
    # A URL that was never seen is answered by a filter, without reading a block. Filters and indexes live
    # in the cache, so that memory does not grow with the URLs, and in parts: whole ones outgrow it.
    if filtered:
        blocks.set_bloom_filter(_FILTER_BITS, False)
        blocks.set_partition_filters(True)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
    blocks.set_metadata_block_size(16 * 1024)
    blocks.set_pin_top_level_index_and_filter(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    blocks.set_block_size(16 * 1024)
    blocks.set_format_version(5)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(DBCompressionType.zstd())
    options.set_compression_options(-14, 1, 0, 0)  # its level 1: as small on keys, in half the time
    options.set_write_buffer_size(_WRITE_BUFFER)
    if filtered:  # the same for what is still in memory
        options.set_memtable_prefix_bloom_ratio(0.1)
        options.set_memtable_whole_key_filtering(True)
    options.set_level_compaction_dynamic_level_bytes(True)
    # Small files in levels that begin small: a compaction rewrites what is new and little else.
    options.set_max_bytes_for_level_base(2 * _WRITE_BUFFER)
    options.set_target_file_size_base(_WRITE_BUFFER // 2)
    return options


def explain(path: Path, error: object) -> str:
    """Return a sentence about what RocksDB said, and what to do about it."""
    if re.search("lock hold by|While lock file", str(error)):
        return (
            f"The frontier {path} is in use by another crawl: wait until that one ends,"
            " or give this one a directory of its own with -s JOBDIR=DIRECTORY."
        )
    if re.search("Corruption|Column family not found|No such file", str(error)):
        return (
            f"The frontier {path} is damaged ({error}): restore it from a backup, or begin a new"
            " crawl with -s JOBDIR=DIRECTORY."
        )
    return f"The frontier {path} cannot be opened: {error}"
