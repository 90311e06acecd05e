"""Members of a gzip file: each record of an archive is one, so that it can be read alone.

ISA-L packs short records in a quarter of zlib's time; of long ones it leaves a tenth more, so these are for
libdeflate (docs/archive.md). Where they have no wheel, zlib does it. Any reader of gzip reads all of them.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GZIP = 31  # what zlib calls the format
_CHUNK = 1 << 18
_SHORT = 1 << 13  # bytes of a record that is packed as a short one
# Bytes kept of what a member unpacks to: a record's headers and those of HTTP are well below.
HEAD = 1 << 18

UnpackError: type[Exception]
unpacker: Callable[[], Any]  # an object like those of zlib.decompressobj, for one member
_pack_short: Callable[[bytes], bytes]
_pack_long: Callable[[bytes], bytes]


def _pack_by_zlib(data: bytes) -> bytes:
    packer = zlib.compressobj(6, wbits=_GZIP)
    return packer.compress(data) + packer.flush()


try:
    from isal import isal_zlib
except ImportError:
    UnpackError = zlib.error
    _pack_short = _pack_by_zlib

    def unpacker() -> Any:
        return zlib.decompressobj(_GZIP)
else:
    UnpackError = isal_zlib.IsalError  # type: ignore[assignment]  # its stubs say an instance

    def unpacker() -> Any:
        return isal_zlib.decompressobj(_GZIP)

    def _pack_short(data: bytes) -> bytes:
        # Its highest level gains nothing for a request, and one percent at 6 KB.
        return isal_zlib.compress(data, 1, _GZIP)


try:
    from deflate import gzip_compress
except ImportError:
    _pack_long = _pack_by_zlib
else:

    def _pack_long(data: bytes) -> bytes:
        return bytes(gzip_compress(data, 3))


def pack(data: bytes) -> bytes:
    """Return a member."""
    return _pack_short(data) if len(data) < _SHORT else _pack_long(data)


class Member(NamedTuple):
    """Where a whole member is, how many bytes it has unpacked, and the first of them."""

    offset: int
    length: int
    size: int
    head: bytes


def members(
    file: BinaryIO, offset: int = 0, feed: Callable[[bytes], None] | None = None
) -> Iterator[Member]:
    """Yield the whole members of a file; what comes after the last is torn, or no gzip.

    Memory is bounded however much a member unpacks to. `feed` gets all that a member unpacks to, in pieces,
    before it is yielded.
    """
    file.seek(offset)
    data = b""
    while True:
        unpacker = zlib.decompressobj(_GZIP)
        head, size, read = bytearray(), 0, 0
        while not unpacker.eof:
            if not data and not (data := file.read(_CHUNK)):
                return
            try:
                piece = unpacker.decompress(data, _CHUNK)
            except zlib.error:
                return
            rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            read += len(data) - len(rest)
            data = rest
            size += len(piece)
            head += piece[: HEAD - len(head)]
            if feed is not None:
                feed(piece)
        yield Member(offset, read, size, bytes(head))
        offset += read


def unpack(data: bytes, most: int) -> bytes:
    """Return what a member unpacks to; ValueError if it is not whole or has more bytes than `most`."""
    unpacker = zlib.decompressobj(_GZIP)
    try:
        unpacked = unpacker.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(f"The record is damaged ({error}).") from error
    if len(unpacked) > most:
        raise ValueError(f"The record has more than {most:,} bytes.")
    if not unpacker.eof:
        raise ValueError("The record is not whole.")
    return unpacked
