"""Figures that several sections have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rdfaspider.report.model import Figure

Found = Mapping[str, Any]
# Rows of a table or figure that are kept: hosts, sections, pages by rank, terms.
MOST = 200


def names_of(crawls: Sequence[Found]) -> list[str]:
    return [crawl["name"] for crawl in crawls]


def counters_of(crawls: Sequence[Found], of: str, name: str) -> list[Mapping[Any, int]]:
    return [(crawl[of] or {}).get(name, {}) for crawl in crawls]


def bars(
    key: str,
    title: str,
    sentence: str,
    crawls: Sequence[Found],
    name: str,
    *,
    of: str = "pages",
    up: str = "pages",
    named: Callable[[str], str] = str,
) -> Figure:
    """Return bars; `named` gives what is counted another name, and what gets the same name is summed up."""
    rows = merged([_renamed(counter, named) for counter in counters_of(crawls, of, name)])
    return Figure(
        key if of == "pages" else f"term-{key}",
        title,
        sentence,
        "bars",
        names_of(crawls),
        up=up,
        labels=[row[0] for row in rows],
        values=[[row[place] for row in rows] for place in range(1, len(crawls) + 1)]
        if rows
        else (),
    )


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


def columns(
    key: str, title: str, sentence: str, crawls: Sequence[Found], name: str, up: str = "pages"
) -> Figure:
    counters = counters_of(crawls, "pages", name)
    last = max((int(value) for counter in counters for value in counter), default=-1)
    return Figure(
        key,
        title,
        sentence,
        "columns",
        names_of(crawls),
        across="links from a seed",
        up=up,
        labels=[str(value) for value in range(last + 1)],
        values=[[counter.get(value, 0) for value in range(last + 1)] for counter in counters]
        if last >= 0
        else (),
    )


def spread(
    key: str,
    title: str,
    sentence: str,
    crawls: Sequence[Found],
    name: str,
    across: str,
    up: str = "pages",
) -> Figure:
    """Return columns for powers of two."""
    counters = counters_of(crawls, "pages", name)
    steps = {int(value) for counter in counters for value in counter}
    low, high = min(steps - {0}, default=1), max(steps, default=0)
    labels = [0] if 0 in steps else []
    while low <= high:
        labels.append(low)
        low *= 2
    return Figure(
        key,
        title,
        sentence,
        "columns",
        names_of(crawls),
        across=f"{across}, from",
        up=up,
        labels=[str(label) for label in labels],
        values=[[counter.get(label, 0) for label in labels] for counter in counters]
        if steps
        else (),
    )


def points(
    key: str,
    title: str,
    sentence: str,
    crawls: Sequence[Found],
    name: str,
    across: str,
    up: str,
    *,
    of: str = "pages",
) -> Figure:
    return Figure(
        key,
        title,
        sentence,
        "points",
        names_of(crawls),
        across=across,
        up=up,
        points=[pairs(counter) for counter in counters_of(crawls, of, name)],
        is_logarithmic=True,
    )


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
