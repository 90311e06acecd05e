"""What it brings that links to new pages count, on a web that grows, in virtual time.

Sections get new pages, in numbers that are log-normal (sigma 1.5). Only the first page of the section links
them: it has no triples, and nothing but its links changes.

    python -m tests.benchmarks.new_pages [HOSTS]

prints a table: for each budget the share of all triples that is right, that of the pages that were found, and
the days until a new page is found.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rdfaspider.focus.visits.planner import DAY
from rdfaspider.simulator.freshness.pages import Pages, generate
from rdfaspider.simulator.freshness.planned import planned
from rdfaspider.simulator.freshness.policies import POLICIES, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rdfaspider.simulator.freshness.pages import Run

_NEWS = 1.5  # how the number of new pages varies between sections
_WEIGHT = 20.0
# Visits of a page in a run, in the mean; share of new pages a day.
_VISITS, _DAILY = 20, 0.001

_OURS: dict[str, Callable[[Pages, float, float], Run]] = {
    "the frontier, by triples alone": partial(planned, counts_new=False),
    "the frontier": planned,
}


def grow(pages: Pages, days: float, daily: float, seed: int = 1) -> Pages:
    """Return a population that gets a share of new pages a day for some days."""
    rng, old = np.random.default_rng(seed), len(pages)
    names = [key.rsplit(b"/", 1)[0] for key in pages.keys]
    sections, firsts = np.unique(names, return_index=True)
    luck = np.exp(rng.normal(0.0, _NEWS, len(sections)))
    counts = rng.poisson(luck / luck.sum() * daily * days * old)
    section = np.repeat(np.arange(len(sections)), counts)
    new = len(section)
    rates = np.concatenate([pages.rates, rng.choice(pages.rates, new)])
    weights = np.concatenate([pages.weights, _WEIGHT * np.exp(rng.normal(0.0, 1.0, new))])
    rates[firsts], weights[firsts] = 0.0, 1.0
    hosts = np.concatenate([pages.hosts, pages.hosts[firsts][section]])
    keys = pages.keys + [sections[s] + b"/n%d" % number for number, s in enumerate(section)]
    births = np.concatenate([np.zeros(old), rng.random(new) * days * DAY])
    finders = np.concatenate([np.full(old, -1), firsts[section]])
    # The pages of a host stay together.
    order = np.argsort(hosts, kind="stable")
    places = np.append(np.argsort(order), -1)
    return Pages(
        rates[order],
        weights[order],
        hosts[order],
        [keys[number] for number in order],
        births[order],
        places[finders[order]],
    )


def run(name: str, pages: Pages, mean: float, days: float) -> Run:
    """Run a policy, with a visit of each page every `mean` seconds."""
    if name in _OURS:
        return _OURS[name](pages, mean, days)
    return simulate(POLICIES[name](pages, mean), days)


def lines(pages: Pages, means: Sequence[float], daily: float = _DAILY) -> Iterator[str]:
    """Yield the lines of the table."""
    webs = [grow(pages, mean * _VISITS, daily) for mean in means]
    names = [f"{mean:g} days: all | found | days until found" for mean in means]
    yield f"| a visit of each page every | {' | '.join(names)} |"
    yield "|---|" + "--:|--:|--:|" * len(means)
    for name in ("uniform", "Nutch adaptive", "StormCrawler adaptive", *_OURS):
        runs = [run(name, web, m * DAY, m * _VISITS) for web, m in zip(webs, means, strict=True)]
        cells = [f"{r.freshness:.3f} | {r.of_known:.3f} | {r.delay:.1f}" for r in runs]
        yield f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    for line in lines(generate(int(sys.argv[1]) if sys.argv[1:] else 50, 11), (3.0, 10.0, 30.0)):
        print(line, flush=True)
