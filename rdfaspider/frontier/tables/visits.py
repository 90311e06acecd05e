"""Kept pages: when their next visits are due, and what their servers said at the last.

Layout. The past of a page is in its record (trie.py). Besides there are

    due     host (4 bytes), time (4), number (5) → nothing: the next visit of a kept page
    alarms  time (4), host (4) → the key of the host: when to look for pages of a host that are due
    said    number (5) → what follows (1); if it was missed, misses in a row (1) and the time of the first
            (4); the shortest interval that its server asks for (2, scale.py); Last-Modified as a time (4), if
            it is written as a date should be; ETag, and after a zero byte any other Last-Modified: only for
            pages of which there is any of these

Times are whole seconds. So a look at the first alarm tells when the next visit is due, and the pages of a
host are in the order in which they are due.

Invariant. A kept page has exactly one entry in `due`, at the time that its past says. A host with kept pages
has exactly one alarm, which the host's record names. It is not later than its first page is due, unless the
host is awake: then the alarm has rung, and stays on disk until the host sleeps again. Where pages are overdue
then, it is a little later, and where the host is to be left alone, up to an hour.

What survives a kill. All of it is written in the batch that ends the visit. A page that was in flight is
still due, and the alarm of its host rings again.
"""

from __future__ import annotations

import struct
from email.utils import formatdate, mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.focus.visits.planner import LAST_TIME
from rdfaspider.focus.visits.scale import decode_interval
from rdfaspider.frontier.tables.trie import pack_number, unpack_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database

# The key of a due time, with its number in two parts, and how it begins: host and time.
_ENTRY, _PLACE = struct.Struct(">IIBI"), struct.Struct(">II")
_LOW = 0xFFFFFFFF
_MISSES, _DATE, _INTERVAL = struct.Struct(">BI"), struct.Struct(">I"), struct.Struct(">H")
# What follows.
_MISSED, _DATED, _BOUND = 1, 2, 4
# Characters of a validator that are kept: a longer one is not sent back.
_LONGEST = 256


class Due:
    """The due times of kept pages, by host."""

    def __init__(self, database: Database) -> None:
        self._family = database.due

    def add(self, batch: WriteBatch, host: Host, time: int, number: int) -> None:
        key = _ENTRY.pack(host.id, time, number >> 32, number & _LOW)
        batch.put(key, b"", self._family.handle)

    def remove(self, batch: WriteBatch, host: Host, time: int, number: int) -> None:
        key = _ENTRY.pack(host.id, time, number >> 32, number & _LOW)
        batch.delete(key, self._family.handle)

    def of(self, host: Host, start: int) -> Iterator[tuple[int, int]]:
        """Yield the times and numbers of a host's pages, from a time on."""
        prefix, cursor = host.prefix, self._family.cursor()
        cursor.seek(_PLACE.pack(host.id, start))
        while cursor.valid():
            key = cursor.key()
            if not key.startswith(prefix):
                return
            yield int.from_bytes(key[4:8], "big"), unpack_number(key[8:])
            cursor.next()
        cursor.status()  # raises what ended it too soon, if a file is damaged


class Alarms:
    """When hosts are to be woken. `first` is the time of the first alarm that has not rung, None if there
    is none; those up to `_rung` have."""

    def __init__(self, database: Database) -> None:
        self._family = database.alarms
        self._rung = b""
        self.first: int | None = None
        self._find_first()

    def _find_first(self) -> None:
        self.first = None
        for key, _ in self._family.pairs(self._rung + b"\0" if self._rung else b""):
            self.first = int.from_bytes(key[:4], "big")
            return

    def set(self, batch: WriteBatch, host: Host, time: int) -> None:
        """Replace the alarm of a host; the caller saves its record. A time of 0 is none."""
        if host.alarm and host.alarm != time:
            batch.delete(host.alarm.to_bytes(4, "big") + host.prefix, self._family.handle)
        if time:
            key = time.to_bytes(4, "big") + host.prefix
            if host.alarm != time:
                batch.put(key, host.key, self._family.handle)
            # It may have rung, and the clock been set back since.
            self._rung = min(self._rung, key[:-1])
            self.first = time if self.first is None else min(self.first, time)
        host.alarm = time

    def ring(self, now: float, most: int) -> list[bytes]:
        """Return the keys of the next hosts whose time has come."""
        keys: list[bytes] = []
        self.first = None
        for key, host in self._family.pairs(self._rung + b"\0" if self._rung else b""):
            time = int.from_bytes(key[:4], "big")
            if time > now or len(keys) == most:
                self.first = time
                break
            self._rung = key
            keys.append(host)
        return keys


class Said(NamedTuple):
    """What servers said of a page: misses in a row, when the first was, validators, and the code of the
    interval within which they do not want to be asked again."""

    misses: int = 0
    since: int = 0
    etag: str = ""
    last_modified: str = ""
    bound: int = 0

    @property
    def soonest(self) -> float:
        """Return the shortest interval in seconds."""
        return float(decode_interval(self.bound))


_NOTHING = Said()


class ServerWords:
    """What servers said of kept pages, where there is anything."""

    def __init__(self, database: Database) -> None:
        self._family = database.said

    def keep(self, batch: WriteBatch, number: int, said: Said, before: Said) -> None:
        if said == before:
            return
        said = said._replace(etag=_fit(said.etag), last_modified=_fit(said.last_modified))
        if said == before:
            return
        if said == _NOTHING:
            self.forget(batch, number)
            return
        batch.put(pack_number(number), _write(said), self._family.handle)

    def forget(self, batch: WriteBatch, number: int) -> None:
        batch.delete(pack_number(number), self._family.handle)

    def get_all(self, numbers: list[int]) -> list[Said]:
        return [
            _NOTHING if value is None else _read(value)
            for value in self._family.get_all([pack_number(number) for number in numbers])
        ]


def _fit(validator: str) -> str:
    """Return a validator as it can be stored, "" if it cannot."""
    is_fit = len(validator) <= _LONGEST and validator.isascii() and "\0" not in validator
    return validator if is_fit else ""


def _write(said: Said) -> bytes:
    follows, head, words = 0, b"", said.etag.encode()
    if said.misses:
        follows, head = _MISSED, _MISSES.pack(min(said.misses, 255), said.since)
    if said.bound:
        follows, head = follows | _BOUND, head + _INTERVAL.pack(said.bound)
    if (date := _time_of(said.last_modified)) is not None:
        follows, head = follows | _DATED, head + _DATE.pack(date)
    elif said.last_modified:
        words += b"\0" + said.last_modified.encode()
    return bytes((follows,)) + head + words


def _read(value: bytes) -> Said:
    misses = since = bound = 0
    date, place = "", 1
    if value[0] & _MISSED:
        misses, since = _MISSES.unpack_from(value, place)
        place += _MISSES.size
    if value[0] & _BOUND:
        (bound,) = _INTERVAL.unpack_from(value, place)
        place += _INTERVAL.size
    if value[0] & _DATED:
        date = formatdate(_DATE.unpack_from(value, place)[0], usegmt=True)
        place += _DATE.size
    etag, _, modified = value[place:].partition(b"\0")
    return Said(misses, since, etag.decode("ascii"), date or modified.decode("ascii"), bound)


def _time_of(date: str) -> int | None:
    """Return the time of a date that is written as HTTP wants it, None for any other text."""
    try:
        parsed = parsedate_tz(date) if date else None
        time = None if parsed is None else mktime_tz(parsed)
        if time is None or not 0 <= time <= LAST_TIME or formatdate(time, usegmt=True) != date:
            return None
    except (ValueError, OverflowError):
        return None
    return int(time)
