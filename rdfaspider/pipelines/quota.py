"""Quotas: drops the triples of hosts and domains that would fill the store.

JOBDIR/quotas.json holds the counts of names that have used up a part of their quota. It is replaced as a
whole every few seconds. A kill loses what was counted since; a restart also loses the counts of all other
names, each less than a hundredth of a quota. Each worker of a shared crawl counts only what it stores.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from scrapy.exceptions import NotConfigured

from rdfaspider.compat import create_looping_call
from rdfaspider.items import Page
from rdfaspider.settings.defaults import completed
from rdfaspider.urls import host
from rdfaspider.urls.hosts import owner_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = getLogger(__name__)

NAME = "quotas.json"
_INTERVAL = 10.0

# A name that has used up this part of its quota is kept in the file.
_PART = 0.01
# Other names that are kept in memory: those seen last.
_OTHERS = 50_000
# The weight of a page before is not known exactly.
_ABOUT = 1.1


class Limits(NamedTuple):
    """The triples and bytes that a name may store; 0 means any number."""

    quads: int
    size: int


class Quota:
    """Counts the triples and bytes of names.

    Layout: the counts of all names that have used up a part of their limits, whose number is bounded by
    what is stored; of other names, those that were used last.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.large: dict[str, tuple[int, int]] = {}
        self._small: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def excess(self, name: str) -> str:
        """Return which limit a name has reached, "" if none."""
        quads, size = self.large.get(name, (0, 0))
        if 0 < self.limits.quads <= quads:
            return "quads"
        return "mb" if 0 < self.limits.size <= size else ""

    def add(self, name: str, quads: int, size: int) -> None:
        known = self.large.get(name) or self._small.pop(name, (0, 0))
        counts = known[0] + quads, known[1] + size
        if name in self.large or self._is_large(*counts):
            self.large[name] = counts
            return
        self._small[name] = counts
        if len(self._small) > _OTHERS:
            self._small.popitem(last=False)

    def _is_large(self, quads: int, size: int) -> bool:
        return 0 < self.limits.quads * _PART <= quads or 0 < self.limits.size * _PART <= size


class QuotaPipeline:
    """Drops the triples of a page whose host, or registered domain, has reached a limit.

    A page that begins within the limits is stored as a whole. A page beyond them is done, without triples. A
    page that is visited again takes the place of what was counted before, so only its growth counts.
    """

    def __init__(
        self, stats: StatsCollector, hosts: Limits, domains: Limits, path: Path | None
    ) -> None:
        self.stats = stats
        self.hosts = Quota(hosts)
        self.domains = Quota(domains)
        self.path = path
        self._is_changed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = completed(crawler.settings)
        get = settings.getint
        hosts = Limits(get("STORE_HOST_QUADS"), get("STORE_HOST_MB") << 20)
        domains = Limits(get("STORE_DOMAIN_QUADS"), get("STORE_DOMAIN_MB") << 20)
        if not any((*hosts, *domains)):
            raise NotConfigured
        jobdir = settings["JOBDIR"]
        return cls(crawler.stats, hosts, domains, Path(jobdir) / NAME if jobdir else None)

    def open_spider(self) -> None:
        if self.path is not None:
            self.hosts.large, self.domains.large = read(self.path)
        self._writing = create_looping_call(self._write)
        self._writing.start(_INTERVAL, now=False)

    def close_spider(self) -> None:
        if self._writing.running:
            self._writing.stop()
        self._write()

    def process_item(self, page: Page) -> Page:
        if not isinstance(page, Page) or not page.nquads or not page.is_read:
            return page
        count, size = page.quad_count, len(page.nquads)
        if page.visit is not None:
            growth = count - _ABOUT * page.visit.weight
            if growth <= 0:
                return page
            count, size = round(growth), round(size * growth / count)
        name = host(page.url)
        owner = owner_of(name)
        if reason := self._excess(name, owner):
            self.stats.inc_value(f"store/dropped/{reason}", page.quad_count)
            page.nquads = b""
            return page
        self.hosts.add(name, count, size)
        self.domains.add(owner, count, size)
        self._is_changed = True
        return page

    def _excess(self, name: str, owner: str) -> str:
        if limit := self.hosts.excess(name):
            return f"host_{limit}"
        return f"domain_{limit}" if (limit := self.domains.excess(owner)) else ""

    def _write(self) -> None:
        if self.path is None or not self._is_changed:
            return
        self._is_changed = False
        new = self.path.with_suffix(".new")
        known = {"hosts": self.hosts.large, "domains": self.domains.large}
        try:
            new.write_text(json.dumps(known), "utf-8")
            new.replace(self.path)
        except OSError as error:
            logger.warning("How much each host has stored cannot be written down: %s", error)


def read(path: Path) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
    """Return the counts of hosts and of domains; none if the file is missing or damaged."""
    try:
        found = json.loads(path.read_bytes())
        return _counts(found["hosts"]), _counts(found["domains"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}, {}


def _counts(found: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {str(name): (int(quads), int(size)) for name, (quads, size) in found.items()}
