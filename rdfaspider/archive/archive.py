"""Keeps exchanges as records, in files of this process and the index of all."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import time
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.archive.index.captures import REVISIT, Capture, media_type, stamp_of
from rdfaspider.archive.index.index import Journal, captures_in
from rdfaspider.archive.warc.file import WarcFile, mend
from rdfaspider.archive.warc.members import pack
from rdfaspider.archive.warc.reader import path_of, read, source_of
from rdfaspider.archive.warc.records import (
    Original,
    date_of,
    digest,
    records_of,
    set_length,
    warcinfo,
)
from rdfaspider.items import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdfaspider.archive.exchange import Exchange

# Bytes from which on a body is not kept twice: a reference to a smaller one is as long.
_WORTH = 256
# Digests that are known, some 300 bytes each.
_KNOWN = 100_000


class Entry(NamedTuple):
    """An exchange to be kept, what is known of it besides, and the document that scripts made of it."""

    exchange: Exchange
    notes: tuple[tuple[str, str], ...] = ()
    rendered: bytes = b""

    @property
    def size(self) -> int:
        return len(self.exchange.body) + len(self.rendered)


class Packed(NamedTuple):
    """The records of an entry, how many they are, and its capture but for where that will be.

    `identity` and `date` are those of the last one, which holds the answer.
    """

    members: bytes
    records: int
    capture: Capture
    identity: str
    date: int


class ArchiveError(OSError):
    """The archive cannot be written; the only argument says so in a sentence."""

    finish_reason = "archive_error"


class Archive:
    """The archive in a directory; any number of processes may write to it.

    What survives a kill: all entries whose `put` has returned. A page whose record was safe and which was not
    done when the crawl died is fetched again; if it is the same, its record is the one that is there.
    Invariant: a reference leads to a body that is kept. So nothing is written after what could not be, since
    later entries may refer to it; the next start mends the file.
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
        self._failure: ArchiveError | None = None
        directory.mkdir(parents=True, exist_ok=True)
        self._in_doubt = mend(directory)
        self._lock = Lock()  # large entries are packed in a thread
        self._known: dict[bytes, Original] = self._read_known() if revisits else {}

    def put(self, entries: Iterable[Entry | Packed]) -> list[Source]:
        """Keep entries, packed or not, and return where their answers are.

        They are safe from the death of the process when this returns. Raise ArchiveError if they cannot be
        written, and ever after.
        """
        each = [self.pack(entry) if isinstance(entry, Entry) else entry for entry in entries]
        packed = [one for one in each if isinstance(one, Packed)]
        written = iter(self._write(packed) if packed else ())
        return [one if isinstance(one, Source) else next(written) for one in each]

    def pack(self, entry: Entry) -> Packed | Source:
        """Make records of an entry, or return where its answer is, if it is there from before a kill.

        They may refer to those of an entry that was packed before, and must be written after these.
        """
        exchange, notes, rendered = entry
        # The record of a 304 has no digest either: it has no body.
        payload = b"" if exchange.is_not_modified else digest(exchange.body)
        # What scripts make of the same body may be another document.
        is_known = self._in_doubt and not rendered
        if is_known and (source := self._resumed(exchange, payload.decode())):
            self.counters["resumed"] += 1
            return source
        original = self._original(exchange, payload)
        identity, records = records_of(
            exchange, payload, original, notes, request=self._requests, rendered=rendered
        )
        members = [*map(pack, records[:-1])]
        last = set_length(records[-1], len(members[-1])) if rendered else records[-1]
        members.append(pack(last))
        capture = _capture(exchange, payload, original, len(members[-1]))
        return Packed(b"".join(members), len(members), capture, identity, int(exchange.began))

    def _resumed(self, exchange: Exchange, payload: str) -> Source | None:
        """Return where the answer of a page is that had its record at a kill, None if it has none.

        Of a redirect or an error the body says too little, maybe nothing: these are kept again.
        """
        capture = self._in_doubt.pop(exchange.url, None)
        if capture is None or exchange.status != 200 or not exchange.body:
            return None
        if (capture.status, capture.digest) != ("200", payload):
            return None
        with suppress(OSError, ValueError):  # somebody may have taken the file away
            record = read(self.directory, capture)
            return source_of(record, capture.filename, capture.offset, capture.length)
        return None

    def _write(self, packed: Sequence[Packed]) -> list[Source]:
        if self._failure is not None:
            raise self._failure
        try:
            return self._append(packed)
        except ArchiveError:  # when the file was ended
            raise
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> ArchiveError:
        if self._failure is None:
            why = getattr(error, "strerror", None) or error
            self._failure = ArchiveError(f"The archive {self.directory} cannot be written: {why}.")
        return self._failure

    def _append(self, packed: Sequence[Packed]) -> list[Source]:
        file, journal = self._opened()
        end = before = file.size
        captures, sources = [], []
        for members, _, capture, identity, date in packed:
            end += len(members)
            start, length, name = end - capture.length, capture.length, file.name
            captures.append(capture.at(start, name))
            sources.append(Source(identity, name, start, length, capture.digest, date))
        file.append(b"".join([one.members for one in packed]))
        journal.add(captures, end)
        self.counters["records"] += sum(one.records for one in packed)
        self.counters["captures"] += len(captures)
        self.counters["revisits"] += sum(capture.mime == REVISIT for capture in captures)
        self.counters["bytes"] += end - before
        if end >= self._file_bytes:
            self.close()
        return sources

    def _original(self, exchange: Exchange, payload: bytes) -> Original | None:
        """Return the capture with the same body, None if there is none or the body is kept anyhow."""
        if (
            not self._revisits
            or len(exchange.body) < _WORTH
            or exchange.truncated
            or exchange.status != 200
        ):
            return None
        with self._lock:
            if original := self._known.get(payload):
                return original
            self._known[payload] = Original(exchange.url, date_of(int(exchange.began)))
            if len(self._known) > _KNOWN:
                del self._known[next(iter(self._known))]
        return None

    def _read_known(self) -> dict[bytes, Original]:
        """Return bodies that earlier runs have kept, but for those whose files were taken away."""
        known: dict[bytes, Original] = {}
        there: dict[str, bool] = {}
        for capture in captures_in(self.directory):
            name = capture.filename
            if name not in there:
                there[name] = self._has(name)
            if capture.status != "200" or capture.mime == REVISIT or not there[name]:
                continue
            if capture.length >= _WORTH:
                known[capture.digest.encode()] = Original(capture.url, _as_warc(capture.date))
                if len(known) >= _KNOWN:
                    break
        return known

    def _has(self, name: str) -> bool:
        try:
            return path_of(self.directory, name).exists()
        except ValueError:  # it would be elsewhere
            return False

    def _opened(self) -> tuple[WarcFile, Journal]:
        if self._file is None or self._journal is None:
            self._file = WarcFile(self.directory, self.counters["files"])
            self._file.append(pack(warcinfo(self._file.name, self._about, time())))
            self._journal = Journal(self.directory, self._file.name, self._file.size)
            self.counters["files"] += 1
        return self._file, self._journal

    def close(self) -> None:
        """End the file; the next entry begins another. One that could not be written is left to be mended."""
        file, journal = self._file, self._journal
        self._file = self._journal = None
        try:
            if self._failure is None and file is not None and journal is not None:
                journal.close()
                file.close()
        except OSError as error:
            raise self._failed(error) from error
        finally:
            for each in (journal, file):
                if each is not None:
                    each.release()


def _capture(exchange: Exchange, payload: bytes, original: Original | None, length: int) -> Capture:
    types = exchange.header(b"content-type")
    is_revisit = original or exchange.is_not_modified
    mime = REVISIT if is_revisit else media_type(types[0]) if types else ""
    date, status = stamp_of(int(exchange.began)), str(exchange.status)
    return Capture(exchange.url, date, mime, status, payload.decode(), length, -1, "")


def _as_warc(date: str) -> bytes:
    day, time = f"{date[:4]}-{date[4:6]}-{date[6:8]}", f"{date[8:10]}:{date[10:12]}:{date[12:14]}"
    return f"{day}T{time}Z".encode()
