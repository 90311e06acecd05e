"""Foretells from its samples when a crawl ends, and with how many pages.

The crawl is taken to end URLs as fast as in the last quarter of its time. How many new URLs each of them
brings falls as it fell between the quarter before and that one, as the crawl comes to know the web around
it; so even a crawl that finds more than it fetches has an end in sight. A host with a delay may take longer
than all the rest, and a limit may stop the crawl before.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdfaspider.extensions.history.samples import Sample

# A forecast rests on at least this many seconds, and on this share of the time so far.
_MIN_SECONDS, _SHARE = 10.0, 0.25
# An end after this many times as many URLs as have ended so far is out of sight.
_SIGHT = 20


class Limit(NamedTuple):
    """A setting that stops the crawl: what is left until then, and how much of it goes with each URL that
    ends; of a limit in seconds, None."""

    name: str
    left: float
    share: float | None = None


class Forecast(NamedTuple):
    """When a crawl ends if it goes on as in the last `over` seconds: `seconds` from now, None if never, with
    `pages`.

    `found` is the number of new URLs for each one that ends. `slowest` is the host that takes longest because
    of its delay, if that takes longer than all the rest, and `limit` the setting that stops the crawl.
    """

    seconds: float | None
    over: float
    found: float
    slowest: str = ""
    limit: str = ""
    pages: int = 0


def forecast(
    samples: Sequence[Sample],
    slowest: tuple[str, float] = ("", 0.0),
    limits: Iterable[Limit] = (),
) -> Forecast | None:
    """Return when a crawl with these samples ends, None if it is too early to say. `slowest` is the host
    whose URLs take longest with its delay, and how long."""
    if not samples:
        return None
    last = samples[-1]
    length = max(_MIN_SECONDS, _SHARE * last.seconds)
    first = _before(samples, last, length)
    if first is None or not (ended := _ended(last) - _ended(first)):
        return None
    over = last.seconds - first.seconds
    rate, found = ended / over, _found(first, last)
    seconds, host, limit = None, "", ""
    slope = _slope(_before(samples, first, length), first, last)
    now = max(0.0, found - slope * ended / 2)  # `found` is the mean since the first sample
    urls = _urls_to_come(last.waiting, now, slope)
    if urls is not None and urls <= _SIGHT * _ended(last):
        seconds = urls / rate
        if slowest[1] > seconds:
            host, seconds = slowest
    for each in limits:
        if each.share != 0.0:
            left = each.left if each.share is None else each.left / each.share / rate
            if seconds is None or left < seconds:
                seconds, host, limit = max(left, 0.0), "", each.name
    if seconds is None:
        return Forecast(None, over, found)
    to_come = rate * seconds if urls is None else min(rate * seconds, urls)
    pages = last.pages + to_come * (last.pages - first.pages) / ended
    return Forecast(seconds, over, found, host, limit, round(pages))


def _ended(sample: Sample) -> int:
    return sample.seen - sample.waiting


def _found(first: Sample, last: Sample) -> float:
    """Return the number of new URLs for each that ended between two samples."""
    return max(last.seen - first.seen, 0) / max(_ended(last) - _ended(first), 1)


def _before(samples: Sequence[Sample], last: Sample, length: float) -> Sample | None:
    """Return the sample of the same run that was taken some seconds before another, None if there is none."""
    return next(
        (
            each
            for each in reversed(samples)
            if last.seconds - each.seconds >= length and each.run == last.run
        ),
        None,
    )


def _slope(earliest: Sample | None, first: Sample, last: Sample) -> float:
    """Return by how much fewer new URLs each further one brings that ends, 0.0 if not fewer."""
    if earliest is None or _ended(first) <= _ended(earliest):
        return 0.0
    middles = (_ended(last) - _ended(earliest)) / 2
    return max(0.0, (_found(earliest, first) - _found(first, last)) / middles)


def _urls_to_come(waiting: int, found: float, slope: float) -> float | None:
    """Return how many URLs end from now on, of which the n-th brings `found - slope * n` new ones, but no
    less than none; None if there is no end to them."""
    if slope < 1e-9:
        return waiting / (1 - found) if found < 1 else None
    if (urls := waiting + found**2 / (2 * slope)) >= found / slope:
        return urls
    return (found - 1 + sqrt((found - 1) ** 2 + 2 * slope * waiting)) / slope
