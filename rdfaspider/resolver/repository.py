"""The names of a cache on disk, so that a restart asks the name servers for nothing that is still valid.

JOBDIR/addresses.json is a list, the least recently used name first: each name with the times in seconds since
the epoch until which it is fresh and may be used, and its addresses. It is replaced as a whole; a kill loses
what was looked up since. Whatever it says passes the guard like an answer of a name server.
"""

from __future__ import annotations

from contextlib import suppress
from logging import getLogger
from typing import TYPE_CHECKING

import msgspec

from rdfaspider.resolver.addresses import addresses

if TYPE_CHECKING:
    from pathlib import Path

    from rdfaspider.resolver.cache import Cache

logger = getLogger(__name__)

NAME = "addresses.json"

_decode = msgspec.json.Decoder(list[tuple[str, float, float, list[str]]]).decode


def read(path: Path, cache: Cache, now: float) -> int:
    """Add the names in a file to a cache, with their times to live; return how many are still usable."""
    count = 0
    try:
        with suppress(FileNotFoundError):
            for name, fresh, usable, texts in _decode(path.read_bytes()):
                count += cache.restore(name, addresses(texts), fresh, usable, now)
    except (OSError, ValueError) as error:
        logger.warning("%s cannot be read: %s. Its names are looked up again.", path, error)
    return count


def write(path: Path, cache: Cache) -> None:
    """Replace the file by what a cache has."""
    names = [(*times, [str(each) for each in known]) for *times, known in cache.entries()]
    new = path.with_suffix(".new")
    try:
        new.write_bytes(msgspec.json.encode(names))
        new.replace(path)
    except OSError as error:
        logger.warning("%s cannot be written: %s.", path, error.strerror)
