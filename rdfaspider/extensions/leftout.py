"""What a crawl left out, and by which setting: for the summary of a run, and for the whole crawl.

JOBDIR/left_out.json holds the counters of the whole crawl and the settings that caused them, replaced as a
whole every few seconds; a kill costs what was counted since.
"""

from __future__ import annotations

import json
from collections import Counter
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from rdfaspider.terminal import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

logger = getLogger(__name__)

NAME = "left_out.json"
_INTERVAL = 10.0


class _Reason(NamedTuple):
    """A family of stats, what its counter counts, and the setting that is to blame.

    In `text`, {label} is the rest of the stat's name, and `is/are` is a word for one and for more.
    """

    stat: str
    text: str
    setting: str


_REASONS = (
    _Reason("urls/rejected/links", "link/links beyond the per-page limit", "EXTRACT_MAX_LINKS"),
    _Reason("urls/rejected/scope", "link/links out of scope", "scope"),
    _Reason(
        "urls/rejected/domain_hosts",
        "link/links to a host beyond the limit of its domain",
        "FRONTIER_DOMAIN_HOSTS",
    ),
    _Reason("urls/rejected/accept", "link/links that no rule accepts", "URLS_ACCEPT"),
    _Reason("urls/rejected/port", "link/links to ports of services other than the web", ""),
    _Reason("urls/rejected/host", "link/links to host names that no server can have", ""),
    _Reason(
        "urls/rejected/transform",
        "link/links that is/are no URL after a transform",
        "URLS_TRANSFORMS",
    ),
    _Reason(
        "urls/rejected/trap/", "link/links that looks/look like a trap ({label})", "URLS_TRAPS"
    ),
    _Reason("urls/rejected/", "link/links rejected by {label}", "URLS_REJECT"),
    _Reason("frontier/rejected/depth", "link/links of pages at the depth limit", "FRONTIER_DEPTH"),
    _Reason(
        "frontier/rejected/dynamic_depth",
        "link/links with a query too deep",
        "FRONTIER_DYNAMIC_DEPTH",
    ),
    _Reason(
        "frontier/rejected/host_urls",
        "link/links beyond the limit of its/their host",
        "FRONTIER_HOST_URLS",
    ),
    _Reason(
        "frontier/rejected/host_waiting",
        "link/links found while too many of its/their host waited",
        "FRONTIER_HOST_WAITING",
    ),
    _Reason("frontier/rejected/", "link/links beyond a limit ({label})", ""),
    _Reason("frontier/denied/robots", "URL/URLs disallowed by robots.txt", "ROBOTS_OBEY"),
    _Reason(
        "frontier/denied/unreachable",
        "URL/URLs whose robots.txt could not be fetched",
        "ROBOTS_RETRIES",
    ),
    _Reason(
        "frontier/denied/address", "URL/URLs at an address that is not public", "RESOLVER_ALLOW"
    ),
    _Reason("frontier/failed/size", "page/pages that is/are too large", "DOWNLOAD_MAXSIZE"),
    _Reason(
        "frontier/failed/extract-timeout",
        "page/pages that takes/take too long to read",
        "EXTRACT_TIMEOUT",
    ),
    _Reason(
        "frontier/failed/extract-", "page/pages that crashes/crash a parser", "EXTRACT_MEMORY_MB"
    ),
    _Reason("extract/cut/body", "page/pages cut at its/their first bytes", "EXTRACT_MAX_BYTES"),
    _Reason("extract/cut/quads", "page/pages with more triples than allowed", "EXTRACT_MAX_QUADS"),
    _Reason("extract/cut/nofollow", "page/pages with links marked rel=nofollow", ""),
    _Reason("extract/cut/", "page/pages cut by a limit ({label})", ""),
    _Reason("extract/noindex", "page/pages that asks/ask not to be stored (noindex)", ""),
    _Reason("extract/nofollow", "page/pages that asks/ask not to be followed (nofollow)", ""),
    _Reason("robots/sitemaps/rejected/", "sitemap/sitemaps not read ({label})", ""),
    _Reason("robots/sitemaps/cut", "sitemap/sitemaps cut", "ROBOTS_SITEMAP_URLS"),
    _Reason(
        "filter/dropped/literal", "triple/triples with too long a literal", "FILTER_LITERAL_LENGTH"
    ),
    _Reason("filter/dropped/iri", "triple/triples with an invalid IRI", ""),
    _Reason("filter/dropped/", "triple/triples dropped ({label})", "FILTER_DROP"),
    _Reason(
        "store/dropped/host_quads",
        "triple/triples beyond those of its/their host",
        "STORE_HOST_QUADS",
    ),
    _Reason(
        "store/dropped/host_mb", "triple/triples beyond the size of its/their host", "STORE_HOST_MB"
    ),
    _Reason(
        "store/dropped/domain_quads",
        "triple/triples beyond those of its/their domain",
        "STORE_DOMAIN_QUADS",
    ),
    _Reason(
        "store/dropped/domain_mb",
        "triple/triples beyond the size of its/their domain",
        "STORE_DOMAIN_MB",
    ),
    _Reason("store/dropped/iri", "triple/triples with an invalid IRI", ""),
    _Reason("store/aside", "page/pages that the store refused (scrapy export --aside)", ""),
)
# Of these the value says more than the name.
_SHOWN = (int, float, str)


