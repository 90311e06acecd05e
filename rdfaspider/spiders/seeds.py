"""Seeds: the URLs a crawl starts from, as given on the command line."""

from __future__ import annotations

import logging
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

logger = logging.getLogger(__name__)

# A comma separates URLs only where another one begins: commas are allowed inside them.
_SEPARATOR = re.compile(r",\s*(?=https?:)", re.IGNORECASE)


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
    for place, text in _lines(argument):
        try:
            urls[normalise(text)] = None
        except ValueError as error:
            bad += 1
            logger.warning("Skipped seed %s in %s: %s", text[:200], place, error)
    if not urls:
        raise UsageError(f"No usable seed in {argument[:200]}: {bad} bad, none good.")
    return Seeds(tuple(urls), bad)


def _lines(argument: str) -> Iterator[tuple[str, str]]:
    """Yield (where it stands, text) for each seed of the argument."""
    if argument == "-":
        yield from _numbered("standard input", sys.stdin)
    elif re.match(r"https?:", argument, re.IGNORECASE):
        for text in _SEPARATOR.split(argument):
            yield "the seeds argument", text.strip()
    else:
        try:
            with Path(argument).open(encoding="utf-8-sig", errors="replace") as file:
                yield from _numbered(argument, file)
        except OSError as error:
            raise UsageError(
                f"Cannot read the seeds: {argument[:200]} is neither a URL that begins with http://"
                f" or https:// nor a file that can be read ({error.strerror})."
            ) from error


def _numbered(name: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield f"{name}, line {number}", text
