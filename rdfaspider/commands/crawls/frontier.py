"""`scrapy frontier`: show what a crawl knows, what waits and why; serve it to workers."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfaspider.settings.command import CheckedCommand
from rdfaspider.urls.expressions import linear

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from rdfaspider.frontier import FrontierUnavailable, Inspector
    from rdfaspider.frontier.sharding import Shard

# Only one of these can be given at a time.
_QUESTIONS = ("url", "number", "under", "failed", "denied", "requeue")
# What the workers of a shared crawl can be told.
_INSTRUCTIONS = ("pause", "resume", "stop", "tell")
# Settings of politeness that the service knows by other names.
_NUMBERS = {
    "POLITENESS_DELAY": "delay",
    "POLITENESS_LATENCY_FACTOR": "latency_factor",
    "POLITENESS_BACKOFF": "first_backoff",
    "POLITENESS_LARGE_DELAY": "large_delay",
}
# How many lines of the log to show.
_LINES = 200


class Command(CheckedCommand):
    arguments = "[serve] [options]"
    summary = "Show what a crawl knows, what waits and why; try failed URLs again"
    description = (
        "Show the frontier of the crawl in JOBDIR: URLs by state, and the hosts with the most"
        " waiting. It reads a running crawl without disturbing it. --url shows the record of one URL."
        " --failed and --denied list URLs with status, attempts, time, reason and the page they were"
        " found on. --requeue lets failed URLs wait again. A crawl with workers also shows these;"
        " --pause, --resume, --stop and --tell give them instructions. With serve, the frontier is"
        " served to workers until Ctrl-C; a worker is a crawl with FRONTIER_URL set to the printed"
        " address."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        optional: dict[str, Any] = {"nargs": "?", "const": "", "metavar": "REGEX"}
        add("--hosts", type=int, default=10, metavar="N", help="how many hosts (default: 10)")
        add("--url", metavar="URL", help="show what is known about one URL")
        add(
            "--number",
            metavar="NUMBER|URL",
            help="print the URL with a number, or the number of one",
        )
        add("--under", metavar="URL|HOST", help="show how many URLs are below a folder or a domain")
        add("--failed", **optional, help="list the failed URLs, or those that match")
        add("--denied", **optional, help="list the denied URLs, or those that match")
        add("--requeue", metavar="REGEX", help="let the failed URLs that match wait again")
        add("--pause", action="store_true", help="pause all workers of a shared crawl")
        add("--resume", action="store_true", help="let all workers go on")
        add("--stop", action="store_true", help="stop all workers cleanly")
        levels = ("DEBUG", "INFO", "WARNING", "ERROR")
        log: dict[str, Any] = {"nargs": "?", "const": "DEBUG", "choices": levels}
        add("--log", **log, help="show the latest log lines of workers, of this level or above")
        add("--listen", metavar="ADDRESS", help="serve at unix:PATH or frontier://HOST:PORT")
        add("--shard", metavar="K/N", help="serve one shard of the crawl: 1/2 is the first of two")
        add(
            "--tell",
            metavar="NAME=VALUE",
            help="change a setting of all workers, such as delay=2.5",
        )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.frontier import is_shared
        from rdfaspider.settings.places import frontier_url

        url = frontier_url(self.settings)
        if args == ["serve"]:
            self._serve(url, opts)
            return
        _check(args, opts)
        if opts.number is not None:
            print(self._counterpart(opts.number))
            return
        if is_shared(url):
            self._run_served(url, opts)
        else:
            self._run_local(url, opts)

    def _counterpart(self, wanted: str) -> str:
        """Return the URL with a number, or the number of a URL; ValueError if there is none."""
        from rdfaspider.frontier.views.reader import FrontierReader
        from rdfaspider.settings.places import frontiers_of
        from rdfaspider.urls import normalise, without_userinfo

        url = "" if wanted.isdecimal() else normalise(wanted)
        try:
            paths = frontiers_of(self.settings)
        except ValueError:
            raise ValueError(
                "--number reads the directory of a frontier, where its service runs: -s FRONTIER_URL=DIR."
            ) from None
        for path in paths:
            with FrontierReader(path, delay=0.0) as reader:
                if not url and (found := reader.url_of(int(wanted))) is not None:
                    return without_userinfo(found)
                if url and (number := reader.number_of(url)) is not None:
                    return str(number)
        raise ValueError(f"{without_userinfo(url) or wanted} is not known to this crawl.")

    def _serve(self, path: str, opts: argparse.Namespace) -> None:
        from scrapy.utils.log import configure_logging

        from rdfaspider.frontier import is_replicated, is_shared
        from rdfaspider.frontier.engine.local import LocalFrontier
        from rdfaspider.frontier.sharding import Shard
        from rdfaspider.scheduler.options import division_of, frontier_options, security_of
        from rdfaspider.service.address import Address
        from rdfaspider.service.server.process import serve

        shard = Shard.parse(opts.shard or "1/1")
        if is_replicated(path):
            self._be_node(path, shard, opts)
            return
        if is_shared(path):
            raise ValueError("FRONTIER_URL must be the path of a directory, which is then served.")
        address = Address.parse(opts.listen or f"unix:{path}.sock")
        configure_logging({**self.settings, "LOG_ENABLED": True})
        options = frontier_options(self.settings, None)
        with LocalFrontier(path, shard=shard, **options) as frontier:
            serve(frontier, address, security_of(self.settings), division_of(self.settings))

    def _be_node(self, url: str, shard: Shard, opts: argparse.Namespace) -> None:
        from scrapy.utils.log import configure_logging

        from rdfaspider.scheduler.options import (
            frontier_order,
            node_options,
            security_of,
            shards_wanted,
        )
        from rdfaspider.service.address import Address
        from rdfaspider.service.replica.process import serve
        from rdfaspider.service.replica.registry import shard_url
        from rdfaspider.service.replica.shards import agree_on_shards, path_of

        wanted = shards_wanted(self.settings)
        total = agree_on_shards(url, shard.total if wanted is None and opts.shard else wanted)
        if shard.total != total:
            raise ValueError(
                f"The crawl has {total} shards: choose the one for this node, with --shard 1/{total} to"
                f" {total}/{total}."
            )
        options = node_options(self.settings, None) | {"order": frontier_order(self.settings)}
        path, _ = options.pop("path"), options.pop("nodes")
        if total > 1:
            url, path = shard_url(url, shard.number), path_of(path, shard.number)
            options["shard"] = shard
        configure_logging({**self.settings, "LOG_ENABLED": True})
        listen = Address.parse(opts.listen) if opts.listen else None
        serve(url, path, listen, security_of(self.settings), options)

    def _run_served(self, url: str, opts: argparse.Namespace) -> None:
        from rdfaspider.frontier import FrontierUnavailable, open_frontier
        from rdfaspider.frontier.views import text
        from rdfaspider.scheduler.options import security_of
        from rdfaspider.terminal import escaped

        now, security = time.time(), security_of(self.settings)
        try:
            served: Any = open_frontier(url, security=security, onlooks=True, read_ahead=0, now=now)
        except FrontierUnavailable as error:
            self._look_at_copy(error, opts)
            return
        with served as frontier:
            if _show_urls(frontier, opts):
                return
            if opts.requeue is not None:
                _say_requeued(frontier.requeue(opts.requeue))
            elif opts.log:
                _show(map(escaped, frontier.log(_LINES, opts.log)))
            else:
                for name, value in _told(opts):
                    frontier.tell(name, value)
                _show(text.sum_lines(frontier.counts()))
                _show(_worker_lines(frontier))
                _show(text.host_lines(frontier.hosts(now), opts.hosts, now))

    def _look_at_copy(self, error: FrontierUnavailable, opts: argparse.Namespace) -> None:
        """Show the copy of a frontier that a worker left here; raise the error if there is none."""
        from rdfaspider import rocksdb
        from rdfaspider.service.replica.client import NobodyThere

        copy = error.copy if isinstance(error, NobodyThere) else None
        is_question = opts.requeue is None and not any(getattr(opts, n) for n in _INSTRUCTIONS)
        if copy is None or not is_question or opts.log or not rocksdb.is_there(copy):
            raise error
        print(
            f"No worker is running; this is the copy that the last one left in {copy}.",
            file=sys.stderr,
        )
        self._run_local(str(copy), opts)

    def _run_local(self, path: str, opts: argparse.Namespace) -> None:
        from rdfaspider.frontier.engine.local import LocalFrontier
        from rdfaspider.frontier.views import text
        from rdfaspider.frontier.views.reader import FrontierReader
        from rdfaspider.scheduler.options import as_begun, politeness_of

        if opts.log or any(getattr(opts, name) for name in _INSTRUCTIONS):
            if Path(f"{path}.sock").is_socket():
                self._run_served(f"unix:{path}.sock", opts)
                return
            raise ValueError(
                "--pause, --resume, --stop, --tell and --log are for workers: of a running service, of a"
                " crawl with WORKERS, or of a shared crawl (FRONTIER_URL). Ctrl-C stops a crawl of one"
                " process, and its command resumes it."
            )
        with FrontierReader(path, delay=politeness_of(self.settings).delay) as reader:
            if not _show_urls(reader, opts) and opts.requeue is None:
                _show(text.sum_lines(reader.counts(), reader.limits))
                now = time.time()
                _show(text.host_lines(reader.hosts(now), opts.hosts, now))
            if opts.requeue is None:
                return
            begun = as_begun(reader, self.settings)
        with LocalFrontier(path, **begun) as frontier:
            _say_requeued(frontier.requeue(opts.requeue))


def _told(opts: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield the instructions for the workers, as names and values."""
    if opts.tell:
        name, equals, value = opts.tell.partition("=")
        if not equals:
            raise ValueError(f"--tell needs NAME=VALUE, such as delay=2.5, not {opts.tell[:200]}.")
        yield _reloadable(name.strip(), value.strip())
    for state in ("pause", "resume", "stop"):
        if getattr(opts, state):
            yield "state", "run" if state == "resume" else state


