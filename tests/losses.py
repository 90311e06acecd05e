"""What a crawl of the generated web has lost: by the oracle, the stores and the log of the web's server."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pyoxigraph import Quad

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.web import Web
from rdfaspider.stores import open_store

# As deep as the oracle looks; crawls that are compared with it have this as FRONTIER_DYNAMIC_DEPTH.
DEPTH = 15

_SUM = re.compile(
    r"([\d,]+) URLs? = ([\d,]+) done \+ ([\d,]+) failed \+ ([\d,]+) denied \+ ([\d,]+) waiting"
)


def fetched(log: Path) -> dict[str, list[float]]:
    """Return when each page was asked for, by the server's own log."""
    times = defaultdict(list)
    for line in log.read_text().splitlines():
        moment, _, _, url, _ = line.split()
        if not url.endswith("/robots.txt"):
            times[url].append(float(moment))
    return times


def gaps(log: Path) -> list[float]:
    """Return the seconds between each two fetches of a host that follow each other, robots.txt included."""
    hosts: dict[str, list[float]] = defaultdict(list)
    for line in log.read_text().splitlines():
        moment, _, _, url, _ = line.split()
        hosts[url.split("/")[2]].append(float(moment))
    return [b - a for moments in hosts.values() for a, b in pairwise(sorted(moments))]


def stored(path: Path) -> set[Quad]:
    """Return the quads of an embedded store."""
    with open_store(str(path), read_only=True) as store:
        rows = store.query("SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }")
        return {Quad(row["s"], row["p"], row["o"], row["g"]) for row in rows}


@dataclass(frozen=True)
class Losses:
    """How a crawl differs from what the oracle says of it.

    `urls` are all that must be asked for and `pages` those that are pages; `strange` are URLs and triples
    that should not be there.
    """

    urls: int
    pages: int
    lost_pages: int
    lost_triples: int
    strange: int
    refetches: int
    breaches: int


def losses(web: Web, log: Path, quads: Iterable[Quad], delay: float) -> Losses:
    """Compare what was fetched and stored with the oracle, and the times of fetches with a delay."""
    oracle = Oracle(web)
    reach = oracle.reachable([web.url(0, 0)], DEPTH)
    expected = {quad for url in reach.pages for quad in oracle.triples(url)}
    times, found = fetched(log), set(quads)
    return Losses(
        urls=len(reach.fetched),
        pages=len(reach.pages),
        lost_pages=len(reach.fetched.keys() - times.keys()),
        lost_triples=len(expected - found),
        strange=len(times.keys() - reach.fetched.keys()) + len(found - expected),
        refetches=sum(len(moments) - 1 for moments in times.values()),
        breaches=sum(gap < delay for gap in gaps(log)),
    )


def is_true(summary: str, urls: int) -> bool:
    """Tell whether the last sum of a log adds up to so many URLs, of which none waits."""
    found = _SUM.findall(summary)
    if not found:
        return False
    seen, *states = (int(number.replace(",", "")) for number in found[-1])
    return seen == sum(states) == urls and states[-1] == 0
