"""The names of a cache on disk, so that a restart asks the name servers for nothing that is still valid.

JOBDIR/addresses.jsonl has a line for each name, the least recently used first: its addresses, and the times
in seconds since the epoch until which they are fresh and may be used. It is replaced as a whole; a kill loses
what was looked up since. Whatever it says passes the guard like an answer of a name server.
"""

from __future__ import annotations

from logging import getLogger
from typing import TYPE_CHECKING

import msgspec

from rdfaspider.resolver.addresses import addresses

if TYPE_CHECKING:
    from pathlib import Path

    from rdfaspider.resolver.cache import Cache

logger = getLogger(__name__)

NAME = "addresses.jsonl"


class _Line(msgspec.Struct):
    name: str
    addresses: list[str]
    fresh_until: float
    usable_until: float


_decode = msgspec.json.Decoder(_Line).decode


def read(path: Path, cache: Cache, now: float) -> int:
    """Add the names in a file to a cache, with their times to live; return how many are still usable."""
    try:
        lines = [_decode(line) for line in path.read_bytes().splitlines()]
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as error:
        logger.warning(
            "The addresses in %s cannot be read (%s), and are looked up again.", path, error
        )
        return 0
    return sum(
        cache.restore(
            line.name, addresses(line.addresses), line.fresh_until, line.usable_until, now
        )
        for line in lines
    )


def write(path: Path, cache: Cache) -> None:
    """Replace the file by what a cache has."""
    lines = [
        msgspec.json.encode(_Line(name, [str(each) for each in known], fresh, usable))
        for name, fresh, usable, known in cache.entries()
    ]
    new = path.with_suffix(".new")
    try:
        new.write_bytes(b"\n".join(lines))
        new.replace(path)
    except OSError as error:
        logger.warning("%s cannot be written: %s.", path, error.strerror)
