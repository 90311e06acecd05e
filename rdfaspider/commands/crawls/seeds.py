"""`scrapy seeds`: give a crawl more seeds through Redis, while it runs or before."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from rdfaspider.seedlist import SeedList
    from rdfaspider.urls.seedfile import BadSeeds

# Seeds sent to Redis at a time, and shown by `list`.
_BATCH, _SHOWN = 5_000, 20


class Command(CheckedCommand):
    arguments = "[options] add FILE|URL|- … | import KEY … | list"
    summary = "Give a crawl more seeds through Redis, or show those that wait"
    description = (
        "Push seeds to the list in Redis that SEEDS_URL names, or to that of the shared crawl that"
        " FRONTIER_URL names; a running crawl reads them within a second. Give URLs, or files with one URL"
        " per line, which may be gzipped (- is standard input). import pushes the requests that wait in a"
        " queue of scrapy-redis, SPIDER:requests. list shows the seeds that no crawl has read yet."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--depth", type=int, default=0, help="the depth that they count as (default: 0)"
        )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.fetchmeta import MAX_DEPTH

        what, *rest = args or [""]
        if what not in ("add", "import", "list") or (what == "list") != (not rest):
            raise ValueError(
                "Say scrapy seeds add FILE|URL|- …, scrapy seeds import KEY … or scrapy seeds list."
            )
        if not 0 <= opts.depth <= MAX_DEPTH:
            raise ValueError(f"--depth must be between 0 and {MAX_DEPTH}, not {opts.depth}.")
        seeds = self._open()
        try:
            if what == "add":
                _add(seeds, rest, opts.depth)
            elif what == "import":
                _import(seeds, rest)
            else:
                _list(seeds)
        finally:
            seeds.close()

    def _open(self) -> SeedList:
        """Return the seeds in Redis that the settings name."""
        from rdfaspider.settings.places import has_pushed_seeds, open_seeds

        if has_pushed_seeds(self.settings):
            return open_seeds(self.settings)
        raise ValueError(
            "Say where the seeds are: with -s SEEDS_URL=redis://HOST:PORT/0 or, for a crawl that is"
            " shared through Redis, -s FRONTIER_URL=…. Any crawl also takes seeds with its own command,"
            " scrapy crawl rdfa -a seeds=…."
        )


def _add(seeds: SeedList, arguments: list[str], depth: int) -> None:
    from rdfaspider.secrets import without_secrets
    from rdfaspider.urls.seedfile import read_seed_lines, usable_seeds

    bad = _bad_seeds()
    rows = (
        (url, depth)
        for argument in arguments
        for url in usable_seeds(read_seed_lines(argument), bad)
    )
    given = ", ".join(map(without_secrets, arguments))
    _push(seeds, rows, bad, f"No usable seed in {given[:200]}")


def _import(seeds: SeedList, keys: list[str]) -> None:
    """Push the requests that wait in queues of scrapy-redis; the queues stay as they are."""
    bad = _bad_seeds()
    rows = (row for key in keys for row in _requests(seeds, key, bad))
    _push(seeds, rows, bad, f"No request waits in {', '.join(keys)[:200]}")


def _requests(seeds: SeedList, key: str, bad: BadSeeds) -> Iterator[tuple[str, int]]:
    from rdfaspider.seedlist import read_request

    for item in seeds.queue(key):
        try:
            yield read_request(item)
        except ValueError as error:
            bad(key, item[:60].decode(errors="replace"), error)


def _push(seeds: SeedList, rows: Iterable[tuple[str, int]], bad: BadSeeds, nothing: str) -> None:
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


def _bad_seeds() -> BadSeeds:
    from rdfaspider.terminal import complain
    from rdfaspider.urls.seedfile import BadSeeds

    return BadSeeds(lambda sentence: complain("seeds", sentence))


def _batches(rows: Iterable[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    """Yield batches without repeats inside; the frontier finds the others."""
    batch: dict[tuple[str, int], None] = {}
    for row in rows:
        batch[row] = None
        if len(batch) == _BATCH:
            yield list(batch)
            batch = {}
    if batch:
        yield list(batch)
