"""`scrapy frontier`: what a crawl knows, what waits and why."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from rdfaspider.frontier import FrontierUnavailable, UrlView
    from rdfaspider.frontier.sharding import Shard

# Of these one can be asked for at a time.
_QUESTIONS = ("url", "failed", "denied", "requeue")
# What the workers of a shared crawl can be told.
_INSTRUCTIONS = ("pause", "resume", "stop", "tell")
# Settings of politeness, which the service itself keeps, by other names.
_NUMBERS = {
    "POLITENESS_DELAY": "delay",
    "POLITENESS_LATENCY_FACTOR": "latency_factor",
    "POLITENESS_BACKOFF": "first_backoff",
    "POLITENESS_LARGE_DELAY": "large_delay",
}
# Lines of the log that are shown.
_LINES = 200


class Command(CheckedCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[serve] [options]"

    def short_desc(self) -> str:
        return "Show what a crawl knows, what waits and why; try failed URLs again"

    def long_desc(self) -> str:
        return (
            "Show the frontier of the crawl in JOBDIR: URLs by state, and the hosts with the most"
            " waiting. It reads a running crawl without disturbing it. With --url show one URL's"
            " record, with --failed or --denied list URLs with status, attempts, time, reason and the page"
            " they were found on, with --requeue let failed ones wait again. Of a crawl with workers"
            " also these, which --pause, --resume, --stop and --tell tell what to do. With serve,"
            " hand the frontier out to workers until Ctrl-C; each is a crawl with FRONTIER_URL set to what is"
            " printed."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        optional: dict[str, Any] = {"nargs": "?", "const": "", "metavar": "REGEX"}
        add("--hosts", type=int, default=10, metavar="N", help="how many hosts (default: 10)")
        add("--url", metavar="URL", help="show what is known of one URL")
        add("--failed", **optional, help="list the failed URLs, or those that match")
        add("--denied", **optional, help="list the denied URLs, or those that match")
        add("--requeue", metavar="REGEX", help="let the failed URLs that match wait again")
        add("--pause", action="store_true", help="have all workers of a shared crawl wait")
        add("--resume", action="store_true", help="have all workers go on")
        add("--stop", action="store_true", help="have all workers end cleanly")
        levels = ("DEBUG", "INFO", "WARNING", "ERROR")
        log: dict[str, Any] = {"nargs": "?", "const": "DEBUG", "choices": levels}
        add("--log", **log, help="show what workers have logged last, of this level or above")
        add("--listen", metavar="ADDRESS", help="serve at unix:PATH or frontier://HOST:PORT")
        add("--shard", metavar="K/N", help="serve a shard of the crawl, as 1/2, the first of two")
        add("--tell", metavar="NAME=VALUE", help="tell all workers a setting, as delay=2.5")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.terminal import exit_code_of

        self.exitcode = exit_code_of("frontier", lambda: self._run(args, opts))

    def _run(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.frontier import is_shared
        from rdfaspider.scheduler.options import frontier_url

        assert self.settings is not None
        url = frontier_url(self.settings)
        if args == ["serve"]:
            self._serve(url, opts)
            return
        _check(args, opts)
        if is_shared(url):
            self._run_served(url, opts)
        else:
            self._run_local(url, opts)

    def _serve(self, path: str, opts: argparse.Namespace) -> None:
        from scrapy.utils.log import configure_logging

        from rdfaspider.frontier import is_replicated, is_shared
        from rdfaspider.frontier.local import LocalFrontier
        from rdfaspider.frontier.service.serving import serve
        from rdfaspider.frontier.service.wire import Address
        from rdfaspider.frontier.sharding import Shard
        from rdfaspider.scheduler.options import division_of, frontier_options, security_of

        assert self.settings is not None
        shard = Shard.parse(opts.shard or "1/1")
        if is_replicated(path):
            self._be_node(path, shard, opts)
            return
        if is_shared(path):
            raise ValueError(
                "FRONTIER_URL must be the path of a directory: that is what is served."
            )
        address = Address.parse(opts.listen or f"unix:{path}.sock")
        configure_logging({**self.settings, "LOG_ENABLED": True})
        options = frontier_options(self.settings, None)
        with LocalFrontier(path, shard=shard, **options) as frontier:
            serve(frontier, address, security_of(self.settings), division_of(self.settings))

    def _be_node(self, url: str, shard: Shard, opts: argparse.Namespace) -> None:
        from scrapy.utils.log import configure_logging

        from rdfaspider.frontier.replica.process import serve
        from rdfaspider.frontier.replica.registry import shard_url
        from rdfaspider.frontier.replica.sharded import agree_on_shards, path_of
        from rdfaspider.frontier.service.wire import Address
        from rdfaspider.scheduler.options import (
            frontier_order,
            node_options,
            security_of,
            shards_wanted,
        )

        assert self.settings is not None
        wanted = shards_wanted(self.settings)
        total = agree_on_shards(url, shard.total if wanted is None and opts.shard else wanted)
        if shard.total != total:
            raise ValueError(
                f"The crawl has {total} shards: say which one this node is to have, with --shard 1/{total} to"
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
        from rdfaspider.frontier import FrontierUnavailable, open_frontier, text
        from rdfaspider.frontier.service import report
        from rdfaspider.scheduler.options import security_of
        from rdfaspider.terminal import escaped

        assert self.settings is not None
        now, security = time.time(), security_of(self.settings)
        try:
            served: Any = open_frontier(url, security=security, onlooks=True, read_ahead=0, now=now)
        except FrontierUnavailable as error:
            self._look_at_copy(error, opts)
            return
        with served as frontier:
            if opts.url is not None:
                _show_url(frontier.url(_normalised(opts.url)), opts.url)
            elif opts.failed is not None:
                _show_table(frontier.ended("failed", opts.failed))
            elif opts.denied is not None:
                _show_table(frontier.ended("denied", opts.denied))
            elif opts.requeue is not None:
                _say_requeued(frontier.requeue(opts.requeue))
            else:
                if opts.log:
                    _show(map(escaped, frontier.log(_LINES, opts.log)))
                    return
                for name, value in _told(opts):
                    frontier.tell(name, value)
                _show(text.sum_lines(frontier.counts()))
                _show(report.lines(frontier))
                _show(text.host_lines(frontier.hosts(now), opts.hosts, now))

    def _look_at_copy(self, error: FrontierUnavailable, opts: argparse.Namespace) -> None:
        """Show the copy of a frontier that a worker has left here; raise the error if there is none."""
        from rdfaspider import rocksdb
        from rdfaspider.frontier.replica.client import NobodyThere

        copy = error.copy if isinstance(error, NobodyThere) else None
        is_question = opts.requeue is None and not any(getattr(opts, n) for n in _INSTRUCTIONS)
        if copy is None or not is_question or opts.log or not rocksdb.is_there(copy):
            raise error
        print(f"No worker runs; this is what the last one has left in {copy}.", file=sys.stderr)
        self._run_local(str(copy), opts)

    def _run_local(self, path: str, opts: argparse.Namespace) -> None:
        from rdfaspider.frontier import text
        from rdfaspider.frontier.reader import FrontierReader
        from rdfaspider.scheduler.options import frontier_limits, politeness_of

        if opts.log or any(getattr(opts, name) for name in _INSTRUCTIONS):
            if Path(f"{path}.sock").is_socket():
                self._run_served(f"unix:{path}.sock", opts)
                return
            raise ValueError(
                "--pause, --resume, --stop, --tell and --log are for workers: of a service that runs, of a"
                " crawl with WORKERS, or of one that is shared (FRONTIER_URL); Ctrl-C stops a crawl of one"
                " process, and its command resumes it."
            )
        assert self.settings is not None
        delay, limits = politeness_of(self.settings).delay, frontier_limits(self.settings, None)
        with FrontierReader(path, delay=delay, limits=limits) as reader:
            if opts.url is not None:
                _show_url(reader.url(_normalised(opts.url)), opts.url)
            elif opts.failed is not None:
                _show_table(reader.ended("failed", opts.failed))
            elif opts.denied is not None:
                _show_table(reader.ended("denied", opts.denied))
            elif opts.requeue is None:
                _show(text.sum_lines(reader.counts(), reader.limits))
                now = time.time()
                _show(text.host_lines(reader.hosts(now), opts.hosts, now))
            order = reader.order or self.settings["FRONTIER_ORDER"]
            begun = {"order": order, "limits": reader.limits, "shard": reader.shard}
        if opts.requeue is not None:
            self._requeue(path, opts.requeue, begun)

    def _requeue(self, path: str, pattern: str, begun: dict[str, Any]) -> None:
        from rdfaspider.frontier.local import LocalFrontier
        from rdfaspider.scheduler.options import politeness_of

        assert self.settings is not None
        manners = politeness_of(self.settings)
        with LocalFrontier(path, politeness=manners, now=time.time(), **begun) as frontier:
            _say_requeued(frontier.requeue(pattern))


def _told(opts: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield what the workers are to be told: names and values."""
    if opts.tell:
        name, equals, value = opts.tell.partition("=")
        if not equals:
            raise ValueError(f"--tell must have NAME=VALUE, as delay=2.5, not {opts.tell[:200]}.")
        yield _reloadable(name.strip(), value.strip())
    for state in ("pause", "resume", "stop"):
        if getattr(opts, state):
            yield "state", "run" if state == "resume" else state


