"""How early a crawl finds the pages that matter: by their PageRank in the whole web.

Cho, Garcia-Molina and Page (Efficient crawling through URL ordering, 1998) crawled a web again and again by
several orders, and counted the important pages among the first ones fetched. So does this: the whole web is
read beforehand, and all its ranks are computed. It needs numpy.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.curves import Panel, draw
from rdfaspider.linkgraph import need_numpy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rdfaspider.linkgraph.files.varints import Array
    from rdfaspider.simulator.drive import Run
    from rdfaspider.simulator.web import SimulatedWeb

# What a table shows, as shares of the web that are fetched.
SHARES = (0.05, 0.1, 0.25, 0.5)
_POINTS = 200
_LINKS = 1 << 16  # handled at once


def ranks_of(web: SimulatedWeb, seeds: int = 20) -> dict[str, float]:
    """Return the PageRank of all pages that can be reached from the seeds."""
    need_numpy()
    from rdfaspider.linkgraph.growing import inward_rows
    from rdfaspider.linkgraph.measures.ranks import pagerank

    numbers: dict[str, int] = {}
    links = list(_links(web, seeds, numbers))
    with TemporaryDirectory() as folder:
        inward, degrees = inward_rows(links, len(numbers), Path(folder))
        with inward:
            ranks = pagerank(inward, degrees)
    return dict(zip(numbers, ranks.tolist(), strict=True))


def _links(web: SimulatedWeb, seeds: int, numbers: dict[str, int]) -> Iterator[Array]:
    """Yield the links of a web; number its pages as they are found."""
    import numpy as np

    from rdfaspider.linkgraph.edges import FOLLOW
    from rdfaspider.linkgraph.files.sorting import join

    urls = list(dict.fromkeys(web.seeds(seeds)))
    numbers.update((url, number) for number, url in enumerate(urls))
    sources: list[int] = []
    targets: list[int] = []
    for number, url in enumerate(urls):  # which grows
        for link in web.fetch(url).links:
            target = numbers.setdefault(link, len(urls))
            if target == len(urls):
                urls.append(link)
            if target != number:
                sources.append(number)
                targets.append(target)
        if len(sources) > _LINKS or number == len(urls) - 1:
            kinds = np.full(len(sources), FOLLOW)
            yield join(np.array(sources, np.uint64), np.array(targets, np.uint64), kinds)
            sources, targets = [], []


class Found(NamedTuple):
    """What has been found after a share of the web was fetched: the share of all PageRank, and of the pages
    that are among the best hundredth and tenth."""

    fetched: float
    rank: float
    best: float
    good: float


def found_by(run: Run, ranks: Mapping[str, float]) -> list[Found]:
    """Return what a crawl has found, point by point."""
    ordered = sorted(ranks, key=lambda url: -ranks[url])
    tenth = set(ordered[: -(-len(ordered) // 10)])
    hundredth = set(ordered[: -(-len(ordered) // 100)])
    total, points = sum(ranks.values()), [Found(0.0, 0.0, 0.0, 0.0)]
    rank, best, good = 0.0, 0, 0
    step = max(1, len(ordered) // _POINTS)
    for count, url in enumerate(run.urls, start=1):
        rank += ranks.get(url, 0.0)
        best += url in hundredth
        good += url in tenth
        if not count % step or count == len(run.urls):
            shares = rank / total, best / len(hundredth), good / len(tenth)
            points.append(Found(count / len(ordered), *shares))
    return points


def rank_table(runs: Mapping[str, Run], ranks: Mapping[str, float]) -> str:
    """Return a line for each run: what it had found after shares of the web were fetched."""
    shares = "".join(f"{share:>7.0%}" for share in SHARES)
    lines = [
        f"{'':<14}{'of PageRank':^28}  {'of the best 1 %':^28}  {'of the best 10 %':^28}",
        f"{'order':<14}{shares}  {shares}  {shares}",
    ]
    for name, run in runs.items():
        points = found_by(run, ranks)
        at = [_at(points, share) for share in SHARES]
        columns = (
            "".join(f"{_shown(found, field):>7}" for found in at)
            for field in ("rank", "best", "good")
        )
        lines.append(f"{name:<14}" + "  ".join(columns))
    return "\n".join(lines)


def _at(points: list[Found], share: float) -> Found | None:
    """Return the point at a share, None if the crawl did not come so far."""
    return next((point for point in points if point.fetched >= share - 1e-9), None)


def _shown(found: Found | None, field: str) -> str:
    return "-" if found is None else f"{getattr(found, field):.1%}"


def plot_ranks(runs: Mapping[str, Run], ranks: Mapping[str, float], title: str = "") -> str:
    """Return the curves of all runs as an SVG picture of three panels."""
    points = [found_by(run, ranks) for run in runs.values()]
    panels = [
        Panel(
            f"{name}, %",
            "% of the web fetched",
            [[(100 * p.fetched, 100 * getattr(p, field)) for p in some] for some in points],
        )
        for name, field in (
            ("PageRank found", "rank"),
            ("of the best 1 % found", "best"),
            ("of the best 10 % found", "good"),
        )
    ]
    return draw(panels, list(runs), title)
