"""`scrapy seeds`: give a shared crawl more URLs to start from, while it runs or before."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, ClassVar

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

# Seeds sent to Redis at a time, shown by `list`, and bad ones that are named.
_BATCH, _SHOWN, _NAMED = 5_000, 20, 20


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
            " second. A seed is a URL, or a file with one a line, which may be gzipped (- is standard"
            " input). With list show the seeds that no worker has read yet."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--depth", type=int, default=0, help="how deep they count as (default: 0)"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.terminal import exit_code_of

        self.exitcode = exit_code_of("seeds", lambda: self._run(args, opts.depth))

    def _run(self, args: list[str], depth: int) -> None:
        if not args or args[0] not in ("add", "list") or (args[0] == "add") != (len(args) > 1):
            raise ValueError("Say scrapy seeds add FILE|URL|- … or scrapy seeds list.")
        if not 0 <= depth <= 250:
            raise ValueError(f"--depth must be between 0 and 250, not {depth}.")
        link, key = self._open()
        try:
            if args[0] == "add":
                _add(link, key, args[1:], depth)
            else:
                _list(link, key)
        finally:
            link.close()

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
            raise ValueError(
                "A crawl of one machine takes new seeds by its own command, scrapy crawl rdfa -a"
                " seeds=…; for a shared one set FRONTIER_URL=redis://HOST:PORT/0."
            )
        address = Address.parse(url)
        return RedisLink(address.url), SeedList(address.crawl, "").key


def _add(link: Any, key: str, arguments: list[str], depth: int) -> None:
    from rdfaspider.secrets import without_secrets
    from rdfaspider.terminal import StatusLine

    pushed, bad = 0, _Bad()
    try:
        with StatusLine(sys.stderr) as status:
            for batch in _batches(_seeds(arguments, bad)):
                texts = [
                    json.dumps({"url": url, "depth": depth}) if depth else url for url in batch
                ]
                link.command("rpush", key, *texts)
                pushed += len(batch)
                status.show(f"{pushed:,} seeds pushed …")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{error} {pushed:,} seeds were pushed before." if pushed else str(error)
        ) from error
    if not pushed:
        given = ", ".join(map(without_secrets, arguments))
        raise ValueError(f"No usable seed in {given[:200]}: {bad.count:,} bad ones.")
    skipped = f", {bad.count:,} bad ones skipped" if bad.count else ""
    print(f"{pushed:,} seeds pushed to {key}{skipped}.")


def _list(link: Any, key: str) -> None:
    from rdfaspider.secrets import without_secrets
    from rdfaspider.terminal import escaped

    kind = link.command("type", key)
    if kind not in (b"none", b"list"):
        print(f"{key} is a {kind.decode()}; its workers read it too.")
        return
    print(f"{link.command('llen', key):,} seeds wait in {key}.")
    for seed in link.command("lrange", key, 0, _SHOWN - 1):
        print(escaped(without_secrets(seed.decode(errors="replace"))))


class _Bad:
    """Counts bad seeds, and names the first."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, place: str, text: str, error: ValueError) -> None:
        from rdfaspider.secrets import without_secrets
        from rdfaspider.terminal import complain

        self.count += 1
        if self.count <= _NAMED:
            where = "" if place == "the argument" else f" in {place}"
            complain("seeds", f"skipped {without_secrets(text[:200])}{where}: {error}")
        elif self.count == _NAMED + 1:
            complain("seeds", "further bad seeds are not listed")


def _seeds(arguments: list[str], bad: Callable[[str, str, ValueError], None]) -> Iterator[str]:
    """Yield the good seeds, normalised."""
    from rdfaspider.urls.seedfile import read_seed_lines, seed_url

    for argument in arguments:
        for place, text in read_seed_lines(argument):
            try:
                yield seed_url(text)
            except ValueError as error:
                bad(place, text, error)


def _batches(urls: Iterable[str]) -> Iterator[list[str]]:
    """Yield batches without repeats within one; others are found by the workers."""
    batch: dict[str, None] = {}
    for url in urls:
        batch[url] = None
        if len(batch) == _BATCH:
            yield list(batch)
            batch = {}
    if batch:
        yield list(batch)
