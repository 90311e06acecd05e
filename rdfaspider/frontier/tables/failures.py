"""Why URLs failed or were denied, and when: the last answer, for people who ask.

Layout: number (5 bytes) → time (8 bytes, a float), HTTP status (2 bytes), reason (UTF-8).

Invariant. A URL that failed or was denied has an entry, and so has a postponed one. A done URL has none. It
is written and removed with the change of state.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.frontier.tables.trie import pack_number, unpack_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier.tables.database import Database

_HEAD = struct.Struct(">dH")
_MOST_BYTES = 200  # of a reason


class Failure(NamedTuple):
    """The end of an attempt: time, status of the answer (0 if there was none), reason."""

    time: float
    status: int
    reason: str


class Failures:
    def __init__(self, database: Database) -> None:
        self._family = database.failures

    def keep(self, batch: WriteBatch, number: int, failure: Failure) -> None:
        """Add the result of the last attempt at a URL to a batch."""
        status = failure.status if 0 <= failure.status < 1000 else 0
        value = _HEAD.pack(failure.time, status) + tidy(failure.reason)
        batch.put(pack_number(number), value, self._family.handle)

    def forget(self, batch: WriteBatch, number: int) -> None:
        batch.delete(pack_number(number), self._family.handle)

    def get(self, number: int) -> Failure | None:
        value = self._family.get(pack_number(number))
        return None if value is None else _unpack(value)

    def all(self, start: int = 0) -> Iterator[tuple[int, Failure]]:
        """Yield all failures by number, from one on."""
        for number, value in self._family.pairs(pack_number(start)):
            yield unpack_number(number), _unpack(value)


def _unpack(value: bytes) -> Failure:
    time, status = _HEAD.unpack_from(value)
    return Failure(time, status, value[_HEAD.size :].decode("utf-8", "ignore"))


def tidy(reason: str) -> bytes:
    """Return a reason as it is stored: one line of printable characters, of limited length."""
    printable = "".join(char if char.isprintable() else " " for char in reason[:_MOST_BYTES])
    return " ".join(printable.split()).encode("utf-8", "replace")[:_MOST_BYTES]
