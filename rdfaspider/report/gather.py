"""Gathers what is known of a crawl as plain numbers: what the JSON file of a report has.

Each source may be missing, because the crawl did not keep it, an extra is not installed or the crawl is
running. Then the report goes without it, and `missing` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from rdfaspider.extensions import leftout
from rdfaspider.extensions.history import report as history_report
from rdfaspider.extensions.history import samples
from rdfaspider.extensions.summary.reasons import sentences
from rdfaspider.frontier import Counts
from rdfaspider.frontier.views.pages import records_of, table_of
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.pages.analysis import open_analysis
from rdfaspider.pages.table import PageRecord, place_of
from rdfaspider.pipelines.store import store_access
from rdfaspider.report import pages, triples
from rdfaspider.report.histogram import histogram
from rdfaspider.report.sections.figures import MOST
from rdfaspider.settings.places import frontiers_of, jobdir_of, shards_in, store_url
from rdfaspider.stores import open_store

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfaspider.stores.server.access import Access

VERSION = 1
# Samples of a history that are drawn.
_SAMPLES = 200
_STEP = 2_000

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Places:
    """Where a crawl is: its directory, its frontiers (one, or one for each shard), and its store."""

    name: str
    jobdir: Path
    frontiers: list[str]
    store: str
    access: Access | None = None

    @classmethod
    def in_directory(cls, name: str) -> Places:
        """Return the places of a crawl that uses the directories of the default settings."""
        jobdir = Path(name)
        shards = shards_in(jobdir)
        return cls(name, jobdir, shards or [str(jobdir / "frontier")], str(jobdir / "store"))


def places_of(settings: BaseSettings, frontiers: list[str] | None = None) -> Places:
    """Return where the crawl of the settings is; ValueError if its frontier is elsewhere."""
    jobdir = jobdir_of(settings)
    paths = frontiers or frontiers_of(settings)
    return Places(str(jobdir), jobdir, paths, store_url(settings), store_access(settings))


def gather(places: Places, tell: Tell = lambda text: None) -> dict[str, Any]:
    """Return what is known of a crawl; FrontierUnavailable if there is none."""
    found: dict[str, Any] = {"version": VERSION, "name": places.name, "made": int(time())}
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        readers = [
            stack.enter_context(FrontierReader(path, delay=0.0)) for path in places.frontiers
        ]
        counts = Counts.total(reader.counts() for reader in readers)
        found["urls"] = _urls(counts, readers[-1].order)
        found["pages"] = _pages(readers, places.jobdir, stack, tell)
    if told := _rows_missing(found):
        missing["pages"] = told
    for name, source in (("triples", _triples), ("links", _links)):
        try:
            found[name] = source(places, tell)
        except (OSError, ValueError) as error:
            found[name], missing[name] = None, str(error)
    triples_now = found["triples"] and found["triples"]["triples"]
    found["history"] = _history(places.jobdir, counts, triples_now)
    if found["history"] is None:
        missing["history"] = "There is no history of the crawl."
    found["left_out"] = sentences(*leftout.read(places.jobdir / leftout.NAME))
    found["missing"] = missing
    return found


def _rows_missing(found: dict[str, Any]) -> str:
    rows, urls = sum(found["pages"]["outcomes"].values()), found["urls"]
    ended = urls["seen"] - urls["waiting"]
    if rows >= ended:
        return ""
    return f"{rows:,} of {ended:,} ended URLs are in the table of pages; the others ended without PAGES=1."


def _urls(counts: Counts, order: str | None) -> dict[str, Any]:
    return {
        "seen": counts.seen,
        "waiting": counts.waiting + counts.in_flight,
        "done": counts.done,
        "kept": counts.kept,
        "failed": counts.failed,
        "denied": counts.denied,
        "rejected": counts.rejected,
        "order": order,
    }


def _pages(
    readers: Iterable[FrontierReader], jobdir: Path, stack: ExitStack, tell: Tell
) -> dict[str, Any]:
    return pages.findings_of(_records(readers, jobdir, stack, tell)).as_numbers(MOST)


def counts_of(places: Places) -> Counts:
    """Return how many URLs of a crawl are in each state; FrontierUnavailable if its frontier is elsewhere."""
    with ExitStack() as stack:
        readers = (FrontierReader(path, delay=0.0) for path in places.frontiers)
        return Counts.total(stack.enter_context(reader).counts() for reader in readers)


def histogram_of(
    places: Places, column: str, by_site: bool, tell: Tell
) -> tuple[list[tuple[str, int]], int]:
    """Return the distribution of a column of the table of pages or sites; ValueError if there is none."""
    with ExitStack() as stack:
        readers = [
            stack.enter_context(FrontierReader(path, delay=0.0)) for path in places.frontiers
        ]
        records = _records(readers, places.jobdir, stack, tell)
        columns, rows = table_of(readers, records, by_site)
        place = place_of(column, columns)
        return histogram(columns[column], (row[place] for row in rows))


def _records(
    readers: Iterable[FrontierReader], jobdir: Path, stack: ExitStack, tell: Tell
) -> Iterator[PageRecord]:
    analysis = open_analysis(jobdir / "pages")
    if analysis is not None:
        stack.enter_context(analysis)
    records = records_of([reader.pages for reader in readers], analysis)
    for number, record in enumerate(records, start=1):
        if number % _STEP == 0:
            tell(f"Reading the table of pages: {number:,} …")
        yield record


def _triples(places: Places, tell: Tell) -> dict[str, Any]:
    tell("Opening the store …")
    with open_store(places.store, read_only=True, access=places.access) as store:
        return triples.findings_of(store.quads(), MOST, tell)


def _links(places: Places, tell: Tell) -> dict[str, Any]:
    from rdfaspider.linkgraph import need_numpy

    need_numpy()
    from rdfaspider.frontier.views.graph import CrawlGraph
    from rdfaspider.report import links

    with CrawlGraph(places.frontiers, places.jobdir / "linkgraph", tell=tell) as crawl:
        if not crawl.graph.about.get("pages"):
            if crawl.has_arriving():
                raise ValueError("No page has its links on record yet.")
            raise ValueError(
                "No page has its links on record: they are kept of pages fetched with LINKGRAPH=1."
            )
        return links.findings_of(crawl, MOST)


def _history(jobdir: Path, counts: Counts, triples: int | None) -> dict[str, Any] | None:
    path = jobdir / samples.NAME
    if not path.exists() or not (found := samples.read(path)):
        return None
    found[-1] = samples.completed(found[-1], counts, triples)
    figures = history_report.summarise(history_report.Crawl("", found))
    step = max(1, len(found) // _SAMPLES)
    kept = [*found[:-1:step], found[-1]]
    return {
        "seconds": figures.seconds,
        "resumes": figures.resumes,
        "pages": figures.pages,
        "pages_per_second": figures.pages_per_second,
        "bytes": figures.bytes,
        "peak_memory_mb": figures.peak_memory_mb,
        "samples": [
            {"seconds": s.seconds, "pages": s.pages, "seen": s.seen, "triples": s.quads}
            for s in kept
        ],
    }
