"""Says at the end what became of the crawl: the sum, what was left out, and what to do next.

reasons   why the crawl and its URLs ended, and what was left out, in words
hints     commands to paste: how to resume the crawl, and how to query it

It reads the stats only, since frontier and store are closed by then: a number to be shown here is first a
stat, counted where it happens (docs/stats.md).
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from logging import getLogger
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Self

from scrapy import signals

from rdfaspider.extensions.summary.hints import TYPES, CommandLine
from rdfaspider.extensions.summary.reasons import (
    counts_of,
    ended,
    in_words,
    sentences,
    topics_of,
    values_of,
)
from rdfaspider.frontier import is_begun, is_shared
from rdfaspider.pages.counts import ranked
from rdfaspider.secrets import without_secrets
from rdfaspider.settings.places import frontier_url, store_url
from rdfaspider.terminal import duration, plural

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = getLogger(__name__)

# More reasons than this belong in a report.
_REASONS = 12
# What a visit to a known page may find, by the label of its counter, in words; those that bring a page.
_READ = ("changed", "unchanged")
_FOUND = {
    "changed": "changed",
    "unchanged": "unchanged",
    "304": "unchanged",
    "missed": "gone",
    "stale": "denied",
    "failed": "failed",
    "done": "moved or of another type",
}


class Summary:
    """Writes the closing summary to the log."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.stats = crawler.stats
        self._stat = partial(self.stats.get_value, default=0)
        self.settings = crawler.settings
        self.command_line = CommandLine()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        summary = cls(crawler)
        crawler.signals.connect(summary.spider_opened, signals.spider_opened)
        crawler.signals.connect(summary.spider_closed, signals.spider_closed)
        return summary

    def spider_opened(self) -> None:
        self._started = monotonic()
        self._left_out_before = counts_of(self.stats.get_stats())
        self._values = values_of(self.crawler)

    def spider_closed(self, reason: str) -> None:
        logger.info("%s", "\n".join(self._lines(reason)))

    def _kept(self) -> str:
        kept = self._stat("frontier/kept")
        return f" + {kept:,} kept" if kept else ""

    def _lines(self, reason: str) -> list[str]:
        elapsed = monotonic() - self._started
        rate = self._stat("frontier/done/page") / max(elapsed, 1e-9)
        waiting = self._stat("frontier/waiting") + self._stat("frontier/in_flight")
        return [
            f"Crawl {ended(reason)} after {duration(elapsed)}, {rate:,.1f} pages/s.",
            f"  {plural(self._stat('frontier/seen'), 'URL')} = {self._stat('frontier/done'):,} done"
            f" + {self._stat('frontier/failed'):,} failed + {self._stat('frontier/denied'):,} denied"
            f"{self._kept()} + {waiting:,} waiting",
            *self._labels("done"),
            *self._labels("failed"),
            *self._labels("denied"),
            *self._visited_again(),
            *self._copies(),
            *self._rendered(),
            *self._topics(),
            *self._stored(),
            *self._left_out(),
            *self._next_steps(waiting),
        ]

    def _labels(self, state: str) -> list[str]:
        """Return what ended in a state in this run, by reason, most frequent first."""
        prefix = f"frontier/{state}/"
        counts = [
            (value, name[len(prefix) :])
            for name, value in self.stats.get_stats().items()
            if name.startswith(prefix)
        ]
        ranked = sorted(counts, reverse=True)
        text = ", ".join(in_words(state, reason, count) for count, reason in ranked)
        return [f"    {state} in this run: {text}"] if counts else []

    def _visited_again(self) -> list[str]:
        """Return what this run found on the pages that it visited again."""
        if not self.settings.getbool("FRONTIER_REVISIT"):
            return []
        found = Counter[str]()
        for label, words in _FOUND.items():
            found[words] += self._stat(f"frontier/revisited/{label}")
        read_again = sum(self._stat(f"frontier/revisited/{label}") for label in _READ)
        new = self._stat("frontier/done/page") - read_again
        text = ", ".join(f"{count:,} {words}" for words, count in found.items() if count)
        again = plural(found.total(), "page") + " visited again"
        return [f"  {again} in this run{': ' if text else ''}{text}; {plural(new, 'new page')}"]

    def _copies(self) -> list[str]:
        if not (copies := self._stat("frontier/copies")):
            return []
        are = "is a copy of another" if copies == 1 else "are copies of others"
        command = self.command_line.of_store("pages", "--copies") or "scrapy pages --copies"
        return [f"  {plural(copies, 'page')} {are}: {command}"]

    def _rendered(self) -> list[str]:
        failed = sum(
            count
            for name, count in self.stats.get_stats().items()
            if name.startswith("render/failed/")
        )
        pages = self._stat("render/pages")
        if not pages + failed:
            return []
        gained = plural(self._stat("render/gained/quads"), "triple")
        links = plural(self._stat("render/gained/links"), "link")
        left = f"; {plural(failed, 'page')} could not be" if failed else ""
        return [f"  {plural(pages, 'page')} rendered: {gained} and {links} more{left}"]

    def _topics(self) -> list[str]:
        topics = topics_of(self.stats.get_stats())
        return [f"  Topics: {ranked(topics)}"] if +topics else []

    def _stored(self) -> list[str]:
        """Return what is stored, and what waits to be sent."""
        found = (
            f"{plural(self._stat('store/quads'), 'triple')} from"
            f" {plural(self._stat('store/graphs'), 'page')}"
        )
        pages, triples = self._stat("store/backlog"), self._stat("store/backlog/quads")
        held = self._stat("store/held")
        waiting = " with those that wait" if pages else ""
        whole = f"    {plural(held, 'triple')} of pages in the store{waiting}"
        if not pages:
            is_all = held == self._stat("store/quads")
            return [f"  {found} stored in this run", *([] if is_all else [whole])]
        url = without_secrets(store_url(self.settings))
        return [
            f"  {found} found in this run",
            f"    {plural(self._stat('store/sent'), 'triple')} stored in {url}",
            f"    {plural(triples, 'triple')} of {plural(pages, 'page')}"
            f" {'waits' if triples == 1 else 'wait'} to be sent; the next run sends them, or"
            f" {self.command_line.of_store('export', '--send') or 'scrapy export --send'}",
            whole,
        ]

    def _left_out(self) -> list[str]:
        counts = counts_of(self.stats.get_stats())
        counts.subtract(self._left_out_before)
        reasons = sentences(counts, self._values)
        if not reasons:
            return []
        more = len(reasons) - _REASONS
        report = self.command_line.of_store("report") or "scrapy report"
        rest = [f"    and {plural(more, 'more reason')}: {report}"] if more > 0 else []
        return ["  Left out in this run:", *(f"    {text}" for text in reasons[:_REASONS]), *rest]

    def _next_steps(self, waiting: int) -> list[str]:
        jobdir = self.settings["JOBDIR"]
        if not jobdir:
            return []
        lines = [f"  Data in {Path(jobdir).resolve()}"]
        if query := self.command_line.of_store("sparql", TYPES):
            lines.append(f"  Query it: {query}")
        if (
            self.settings.getbool("ARCHIVE")
            and self.settings.getbool("PAGES")
            and self.settings["PAGES_ANALYSE"] == "after"
            and (analyse := self.command_line.of_store("pages", "--analyse"))
        ):
            lines.append(f"  Find its languages and near copies: {analyse}")
        if not is_begun(frontier_url(self.settings)):
            return lines
        if waiting and (
            resume := self.command_line.resume(with_seeds=is_shared(self.settings["FRONTIER_URL"]))
        ):
            lines.append(f"  Resume it: {resume}")
        elif waiting:
            lines.append(f"  Resume it: start it again with JOBDIR={jobdir}")
        return lines
