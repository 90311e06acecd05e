"""`scrapy simulate`: crawl a generated or recorded web without a network, by several orders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse

    from rdfaspider.simulator import Run
    from rdfaspider.simulator.web import SimulatedWeb


class Command(CheckedCommand):
    summary = "Compare orders on a web that needs no network"
    description = (
        "Crawl a generated web, or one recorded as JSON lines of url, gain and links, by several"
        " orders in virtual time, and show what each harvested. --real uses the frontier on disk"
        " instead of the fast one in memory."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--order", default="breadth,bandit,harvest", metavar="A,B", help="which orders")
        add("--fetches", type=int, default=20_000, help="fetches of each order (default 20000)")
        add(
            "--web",
            default="sections",
            help="uniform, hosts, sections or a file (default sections)",
        )
        add("--seed", type=int, default=0, help="another seed makes another web and another crawl")
        add("--hosts", type=int, default=2_000, help="hosts of a generated web (default 2000)")
        add("--connections", type=int, default=32, help="fetches at a time (default 32)")
        add(
            "--delay", type=float, default=1.0, help="seconds between fetches of a host (default 1)"
        )
        add("--real", action="store_true", help="use the frontier on disk")
        add("--plot", type=Path, metavar="FILE", help="write the curves as SVG")

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        super().check_usage(args, opts)
        if min(opts.fetches, opts.hosts, opts.connections) < 1 or opts.delay < 0:
            raise UsageError("--fetches, --hosts and --connections must be at least 1, --delay 0")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        _show(_run_all(opts), opts)


def _run_all(opts: argparse.Namespace) -> dict[str, Run]:
    web = _web(opts)
    run = _run_real if opts.real else _run_simulated
    return {order: run(order, web, opts) for order in opts.order.split(",")}


def _web(opts: argparse.Namespace) -> SimulatedWeb:
    from rdfaspider.simulator import WEBS, GeneratedWeb, RecordedWeb, Shape

    if opts.web in WEBS:
        return GeneratedWeb(Shape(opts.web, hosts=opts.hosts), opts.seed)
    return RecordedWeb.read(Path(opts.web))


def _run_simulated(order: str, web: SimulatedWeb, opts: argparse.Namespace) -> Run:
    from rdfaspider.simulator import crawl, simulated

    frontier = simulated(order, opts.seed, opts.delay)
    return crawl(frontier, web, opts.fetches, connections=opts.connections, seed=opts.seed)


def _run_real(order: str, web: SimulatedWeb, opts: argparse.Namespace) -> Run:
    from tempfile import TemporaryDirectory

    from rdfaspider.frontier import open_frontier
    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.simulator import Real, crawl

    politeness = Politeness(delay=opts.delay)
    with (
        TemporaryDirectory() as path,
        open_frontier(f"{path}/frontier", order=order, politeness=politeness) as frontier,
    ):
        return crawl(
            Real(frontier), web, opts.fetches, connections=opts.connections, seed=opts.seed
        )


def _show(runs: dict[str, Run], opts: argparse.Namespace) -> None:
    from rdfaspider.simulator import plot, table

    print(table(runs))
    if opts.plot:
        title = f"{opts.fetches:,} fetches of the web {opts.web}, seed {opts.seed}"
        opts.plot.write_text(plot(runs, title), encoding="utf-8")
        print(f"The curves are in {opts.plot}.")
