"""`scrapy seeds`: give a crawl more URLs to start from by way of Redis, while it runs or before."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, ClassVar

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from rdfaspider.seedlist import SeedList

# Seeds sent to Redis at a time, shown by `list`, and bad ones that are named.
_BATCH, _SHOWN, _NAMED = 5_000, 20, 20


class Command(CheckedCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options] add FILE|URL|- … | import KEY … | list"

    def short_desc(self) -> str:
        return "Give a crawl more seeds by way of Redis, or show those that wait"

    def long_desc(self) -> str:
        return (
            "Push seeds to the list in Redis that SEEDS_URL names, or to that of the shared crawl that"
            " FRONTIER_URL names; who reads it does so within a second. A seed is a URL, or a file with one a"
            " line, which may be gzipped (- is standard input). With import push the requests that wait in a"
            " queue of scrapy-redis, SPIDER:requests. With list show the seeds that nobody has read yet."
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
        what, *rest = args or [""]
        if what not in ("add", "import", "list") or (what == "list") != (not rest):
            raise ValueError(
                "Say scrapy seeds add FILE|URL|- …, scrapy seeds import KEY … or scrapy seeds list."
            )
        if not 0 <= depth <= 250:
            raise ValueError(f"--depth must be between 0 and 250, not {depth}.")
        seeds = self._open()
        try:
            if args[0] == "add":
                _add(seeds, args[1:], depth)
            elif args[0] == "import":
                _import(seeds, args[1:])
            else:
                _list(seeds)
        finally:
            seeds.close()

    def _open(self) -> SeedList:
        """Return the seeds in Redis that the settings name."""
        from rdfaspider.seedlist import SeedList
        from rdfaspider.settings.places import seeds_url

        assert self.settings is not None
        if url := seeds_url(self.settings):
            return SeedList(url)
        raise ValueError(
            "Say where the seeds are, with -s SEEDS_URL=redis://HOST:PORT/0 or, for a crawl that is"
            " shared by way of Redis, -s FRONTIER_URL=…; any crawl takes seeds by its own command,"
            " scrapy crawl rdfa -a seeds=…, too."
        )


def _add(seeds: SeedList, arguments: list[str], depth: int) -> None:
    from rdfaspider.secrets import without_secrets

    bad = _Bad()
    rows = ((url, depth) for url in _seeds(arguments, bad))
    given = ", ".join(map(without_secrets, arguments))
    _push(seeds, rows, bad, f"No usable seed in {given[:200]}")


def _import(seeds: SeedList, keys: list[str]) -> None:
    """Push what waits in queues of scrapy-redis; they are left as they are."""
    bad = _Bad()
    rows = (row for key in keys for row in _requests(seeds, key, bad))
    _push(seeds, rows, bad, f"No request waits in {', '.join(keys)[:200]}")


def _requests(seeds: SeedList, key: str, bad: _Bad) -> Iterator[tuple[str, int]]:
    from rdfaspider.seedlist import read_request

    for item in seeds.queue(key):
        try:
            yield read_request(item)
        except ValueError as error:
            bad(key, item[:60].decode(errors="replace"), error)


def _push(seeds: SeedList, rows: Iterable[tuple[str, int]], bad: _Bad, nothing: str) -> None:
    from rdfaspider.terminal import StatusLine

    pushed = 0
    try:
        with StatusLine(sys.stderr) as status:
            for batch in _batches(rows):
                seeds.push(
                    [
                        json.dumps({"url": url, "depth": depth}) if depth else url
                        for url, depth in batch
                    ]
                )
                pushed += len(batch)
                status.show(f"{pushed:,} seeds pushed …")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{error} {pushed:,} seeds were pushed before." if pushed else str(error)
        ) from error
    if not pushed:
        raise ValueError(f"{nothing}: {bad.count:,} bad ones.")
    skipped = f", {bad.count:,} bad ones skipped" if bad.count else ""
    print(f"{pushed:,} seeds pushed to {seeds.key}{skipped}.")


def _list(seeds: SeedList) -> None:
    from rdfaspider.secrets import without_secrets
    from rdfaspider.terminal import escaped

    kind = seeds.kind()
    if kind not in ("none", "list"):
        print(f"{seeds.key} is a {kind}, with {seeds.count():,} seeds; crawls read it too.")
        return
    print(f"{seeds.count():,} seeds wait in {seeds.key}.")
    for seed in seeds.first(_SHOWN):
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


def _batches(rows: Iterable[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    """Yield batches without repeats within one; others are found by the workers."""
    batch: dict[tuple[str, int], None] = {}
    for row in rows:
        batch[row] = None
        if len(batch) == _BATCH:
            yield list(batch)
            batch = {}
    if batch:
        yield list(batch)