def counts_of(stats: Mapping[str, Any]) -> Counter[str]:
    """Return the counters of stats that count something left out."""
    return Counter({name: int(value) for name, value in stats.items() if value and _reason(name)})


def sentences(counts: Mapping[str, int], settings: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each reason, the most frequent first."""
    totals: Counter[tuple[str, str, str]] = Counter()
    for name, count in counts.items():
        if reason := _reason(name):
            label = name[len(reason.stat) :] if "{label}" in reason.text else ""
            totals[reason.text, label, reason.setting] += count
    return [
        f"{count:,} {number_of(text, count).format(label=label)}{_blame(setting, settings)}"
        for (text, label, setting), count in totals.most_common()
        if count > 0
    ]


def _reason(stat: str) -> _Reason | None:
    for reason in _REASONS:
        if stat == reason.stat or (reason.stat[-1] in "/-" and stat.startswith(reason.stat)):
            return reason
    return None


def _blame(setting: str, settings: Mapping[str, Any]) -> str:
    if not setting:
        return ""
    value = settings.get(setting)
    is_telling = isinstance(value, _SHOWN) and value != ""
    return f": {setting}={value}" if is_telling else f": {setting}"


class LeftOut:
    """Adds what this run leaves out to the file of the crawl."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self.crawler = crawler
        self.path = path

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
        # What the frontier has counted in earlier runs is in the file already.
        self._before, _ = read(self.path)
        self._before.subtract(counts_of(self.crawler.stats.get_stats()))
        self._task = create_looping_call(self._write)
        self._task.start(_INTERVAL, now=False)

    def spider_closed(self) -> None:
        if self._task.running:
            self._task.stop()
        self._write()

    def _write(self) -> None:
        counts = self._before.copy()
        counts.update(counts_of(self.crawler.stats.get_stats()))
        new = self.path.with_suffix(".new")
        try:
            new.write_text(json.dumps({"counts": +counts, "settings": self._values}), "utf-8")
            new.replace(self.path)
        except OSError as error:
            logger.warning("What was left out cannot be written down: %s", error)


def read(path: Path) -> tuple[Counter[str], dict[str, Any]]:
    """Return the counters and settings of a crawl's file; nothing if there is none, or it is damaged."""
    try:
        found = json.loads(path.read_bytes())
        return Counter({str(k): int(v) for k, v in found["counts"].items()}), found["settings"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Counter(), {}


def values_of(crawler: Crawler) -> dict[str, Any]:
    """Return the value of each setting that may be to blame, as it is in force, the scope included."""
    names = {reason.setting for reason in _REASONS if reason.setting.isupper()}
    values = {name: value for name in names if isinstance(value := crawler.settings[name], _SHOWN)}
    # A crawl that is resumed goes no deeper than it was begun.
    scheduler: Any = crawler.engine.scheduler if crawler.engine else None
    limits = getattr(getattr(scheduler, "frontier", None), "limits", None)
    if limits is not None:
        values |= {"FRONTIER_DEPTH": limits.depth, "FRONTIER_DYNAMIC_DEPTH": limits.dynamic_depth}
    scope = getattr(crawler.spider, "scope", None)
    return values | {"scope": getattr(scope, "kind", "")}
