"""What the table of pages says of a crawl, counted in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from rdfaspider.pages.counts import PageCounts
from rdfaspider.pages.sites import Host, age_of
from rdfaspider.pages.table import PageRecord

FORMATS = ("rdfa", "jsonld", "microdata", "rdf")
# Sections of sites that are told apart; beyond that, only those already known are counted.
_SECTIONS = 200_000
# Types and encodings that are told apart: a hostile server makes up its own.
_NAMES = 1_000


# What is counted by its name, and what by its number.
_BY_NAME = ("outcomes", "types", "encodings", "pages_with", "triples_by")
_BY_NUMBER = ("statuses", "depths", "sizes", "ages", "triples", "triples_at", "links", "latencies")


class PageFindings:
    """Counters by value: how many pages have this status, this depth, this many triples."""

    def __init__(self) -> None:
        self.counters: dict[str, Counter[Any]] = {
            name: Counter() for name in (*_BY_NAME, *_BY_NUMBER)
        }
        self.problems = self.pages_with_problems = 0
        self.hosts: dict[str, Host] = {}
        self.sections: dict[str, list[int]] = {}
        self.counts = PageCounts()

    def add(self, record: PageRecord) -> None:
        self.counters["outcomes"][f"{record.state}/{record.reason or ''}"] += 1
        if record.status:
            self.counters["statuses"][record.status] += 1
        if (host := self.hosts.get(record.host)) is None:
            host = self.hosts[record.host] = Host()
        host.add(record)
        self.counts.add(record)
        if record.reason == "page":
            self._add_page(record)

    def _add_page(self, record: PageRecord) -> None:
        triples = record.triples or 0
        for of, name in (("types", record.content_type), ("encodings", record.encoding)):
            counter, known = self.counters[of], name or "(none)"
            counter[known if known in counter or len(counter) < _NAMES else "(others)"] += 1
        self.counters["depths"][record.depth] += 1
        self.counters["triples_at"][record.depth] += triples
        self.counters["triples"][triples] += 1
        self.counters["links"][record.links or 0] += 1
        self.counters["sizes"][_step(record.size or 0)] += 1
        if record.milliseconds:
            self.counters["latencies"][_step(record.milliseconds)] += 1
        if (age := age_of(record)) is not None:
            self.counters["ages"][_step(age)] += 1
        self.problems += record.problems or 0
        self.pages_with_problems += bool(record.problems)
        for name in FORMATS:
            if found := getattr(record, name):
                self.counters["pages_with"][name] += 1
                self.counters["triples_by"][name] += found
        self._add_section(record.url, triples)

    def _add_section(self, url: str, triples: int) -> None:
        name = _section(url)
        if (sums := self.sections.get(name)) is None:
            if len(self.sections) >= _SECTIONS:
                return
            sums = self.sections[name] = [0, 0, 0]
        sums[0] += 1
        sums[1] += triples > 0
        sums[2] += triples

    def as_numbers(self, most: int) -> dict[str, Any]:
        """Return everything as JSON would have it; of hosts and sections only those with most pages."""
        hosts = sorted(self.hosts.items(), key=lambda each: (-each[1].pages, each[0]))
        sections = sorted(self.sections.items(), key=lambda each: (-each[1][2], each[0]))
        counts = self.counts
        return {
            **{name: dict(self.counters[name].most_common()) for name in _BY_NAME},
            **{name: dict(sorted(self.counters[name].items())) for name in _BY_NUMBER},
            "problems": self.problems,
            "pages_with_problems": self.pages_with_problems,
            "pages": counts.pages,
            "bytes": sum(host.bytes for host in self.hosts.values()),
            "host_count": len(hosts),
            "hosts_with_triples": sum(host.rich > 0 for host in self.hosts.values()),
            "pages_a_host": dict(sorted(Counter(h.pages for h in self.hosts.values()).items())),
            "triples_a_host": dict(sorted(Counter(h.triples for h in self.hosts.values()).items())),
            "bytes_a_host": dict(
                sorted(Counter(_step(h.bytes) for h in self.hosts.values()).items())
            ),
            "shares": _shares(self.hosts.values()),
            "hosts": [{"host": name, **host.numbers()} for name, host in hosts[:most]],
            "sections": [
                {"section": name, "pages": pages, "rich": rich, "triples": triples}
                for name, (pages, rich, triples) in sections[:most]
            ],
            "copies": counts.copies,
            "near_copies": counts.near_copies,
            "analysed": counts.analysed,
            "declared": dict(counts.declared.most_common()),
            "detected": dict(counts.detected.most_common()),
            "language_same": counts.same,
            "language_other": counts.other,
            "topics": dict(counts.topics.most_common()),
        }


def _section(url: str) -> str:
    """Return the site of a URL and the first folder of its path, if there is one."""
    _, _, rest = url.partition("://")
    site, _, path = rest.partition("/")
    first, slash, _ = path.partition("?")[0].partition("/")
    return f"{site}/{first}/" if slash else f"{site}/"


def _shares(hosts: Iterable[Host]) -> list[int]:
    """Return how many hosts have structured data on 0, 1-10, … 91-100 percent of their pages."""
    shares = [0] * 11
    for host in hosts:
        if host.pages:
            shares[-(-10 * host.rich // host.pages)] += 1
    return shares


def _step(value: int) -> int:
    """Return the power of two at or below a value, 0 for 0."""
    return 1 << value.bit_length() - 1 if value > 0 else 0


def findings_of(records: Iterable[PageRecord]) -> PageFindings:
    """Return what a table of pages says."""
    findings = PageFindings()
    for record in records:
        findings.add(record)
    return findings
