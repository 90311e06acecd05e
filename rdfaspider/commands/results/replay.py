"""`scrapy replay`: read the pages of archives again, without the network."""

from __future__ import annotations

import asyncio
import os
import sys
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from rdfaspider.commands.results._kept import date_of, wanted_of
from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from rdfaspider.archive.answers import Answer, Answers, Wanted
    from rdfaspider.pipelines.reading import Tally
    from rdfaspider.pipelines.replay import Position, Replay
    from rdfaspider.terminal import StatusLine

# A file that is being written loses its .open meanwhile, so these are looked for first.
_KINDS = ("*.warc.gz.open", "*.warc", "*.warc.gz", "*.har")


class Command(CheckedCommand):
    arguments = "[options] [FILE | DIRECTORY | -] …"
    summary = "Read the pages of web archives again, without the network"
    description = (
        "Extract, filter and store the pages that the crawl in JOBDIR has archived, or those in"
        " other WARC or HAR files, in all of a directory, or in what comes on standard input (-)."
        " Each page's graph becomes what a crawl would have written; of two captures of a page, the"
        " later one in the files wins; a page that was gone at its last visit stays gone. A replay that"
        " was interrupted goes on when the same command is given again."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        several: dict[str, Any] = {"action": "append", "default": []}
        add("--host", **several, metavar="HOST", help="the pages of this host alone")
        add("--url", **several, metavar="PATTERN", help="these URLs alone, with * for anything")
        add("--type", **several, metavar="TYPE", help="this media type alone, such as text/html")
        add("--since", metavar="DATE", default="", help="not before: 2026, 2026-11 or 2026-11-16")
        add("--until", metavar="DATE", default="", help="not after")
        add("--gone", action="store_true", help="also pages that were gone at their last visit")
        add("--to", metavar="STORE_URL", default="", help="the store to write to")
        add("--processes", metavar="NUMBER", type=int, help="processes that extract")

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.processes is not None and opts.processes < 0:
            raise UsageError("--processes takes a number from 0 on")

    def work(self, args: list[str], opts: argparse.Namespace) -> int:
        from scrapy.utils.misc import load_object

        from rdfaspider.archive.answers import Answers
        from rdfaspider.heap import tune
        from rdfaspider.pipelines.archive import archive_directory
        from rdfaspider.pipelines.reading import Tally, terms_of
        from rdfaspider.pipelines.replay import Bookmark
        from rdfaspider.terminal import StatusLine, plural

        settings = self.settings
        if opts.to:
            settings.set("STORE_URL", opts.to, priority="cmdline")
        archive = archive_directory(settings)
        if not args and not archive.is_dir():
            raise ValueError(
                f"There is no archive in {archive}: crawl with -s ARCHIVE=1, or name WARC or HAR files."
            )
        paths = _paths(args or [str(archive)])
        directory = Path(settings["JOBDIR"] or ".") / "replay"
        directory.mkdir(parents=True, exist_ok=True)
        asked = opts.host, opts.url, opts.type, opts.since, opts.until, opts.gone
        task = [*map(_name, paths)], *asked
        bookmark = Bookmark(
            directory / "position.json", [*task, settings["STORE_URL"], terms_of(settings)]
        )
        tally = Tally()
        sources = settings.getbool("STORE_PROVENANCE")
        wanted = _wanted(opts, settings)
        gone = frozenset() if opts.gone else _gone(paths, wanted)
        answers = Answers(wanted, tally, sources=sources, gone=gone)
        if (start := bookmark.read()) is not None:
            print(f"Goes on at {start.offset:,} of {start.file}.", file=sys.stderr)
        with StatusLine(sys.stderr) as line:
            found = _read(paths, answers, start)
            replay = _replay(settings, opts, tally, directory)
            loop = settings["ASYNCIO_EVENT_LOOP"]
            tune()
            with asyncio.Runner(loop_factory=load_object(loop) if loop else None) as runner:
                show = partial(_show, line, tally)
                runner.run(replay.run(found, bookmark, show))
        pages, quads = plural(tally["pages"], "page"), plural(tally["quads"], "triple")
        print(f"{pages} read again, {quads}; {tally['store/graphs']:,} graphs are new or changed.")
        for name in sorted(tally):
            if name.startswith(("skipped/", "failed/")) or name == "damaged":
                print(f"{tally[name]:>9,} {name.replace('/', ': ')}")
        if replay.waiting:
            pages = plural(replay.waiting, "page")
            print(
                f"The store does not have {pages} yet: run the same command again to send them.",
                file=sys.stderr,
            )
            return 1
        return 0


def _show(line: StatusLine, tally: Tally) -> None:
    line.show(f"{tally['pages']:,} pages …")


def _paths(arguments: list[str]) -> list[Path]:
    """Return the files that are meant, those of a directory in order of their names."""
    paths: list[Path] = []
    for argument in arguments:
        path = Path(argument)
        if argument == "-":
            paths.append(Path("-"))
        elif path.is_dir():
            files = [file for kind in _KINDS for file in path.rglob(kind)]
            found = {_name(file): file for file in files if file.is_file()}
            paths += [file for _, file in sorted(found.items())]
        elif path.suffix == ".wacz":
            raise ValueError(f"{argument} is a package: unpack it, and name its directory archive.")
        elif path.is_file():
            paths.append(path)
        else:
            raise ValueError(f"{argument} is neither a file nor a directory.")
    if not paths:
        raise ValueError(f"There is no WARC or HAR file in {', '.join(arguments)}.")
    return paths


def _read(
    paths: list[Path], answers: Answers, start: Position | None
) -> Iterator[tuple[Position, Answer | None]]:
    from rdfaspider.archive.har import read_har
    from rdfaspider.archive.warc.reader import open_file
    from rdfaspider.pipelines.replay import Position

    names = [_name(path) for path in paths]
    first = names.index(start.file) if start and start.file in names else 0
    for path in paths[:first]:
        if _is_warc(path):
            answers.remember(path)
    for path in paths[first:]:
        name = _name(path)
        if path.suffix == ".har":
            for answer in read_har(path, answers.wanted, answers.counts):
                yield Position(name, 0), answer
        elif name == "-":
            for offset, found in answers.read(sys.stdin.buffer):
                yield Position(name, offset), found
        else:
            begin = start.offset if start and start.file == name else 0
            if begin:
                answers.remember(path, begin)
            with open_file(path) as file:
                for offset, found in answers.read(file, path, begin):
                    yield Position(name, offset), found


def _gone(paths: list[Path], wanted: Wanted) -> frozenset[str]:
    """Return the URLs whose pages are gone by the indexes of the archives that the files are in."""
    from rdfaspider.archive.index.index import gone, index_of

    archives = {path.parent for path in paths if index_of(path.parent).is_dir()}
    return frozenset().union(*(gone(each, wanted.date, wanted.content_type) for each in archives))


def _name(path: Path) -> str:
    """Return the name that a file has when its writer is done with it."""
    return str(path).removesuffix(".open")


def _is_warc(path: Path) -> bool:
    return path.suffix != ".har" and str(path) != "-"


def _wanted(opts: argparse.Namespace, settings: BaseSettings) -> Wanted:
    from rdfaspider.archive.index.captures import digits
    from rdfaspider.urls import host

    since, until = date_of(opts.since), date_of(opts.until)
    hosts = {name.lower() for name in opts.host}

    def is_url(url: str) -> bool:
        return (not hosts or host(url) in hosts) and (
            not opts.url or any(fnmatchcase(url, pattern) for pattern in opts.url)
        )

    def is_date(date: str) -> bool:
        found = digits(date)
        return since <= found and (not until or found[: len(until)] <= until)

    return wanted_of(settings, is_url, is_date, [name.lower() for name in opts.type])


def _replay(
    settings: BaseSettings, opts: argparse.Namespace, tally: Tally, directory: Path
) -> Replay:
    from scrapy.signalmanager import SignalManager

    from rdfaspider.pipelines.reading import Reading
    from rdfaspider.pipelines.replay import Replay
    from rdfaspider.pipelines.store import StorePipeline, crawl_of, outbox_options
    from rdfaspider.settings.places import store_url
    from rdfaspider.stores import open_sink

    processes = opts.processes if opts.processes is not None else os.cpu_count() or 1
    reading = Reading.from_settings(settings, tally, processes)
    # The crawl has an outbox of its own.
    outbox = outbox_options(settings) | {"outbox": str(directory / "outbox")}
    sink = open_sink(store_url(settings), **outbox)
    store = StorePipeline(tally.as_stats(), SignalManager(), sink, crawl_of(settings))
    return Replay(reading, store, tally, processes)
