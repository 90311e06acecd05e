"""`scrapy seeds`: give a shared crawl more URLs to start from, while it runs or before."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

# Seeds sent to Redis at a time, and shown by `list`.
_BATCH, _SHOWN = 1000, 20


class Command(CheckedCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options] add FILE|URL|- … | list"

    def short_desc(self) -> str:
        return "Give a shared crawl more seeds, or show those that wait"

    def long_desc(self) -> str:
        return (
            "Push seeds to the crawl in Redis that FRONTIER_URL names; its workers read them within a"
            " second. A seed is a URL, or a file with one a line (- is standard input). With list show"
            " the seeds that no worker has read yet."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--depth", type=int, default=0, help="how deep they count as (default: 0)"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args or args[0] not in ("add", "list") or (args[0] == "add") != (len(args) > 1):
            raise UsageError("Say scrapy seeds add FILE|URL … or scrapy seeds list.")
        from rdfaspider.frontier import FrontierUnavailable

        try:
            if args[0] == "add":
                self._add(args[1:], opts.depth)
            else:
                self._list()
        except FrontierUnavailable as error:
            print(f"scrapy seeds: {error}", file=sys.stderr)
            self.exitcode = 1

    def _open(self) -> tuple[Any, str]:
        """Return the way to Redis, and the key of the seeds."""
        from rdfaspider.frontier import is_shared
        from rdfaspider.frontier.redis.address import Address
        from rdfaspider.frontier.redis.link import RedisLink
        from rdfaspider.frontier.redis.seedlist import SeedList
        from rdfaspider.scheduler.options import frontier_url

        assert self.settings is not None
        url = frontier_url(self.settings)
        if not is_shared(url):
            raise UsageError(
                "A crawl of one machine takes new seeds by its own command, scrapy crawl rdfa -a"
                " seeds=…; for a shared one set FRONTIER_URL=redis://HOST:PORT/0."
            )
        address = Address.parse(url)
        return RedisLink(address.url), SeedList(address.crawl, "").key

    def _add(self, arguments: list[str], depth: int) -> None:
        if not 0 <= depth <= 250:
            raise UsageError(f"--depth must be between 0 and 250, not {depth}.")
        link, key = self._open()
        seeds, bad = _read(arguments)
        texts = [json.dumps({"url": url, "depth": depth}) if depth else url for url in seeds]
        for start in range(0, len(texts), _BATCH):
            link.command("rpush", key, *texts[start : start + _BATCH])
        link.close()
        print(
            f"{len(seeds):,} seeds pushed to {key}{f', {bad:,} bad ones skipped' if bad else ''}."
        )

    def _list(self) -> None:
        link, key = self._open()
        kind = link.command("type", key)
        if kind in (b"none", b"list"):
            count = link.command("llen", key)
            print(f"{count:,} seeds wait in {key}.")
            for seed in link.command("lrange", key, 0, _SHOWN - 1):
                print(seed.decode(errors="replace"))
        else:
            print(f"{key} is a {kind.decode()}; its workers read it too.")
        link.close()


def _read(arguments: list[str]) -> tuple[list[str], int]:
    """Return the good URLs, normalised and without repeats, and how many were bad; these are named."""
    from rdfaspider.urls import normalise

    found: dict[str, None] = {}
    bad = 0
    for text in _texts(arguments):
        try:
            found[normalise(text)] = None
        except ValueError as error:
            bad += 1
            print(f"scrapy seeds: skipped {text[:200]}: {error}", file=sys.stderr)
    return list(found), bad


def _texts(arguments: list[str]) -> Iterator[str]:
    """Yield the text of each seed: arguments that are URLs, and lines of files that are not comments."""
    for argument in arguments:
        if re.match("https?:", argument, re.IGNORECASE):
            yield argument
            continue
        try:
            text = sys.stdin.read() if argument == "-" else Path(argument).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{argument[:200]} is neither a URL nor a file of them: {error}"
            ) from error
        lines = map(str.strip, text.splitlines())
        yield from (line for line in lines if line and not line.startswith("#"))
