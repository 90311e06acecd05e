"""Titles and texts of archived pages, for a search index that lacks them."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from itertools import groupby, islice
from typing import TYPE_CHECKING

from rdfaspider.archive.answers import Answers, Skipped, Wanted
from rdfaspider.archive.content import rendered_of
from rdfaspider.archive.index.captures import REVISIT
from rdfaspider.archive.index.index import captures_in, index_of
from rdfaspider.archive.index.keys import key_of
from rdfaspider.archive.warc.reader import path_of, read
from rdfaspider.pipelines.archive import archive_directory
from rdfaspider.pipelines.reading import Reading, Tally, page_of
from rdfaspider.search.index import PageWords
from rdfaspider.urls import normalise, to_iri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from rdfaspider.archive.index.captures import Capture
    from rdfaspider.items import Page
    from rdfaspider.search.rebuild import Archived

_PAGES = 16  # that are read together
_HTML = ("text/html", "application/xhtml+xml", REVISIT)


def archived_texts(
    settings: BaseSettings, is_known: Callable[[str], bool]
) -> Iterator[list[Archived]]:
    """Yield the latest titles and texts in a crawl's archive, some at a time, of pages that are not known.

    A process reads them, because a page may be hostile.
    """
    archive = archive_directory(settings)
    if not index_of(archive).is_dir():
        return
    length = settings.getint("SEARCH_TEXT")
    reading = Reading.from_settings(settings, Tally(), processes=1, text=length)
    assert reading.pool is not None
    found = _pages(archive, settings.getint("EXTRACT_MAX_BYTES"), is_known)
    with asyncio.Runner() as runner:
        runner.run(reading.pool.open())
        try:
            while batch := list(islice(found, _PAGES)):
                runner.run(reading.read([page for page, _ in batch]))
                yield [
                    (
                        PageWords(
                            to_iri(page.url), b"", page.title, page.text[:length], page.fetched
                        ),
                        is_current,
                    )
                    for page, is_current in batch
                    if page.is_read and not page.noindex
                ]
        finally:
            runner.run(reading.pool.close())


def _pages(
    archive: Path, most: int, is_known: Callable[[str], bool]
) -> Iterator[tuple[Page, bool]]:
    """Yield the latest page of each URL, to be read, and whether nothing else was answered since."""
    answers = Answers(Wanted(_any, _any, _any, most + 1), Counter(), sources=False)
    for _, group in groupby(captures_in(archive), lambda capture: key_of(capture.url)):
        last: dict[str, Capture] = {}
        latest: dict[str, Capture] = {}
        for capture in group:
            if capture.status != "304":  # it is as it was before
                last[capture.url] = capture
                if capture.status.startswith("2"):
                    latest[capture.url] = capture
        for url, capture in latest.items():
            with suppress(ValueError, OSError, Skipped):
                if not is_known(to_iri(normalise(url))):
                    record = read(archive, capture)
                    answer = answers.read_answer(record, path_of(archive, capture.filename))
                    answer = answer._replace(rendered=rendered_of(archive, capture, record))
                    yield page_of(answer), last[url] is capture and capture.mime in _HTML


def _any(text: str) -> bool:
    return True
