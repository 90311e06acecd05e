"""A web that exists only as numbers: hosts with sections, links between pages, and what pages are worth.

A page is a function of the seed and its URL. Only the hosts and their sections are kept, so a web of a
million pages is made in a second. Sections of a host are trees of pages with a fan-out of FAN:
`https://h7.test/recipes/12` is page 12 of a section, `https://h7.test/recipes/` its front.
"""

from __future__ import annotations

import json
from bisect import bisect
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

WEBS = ("uniform", "hosts", "sections", "popular")
EVEN = ("uniform", "popular")  # whose pages are all equally likely to be rich
FAN = 4
# In the web "popular" a few pages have most links: their number falls with a power of about -2.2, as in the
# real one. Links go to the place u ** SKEW in a list of pages, where u is drawn evenly.
SKEW = 6
NAMES = tuple(f"{first}{last}" for first in "bdfgklmnprst" for last in ("ala", "ero", "ino", "uma"))


_STRIDE = 1_000_003


@dataclass(frozen=True, slots=True)
class Shape:
    """How a web is made. Shares are of pages; sizes and gains are means."""

    kind: str = "uniform"
    hosts: int = 2_000
    sections: int = 8  # of a host, between 1 and twice as many less one
    pages: int = 40  # of a section; a few are many times as large
    share: float = 0.06  # of pages that are worth something, over the whole web
    dense: float = 0.7  # of the pages of a rich section
    sparse: float = 0.01  # of the pages of every other section
    gain: float = 20.0  # triples of a rich page; hosts differ by a factor of two or so
    links_inside: int = 6  # to other pages of the section, besides the children and the front
    links_beside: int = 4  # to fronts of other sections of the host, besides the root
    links_across: int = 3  # to other hosts
    locality: float = 0.4  # of the links across on rich pages, which lead to rich sections
    telling: float = 0.0  # of the rich sections, which have one of three names

    def __post_init__(self) -> None:
        if self.kind not in WEBS:
            raise ValueError(f"There is no web {self.kind}: choose {', '.join(WEBS)}.")
        if not 0 <= self.sparse <= self.share <= self.dense <= 1:
            raise ValueError("a web needs 0 <= sparse <= share <= dense <= 1")


class Fetched(NamedTuple):
    """What a fetch brings: a gain, and links."""

    gain: float
    links: list[str]


class SimulatedWeb(Protocol):
    """Anything that can be crawled without a network."""

    def seeds(self, count: int) -> list[str]: ...

    def fetch(self, url: str) -> Fetched: ...


class Section:
    """A section of a host: its name, how many pages it has and how many of them are rich."""

    __slots__ = ("host", "name", "number", "pages", "share", "worth")

    def __init__(self, number: int, host: int, name: str, pages: int) -> None:
        self.number, self.host, self.name, self.pages = number, host, name, pages
        self.share = self.worth = 0.0

    def url(self, page: int) -> str:
        return f"https://h{self.host}.test/{self.name}/{page or ''}"


