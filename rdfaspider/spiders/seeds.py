"""Seeds: the URLs a crawl starts from, as given on the command line."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scrapy.exceptions import UsageError

from rdfaspider.secrets import without_secrets
from rdfaspider.spiders.earlier import SCHEME, read_earlier
from rdfaspider.urls.seedfile import read_seed_lines, seed_url

logger = logging.getLogger(__name__)

# Bad seeds that are named; the others are counted.
_NAMED = 20


@dataclass(frozen=True, slots=True)
class Seeds:
    """The good URLs of an argument, normalised and without repeats, and how many were bad.

    `topics` has the names of the topics of those that are of an earlier crawl with topics.
    """

    urls: tuple[str, ...]
    bad: int
    topics: Mapping[str, str] = field(default_factory=dict)


def read_seeds(argument: str | None) -> Seeds:
    """Read `URL[,URL…]`, the name of a file with a URL a line, `-` for standard input, or the pages of an
    earlier crawl, `crawl:DIRECTORY`."""
    if not argument:
        raise UsageError(
            "No seeds: say where to start with -a seeds=URL[,URL…], -a seeds=FILE"
            " (a URL a line), -a seeds=- (standard input) or -a seeds=crawl:DIRECTORY (an earlier crawl)."
        )
    urls: dict[str, str] = {}
    bad = 0
    try:
        for place, text, topic in _lines(argument):
            try:
                urls.setdefault(seed_url(text), topic)
            except ValueError as error:
                bad += 1
                if bad <= _NAMED:
                    shown = without_secrets(text[:200])
                    reason = without_secrets(str(error))
                    logger.warning("Skipped seed %s in %s: %s", shown, place, reason)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    if bad > _NAMED:
        logger.warning("Skipped %s seeds in all.", f"{bad:,}")
    if not urls:
        shown = without_secrets(argument[:200])
        raise UsageError(f"No usable seed in {shown}: {bad:,} bad, none good.")
    return Seeds(tuple(urls), bad, {url: topic for url, topic in urls.items() if topic})


def _lines(argument: str) -> Iterator[tuple[str, str, str]]:
    """Yield where each seed stands, its text, and its topic, which is "" if nobody knows."""
    if argument.startswith(SCHEME):
        for url, topic in read_earlier(argument):
            yield argument[:200], url, topic
        return
    for place, text in read_seed_lines(argument):
        yield place, text, ""
