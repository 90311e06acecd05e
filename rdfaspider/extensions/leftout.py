"""Keeps count of what the whole crawl leaves out.

JOBDIR/left_out.json holds the counters and the settings that caused them. It is replaced as a whole every few
seconds; a kill loses what was counted since.
"""

from __future__ import annotations

import json
from collections import Counter
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from rdfaspider.compat import create_looping_call
from rdfaspider.extensions.summary.reasons import counts_of, sentences, values_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = getLogger(__name__)

NAME = "left_out.json"
_INTERVAL = 10.0


class LeftOut:
    """Adds what this run leaves out to the file of the crawl."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self.crawler = crawler
        self.path = path
        self._values: dict[str, Any] = {}
        self._before: Counter[str] = Counter()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings["JOBDIR"]:
            raise NotConfigured
        extension = cls(crawler, Path(crawler.settings["JOBDIR"]) / NAME)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._values = values_of(self.crawler)
        # The file already has what the frontier counted in earlier runs.
        self._before, _ = read(self.path)
        self._before.subtract(counts_of(self.crawler.stats.get_stats()))
        self._task = create_looping_call(self._write)
        self._task.start(_INTERVAL, now=False)

    def spider_closed(self) -> None:
        if self._task.running:
            self._task.stop()
        self._write()

    @property
    def sentences(self) -> list[str]:
        """Return what the whole crawl has left out, in words."""
        return sentences(self._counts(), self._values)

    def _counts(self) -> Counter[str]:
        counts = self._before.copy()
        counts.update(counts_of(self.crawler.stats.get_stats()))
        return counts

    def _write(self) -> None:
        counts = self._counts()
        new = self.path.with_suffix(".new")
        try:
            new.write_text(json.dumps({"counts": +counts, "settings": self._values}), "utf-8")
            new.replace(self.path)
        except OSError as error:
            logger.warning("The count of what was left out cannot be written: %s", error)


def read(path: Path) -> tuple[Counter[str], dict[str, Any]]:
    """Return the counters and settings in a crawl's file; nothing if it is missing or damaged."""
    try:
        found = json.loads(path.read_bytes())
        return Counter({str(k): int(v) for k, v in found["counts"].items()}), found["settings"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Counter(), {}
