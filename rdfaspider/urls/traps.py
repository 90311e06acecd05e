"""Rules that recognise a crawler trap by its URL alone.

A trap is a site that never ends: relative links that nest, calendars that go on for ever, filters
that multiply. Each rule is one function; `Traps` holds the limits and names the first rule broken.
The false hits given were counted on 59,416 real URLs. All rules are linear in the URL's length.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# A year with its month, or named as a year; a bare number of four digits may be anything.
# It begins with the digits, and looks back, because the search for a digit is the quickest.
_YEAR = re.compile(
    r"[0-9]{4}(?<![0-9]{5})"
    r"(?:(?=[/_.-](?:0?[1-9]|1[0-2])(?![0-9]))|(?<=year[=/][0-9]{4})(?![0-9]))"
)

_CALENDAR = re.compile(
    r"calend|kalend|agenda|event|schedule|(?<![a-z])(?:year|month|week|day|date)[=/]"
)


@dataclass(frozen=True, slots=True)
class Traps:
    """Says why a normalised URL looks like a trap. A limit of zero switches its rule off.

    `year` is the present one, which the calendar rule compares with; without it there is none.
    """

    length: int = 2048
    segments: int = 20
    repeats: int = 3
    run: int = 3
    parameters: int = 8
    year: int = 0
    years_back: int = 50
    years_ahead: int = 2

    def reason(self, url: str) -> str:
        """Return the name of the first rule that the URL breaks, or an empty string."""
        if self.length and too_long(url, self.length):
            return "length"
        path, _, query = url.partition("?")
        segments = path.split("/")[3:]
        if self.segments and too_deep(segments, self.segments):
            return "segments"
        if len(set(segments)) < len(segments):
            if self.repeats and repeats_segment(segments, self.repeats):
                return "repeats"
            if self.run and repeats_run(segments, self.run):
                return "run"
        if self.parameters and too_many_parameters(query, self.parameters):
            return "parameters"
        if self.year and leaves_calendar(
            url, self.year - self.years_back, self.year + self.years_ahead
        ):
            return "calendar"
        return ""


def too_long(url: str, limit: int) -> bool:
    """Tell whether the URL is longer than the limit.

    Example: a page that adds its own address to each link, ``/login?from=/login?from=/login…``.
    The default of 2048 is Nutch's (commented) rule and, within a few characters, what Scrapy and
    old browsers allow; no real URL was hit. StormCrawler's 1024 hit three.
    """
    return len(url) > limit


def too_deep(segments: Sequence[str], limit: int) -> bool:
    """Tell whether the path has more segments than the limit, an empty last one included.

    Example: ``/a/b/a/c/d/b/a/e/…``, nested by relative links without a repeated order.
    The default of 20 is Heritrix's; 4 real URLs were hit (0.007 %).
    """
    return len(segments) > limit


def repeats_segment(segments: Sequence[str], limit: int) -> bool:
    """Tell whether one path segment occurs as often as the limit, wherever it stands.

    Example: ``/news/img/news/img/news/``, from a page that links to ``news/`` and means ``/news/``.
    The default of 3 is StormCrawler's, whose rule hit 26 real URLs (0.044 %), some of them by their
    query: here only the path counts, and in it no empty segment.
    """
    # Fewer doublets than that cannot make one segment that often.
    if len(segments) - len(set(segments)) < limit - 1:
        return False
    counts = Counter(segments)
    del counts[""]
    return max(counts.values(), default=0) >= limit


def repeats_run(segments: Sequence[str], shortest: int, longest: int = 10) -> bool:
    """Tell whether a run of segments is followed at once by itself.

    Example: ``/shop/shoes/red/shop/shoes/red/``, the trap above caught a round earlier, because an
    honest path seldom repeats so much. A run has at least `shortest` segments; the default of 3 is
    our own. At most `longest` are compared: twice that is the greatest depth allowed.
    """
    if len(set(segments)) > len(segments) - shortest:
        return False
    return any(
        _has_period(segments, length)
        for length in range(shortest, min(longest, len(segments) // 2) + 1)
    )


def _has_period(segments: Sequence[str], length: int) -> bool:
    equal = 0
    for segment, later in zip(segments, segments[length:], strict=False):
        equal = equal + 1 if segment == later else 0
        if equal == length:
            return True
    return False


def too_many_parameters(query: str, limit: int) -> bool:
    """Tell whether the query has more parameters than the limit.

    Example: a shop's filters in all combinations, ``?size=4&colour=red&brand=x&sort=up&…``.
    The default of 8 is our own; 41 real URLs were hit (0.069 %).
    """
    return query.count("&") >= limit


def leaves_calendar(url: str, first_year: int, last_year: int) -> bool:
    """Tell whether a calendar-like URL speaks of a year outside the given ones.

    Example: ``/calendar/2087/11/``, ``/events?month=11&year=2087``: each links to the next month.
    A URL is calendar-like if it has a calendar's word, and a year that is followed by a month or
    named as a year. The defaults of 50 years back and 2 ahead are our own: wide for archives,
    narrow for what is to come.
    """
    lower = url.lower()
    outside = any(not first_year <= int(year) <= last_year for year in _YEAR.findall(lower))
    return outside and _CALENDAR.search(lower) is not None
