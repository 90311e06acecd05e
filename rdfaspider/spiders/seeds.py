"""Seeds: the URLs a crawl starts from, as given on the command line."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from scrapy.exceptions import UsageError

from rdfaspider.secrets import without_secrets
from rdfaspider.urls.seedfile import read_seed_lines, seed_url

logger = logging.getLogger(__name__)

# Bad seeds that are named; the others are counted.
_NAMED = 20


@dataclass(frozen=True, slots=True)
class Seeds:
    """The good URLs of an argument, normalised and without repeats, and how many were bad."""

    urls: tuple[str, ...]
    bad: int


def read_seeds(argument: str | None) -> Seeds:
    """Read `URL[,URL…]`, the name of a file with a URL a line, or `-` for standard input."""
    if not argument:
        raise UsageError(
            "No seeds: say where to start with -a seeds=URL[,URL…], -a seeds=FILE"
            " (a URL a line) or -a seeds=- (standard input)."
        )
    urls: dict[str, None] = {}
    bad = 0
    try:
        for place, text in read_seed_lines(argument):
            try:
                urls[seed_url(text)] = None
            except ValueError as error:
                bad += 1
                if bad <= _NAMED:
                    shown = without_secrets(text[:200])
                    reason = without_secrets(str(error))
                    logger.warning("Skipped seed %s in %s: %s", shown, place, reason)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if bad > _NAMED:
        logger.warning("Skipped %s seeds in all.", f"{bad:,}")
    if not urls:
        shown = without_secrets(argument[:200])
        raise UsageError(f"No usable seed in {shown}: {bad:,} bad, none good.")
    return Seeds(tuple(urls), bad)
