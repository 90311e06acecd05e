"""`scrapy frontier`: what a crawl knows, what waits and why."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from rdfaspider.frontier import Counts, HostView
    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.reader import FrontierReader
    from rdfaspider.frontier.shared import SharedFrontier


class Command(CheckedCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Show what a crawl knows, what waits and why; try failed URLs again"

    def long_desc(self) -> str:
        return (
            "Show the frontier of the crawl in JOBDIR: URLs by state, and the hosts with the most"
            " waiting. It reads a running crawl without disturbing it. With --url show one URL's"
            " record, with --failed list failed URLs, with --requeue let failed ones wait again. Of a"
            " shared crawl also its workers and partitions, which --pause, --resume, --stop and --tell"
            " tell what to do."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--hosts", type=int, default=10, help="how many hosts (default: 10)")
        parser.add_argument("--url", metavar="URL", help="show what is known of one URL")
        parser.add_argument("--failed", metavar="REGEX", help="list the failed URLs that match")
        parser.add_argument(
            "--requeue", metavar="REGEX", help="let the failed URLs that match wait again"
        )

        parser.add_argument("--pause", action="store_true", help="have all workers wait")
        parser.add_argument("--resume", action="store_true", help="have all workers go on")
        parser.add_argument("--stop", action="store_true", help="have all workers end cleanly")
        parser.add_argument(
            "--tell", metavar="NAME=VALUE", help="tell all workers a setting, as delay=2.5"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError("scrapy frontier takes options only")
        import re

        from rdfaspider.frontier import FrontierUnavailable

        try:
            self._run(opts)
        except (FrontierUnavailable, ValueError) as error:
            print(f"scrapy frontier: {error}", file=sys.stderr)
            self.exitcode = 1
        except re.error as error:
            print(f"scrapy frontier: not a regular expression: {error}", file=sys.stderr)
            self.exitcode = 1

    def _run(self, opts: argparse.Namespace) -> None:
        from rdfaspider.frontier import is_shared
        from rdfaspider.frontier.reader import FrontierReader
        from rdfaspider.scheduler.options import frontier_limits, frontier_url, politeness_of

        assert self.settings is not None
        path = frontier_url(self.settings)
        if is_shared(path):
            self._run_shared(path, opts)
            return
        if opts.requeue is not None:
            self._requeue(path, opts.requeue)
            return
        delay, limits = politeness_of(self.settings).delay, frontier_limits(self.settings, None)
        with FrontierReader(path, delay=delay, limits=limits) as reader:
            if opts.url:
                _show_url(reader, opts.url)
            elif opts.failed is not None:
                for url, _ in reader.failed(opts.failed):
                    print(url)
            else:
                _show_all(reader, opts.hosts)

    def _run_shared(self, url: str, opts: argparse.Namespace) -> None:
        from rdfaspider.frontier.redis import failures, report
        from rdfaspider.scheduler.options import politeness_of

        assert self.settings is not None
        with report.onlooker(url, politeness_of(self.settings)) as frontier:
            if opts.requeue is not None:
                _say_requeued(failures.requeue(frontier, opts.requeue))
                return
            if opts.failed is not None:
                for _, _, failed in failures.failed(frontier, opts.failed):
                    print(failed)
                return
            if opts.url:
                _show_shared_url(frontier, opts.url)
                return
            for state in ("pause", "resume", "stop"):
                if getattr(opts, state):
                    frontier.crew.tell(state="run" if state == "resume" else state)
            if opts.tell:
                report.tell(frontier, opts.tell)
            _show_counts(frontier.counts())
            for line in report.lines(frontier):
                print(line)
            _show_hosts(frontier.hosts(time.time()), opts.hosts)

    def _requeue(self, path: str, pattern: str) -> None:
        from rdfaspider.frontier.local import LocalFrontier
        from rdfaspider.frontier.reader import FrontierReader
        from rdfaspider.scheduler.options import frontier_limits, politeness_of

        assert self.settings is not None
        limits = frontier_limits(self.settings, None)
        with FrontierReader(path, delay=0.0, limits=limits) as reader:
            order, limits = reader.order or self.settings["FRONTIER_ORDER"], reader.limits
        manners = politeness_of(self.settings)
        with LocalFrontier(
            path, order=order, politeness=manners, limits=limits, now=time.time()
        ) as frontier:
            count = frontier.requeue(pattern)
        _say_requeued(count)


def _say_requeued(count: int) -> None:
    print(f"{count:,} failed URLs wait again; run the crawl's command to fetch them.")


def _show_shared_url(frontier: SharedFrontier, text: str) -> None:
    from rdfaspider.frontier.redis.failures import record
    from rdfaspider.urls import normalise

    url = normalise(text)
    found = record(frontier, url)
    if found is None:
        print(f"{url} is not known to this crawl.")
    else:
        print(f"{url}\n  state     {found[0]}\n  depth     {found[1]}")


def _show_url(reader: FrontierReader, text: str) -> None:
    from rdfaspider.frontier.reader import STATES
    from rdfaspider.urls import normalise

    url = normalise(text)
    record = reader.record(url)
    if record is None:
        print(f"{url} is not known to this crawl.")
    else:
        print(f"{url}\n  state     {STATES[record.state]}\n  depth     {record.depth}")
        print(f"  attempts  {record.attempts}\n  number    {record.number}")


def _show_all(reader: FrontierReader, count: int) -> None:
    _show_counts(reader.counts(), reader.limits)
    _show_hosts(reader.hosts(time.time()), count)


def _show_counts(counts: Counts, limits: FrontierLimits | None = None) -> None:
    from rdfaspider.frontier.limits import explain

    print(
        f"{counts.seen:,} URLs = {counts.done:,} done + {counts.failed:,} failed"
        f" + {counts.denied:,} denied + {counts.waiting + counts.in_flight:,} waiting"
        " (those being fetched included)"
    )
    for sentence in explain(counts.rejected, limits):
        print(f"{sentence}, not taken in")


def _show_hosts(views: Iterable[HostView], count: int) -> None:
    import heapq

    now = time.time()
    hosts = heapq.nlargest(count, views, key=lambda host: (host.waiting, host.done))
    if hosts:
        print(f"\n{'waiting':>9} {'done':>9} {'failed':>7} {'delay':>6} {'next':>7}  host")
    for host in hosts:
        print(
            f"{host.waiting:>9,} {host.done:>9,} {host.failed:>7,} {host.delay:>5.1f}s"
            f" {_next(host, now):>7}  {host.name}: {host.why}"
        )


def _next(host: HostView, now: float) -> str:
    if not host.waiting:
        return "-"
    return "now" if host.ready <= now else f"{host.ready - now:.0f}s"
