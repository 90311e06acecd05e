"""The distribution of a column of the table of pages or sites, in bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from rdfaspider.pages.files import plain
from rdfaspider.report.model import Figure

# Bins of a number or a time; names that are told apart, since servers make up their own.
_MAX_BINS, _MAX_NAMES = 40, 1_000
_OTHERS = "(others)"


class Level(NamedTuple):
    """Bins of one width: to which one a value belongs, and what it is called."""

    bin_of: Callable[[Any], Any]
    label_of: Callable[[Any], str] = str


def _time_until(end: int) -> Level:
    """Return bins of times that agree up to a character."""
    return Level(lambda value: plain(value, "time")[:end])


# From the finest to the widest. Times are cut after minutes, hours, days, months and years.
_LEVELS: dict[str, Sequence[Level]] = {
    "text": [Level(str)],
    "whole": [
        Level(int, "{:,}".format),
        Level(lambda value: _power(value), lambda low: _whole(low)),
    ],
    "real": [
        *(Level(partial(round, ndigits=digits)) for digits in (2, 1, 0)),
        Level(lambda value: _power(value), lambda low: f"{low:g} to {2 * low:g}"),
    ],
    "time": [_time_until(end) for end in (16, 13, 10, 7, 4)],
}


class Histogram:
    """Counts of the values of a column; `unknown` are rows without one.

    Numbers and times have the finest bins of which there are few; values in between that were not seen have
    none.
    """

    def __init__(self, column: str, kind: str, values: Iterable[Any]) -> None:
        self.column = column
        self.unknown = 0
        self._is_text = kind == "text"
        counters = [(level, Counter[Any]()) for level in _LEVELS[kind]]
        for value in values:
            if value is None:
                self.unknown += 1
                continue
            for level, counter in counters:
                found = level.bin_of(value)
                is_new = self._is_text and found not in counter and len(counter) >= _MAX_NAMES
                counter[_OTHERS if is_new else found] += 1
            while len(counters) > 1 and len(counters[0][1]) > _MAX_BINS:
                del counters[0]
        self._level, self._counter = counters[0]

    @property
    def bins(self) -> list[tuple[str, int]]:
        """Return the bins with their counts: texts by their count, all else in order."""
        counter = self._counter
        found = counter.most_common() if self._is_text else sorted(counter.items())
        return [(self._level.label_of(each), count) for each, count in found]

    def figure(self, noun: str) -> Figure:
        """Return the histogram as a figure of a report; `noun` is what is counted."""
        bins = self.bins
        return Figure(
            key=self.column,
            title=f"{noun.capitalize()} by {self.column}",
            sentence=f"{self._counter.total():,} {noun} have a value, {self.unknown:,} have none.",
            kind="bars" if self._is_text else "columns",
            names=[noun],
            across=self.column,
            up=noun,
            labels=[label for label, _ in bins],
            values=[[count for _, count in bins]],
        )


def _power(value: float) -> float:
    """Return the power of two at or below a number, by its magnitude; 0 for 0."""
    return math.copysign(2.0 ** (math.frexp(value)[1] - 1), value) if value else 0.0


def _whole(low: float) -> str:
    first, last = int(low), int(2 * low - math.copysign(1, low))
    return f"{first:,} to {last:,}" if abs(first) > 1 else f"{first:,}"
