"""What the pages of search ask: the index in a thread, the store in a process, the archive in a thread."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.search.looking import checked
from rdfaspider.search.reading import SHOWN, NoIndex, Reader
from rdfaspider.search.words import short
from rdfaspider.stores import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from rdfaspider.archive.index.captures import Capture
    from rdfaspider.console.hosts.frontiers import FrontierSource
    from rdfaspider.console.query.endpoint import Endpoint
    from rdfaspider.search.reading import Answer, Term

Found = TypeVar("Found")

# Searches at the same time: each takes a thread.
_AT_ONCE = 2
_PATIENCE = 2.0  # seconds to wait for ranks
_RECORD = 2 << 20  # bytes of an archived answer that are shown


class Searched(Protocol):
    """A crawl that can be searched."""

    directory: str

    @property
    def frontier(self) -> FrontierSource: ...

    @property
    def endpoint(self) -> Endpoint: ...


class Searches:
    """Searches a crawl whose index and archive are in a directory."""

    def __init__(self, crawl: Searched, directory: Path) -> None:
        self._crawl = crawl
        self._directory = directory
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def _read(self, call: Callable[[Reader], Found]) -> Found:
        def work() -> Found:
            with Reader(self._directory) as reader:
                return call(reader)

        async with self._turns:
            return await asyncio.to_thread(work)

    async def search(self, words: str, types: str, offset: int) -> dict[str, Any]:
        """Return a page of results."""
        loop = asyncio.get_running_loop()

        def ranks(urls: Iterable[str]) -> Mapping[str, float]:
            # A frontier in this process belongs to the event loop.
            asked = asyncio.run_coroutine_threadsafe(self._crawl.frontier.ranks(urls), loop)
            try:
                return asked.result(_PATIENCE)
            except (TimeoutError, FrontierUnavailable):
                return {}

        return _shown(await self._read(lambda reader: reader.search(words, types, offset, ranks)))

    async def about(self, host: str) -> dict[str, Any]:
        """Return what there is to browse: types, predicates and vocabularies, of a host or of all."""

        def look(reader: Reader) -> dict[str, Any]:
            pages, things = reader.size()
            return {
                "has_index": True,
                "pages": pages,
                "things": things,
                "types": _terms(reader.types()),
                "predicates": _terms(reader.predicates()),
                "vocabularies": _terms(reader.vocabularies(host)),
            }

        try:
            return await self._read(look)
        except NoIndex as error:
            return {"has_index": False, "why": str(error)}

    async def hosts(self, vocabulary: str) -> list[dict[str, Any]]:
        """Return the hosts that use a vocabulary."""
        return _terms(await self._read(lambda reader: reader.hosts(vocabulary)))

    async def thing(self, iri: str, page: str) -> dict[str, Any]:
        """Return what pages say of a thing, or what one page says."""
        task = {"iri": iri and checked(iri), "page": page and checked(page)}
        if not (iri or page):
            raise ValueError("Name a thing by its IRI, or a page.")
        module = "rdfaspider.console.search.process"
        found: dict[str, Any] = json.loads(await self._crawl.endpoint.ask(module, task))
        if "error" in found:
            raise StoreUnavailable(found["error"])
        await asyncio.to_thread(self._complete, found["pages"] if iri and not page else [found])
        return found

    def _complete(self, pages: list[dict[str, Any]]) -> None:
        """Say when pages were visited, and what the archive has of them, where provenance does not."""
        archive, times = self._directory / "archive", dict[str, float]()
        with suppress(ValueError), Reader(self._directory) as reader:
            times = reader.times(each["page"] for each in pages)
        for each in pages:
            if not each["fetches"] and each["page"] in times:
                moment = datetime.fromtimestamp(times[each["page"]], UTC)
                each["fetches"] = [{"time": moment.isoformat(), "status": None}]
            if each["record"] is None and (captures := _captures(archive, each["page"], "")):
                each["record"] = {"file": captures[-1].filename, "time": captures[-1].date}

    async def record(self, url: str, date: str) -> bytes:
        """Return the latest answer of a page in the archive, up to a date: head and body."""
        return await asyncio.to_thread(_record, self._directory / "archive", url, date)


def _shown(answer: Answer) -> dict[str, Any]:
    results = [
        {**each._asdict(), "types": [{"iri": iri, "short": short(iri)} for iri in each.types]}
        for each in answer.results
    ]
    return {**answer._asdict(), "results": results, "size": SHOWN}


def _terms(terms: Iterable[Term]) -> list[dict[str, Any]]:
    return [{"iri": term.iri, "short": short(term.iri), "uses": term.uses} for term in terms]


def _captures(archive: Path, url: str, date: str) -> list[Capture]:
    """Return the captures of a page in the archive, up to a date."""
    from rdfaspider.archive.index.index import look_up
    from rdfaspider.urls import normalise, without_userinfo

    digits = "".join(each for each in date[:30] if each in "0123456789")[:14]
    if not archive.is_dir():
        return []
    return look_up(archive, without_userinfo(normalise(url)), digits)


def _record(archive: Path, url: str, date: str) -> bytes:
    from rdfaspider.archive.content import answer

    if not (captures := _captures(archive, url, date)):
        raise ValueError("The archive does not have this page.")
    head, body = answer(archive, captures[-1])
    return (head + b"\r\n\r\n" + body)[:_RECORD]
