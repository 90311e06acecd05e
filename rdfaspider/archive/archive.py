"""Keeps exchanges as records, in files of this process and the index of all."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.archive.captures import REVISIT, Capture, digits, media_type
from rdfaspider.archive.index import Journal, captures_in
from rdfaspider.archive.members import pack
from rdfaspider.archive.records import Original, date_of, digest, records_of, warcinfo
from rdfaspider.archive.warcfile import WarcFile, mend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.archive.exchange import Exchange

# Bytes from which on a body is not kept twice: a reference to a smaller one is as long.
_WORTH = 256
# Digests that are known, some 300 bytes each.
_KNOWN = 100_000


class Entry(NamedTuple):
    """An exchange to be kept, and what is known of it besides."""

    exchange: Exchange
    notes: tuple[tuple[str, str], ...] = ()


class Archive:
    """The archive in a directory; any number of processes may write to it.

    What survives a kill: all entries whose `put` has returned. A page whose record was safe and which was not
    done when the crawl died is fetched again; if it is the same, its record is the one that is there.
    """

    def __init__(
        self,
        directory: Path,
        *,
        file_bytes: int = 1 << 30,
        requests: bool = True,
        revisits: bool = True,
        about: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.directory = directory
        self.counters: Counter[str] = Counter()
        self._file_bytes = file_bytes
        self._requests = requests
        self._revisits = revisits
        self._about = about
        self._file: WarcFile | None = None
        self._journal: Journal | None = None
        directory.mkdir(parents=True, exist_ok=True)
        self._in_doubt = mend(directory)
        self._known: dict[bytes, Original] = self._read_known() if revisits else {}

    def put(self, entries: Sequence[Entry]) -> None:
        """Keep entries; they are safe from the death of the process when this returns."""
        file, journal = self._opened()
        packed: list[bytes] = []
        captures: list[Capture] = []
        originals: dict[bytes, Original] = {}
        offset = file.size
        for entry in entries:
            exchange = entry.exchange
            payload = digest(exchange.body)
            if self._in_doubt and self._in_doubt.pop(exchange.url, "") == payload.decode():
                self.counters["resumed"] += 1
                continue
            original = self._original(exchange, payload, originals)
            records = records_of(exchange, payload, original, entry.notes, request=self._requests)
            members = [*map(pack, records)]
            offset += sum(map(len, members))
            packed += members
            captures.append(
                _capture(exchange, payload, original, len(members[-1]), offset, file.name)
            )
        if not captures:
            return
        file.append(b"".join(packed))
        journal.add(captures, file.size)
        self._remember(originals)
        self.counters["records"] += len(packed)
        self.counters["captures"] += len(captures)
        self.counters["revisits"] += sum(capture.mime == REVISIT for capture in captures)
        self.counters["bytes"] += offset - (file.size - sum(map(len, packed)))
        if file.size >= self._file_bytes:
            self.close()

    def _original(
        self, exchange: Exchange, payload: bytes, new: dict[bytes, Original]
    ) -> Original | None:
        """Return the capture with the same body, None if there is none or the body is kept anyhow."""
        if (
            not self._revisits
            or len(exchange.body) < _WORTH
            or exchange.truncated
            or exchange.status != 200
        ):
            return None
        if (original := self._known.get(payload) or new.get(payload)) is None:
            new[payload] = Original(exchange.url, date_of(exchange.began))
        return original

    def _remember(self, originals: dict[bytes, Original]) -> None:
        self._known |= originals
        if (excess := len(self._known) - _KNOWN) > 0:
            for payload in [*islice(self._known, excess)]:
                del self._known[payload]

    def _read_known(self) -> dict[bytes, Original]:
        known = {}
        for capture in captures_in(self.directory):
            if capture.status == "200" and capture.mime != REVISIT and capture.length >= _WORTH:
                known[capture.digest.encode()] = Original(capture.url, _as_warc(capture.date))
                if len(known) >= _KNOWN:
                    break
        return known

    def _opened(self) -> tuple[WarcFile, Journal]:
        if self._file is None or self._journal is None:
            self._file = WarcFile(self.directory, self.counters["files"])
            self._file.append(pack(warcinfo(self._file.name, self._about, time())))
            self._journal = Journal(self.directory, self._file.name, self._file.size)
            self.counters["files"] += 1
        return self._file, self._journal

    def close(self) -> None:
        """End the file; the next entry begins another."""
        if self._file is not None and self._journal is not None:
            self._journal.close()
            self._file.close()
        self._file = self._journal = None


def _capture(
    exchange: Exchange,
    payload: bytes,
    original: Original | None,
    length: int,
    end: int,
    filename: str,
) -> Capture:
    types = exchange.header(b"content-type")
    return Capture(
        exchange.url,
        digits(date_of(exchange.began)),
        REVISIT if original else media_type(types[0]) if types else "",
        str(exchange.status),
        payload.decode(),
        length,
        end - length,
        filename,
    )


def _as_warc(date: str) -> str:
    return f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[8:10]}:{date[10:12]}:{date[12:14]}Z"
