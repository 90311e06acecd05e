"""`scrapy simulate`: crawl a generated or recorded web without a network, by several orders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse

    from rdfaspider.simulator.drive import Run
    from rdfaspider.simulator.web import SimulatedWeb


_ORDERS = "breadth,bandit,harvest"
_RANKED_ORDERS = "random,breadth,inlinks,profit,harvest,omniscient"


class Command(CheckedCommand):
    summary = "Compare orders on a web that needs no network"
    description = (
        "Crawl a generated web, or one recorded as JSON lines of url, gain and links, by several"
        " orders in virtual time, and show what each harvested. The orders are those of"
        " FRONTIER_ORDER, and baselines: bandit, inlinks, random, and with --pagerank omniscient."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--order", metavar="A,B", help=f"which orders (default {_ORDERS})")
        add(
            "--pagerank",
            action="store_true",
            help="show how early pages of high PageRank are found; the default orders are then"
            f" {_RANKED_ORDERS}, and the web is popular",
        )
        add("--fetches", type=int, default=20_000, help="fetches of each order (default 20000)")
        add(
            "--web",
            help="uniform, hosts, sections, popular or a file (default sections)",
        )
        add("--seed", type=int, default=0, help="another seed makes another web and another crawl")
        add("--hosts", type=int, default=2_000, help="hosts of a generated web (default 2000)")
        add("--connections", type=int, default=32, help="fetches at a time (default 32)")
        add(
            "--delay", type=float, default=1.0, help="seconds between fetches of a host (default 1)"
        )
        add(
            "--freshness",
            action="store_true",
            help="compare policies of revisits instead, on --hosts hosts (600 for the table of the docs)",
        )
        add("--means", default="3,10,30", metavar="A,B", help="days between visits, in the mean")
        add("--plot", type=Path, metavar="FILE", help="write the curves as SVG")

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        super().check_usage(args, opts)
        if min(opts.fetches, opts.hosts, opts.connections) < 1 or opts.delay < 0:
            raise UsageError("--fetches, --hosts and --connections must be at least 1, --delay 0")

        opts.order = opts.order or (_RANKED_ORDERS if opts.pagerank else _ORDERS)
        opts.web = opts.web or ("popular" if opts.pagerank else "sections")
        try:
            if min(map(float, opts.means.split(","))) <= 0:
                raise ValueError
        except ValueError:
            raise UsageError("--means takes days above 0, separated by commas") from None

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.freshness:
            _compare_revisits(opts)
            return
        from rdfaspider.simulator.pagerank import ranks_of

        web = _web(opts)
        ranks = ranks_of(web) if opts.pagerank else None
        _show(_run_all(web, ranks, opts), ranks, opts)


def _compare_revisits(opts: argparse.Namespace) -> None:
    from rdfaspider.linkgraph import need_numpy

    need_numpy()
    from rdfaspider.simulator.freshness.pages import generate
    from rdfaspider.simulator.freshness.table import Comparison

    comparison = Comparison(
        generate(opts.hosts, opts.seed), list(map(float, opts.means.split(",")))
    )
    for line in comparison.lines():
        print(line, flush=True)
    if opts.plot:
        opts.plot.write_text(comparison.plot(), encoding="utf-8")
        print(f"The curves are in {opts.plot}.")


def _run_all(
    web: SimulatedWeb, ranks: dict[str, float] | None, opts: argparse.Namespace
) -> dict[str, Run]:
    from rdfaspider.simulator.drive import crawl, simulated

    runs = {}
    for order in opts.order.split(","):
        with simulated(order, opts.seed, opts.delay, ranks) as frontier:
            runs[order] = crawl(
                frontier, web, opts.fetches, connections=opts.connections, seed=opts.seed
            )
    return runs


def _web(opts: argparse.Namespace) -> SimulatedWeb:
    from rdfaspider.simulator.web import WEBS, GeneratedWeb, RecordedWeb, Shape

    if opts.web in WEBS:
        return GeneratedWeb(Shape(opts.web, hosts=opts.hosts), opts.seed)
    return RecordedWeb.read(Path(opts.web))


def _show(runs: dict[str, Run], ranks: dict[str, float] | None, opts: argparse.Namespace) -> None:
    from rdfaspider.simulator.pagerank import plot_ranks, rank_table
    from rdfaspider.simulator.plot import plot, table

    print(table(runs))
    if ranks is not None:
        print(f"\n{rank_table(runs, ranks)}\n\n{len(ranks):,} pages can be reached.")
    if opts.plot:
        title = f"{opts.fetches:,} fetches of the web {opts.web}, seed {opts.seed}"
        drawn = plot(runs, title) if ranks is None else plot_ranks(runs, ranks, title)
        opts.plot.write_text(drawn, encoding="utf-8")
        print(f"The curves are in {opts.plot}.")
