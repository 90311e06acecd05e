"""A sink that indexes what passes on its way to another one.

With WORKERS, all changes pass the sink of the crawl itself, so there is one index with one writer. It is
written in the thread that writes the store (pipelines/writer.py), after the store has the changes and before
they are acknowledged. So whatever a kill interrupts is fetched again, comes here again, and is compared by
the index's own digest: the store may have a page that the index has not.

The index never stops a crawl. One that cannot be written is deleted, and the crawl goes on without it; the
next start builds it from the store and the archive.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from rdfaspider.search.index import Index, IndexFailed, PageWords
from rdfaspider.search.rebuild import lacking, no_texts, pages_in
from rdfaspider.stores import StoreUnavailable, open_store
from rdfaspider.stores.around import SinkAround
from rdfaspider.terminal import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rdfaspider.search.rebuild import Texts
    from rdfaspider.stores import Sink
    from rdfaspider.stores.changes import Change

logger = logging.getLogger(__name__)

_COPY = "store-copy"


class IndexingSink(SinkAround):
    """Indexes pages in a folder; `texts` has those of the archive, for an index that is filled."""

    def __init__(self, sink: Sink, folder: Path, texts: Texts = no_texts) -> None:
        super().__init__(sink)
        self._texts = texts
        self._folder = folder
        self._lock = threading.Lock()
        self._is_closing = False
        # Pages that came while the index is filled: what the copy of the store has of them is old.
        self._newer: set[str] | None = None
        self._filler: threading.Thread | None = None
        self._index: Index | None = None
        try:
            self._index = Index(folder)
        except (IndexFailed, OSError) as error:
            logger.error("The crawl goes on without a search index: %s", error)
            return
        self.counters.update({"search/pages": 0, "search/things": 0})
        if not self._index.is_whole:
            self._newer = set()
            self._filler = threading.Thread(target=self._fill, name="search", daemon=True)
            self._filler.start()

    def put(self, changes: Sequence[Change]) -> list[bool]:
        answers = self._sink.put(changes)
        pages = [
            PageWords(each.graph, each.triples, each.title, each.text, each.time)
            for each in changes
            if each.replaces
        ]
        with self._lock:
            if pages and self._index is not None:
                if self._newer is not None:
                    self._newer.update(page.url for page in pages)
                self._write(pages)
        return answers

    def _write(self, pages: list[PageWords]) -> None:
        assert self._index is not None
        try:
            self._index.put(pages)
        except IndexFailed as error:
            logger.error("The crawl goes on without its search index: %s", error)
            with suppress(OSError):
                self._index.delete()
            self._index = None
            return
        for name, count in self._index.counters.items():
            self.counters[name] = count

    def _fill(self) -> None:
        """Index what the store had before the index was there, from a copy of the store."""
        copy, without_text = self._folder / _COPY, 0
        shutil.rmtree(copy, ignore_errors=True)
        try:
            if not self._sink.copy_store(copy):
                logger.warning(
                    "The search index has only pages that are stored from now on:"
                    " %s search --rebuild adds those before.",
                    PROGRAM,
                )
                return
            with open_store(str(copy), read_only=True) as store:
                for pages, is_archived in pages_in(store, self._texts, self._is_known):
                    if not self._add_older(pages):
                        return
                    without_text += 0 if is_archived else len(pages)
            with self._lock:
                if self._index is not None:
                    self._index.set_whole()
            if without_text:
                logger.warning("%s", lacking(without_text))
        except (StoreUnavailable, AttributeError, RuntimeError, OSError, sqlite3.Error) as error:
            if not self._is_closing:
                logger.warning("The search index is not whole: %s", error)
        finally:
            self._newer = None
            shutil.rmtree(copy, ignore_errors=True)

    def _is_known(self, url: str) -> bool:
        """Tell whether a page need not be filled in."""
        with self._lock:
            newer = self._newer or ()
            return self._index is None or url in newer or self._index.has(url)

    def _add_older(self, pages: list[PageWords]) -> bool:
        """Index pages that were not put meanwhile; tell whether to go on."""
        with self._lock:
            if self._index is None or self._is_closing or self._newer is None:
                return False
            index, newer = self._index, self._newer
            if missing := [p for p in pages if p.url not in newer and not index.has(p.url)]:
                self._write(missing)
            return True

    def close(self) -> None:
        self._is_closing = True
        if self._filler is not None:
            self._filler.join()
        try:
            with self._lock:
                if self._index is not None:
                    self._index.close()
                    self._index = None
        finally:
            self._sink.close()