def _reloadable(name: str, value: str) -> tuple[str, str]:
    """Return the name that workers know a setting by, and its value; ValueError if that is wrong."""
    from rdfaspider.settings.declarations import DECLARED

    if name in DECLARED:
        DECLARED[name].read(value)
    return _NUMBERS.get(name, name), value


def _check(args: list[str], opts: argparse.Namespace) -> None:
    """Raise ValueError if the options make no sense, before anything is opened."""
    if args:
        raise ValueError(f"It takes options only, not {args[0][:200]}: see scrapy frontier -h.")
    for name in ("listen", "shard"):
        if getattr(opts, name):
            raise ValueError(f"--{name} is for scrapy frontier serve.")
    if opts.hosts < 0:
        raise ValueError(f"--hosts must be 0 or more, not {opts.hosts}.")
    asked = [f"--{name}" for name in _QUESTIONS if getattr(opts, name) is not None]
    told = [f"--{name}" for name in _INSTRUCTIONS if getattr(opts, name)]
    states = [name for name in told if name != "--tell"]
    if len(asked) > 1 or (asked and told) or len(states) > 1:
        raise ValueError(f"{' and '.join(asked + told)} cannot be combined.")
    for name in ("failed", "denied", "requeue"):
        linear(getattr(opts, name) or "")  # says what is wrong before anything is opened


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _show_urls(frontier: Inspector, opts: argparse.Namespace) -> bool:
    """Show the URLs that the options ask for; tell whether they ask for any."""
    from rdfaspider.frontier.views import text
    from rdfaspider.urls import normalise, without_userinfo
    from rdfaspider.urls.keys import prefix_of

    if opts.url is not None:
        url = normalise(opts.url)
        if (view := frontier.url(url)) is None:
            raise ValueError(f"{without_userinfo(url)} is not known to this crawl.")
        _show(text.url_lines(view))
        return True
    if opts.under is not None:
        prefix = prefix_of(normalise(opts.under) if "://" in opts.under else opts.under)
        _show(text.branch_lines(frontier.under(prefix), opts.hosts))
        return True
    for state in ("failed", "denied"):
        if (pattern := getattr(opts, state)) is not None:
            views = frontier.ended(state, pattern)
            _show(text.table_lines(views, aligned=sys.stdout.isatty()))
            return True
    return False


def _worker_lines(frontier: Any) -> Iterator[str]:
    """Yield the workers of a served crawl, and what they are told."""
    told = ", ".join(f"{name}={value}" for name, value in frontier.told.items() if name != "state")
    state = {"run": "run", "pause": "are paused", "stop": "are told to stop"}[frontier.state]
    total = getattr(frontier, "total", 1)
    shards = f", over {total} shards" if total > 1 else ""
    told = f", with {told}" if told else ""
    yield f"The workers {state}{told}; the order is {frontier.order}{shards}."
    workers = frontier.workers()
    yield (
        f"{'worker':40} {'holds':>7} {'ended':>9} {'heard of':>10}"
        if workers
        else "No worker is there."
    )
    for worker in workers:
        heard = f"{worker.silent:.0f} s ago"
        yield f"{worker.name:40} {worker.held:7,} {worker.ended:9,} {heard:>10}"


def _say_requeued(count: int) -> None:
    print(f"{count:,} failed URLs wait again; run the crawl's command to fetch them.")
