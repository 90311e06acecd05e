"""A crawl of the generated web in which nothing is fetched or rendered: what is chosen, and what that brings.

    python -m tests.rendering.simulation

prints what the learnt choice does on the webs of test_choice.py, in their full size, for three seeds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Any

from rdfaspider.items import Content, Page
from rdfaspider.rendering.choice import LINK, MOST_LINKS, LearntChoice
from rdfaspider.site.pages.scripts import render
from rdfaspider.site.parameters import ADDING, IDLE, Parameters
from rdfaspider.site.web import Web

# Hosts of 307 pages in 17 sections, and of five pages in four sections.
LARGE: dict[str, Any] = {"levels": 2, "pages": 17}
SMALL: dict[str, Any] = {"levels": 1, "pages": 4}

# 30 % of the sections need a browser, and 30 % have scripts that add nothing.
PLAIN: dict[str, Any] = {"scripted": 0.6, "scripts": (*ADDING, *IDLE, "tracker", "hydrated")}
# 45 % have scripts that would add data, but only 70 % of all sections have any: pages of the same kinds often
# gain nothing.
UNEVEN: dict[str, Any] = {
    **{"rdfa": 0.3, "jsonld": 0.2, "microdata": 0.2, "skew": 0.9},
    **{"scripted": 0.9, "scripts": PLAIN["scripts"]},
}
# All show scripts, most of them the marks of tag managers and frameworks, and 2 % gain, without any mark.
LYING: dict[str, Any] = {
    "scripted": 1.0,
    "scripts": ("tracker",) * 20 + ("hydrated",) * 15 + ("ornament",) * 14 + ("external",),
}
# All show scripts, and none gains.
IDLING: dict[str, Any] = {"scripted": 1.0, "scripts": IDLE}
# As most of the web was.
SILENT: dict[str, Any] = {"scripted": 0.0}

# Pages that are fetched while one is rendered.
BEHIND = 8
SECONDS = 1.5


@dataclass
class Outcome:
    """What a crawl has found, and what it could have."""

    pages: int = 0
    renders: int = 0
    raw: int = 0  # triples in the HTML of all pages
    found: int = 0  # triples that were found
    gained: float = 0.0  # what the renders brought, links included
    triples: list[int] = field(default_factory=list)  # that a render of each page would bring
    gains: list[float] = field(default_factory=list)  # the same with links

    @property
    def recall(self) -> float:
        """The share of the triples that are found if every page is rendered."""
        return self.found / (self.raw + sum(self.triples))

    @property
    def recall_of_triples(self) -> float:
        """The same of the triples that scripts add."""
        return (self.found - self.raw) / max(sum(self.triples), 1)

    @property
    def recall_of_gains(self) -> float:
        return self.gained / max(sum(self.gains), 1.0)

    def fewest(self, share: float) -> int:
        """Return the fewest renders that find a share of all triples."""
        return _fewest(self.triples, share * (self.raw + sum(self.triples)) - self.raw)

    def fewest_of_triples(self, share: float) -> int:
        """Return the fewest renders that find a share of the triples that scripts add."""
        return _fewest(self.triples, share * sum(self.triples))

    def fewest_of_gains(self, share: float) -> int:
        return _fewest(self.gains, share * sum(self.gains))

    def __str__(self) -> str:
        return (
            f"{self.pages:,} pages, {sum(map(bool, self.gains)):,} gain; {self.renders:,} renders"
            f" ({self.renders / self.pages:.1%}), {self.recall:.1%} of the triples,"
            f" {self.recall_of_triples:.1%} of those by scripts, {self.recall_of_gains:.1%} of the gains;"
            f" renders / fewest for 95 % of these: {self.renders / max(self.fewest(0.95), 1):.2f},"
            f" {self.renders / max(self.fewest_of_triples(0.95), 1):.2f},"
            f" {self.renders / max(self.fewest_of_gains(0.95), 1):.2f}"
        )


def _fewest(values: list[int] | list[float], needed: float) -> int:
    sums = accumulate(sorted(values, reverse=True), initial=0.0)
    return next(number for number, found in enumerate(sums) if found >= needed - 1e-6)


def crawl(web: Web, choice: LearntChoice) -> Outcome:
    """Crawl all hosts in turn, the pages of each in a random order."""
    outcome = Outcome()
    rendering: deque[tuple[Page, Content, Content]] = deque()
    known: set[str] = set()  # links that a script has added
    order = list(range(web.tree.count))
    Random(web.parameters.seed).shuffle(order)
    for index in order:
        for host in range(web.parameters.hosts):
            url = web.url(host, index)
            made = web.page(url)
            assert made
            script = made.script
            links = script.links if script else []
            sent = sum(1 + len(thing.facts) for thing in made.things)
            added = sum(1 + len(thing.facts) for thing in script.things) if script else 0
            raw = Content(nquads=b"\n" * sent, links=made.links)
            full = Content(nquads=b"\n" * (sent + added), links=made.links + links)
            new = set(links) - known
            known |= new
            gain = added + LINK * min(len(new), MOST_LINKS)
            outcome.pages += 1
            outcome.raw += sent
            outcome.found += sent
            outcome.triples.append(added)
            outcome.gains.append(gain)
            page = Page(url=url, depth=0, body=render(made))
            if choice.wants(page, raw):
                outcome.renders += 1
                outcome.found += added
                outcome.gained += gain
                rendering.append((page, raw, full))
            if len(rendering) > BEHIND:
                choice.learn(*rendering.popleft(), SECONDS)
    return outcome


def simulate(seed: int, hosts: int, share: float = 1.0, **knobs: Any) -> Outcome:
    parameters = Parameters(
        seed=seed, hosts=hosts, triples=12, sentences=0, links_across=0, **knobs
    )
    return crawl(Web(parameters), LearntChoice(share))


def main() -> None:
    for seed in range(3):
        for hosts, size in ((100, LARGE), (2_000, SMALL)):
            for name in ("PLAIN", "UNEVEN", "LYING", "IDLING", "SILENT"):
                found = simulate(seed, hosts, **size, **globals()[name])
                print(f"seed {seed}, {hosts:,} hosts, {name.lower()}: {found}", flush=True)
        found = simulate(seed, 100, 0.27, **LARGE, **PLAIN)
        print(f"seed {seed}, 100 hosts, plain, a share of 27 %: {found}", flush=True)


if __name__ == "__main__":
    main()