def _reloadable(name: str, value: str) -> tuple[str, str]:
    """Return what workers know a setting by, and its value; ValueError if it cannot have that."""
    from rdfaspider.settings.declarations import DECLARED

    if name in DECLARED:
        DECLARED[name].read(value)
    return _NUMBERS.get(name, name), value


def _check(args: list[str], opts: argparse.Namespace) -> None:
    """Raise ValueError, before anything is opened, if the options make no sense."""
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
        try:
            re.compile(getattr(opts, name) or "")
        except re.error as error:
            raise ValueError(
                f"{getattr(opts, name)[:200]!r} is not a regular expression: {error}."
            ) from error


def _normalised(text: str) -> str:
    from rdfaspider.urls import normalise

    return normalise(text)


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _show_url(view: UrlView | None, asked: str) -> None:
    from rdfaspider.frontier import text
    from rdfaspider.urls.iris import without_userinfo

    if view is None:
        raise ValueError(f"{without_userinfo(_normalised(asked))} is not known to this crawl.")
    _show(text.url_lines(view))


def _show_table(views: Iterable[UrlView]) -> None:
    from rdfaspider.frontier import text

    _show(text.table_lines(views, aligned=sys.stdout.isatty()))


def _say_requeued(count: int) -> None:
    print(f"{count:,} failed URLs wait again; run the crawl's command to fetch them.")
