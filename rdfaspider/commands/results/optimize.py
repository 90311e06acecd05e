"""`scrapy optimize`: merge the files of an embedded store, so that queries are faster."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Self

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse

    from rdfaspider.stores.embedded.oxigraph import OxigraphStore

# Seconds between two updates of the line that shows how long it takes.
_OFTEN = 0.5


class Command(CheckedCommand):
    summary = "Make queries of an embedded store faster"
    description = (
        "Merge the files of the embedded store of the crawl in JOBDIR. A busy crawl leaves many of them, and"
        " a query looks into each. It takes two or three seconds for a million triples, and up to twice the"
        " space; a small store keeps that, because its files are no longer compressed. No crawl may be"
        " writing meanwhile, and no query be running. It can be interrupted: nothing is lost."
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> int:
        from rdfaspider.settings.places import store_url
        from rdfaspider.stores import open_store
        from rdfaspider.stores.embedded.oxigraph import OxigraphStore
        from rdfaspider.stores.kinds import is_embedded, shown

        url = store_url(self.settings)
        if not is_embedded(url):
            raise ValueError(f"{shown(url)} is not an embedded store: there is nothing to merge.")
        # It fails if there is none, and loads what a kill has left.
        open_store(url, read_only=True).close()
        start, before = monotonic(), _Files.of(url)
        with OxigraphStore(url) as store:
            _optimize(store, before)
        after, seconds = _Files.of(url), monotonic() - start
        if after == before:
            print(f"{url} has {after}: there was nothing to merge.")
        else:
            print(f"{url} had {before} and has {after} now, after {seconds:.1f} s.")
        return 0


class _Files(NamedTuple):
    """The files of a store that hold data."""

    number: int
    size: int

    @classmethod
    def of(cls, path: str) -> Self:
        sizes = [file.stat().st_size for file in Path(path).glob("*.sst")]
        return cls(len(sizes), sum(sizes))

    def __str__(self) -> str:
        from rdfaspider.terminal import plural

        return f"{plural(self.number, 'file')} of {self.size / 1e6:,.1f} MB"


def _optimize(store: OxigraphStore, files: _Files) -> None:
    """Merge, and show on a terminal that it goes on."""
    from rdfaspider.terminal import StatusLine, complain

    start, thread = monotonic(), ThreadPoolExecutor(1)
    try:
        with StatusLine(sys.stderr) as line:
            merging = thread.submit(store.optimize)
            while not wait((merging,), _OFTEN).done:
                line.show(f"Merging {files} … {monotonic() - start:.0f} s")
    except KeyboardInterrupt:
        # Oxigraph would not end before all is merged. A store survives a kill.
        complain("optimize", "interrupted.")
        os._exit(130)
    thread.shutdown()
    merging.result()
