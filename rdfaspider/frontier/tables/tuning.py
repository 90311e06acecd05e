"""RocksDB's options for a frontier, some of which change when it has grown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
    WriteBufferManager,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Families in which single keys are looked up; the others are only scanned.
_ASKED_FOR = frozenset(("urls", "links", "hosts", "meta", "notes", "digests", "said"))

# A filter errs once in a thousand look-ups; an error costs as much as fifty right answers.
_FILTER_BITS = 14

_MEGABYTE = 1 << 20
# For all families together, at most: blocks, filters and indexes that are read again and again. The filters
# of a hundred million URLs take 175 MB; a new URL costs twice as much once they do not fit.
_CACHE = 256 * _MEGABYTE
_WRITE_BUFFER = 16 * _MEGABYTE

# URLs from which a frontier counts as large.
MANY = 32_000_000
# Families with an entry for each URL, inserted in another order than that of their keys.
_SCATTERED = frozenset(("urls", "waiting"))


def buffers(*, is_large: bool = False) -> int:
    """Return the bytes that all families together hold in memory before RocksDB writes some to a file."""
    return (8 if is_large else 4) * _WRITE_BUFFER


def options_of_large() -> dict[str, str]:
    """Return what changes for the scattered families of a large frontier.

    An entry is rewritten by each merge on its way down the levels. Larger and rarer merges rewrite the levels
    below less often: a fifth less CPU. What waits to be merged takes space, 3 % more for visited pages, and a
    look-up asks the filter of each file, so that a new URL costs the crawl 5 to 10 % more. What is above the
    last level will be merged again soon, so it is compressed quickly.
    """
    return {
        "write_buffer_size": str(4 * _WRITE_BUFFER),
        "level0_file_num_compaction_trigger": "8",
        "max_bytes_for_level_base": str(6 * _WRITE_BUFFER),
        "compression": "kLZ4Compression",
        "bottommost_compression": "kZSTD",
    }


def open_families(
    path: Path,
    access: AccessType,
    names: Iterable[str],
    memory: WriteBufferManager,
    *,
    is_secondary: bool,
) -> Rdict:
    """Open the families with the options of a small frontier; `Database.fit` changes them."""
    # Each look-up of a URL asks the cache for a filter of each file in the first level, and of each level
    # below. No other kind of cache answers as cheaply. RocksDB 10.7 recommends it; 9.8 has nearly the same.
    cache = Cache.new_hyper_clock_cache(_CACHE, 0)
    options = _options(cache)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_max_background_jobs(2)
    options.set_write_buffer_manager(memory)
    # What may have to be read again after a kill; in a large frontier it, too, has buffers written to files.
    options.set_max_total_wal_size(8 * _WRITE_BUFFER)
    options.set_max_open_files(256)
    # Open files are counted by shard. In RocksDB's 64 shards each would have four, and the files of the URLs,
    # which every look-up needs, would be closed again and again once there are hundreds of others.
    options.set_table_cache_num_shard_bits(2)
    options.set_keep_log_file_num(2)
    # A kill may leave half a batch at the end of the log. An error before its end is damage: to continue
    # from there would lose everything after it.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    families = {name: _options(cache, filtered=name in _ASKED_FOR) for name in names}
    # Links are written once, and read when the graph is built: what makes them small costs little.
    families["edges"] = _options(cache, filtered=False, block=64, level=9)
    for name in _SCATTERED:
        families[name].set_write_buffer_size(2 * _WRITE_BUFFER)
    # Each visit writes the record of its URL again, and the old one takes space until files are merged.
    families["urls"].set_level_zero_file_num_compaction_trigger(2)
    # A URL does not wait for ever: it is compressed quickly until it reaches the last level.
    families["waiting"].set_compression_type(DBCompressionType.lz4())
    families["waiting"].set_bottommost_compression_type(DBCompressionType.zstd())
    # Times of visits come in order within a host: a higher level makes them a seventh smaller.
    for name in ("due", "alarms"):
        families[name].set_compression_options(-14, 3, 0, 0)
    # Waiting URLs are deleted as fast as they come; their tombstones must not slow down seeks.
    for name in ("waiting", "later", "inbox", "due", "alarms"):
        families[name].add_compact_on_deletion_collector_factory(10_000, 5_000, 0.5)
    if is_secondary:  # it keeps all files open, so that none can be compacted away under it
        options.set_max_open_files(-1)
    return Rdict(str(path), options, column_families=families, access_type=access)


def _options(cache: Cache, *, filtered: bool = True, block: int = 16, level: int = 1) -> Options:
    options = Options(raw_mode=True)
    blocks = BlockBasedOptions()
    blocks.set_block_cache(cache)
    # A filter answers for a URL that was never seen, without reading a block. Filters and indexes live in
    # the cache, so that memory does not grow with the URLs, and are partitioned: whole ones outgrow it.
    if filtered:
        blocks.set_bloom_filter(_FILTER_BITS, False)
        blocks.set_partition_filters(True)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
    # URLs are looked up in their order, so that many of them find their answers in one part of a filter.
    blocks.set_metadata_block_size(64 * 1024)
    blocks.set_pin_top_level_index_and_filter(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    blocks.set_block_size(block * 1024)
    blocks.set_format_version(5)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(DBCompressionType.zstd())
    options.set_compression_options(-14, level, 0, 0)  # level 1: as small on keys, in half the time
    options.set_write_buffer_size(_WRITE_BUFFER)
    if filtered:  # the same for what is still in memory
        options.set_memtable_prefix_bloom_ratio(0.1)
        options.set_memtable_whole_key_filtering(True)
    options.set_level_compaction_dynamic_level_bytes(True)
    # Small files in levels that begin small: a compaction rewrites what is new and little else.
    options.set_max_bytes_for_level_base(2 * _WRITE_BUFFER)
    options.set_target_file_size_base(_WRITE_BUFFER // 2)
    return options