class GeneratedWeb:
    """The web of a shape and a seed."""

    def __init__(self, shape: Shape, seed: int = 0) -> None:
        self.shape = shape
        self.seed = seed
        chance = Random(seed)
        self.sections: list[Section] = []
        self.hosts = [self._host(number, chance) for number in range(shape.hosts)]
        self._sizes = list(accumulate(sum(s.pages for s in host) for host in self.hosts))
        self.rich = self._choose_rich(chance)
        self._by_name = {(s.host, s.name): s for s in self.sections}
        is_popular = shape.kind == "popular"
        # The hosts from the most popular to the least: their size does not matter.
        self._ranked = chance.sample(range(shape.hosts), shape.hosts) if is_popular else []

    @property
    def pages(self) -> int:
        return self._sizes[-1] + len(self.hosts)

    def _host(self, number: int, chance: Random) -> list[Section]:
        count = chance.randrange(1, 2 * self.shape.sections)
        names = chance.sample(NAMES, min(count, len(NAMES)))
        # The mean of a Pareto distribution with exponent 1.5 is three times its smallest value.
        sizes = (min(chance.paretovariate(1.5), 500) for _ in names)
        first = len(self.sections)
        for offset, (name, size) in enumerate(zip(names, sizes, strict=True)):
            pages = max(1, int(self.shape.pages / 3 * size))
            self.sections.append(Section(first + offset, number, name, pages))
        return self.sections[first:]

    def _choose_rich(self, chance: Random) -> list[Section]:
        """Give every section its share, so that the whole web has the one it should have."""
        shape = self.shape
        worths = [shape.gain / 1.28 * chance.lognormvariate(0.0, 0.7) for _ in self.hosts]
        for section in self.sections:
            section.worth = worths[section.host]
            section.share = shape.share if shape.kind in EVEN else shape.sparse
        if shape.kind in EVEN:
            return []
        heaps = self.hosts if shape.kind == "hosts" else [[section] for section in self.sections]
        wanted = self._sizes[-1] * (shape.share - shape.sparse) / (shape.dense - shape.sparse)
        rich: list[Section] = []
        for heap in chance.sample(heaps, len(heaps)):
            size = sum(section.pages for section in heap)
            if size <= wanted:  # a heap too large for the rest is passed over
                wanted -= size
                rich += heap
        for section in rich:
            section.share = shape.dense
            if chance.random() < shape.telling:
                section.name = f"rich{section.number % 3}"
        return rich

    # --- what a crawl sees ---

    def seeds(self, count: int) -> list[str]:
        """Return the roots of some hosts, whatever these are."""
        count = min(count, len(self.hosts))
        hosts = Random(self.seed + 1).sample(range(len(self.hosts)), count)
        return [f"https://h{host}.test/" for host in hosts]

    def fetch(self, url: str) -> Fetched:
        """Return what the page at a URL of this web is worth, and its links."""
        host_name, _, path = url[len("https://h") :].partition(".test/")
        host = int(host_name)
        if not path:
            return Fetched(0.0, self._root_links(host, Random(f"{self.seed} {url}")))
        name, _, page = path.partition("/")
        section = self._by_name[host, name]
        number = int(page or 0)
        chance = Random((self.seed * 1_000_003 + section.number) * 1_000_003 + number)
        is_rich = chance.random() < section.share
        gain = 1.0 + int(chance.expovariate(1 / section.worth)) if is_rich else 0.0
        return Fetched(gain, self._links(section, number, chance))

    def _root_links(self, host: int, chance: Random) -> list[str]:
        fronts = [section.url(0) for section in self.hosts[host]]
        return fronts + [self._across(False, chance) for _ in range(self.shape.links_across)]

    def _links(self, section: Section, number: int, chance: Random) -> list[str]:
        shape, pages, random = self.shape, section.pages, chance.random
        beside = self.hosts[section.host]
        numbers = [0, *range(number * FAN + 1, min(number * FAN + FAN + 1, pages))]
        numbers += (self._page(section, random()) for _ in range(shape.links_inside))
        links = [section.url(page) for page in numbers if page != number]
        links.append(f"https://h{section.host}.test/")
        links += (beside[int(random() * len(beside))].url(0) for _ in range(shape.links_beside))
        is_rich = section.share == shape.dense
        links += (self._across(is_rich, chance) for _ in range(shape.links_across))
        return list(dict.fromkeys(links))

    def _across(self, is_rich: bool, chance: Random) -> str:
        """Draw a link to another host: a rich place if it is topical, else the larger the likelier."""
        random = chance.random
        if is_rich and self.rich and random() < self.shape.locality:
            section = self.rich[int(random() * len(self.rich))]
        else:
            host = self._some_host(random())
            if random() < 0.5:
                return f"https://h{host}.test/"
            section = self.hosts[host][int(random() * len(self.hosts[host]))]
        return section.url(0 if random() < 0.5 else self._page(section, random()))

    def _some_host(self, drawn: float) -> int:
        if self._ranked:
            return self._ranked[int(drawn**SKEW * len(self._ranked))]
        return bisect(self._sizes, drawn * self._sizes[-1])

    def _page(self, section: Section, drawn: float) -> int:
        """Return a page of a section. A popular one may be anywhere in the tree."""
        if self._ranked:
            return (int(drawn**SKEW * section.pages) + 1) * _STRIDE % section.pages
        return int(drawn * section.pages)


class RecordedWeb:
    """A web read from a file of lines `{"url": …, "gain": …, "links": […]}`; the rest of it is empty."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._pages: dict[str, Fetched] = {}
        for number, line in enumerate(lines, start=1):
            try:
                page = json.loads(line)
                fetched = Fetched(float(page["gain"]), [str(link) for link in page["links"]])
                self._pages[str(page["url"])] = fetched
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"line {number} records no page: {line[:80]!r}") from error

    @classmethod
    def read(cls, path: Path) -> RecordedWeb:
        with path.open(encoding="utf-8") as lines:
            return cls(lines)

    def seeds(self, count: int) -> list[str]:
        return list(self._pages)[:count]

    def fetch(self, url: str) -> Fetched:
        return self._pages.get(url) or Fetched(0.0, [])
