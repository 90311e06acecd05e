"""The file of a crawl's history, JOBDIR/history.jsonl.

A line is one sample, a JSON object of numbers by the names in `Sample`, oldest first. All counters are of
the whole crawl, so they go on where the last run ended; `seconds` is time spent crawling, so a stop does
not show in it, but it does in `time`, and `run` is one more afterwards.

Invariant: at most `limit` lines. At the limit every second line is dropped, and samples are taken half as
often from then on. So a file of less than a megabyte covers a crawl of any length evenly.

After a kill all written samples are there, except perhaps the last, whose line may be torn; readers skip it,
and the next run begins a new line. Readers take what was counted after the last sample from the frontier and
the store (`completed`). A file that is thinned is replaced as a whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rdfaspider.frontier import Counts

NAME = "history.jsonl"
# A line has 256 bytes if every counter is a million million.
_LIMIT = 3_800
# Bytes at the end of the file that have the last samples: some twenty.
_END = 4_096
# No counter comes near; a larger number is damage.
_DAMAGED = 10**18


class Sample(NamedTuple):
    """What was counted at one moment: `time` since 1970, `received` in bytes, `memory` in megabytes. `end` is
    when the crawl was foretold to end, in seconds of crawling, with how many pages; 0 if it was not."""

    time: float
    run: int
    seconds: float
    pages: int = 0
    seen: int = 0
    waiting: int = 0
    failed: int = 0
    received: int = 0
    quads: int = 0
    memory: int = 0
    end: int = 0
    end_pages: int = 0


def read(path: Path) -> list[Sample]:
    """Return the samples of a file in order; lines that are not whole are left out."""
    samples: list[Sample] = []
    for line in path.read_bytes().splitlines():
        sample = _parse(line)
        if sample and (not samples or samples[-1].seconds <= sample.seconds):
            samples.append(sample)
    return samples


def read_end(path: Path) -> list[Sample]:
    """Return the last samples of a file in order; none if there is no such file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _END))
            lines = file.read().splitlines()
    except OSError:
        return []
    return [sample for line in lines if (sample := _parse(line))]


def completed(sample: Sample, counts: Counts, triples: int | None) -> Sample:
    """Return the last sample with what frontier and store count now, since a killed crawl cannot write it."""
    return sample._replace(
        pages=counts.pages,
        seen=counts.seen,
        waiting=counts.waiting + counts.in_flight,
        failed=counts.failed,
        quads=sample.quads if triples is None else triples,
    )


class Samples:
    """The file, open for appending. `last` is the newest sample in it; OSError if it cannot be used."""

    def __init__(self, path: Path, interval: float, limit: int = _LIMIT) -> None:
        self._path = path
        self._limit = limit
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        samples = read(path)
        self._count = len(samples)
        self.last = samples[-1] if samples else Sample(0.0, 0, 0.0)
        # Ends a line that a kill has torn; readers skip empty lines.
        self._separator = b"" if path.read_bytes()[-1:] in (b"", b"\n") else b"\n"
        # A timer is a little early or late.
        self._slack = interval / 2
        self._pace = interval
        while self.last.seconds > limit * self._pace:
            self._pace *= 2

    def is_due(self, seconds: float) -> bool:
        """Tell whether the last sample is long enough ago for another one."""
        return seconds - self.last.seconds >= self._pace - self._slack

    def append(self, sample: Sample) -> None:
        separator, self._separator = self._separator, b"\n"  # the disk may be full in mid-line
        with self._path.open("ab") as file:
            file.write(separator + _line(sample))
        self._separator = b""
        self.last = sample
        self._count += 1
        if self._count > self._limit:
            self._thin()

    def _thin(self) -> None:
        samples = read(self._path)
        while len(samples) > self._limit // 2 + 1:
            self._pace *= 2
            samples = _thinned(samples, self._pace - self._slack)
        new = self._path.with_suffix(".new")
        with new.open("wb") as file:
            file.writelines(map(_line, samples))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        self._count = len(samples)


def _thinned(samples: Sequence[Sample], least: float) -> list[Sample]:
    """Return the first and the last sample, and some between that are `least` seconds apart."""
    kept = [samples[0]]
    for sample in samples[1:-1]:
        if sample.seconds - kept[-1].seconds >= least:
            kept.append(sample)
    return [*kept, samples[-1]]


def _line(sample: Sample) -> bytes:
    return json.dumps(sample._asdict(), separators=(",", ":")).encode() + b"\n"


def _parse(line: bytes) -> Sample | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    numbers = [record.get(name) for name in Sample._fields] if isinstance(record, dict) else [None]
    if all(isinstance(number, int | float) and 0 <= number < _DAMAGED for number in numbers):
        return Sample(*numbers)
    return None
