"""Reports on crawls by their histories: a table, a picture, a page, or numbers for other programs.

Time is time spent crawling: a stop between two runs is cut out, told in the table, and marked in the
picture by a dashed line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import pairwise

from rdfaspider.curves import Panel, draw, short
from rdfaspider.extensions.history.samples import Sample
from rdfaspider.terminal import duration

# Counters change once a second, so a rate over a shorter time would be arbitrary.
_SHORTEST = 4.0
# More steps than this are noise in a panel of 400 pixels.
_STEPS = 120
# More dashed lines than this hide the curves.
_MARKS = 40
_UNITS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0))


@dataclass(frozen=True)
class Crawl:
    """A crawl by its name and its history, which has at least one sample."""

    name: str
    samples: Sequence[Sample]


@dataclass(frozen=True)
class CrawlFigures:
    """A crawl in numbers. Times in seconds; the peak is that of the best `peak_seconds`."""

    seconds: float
    resumes: int
    stopped_seconds: float
    pages: int
    pages_per_second: float
    peak_pages_per_second: float
    peak_seconds: float
    urls: int
    waiting: int
    failed: int
    bytes: int
    bytes_per_second: float
    triples: int
    triples_per_page: float
    peak_memory_mb: int
    end: int
    end_pages: int


def summarise(crawl: Crawl) -> CrawlFigures:
    first, last = crawl.samples[0], crawl.samples[-1]
    seconds = last.seconds or 1.0
    peak, peak_seconds = max(
        (
            ((after.pages - before.pages) / length, length)
            for before, after in pairwise(_edges(crawl.samples, _SHORTEST))
            if (length := after.seconds - before.seconds)
        ),
        default=(0.0, 0.0),
    )
    return CrawlFigures(
        seconds=last.seconds,
        resumes=last.run - first.run,
        stopped_seconds=max(0.0, last.time - first.time - (last.seconds - first.seconds)),
        pages=last.pages,
        pages_per_second=last.pages / seconds,
        peak_pages_per_second=peak,
        peak_seconds=peak_seconds,
        urls=last.seen,
        waiting=last.waiting,
        failed=last.failed,
        bytes=last.received,
        bytes_per_second=last.received / seconds,
        triples=last.quads,
        triples_per_page=last.quads / max(1, last.pages),
        peak_memory_mb=max(sample.memory for sample in crawl.samples),
        end=last.end,
        end_pages=last.end_pages,
    )


_ROWS: tuple[tuple[str, Callable[[CrawlFigures], str]], ...] = (
    ("time spent crawling", lambda of: _duration(of.seconds)),
    ("resumed", lambda of: _resumes(of)),
    ("pages, all visits", lambda of: f"{of.pages:,}"),
    ("pages/s, mean", lambda of: f"{of.pages_per_second:,.2f}"),
    (
        "pages/s, peak",
        lambda of: f"{of.peak_pages_per_second:,.2f} in {_duration(of.peak_seconds)}",
    ),
    ("URLs discovered", lambda of: f"{of.urls:,}"),
    ("of these waiting", lambda of: f"{of.waiting:,}"),
    ("of these failed", lambda of: f"{of.failed:,}"),
    ("received", lambda of: f"{short(of.bytes)}B"),
    ("bandwidth, mean", lambda of: f"{short(of.bytes_per_second)}B/s"),
    ("triples stored", lambda of: f"{of.triples:,}"),
    ("triples/page read", lambda of: f"{of.triples_per_page:,.2f}"),
    ("memory, peak", lambda of: f"{of.peak_memory_mb:,} MB"),
    ("ends, by forecast", lambda of: _forecast(of)),
)


def table(crawls: Sequence[Crawl], line: float = 0.0) -> str:
    """Return a column for each crawl, aligned for a terminal; `line` is the bandwidth of their line."""
    rows = _cells(crawls, line)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def plot(crawls: Sequence[Crawl], line: float = 0.0) -> str:
    """Return pages per second, URLs, bandwidth and triples over time as SVG, a curve for each crawl."""
    longest = max(crawl.samples[-1].seconds for crawl in crawls)
    unit, size = next((pair for pair in _UNITS if longest >= 3 * pair[1]), ("seconds", 1.0))
    edges = [_edges(c.samples, max(_SHORTEST, c.samples[-1].seconds / _STEPS)) for c in crawls]
    marks = [_resumed_at(crawl.samples, size) for crawl in crawls]
    across = f"{unit} of crawling"
    bandwidth = f"bandwidth, % of {short(line)}B/s" if line else "bandwidth, bytes/s"
    unit_of_line = line / 100 or 1.0
    panels = [
        Panel("pages/s", across, [_rate(e, "pages", size) for e in edges], marks),
        Panel("URLs discovered", across, [_total(e, "seen", size) for e in edges], marks),
        Panel(bandwidth, across, [_rate(e, "received", size, unit_of_line) for e in edges], marks),
        Panel("triples stored", across, [_total(e, "quads", size) for e in edges], marks),
    ]
    title = "The crawl over time" if len(crawls) == 1 else "The crawls over time"
    if any(marks):
        title += " (dashed: stopped and resumed; the time between is left out)"
    return draw(panels, [crawl.name for crawl in crawls], title)


def page(crawls: Sequence[Crawl], line: float = 0.0) -> str:
    """Return table and picture as one HTML page that needs nothing else."""
    head, *rows = _cells(crawls, line)
    cells = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    cells += [
        f"<th>{escape(row[0])}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        for row in rows
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Crawl report</title>\n'
        "<style>body{font-family:sans-serif;margin:2em}th{text-align:left;font-weight:normal;white-space:nowrap}"
        "td,th{padding:.2em 1.5em .2em 0}tr:first-child th{font-weight:bold}"
        "svg{max-width:100%;height:auto}</style>\n<h1>Crawl report</h1>\n<table>\n"
        + "\n".join(f"<tr>{row}</tr>" for row in cells)
        + f"\n</table>\n{plot(crawls, line)}</html>\n"
    )


def numbers(crawls: Sequence[Crawl]) -> str:
    """Return the summaries and all samples as JSON."""
    return json.dumps(
        [
            {
                "name": crawl.name,
                "summary": asdict(summarise(crawl)),
                "samples": [sample._asdict() for sample in crawl.samples],
            }
            for crawl in crawls
        ],
        indent=1,
    )


def _cells(crawls: Sequence[Crawl], line: float) -> list[list[str]]:
    summaries = [summarise(crawl) for crawl in crawls]
    rows = [["", *(crawl.name for crawl in crawls)]]
    rows += [[label, *(cell(of) for of in summaries)] for label, cell in _ROWS]
    if line:
        rows.append(["of the line", *(f"{of.bytes_per_second / line:.0%}" for of in summaries)])
    return rows


def _edges(samples: Sequence[Sample], least: float) -> list[Sample]:
    """Return the first sample, the last, and some between, at least `least` seconds apart."""
    edges = [samples[0]]
    for sample in samples:
        if sample.seconds - edges[-1].seconds >= least:
            edges.append(sample)
    if len(edges) > 1:
        edges.pop()  # a short rest belongs to the interval before it
    return [*edges, samples[-1]]


def _rate(
    edges: Sequence[Sample], name: str, size: float, unit: float = 1.0
) -> list[tuple[float, float]]:
    """Return a step for each interval, as high as the growth of the counter per second, in a unit."""
    points: list[tuple[float, float]] = []
    for before, after in pairwise(edges):
        if length := after.seconds - before.seconds:
            rate = (getattr(after, name) - getattr(before, name)) / length / unit
            points += [(before.seconds / size, rate), (after.seconds / size, rate)]
    return points


def _total(edges: Sequence[Sample], name: str, size: float) -> list[tuple[float, float]]:
    return [(sample.seconds / size, getattr(sample, name)) for sample in edges]


def _resumed_at(samples: Sequence[Sample], size: float) -> list[float]:
    marks = [after.seconds / size for before, after in pairwise(samples) if after.run > before.run]
    return marks if len(marks) <= _MARKS else []


def _resumes(of: CrawlFigures) -> str:
    if not of.resumes:
        return "never"
    times = "once" if of.resumes == 1 else f"{of.resumes:,} times"
    return f"{times}, stopped for {_duration(of.stopped_seconds)}"


def _forecast(of: CrawlFigures) -> str:
    if not of.end:
        return "-"
    return f"after {_duration(of.end)}, with {of.end_pages:,} pages"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return duration(seconds)
