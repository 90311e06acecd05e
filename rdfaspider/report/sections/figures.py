"""What several sections need: figures of counters, and words about crawls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rdfaspider.report.model import Figure

Found = Mapping[str, Any]
# Rows of a table or figure that are kept: hosts, sections, pages by rank, terms.
MOST = 200


class Figures:
    """Makes figures of the counters that each crawl has under `of`; a figure is named by its counter."""

    def __init__(self, crawls: Sequence[Found], of: str = "pages") -> None:
        self._crawls = crawls
        self._of = of

    def _counters(self, name: str) -> list[Mapping[Any, int]]:
        return [(crawl[self._of] or {}).get(name, {}) for crawl in self._crawls]

    def _figure(self, kind: Any, name: str, title: str, sentence: str, **more: Any) -> Figure:
        key = (name if self._of == "pages" else f"{self._of}-{name}").replace("_", "-")
        return Figure(key, title, sentence, kind, names_of(self._crawls), **more)

    def bars(
        self,
        name: str,
        title: str,
        sentence: str,
        up: str = "pages",
        named: Callable[[str], str] = str,
    ) -> Figure:
        """Return bars; `named` renames what is counted, and what gets the same name is summed up."""
        rows = merged([_renamed(counter, named) for counter in self._counters(name)])
        labels, *values = zip(*rows, strict=True) if rows else ((),)
        return self._figure("bars", name, title, sentence, up=up, labels=labels, values=values)

    def columns(self, name: str, title: str, sentence: str, up: str = "pages") -> Figure:
        """Return columns by depth."""
        last = max((int(value) for each in self._counters(name) for value in each), default=-1)
        across = "links from a seed"
        return self._columns(name, title, sentence, across, up, range(last + 1))

    def spread(
        self, name: str, title: str, sentence: str, across: str, up: str = "pages"
    ) -> Figure:
        """Return columns for powers of two."""
        steps = {int(value) for counter in self._counters(name) for value in counter}
        low, high = min(steps - {0}, default=1), max(steps, default=0)
        labels = [0] if 0 in steps else []
        while low <= high:
            labels.append(low)
            low *= 2
        return self._columns(name, title, sentence, f"{across}, from", up, labels)

    def _columns(
        self, name: str, title: str, sentence: str, across: str, up: str, labels: Iterable[int]
    ) -> Figure:
        values = [[each.get(label, 0) for label in labels] for each in self._counters(name)]
        shown = {"across": across, "up": up, "labels": [*map(str, labels)], "values": values}
        return self._figure("columns", name, title, sentence, **shown)

    def points(
        self, name: str, title: str, sentence: str, across: str, up: str = "pages", **more: Any
    ) -> Figure:
        """Return a distribution on logarithmic axes."""
        shown = {"across": across, "up": up, "points": [*map(pairs, self._counters(name))]}
        return self._figure("points", name, title, sentence, is_logarithmic=True, **shown, **more)


def names_of(crawls: Sequence[Found]) -> list[str]:
    return [crawl["name"] for crawl in crawls]


def _renamed(counter: Mapping[Any, int], named: Callable[[str], str]) -> Mapping[str, int]:
    sums: Counter[str] = Counter()
    for name, count in counter.items():
        sums[named(str(name))] += count
    return sums


def merged(counters: Sequence[Mapping[Any, int]]) -> list[list[Any]]:
    """Return a row for each name, with a number of each crawl, those with the largest number first.

    What a long counter does not have may have been cut off: it is not known.
    """
    names = dict.fromkeys(name for counter in counters for name in counter)
    rest = [0 if len(counter) < MOST else None for counter in counters]
    rows = [
        [str(name), *(each.get(name, none) for each, none in zip(counters, rest, strict=True))]
        for name in names
    ]
    return sorted(rows, key=lambda row: max(number or 0 for number in row[1:]), reverse=True)


def pairs(counter: Mapping[Any, int]) -> list[tuple[float, float]]:
    """Return the points of a distribution on logarithmic axes, which have no 0."""
    return [(float(value), float(count)) for value, count in counter.items() if float(value) > 0]


def called(crawls: Sequence[Found], crawl: Found) -> str:
    """Return how a sentence about a crawl begins: by its name, if there are others."""
    return f"{crawl['name']}: " if len(crawls) > 1 else ""


def of_first(crawls: Sequence[Found]) -> str:
    """Return the words that a table of the first crawl alone needs beside others."""
    return f" Of {crawls[0]['name']}." if len(crawls) > 1 else ""


def why_missing(crawls: Sequence[Found], name: str) -> str:
    reasons = [
        called(crawls, crawl) + crawl["missing"][name]
        for crawl in crawls
        if name in crawl["missing"]
    ]
    return " ".join(reasons)
