"""The distribution of a column of the table of pages or sites, in bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from rdfaspider.pages.files import plain

# Bins of a number or a time; names that are told apart, since servers make up their own.
_MAX_BINS, _MAX_NAMES = 40, 1_000


def histogram(kind: str, values: Iterable[Any]) -> tuple[list[tuple[str, int]], int]:
    """Return the bins of values with their counts, and how many values are unknown.

    Numbers and times have the finest bins of which there are few, named by their lower ends.
    """
    bins: list[tuple[Callable[[Any], Any], Counter[Any]]]
    bins = [(bin_of, Counter()) for bin_of in _BINS[kind]]
    unknown = 0
    for value in values:
        unknown += value is None
        for bin_of, counter in bins if value is not None else ():
            found = bin_of(value)
            if kind == "text" and len(counter) >= _MAX_NAMES and found not in counter:
                found = "(others)"
            counter[found] += 1
        while len(bins) > 1 and len(bins[0][1]) > _MAX_BINS:
            del bins[0]
    counts = bins[0][1]
    ordered = counts.most_common() if kind == "text" else sorted(counts.items())
    return [(f"{name:,}" if kind == "whole" else str(name), n) for name, n in ordered], unknown


def _power(value: float) -> int | float:
    """Return the power of two at or below a number, by its magnitude; 0 for 0."""
    power = math.copysign(2.0 ** (math.frexp(value)[1] - 1), value) if value else 0.0
    return int(power) if isinstance(value, int) else power


def _time(end: int, value: float) -> str:
    return str(plain(value, "time"))[:end]


# From the finest to the widest. Times are cut after minutes, hours, days, months and years.
_BINS: dict[str, list[Callable[[Any], Any]]] = {
    "text": [str],
    "whole": [int, _power],
    "real": [partial(round, ndigits=1), _power],
    "time": [partial(_time, end) for end in (16, 13, 10, 7, 4)],
}
