"""Seeds: the URLs a crawl starts from, as given on the command line."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scrapy.exceptions import UsageError

from rdfaspider.focus.topics import read_topics
from rdfaspider.secrets import without_secrets
from rdfaspider.spiders.earlier import SCHEME, read_earlier
from rdfaspider.urls.seedfile import BadSeeds, read_seed_lines, usable_seeds

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Seeds:
    """The good URLs of an argument, normalised and without repeats, and how many were bad.

    `topics` has the topic of each seed that comes from a topics file or from an earlier crawl with topics.
    """

    urls: tuple[str, ...]
    bad: int
    topics: Mapping[str, str] = field(default_factory=dict)

    def with_hubs(self, hubs: Mapping[str, str]) -> Seeds:
        """Return these seeds and the hubs of a topics file."""
        return Seeds(tuple(dict.fromkeys((*self.urls, *hubs))), self.bad, {**self.topics, **hubs})


def read_hubs(topics_file: str) -> dict[str, str]:
    """Return the seeds in a topics file, each with its topic; of two topics the first counts."""
    hubs: dict[str, str] = {}
    try:
        for topic in read_topics(Path(topics_file)) if topics_file else ():
            for url in topic.seeds:
                hubs.setdefault(url, topic.name)
    except ValueError as error:
        raise UsageError(f"FRONTIER_TOPICS is wrong: {error}") from error
    return hubs


def read_seeds(argument: str | None) -> Seeds:
    """Read seeds: `URL[,URL…]`, a file with one URL per line, `-` for standard input, or the pages of an
    earlier crawl, `crawl:DIRECTORY`."""
    if not argument:
        raise UsageError(
            "No seeds: say where to start with -a seeds=URL[,URL…], -a seeds=FILE"
            " (one URL per line), -a seeds=- (standard input) or -a seeds=crawl:DIRECTORY (an earlier crawl),"
            " name seeds in the file of FRONTIER_TOPICS, or read them from Redis with"
            " -s SEEDS_URL=redis://HOST:PORT/0."
        )
    bad = BadSeeds(logger.warning)
    topics: dict[str, str] = {}
    try:
        if argument.startswith(SCHEME):
            topics = dict(read_earlier(argument))
            lines: Iterable[tuple[str, str]] = ((argument[:200], url) for url in topics)
        else:
            lines = read_seed_lines(argument)
        urls = tuple(dict.fromkeys(usable_seeds(lines, bad)))
        bad.sum_up()
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    if not urls:
        shown = without_secrets(argument[:200])
        raise UsageError(f"No usable seed in {shown}: {bad.count:,} bad, none good.")
    return Seeds(urls, bad.count, {url: topics[url] for url in urls if topics.get(url)})
