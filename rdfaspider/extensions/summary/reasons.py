"""Reasons in words for people; the stats keep the names that programs read.

Why a crawl ended, why URLs ended, and what was left out by which setting.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rdfaspider.compat import scheduler_of
from rdfaspider.terminal import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

# Why a crawl ended too early, as part of a sentence.
FAILURES = {
    "archive_error": "stopped by its archive",
    "disk_full": "stopped by a full disk",
    "extract_error": "stopped, as no extraction worker could be started,",
    "frontier_error": "stopped by its frontier",
    "no_answer": "gave up, as no server answered,",
    "render_error": "stopped, as no browser could be started,",
    "store_error": "stopped by its store",
    "worker_error": "stopped, as its workers kept ending,",
}

# For one and for more: what is done, what failed, what was denied.
_WORDS = {
    "page": "page/pages",
    "redirect": "redirect/redirects",
    "sitemap": "sitemap/sitemaps",
    "feed": "feed/feeds",
    "unchanged": "unchanged",
    "type": "of another type",
    "CannotResolveHostError": "without an address",
    "CertificateError": "with a certificate that is not valid",
    "ConnectTimeoutError": "not connected in time",
    "DownloadConnectionRefusedError": "connection/connections refused",
    "DownloadFailedError": "broken answer/answers",
    "DownloadTimeoutError": "not complete in time",
    "FirstByteTimeoutError": "not answered in time",
    "ResponseDataLossError": "cut short",
    "UnsupportedURLSchemeError": "with an unknown scheme",
    "redirects": "redirected too often",
    "size": "too large",
    "status": "with an invalid status",
    "address": "at an address that is not public",
    "robots": "by robots.txt",
    "excluded": "excluded by the user",
    "parameter": "with a parameter that chooses no page",
    "removed": "removed from the store",
    "unreachable": "without a robots.txt that can be fetched",
}
_FAILED = {"redirect": "redirected to nowhere"}
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")


def in_words(state: str, label: str, count: int) -> str:
    """Return `3 pages` or `1 connection refused` for a counter `frontier/STATE/LABEL`."""
    if label.isdecimal():
        return f"{count:,} with status {label}"
    words = (_FAILED.get(label) if state == "failed" else None) or _WORDS.get(label)
    return f"{count:,} {number_of(words, count) if words else _spelt_out(label)}"


def _spelt_out(label: str) -> str:
    """Return the name of a class as words, and any other label as it is."""
    if not label[:1].isupper():
        return label
    parts = _PART.findall(label)
    return " ".join(part if part.isupper() else part.lower() for part in parts) or label


def ended(reason: str) -> str:
    """Return the reason why a crawl ended as part of a sentence."""
    if reason.startswith("closespider_"):
        return f"stopped by {reason.upper()}"
    return "stopped" if reason == "shutdown" else FAILURES.get(reason, reason)


class _Reason(NamedTuple):
    """A family of stats, what its counter counts, and the setting that is to blame.

    In `text`, {label} is the rest of the stat's name, and `is/are` is a word for one and for more.
    """

    stat: str
    text: str
    setting: str


# The first row that fits a stat counts; one that ends in / or - fits all stats that begin with it.
_LEFT_OUT = """
urls/rejected/links | link/links beyond the per-page limit | EXTRACT_MAX_LINKS
urls/rejected/scope | link/links out of scope | scope
urls/rejected/domain_hosts | link/links to a host beyond the limit of its domain | FRONTIER_DOMAIN_HOSTS
urls/rejected/accept | link/links that no rule accepts | URLS_ACCEPT
urls/rejected/excluded | link/links excluded while the crawl ran |
urls/rejected/port | link/links to ports of services other than the web |
urls/rejected/host | link/links to host names that no server can have |
urls/rejected/transform | link/links that is/are no URL after a transform | URLS_TRANSFORMS
urls/rejected/trap/ | link/links that looks/look like a trap ({label}) | URLS_TRAPS
urls/rejected/ | link/links rejected by {label} | URLS_REJECT
frontier/rejected/depth | link/links of pages at the depth limit | FRONTIER_DEPTH
frontier/rejected/dynamic_depth | link/links with a query too deep | FRONTIER_DYNAMIC_DEPTH
frontier/rejected/host_depth | link/links to pages too many folders deep | FRONTIER_HOST_DEPTH
frontier/rejected/host_urls | link/links beyond the limit of its/their host | FRONTIER_HOST_URLS
frontier/rejected/host_waiting | link/links found while too many of the host waited | FRONTIER_HOST_WAITING
frontier/rejected/copies | link/links of pages whose body another page had | FRONTIER_FOLLOW_COPIES
frontier/rejected/ | link/links beyond a limit ({label}) |
frontier/denied/robots | URL/URLs disallowed by robots.txt | ROBOTS_OBEY
frontier/denied/unreachable | URL/URLs whose robots.txt could not be fetched | ROBOTS_RETRIES
frontier/denied/excluded | URL/URLs excluded while the crawl ran |
frontier/denied/address | URL/URLs at an address that is not public | RESOLVER_ALLOW
frontier/failed/size | page/pages that is/are too large | DOWNLOAD_MAXSIZE
frontier/failed/extract-timeout | page/pages that takes/take too long to read | EXTRACT_TIMEOUT
frontier/failed/extract- | page/pages that crashes/crash a parser | EXTRACT_MEMORY_MB
extract/cut/body | page/pages cut at its/their first bytes | EXTRACT_MAX_BYTES
extract/cut/quads | page/pages with more triples than allowed | EXTRACT_MAX_QUADS
extract/cut/nofollow | page/pages with links marked rel=nofollow |
extract/cut/ | page/pages cut by a limit ({label}) |
extract/noindex | page/pages that asks/ask not to be stored (noindex) |
extract/nofollow | page/pages that asks/ask not to be followed (nofollow) |
robots/sitemaps/rejected/ | sitemap/sitemaps not read ({label}) |
robots/sitemaps/cut | sitemap/sitemaps cut | ROBOTS_SITEMAP_URLS
filter/dropped/literal | triple/triples with too long a literal | FILTER_LITERAL_LENGTH
filter/dropped/iri | triple/triples with an invalid IRI |
filter/dropped/ | triple/triples dropped ({label}) | FILTER_DROP
store/dropped/host_quads | triple/triples beyond those of its/their host | STORE_HOST_QUADS
store/dropped/host_mb | triple/triples beyond the size of its/their host | STORE_HOST_MB
store/dropped/domain_quads | triple/triples beyond those of its/their domain | STORE_DOMAIN_QUADS
store/dropped/domain_mb | triple/triples beyond the size of its/their domain | STORE_DOMAIN_MB
store/dropped/iri | triple/triples with an invalid IRI |
store/aside | page/pages that the store refused (scrapy export --aside) |
"""
_REASONS = tuple(_Reason(*map(str.strip, row.split("|"))) for row in _LEFT_OUT.strip().splitlines())
# Of these the value says more than the name.
_SHOWN = (int, float, str)


def counts_of(stats: Mapping[str, Any]) -> Counter[str]:
    """Return the counters of stats that count something left out."""
    return Counter({name: int(value) for name, value in stats.items() if value and _reason(name)})


def topics_of(stats: Mapping[str, Any]) -> Counter[str]:
    """Return how many pages of the whole crawl are about which topic."""
    prefix = "frontier/topic/"
    return Counter(
        {name[len(prefix) :]: int(n) for name, n in stats.items() if name.startswith(prefix)}
    )


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


def values_of(crawler: Crawler) -> dict[str, Any]:
    """Return the value of each setting that may be to blame, as it is in force, the scope included."""
    names = {reason.setting for reason in _REASONS if reason.setting.isupper()}
    values = {name: value for name in names if isinstance(value := crawler.settings[name], _SHOWN)}
    # A crawl that is resumed goes no deeper than it was begun.
    limits = getattr(getattr(scheduler_of(crawler), "frontier", None), "limits", None)
    if limits is not None:
        values |= {"FRONTIER_DEPTH": limits.depth, "FRONTIER_DYNAMIC_DEPTH": limits.dynamic_depth}
    scope = getattr(crawler.spider, "scope", None)
    return values | {"scope": getattr(scope, "kind", "")}
