"""All policies at several budgets: a table as text, and curves as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.curves import Panel, draw
from rdfaspider.focus.visits.planner import DAY
from rdfaspider.simulator.freshness.pages import optimum
from rdfaspider.simulator.freshness.planned import planned
from rdfaspider.simulator.freshness.policies import POLICIES, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rdfaspider.simulator.freshness.pages import Pages, Run

# The best where hosts are held to their share of the budget, as in the last of our runs.
LIMITED = "the best with every host at its limit, known"

# Visits of a page, on average, in a run.
_VISITS = 20

OURS: dict[str, dict[str, float]] = {
    "the frontier, known": {"known": True},
    "the frontier, estimated": {},
    "every host at its limit": {"cap": 1.0},
}


class Comparison:
    """Runs of all policies; `shares` has for each its freshness as a share of the optimum, by budget."""

    def __init__(self, pages: Pages, means: Sequence[float]) -> None:
        self._pages = pages
        self._means = means
        self._best = [optimum(pages, mean * DAY).freshness for mean in means]
        self.shares: dict[str, list[float]] = {}
        self.curves: list[dict[str, list[tuple[float, float]]]] = [{} for _ in means]

    def lines(self) -> Iterator[str]:
        """Yield the lines of a table in Markdown, each when its runs are done."""
        yield f"| each page every … days in the mean | {' | '.join(f'{m:g}' for m in self._means)} |"
        yield "|---|" + "--:|" * len(self._means)
        yield f"| *optimum, absolute* | {' | '.join(f'*{each:.3f}*' for each in self._best)} |"
        limited = [optimum(self._pages, mean * DAY, by_host=True).freshness for mean in self._means]
        shares = [each / best for each, best in zip(limited, self._best, strict=True)]
        yield f"| *{LIMITED}* | {' | '.join(f'*{each:.3f}*' for each in shares)} |"
        for name in (*POLICIES, *OURS):
            self.shares[name] = list(self._run(name))
            yield f"| {name} | {' | '.join(f'{each:.3f}' for each in self.shares[name])} |"

    def _run(self, name: str) -> Iterator[float]:
        for place, mean in enumerate(self._means):
            run = _runner(name)(self._pages, mean * DAY, mean * _VISITS)
            best = self._best[place]
            self.curves[place][name] = [(day, each / best) for day, each in run.curve]
            yield run.freshness / best

    def plot(self) -> str:
        """Return the curves as an SVG picture, a panel for each budget."""
        names = list(self.shares)
        panels = [
            Panel(
                f"freshness as a share of the optimum, a visit every {mean:g} days",
                "days",
                [self.curves[place][name] for name in names],
            )
            for place, mean in enumerate(self._means)
        ]
        return draw(panels, names, f"{len(self._pages):,} pages")


def _runner(name: str) -> Callable[[Pages, float, float], Run]:
    if name in POLICIES:
        return lambda pages, mean, days: simulate(POLICIES[name](pages, mean), days)
    options = OURS[name]
    return lambda pages, mean, days: planned(pages, mean, days, **options)  # type: ignore[arg-type]
