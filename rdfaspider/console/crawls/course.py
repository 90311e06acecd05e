"""The course of a crawl: its rates, its curves, and when it will end.

A sample of the counters is taken once a second and kept for ten minutes; what was before is in the history of
the crawl (extensions/history).
"""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.extensions.history.forecast import forecast
from rdfaspider.extensions.history.samples import Sample, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rdfaspider.extensions.history.forecast import Forecast

# Samples kept, one a second.
_KEPT = 600
# Seconds over which a rate is taken.
_WINDOW = 10.0
# Points of a curve: more than this are noise in a picture of some hundred pixels.
_POINTS = 240
# Seconds after which the file is read again: by then the samples in memory overlap with it by far.
_OLD = 60.0


class Rates(NamedTuple):
    """Growth a second, over the last seconds."""

    pages: float
    triples: float
    bytes: float
    found: float
    ended: float


class Course:
    """Samples of a crawl: `take` returns the next, `path` has the earlier ones."""

    def __init__(self, take: Callable[[], Sample], path: Path | None = None) -> None:
        self._take = take
        self._path = path
        self._recent: deque[Sample] = deque(maxlen=_KEPT)
        self._earlier: list[Sample] = []
        self._read_at = 0.0

    def tick(self) -> None:
        """Take a sample; call it once a second."""
        self._recent.append(self._take())

    def add(self, samples: Sequence[Sample]) -> None:
        """Add the latest samples of another process, as far as they are not there yet."""
        for sample in samples:
            if self._recent and sample.time == self._recent[-1].time:
                self._recent[-1] = sample  # completed when the crawl has died
            elif not self._recent or sample.time > self._recent[-1].time:
                self._recent.append(sample)

    @property
    def now(self) -> Sample:
        return self._take()

    def rates(self) -> Rates:
        if len(self._recent) < 2:
            return Rates(0.0, 0.0, 0.0, 0.0, 0.0)
        last = self._recent[-1]
        first = self._recent[0]
        for sample in reversed(self._recent):
            first = sample
            if last.seconds - sample.seconds >= _WINDOW:
                break
        return _rates(first, last)

    def curve(self) -> dict[str, list[float]]:
        """Return the counters over the time spent crawling, each as a list."""
        samples = _thinned(self._all(), _POINTS)
        return {
            "seconds": [sample.seconds for sample in samples],
            "run": [sample.run for sample in samples],
            "pages": [sample.pages for sample in samples],
            "triples": [sample.quads for sample in samples],
            "found": [sample.seen for sample in samples],
            "ended": [sample.seen - sample.waiting for sample in samples],
            "memory": [sample.memory for sample in samples],
        }

    def forecast(self) -> Forecast | None:
        """Return when the crawl ends, as far as its samples tell; None if it is too early to say."""
        return forecast(self._all())

    def _all(self) -> list[Sample]:
        begin = self._recent[0].seconds if self._recent else 0.0
        is_old = not self._read_at or monotonic() - self._read_at > _OLD
        if self._path is not None and begin > 0 and is_old:
            self._read_at = monotonic()
            try:
                self._earlier = _thinned(read(self._path), 4 * _POINTS)
            except OSError:
                self._earlier = []
        return [each for each in self._earlier if each.seconds < begin] + list(self._recent)


def _rates(first: Sample, last: Sample) -> Rates:
    length = max(last.seconds - first.seconds, 1e-9)
    ended = (last.seen - last.waiting) - (first.seen - first.waiting)
    return Rates(
        (last.pages - first.pages) / length,
        (last.quads - first.quads) / length,
        (last.received - first.received) / length,
        (last.seen - first.seen) / length,
        ended / length,
    )


def _thinned(samples: list[Sample], most: int) -> list[Sample]:
    """Return samples that are evenly apart in time, with the first and the last."""
    if len(samples) <= most:
        return samples
    step = (samples[-1].seconds - samples[0].seconds) / most
    kept = [samples[0]]
    for sample in samples[1:-1]:
        if sample.seconds - kept[-1].seconds >= step:
            kept.append(sample)
    return [*kept, samples[-1]]
