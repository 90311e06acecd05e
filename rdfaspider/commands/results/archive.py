"""`scrapy archive`: look into the archive of a crawl."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.commands.results._kept import date_of, wanted_of
from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from rdfaspider.archive.answers import Answer
    from rdfaspider.archive.index.captures import Capture


class Command(CheckedCommand):
    arguments = "[options] [URL]"
    summary = "Print a page as it was fetched, or its graph then; list, check or pack the archive"
    description = (
        "Look into the archive of the crawl in JOBDIR, which may be running. With a URL, print the"
        " last answer that was kept of it, or with --date the one nearest to that; --headers"
        " prints its status line and headers too, and --quads its triples instead, extracted and"
        " filtered by the settings as they are now. --list shows what is kept, of a URL or of all."
        " --check verifies every record. --wacz packs all into one file for replayweb.page."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--date", metavar="DATE", default="", help="2026, 2026-11-16 or 20261116003000")
        add("--headers", action="store_true", help="print the status line and headers too")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--quads", action="store_true", help="print the graph of the page")
        what.add_argument("--list", action="store_true", help="show what is kept")
        what.add_argument("--check", action="store_true", help="verify every record")
        what.add_argument("--wacz", metavar="FILE", help="pack all into one file")

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        is_whole = opts.check or opts.wacz
        if len(args) > 1 or (args and is_whole) or not (args or opts.list or is_whole):
            raise UsageError("scrapy archive takes one URL, or --list, --check or --wacz FILE")

    def work(self, args: list[str], opts: argparse.Namespace) -> int:
        from rdfaspider.pipelines.archive import archive_directory

        archive = archive_directory(self.settings)
        if not archive.is_dir():
            raise ValueError(f"There is no archive in {archive}: crawl with -s ARCHIVE=1.")
        if opts.check:
            return _check(archive)
        if opts.wacz:
            return _pack(archive, Path(opts.wacz))
        url, date = args[0] if args else "", date_of(opts.date)
        if opts.list:
            return _list(archive, url, date)
        if opts.quads:
            return print_quads(archive, url, date, self.settings)
        return _print(archive, url, date, headers=opts.headers)


def _captures(archive: Path, url: str, date: str) -> list[Capture]:
    from rdfaspider.archive.index.index import look_up
    from rdfaspider.urls import normalise, without_userinfo

    captures = look_up(archive, without_userinfo(normalise(url)), date)
    if not captures:
        raise ValueError(f"{url} is not in the archive: it was not fetched, or says noarchive.")
    return captures


def _list(archive: Path, url: str, date: str) -> int:
    from rdfaspider.archive.index.index import captures_in
    from rdfaspider.terminal import escaped

    captures = _captures(archive, url, date) if url else captures_in(archive)
    for number, each in enumerate(captures):
        if not number:
            print("date status type bytes URL")
        mime, status = each.mime or "-", each.status or "-"
        print(escaped(f"{each.date} {status} {mime} {each.length} {each.url}"))
    return 0


def _print(archive: Path, url: str, date: str, *, headers: bool) -> int:
    from rdfaspider.archive.content import answer
    from rdfaspider.terminal.data import output_of

    head, body = answer(archive, _captures(archive, url, date)[-1])
    output = output_of(sys.stdout)
    if headers:
        output.write(head + b"\r\n\r\n")
    output.write(body)
    output.flush()
    return 0


def print_quads(archive: Path, url: str, date: str, settings: BaseSettings) -> int:
    from rdfaspider.pipelines.reading import Reading, Tally, page_of
    from rdfaspider.terminal.data import output_of

    captures = _captures(archive, url, date)
    # What was not modified is as it was before.
    capture = [each for each in captures if each.status != "304"][-1:] or captures[-1:]
    tally = Tally()
    reading = Reading.from_settings(settings, tally)
    page = page_of(_answer(archive, capture[0], settings))
    asyncio.run(reading.read([page]))
    if not page.is_read:
        raise ValueError(f"{url} cannot be extracted ({page.reason}).")
    if tally["extract/noindex"]:
        raise ValueError(f"{url} says noindex, so there is no graph of it.")
    output = output_of(sys.stdout)
    output.write(page.nquads)
    output.flush()
    return 0


def _answer(archive: Path, capture: Capture, settings: BaseSettings) -> Answer:
    from collections import Counter

    from rdfaspider.archive.answers import Answers, Skipped
    from rdfaspider.archive.content import rendered_of
    from rdfaspider.archive.warc.reader import path_of, read

    record = read(archive, capture)
    answers = Answers(wanted_of(settings), Counter())
    try:
        answer = answers.read_answer(record, path_of(archive, capture.filename))
        return answer._replace(rendered=rendered_of(archive, capture, record))
    except Skipped as skipped:
        why = {
            "status": f"was answered with the status {capture.status}",
            "type": f"is no page but {capture.mime or 'something else'}",
            "revisit": "has its body in a record that is not in this archive",
        }.get(str(skipped), "is no page")
        raise ValueError(f"{capture.url} {why} on {capture.date}.") from skipped


def _check(archive: Path) -> int:
    from collections import Counter

    from rdfaspider.archive.check import check
    from rdfaspider.terminal import StatusLine, escaped, plural

    counts: Counter[str] = Counter()
    faults = 0
    with StatusLine(sys.stderr) as line:
        for fault in check(archive, counts, lambda: line.show(f"{counts['records']:,} records …")):
            faults += 1
            print(escaped(fault))
    what = [plural(counts[name], name[:-1]) for name in ("files", "records", "captures")]
    print(f"{', '.join(what)}: {plural(faults, 'fault')}.")
    if left := len([*archive.glob("*.open")]):
        print(f"{plural(left, 'file')} still open: a crawl runs, or its next start will mend them.")
    return int(bool(faults))


def _pack(archive: Path, target: Path) -> int:
    from rdfaspider import __version__
    from rdfaspider.archive.wacz import write_wacz
    from rdfaspider.terminal import plural

    files = write_wacz(archive, target, f"rdfaspider/{__version__}")
    print(f"{plural(files, 'file')} packed in {target}, {target.stat().st_size:,} bytes.")
    return 0
