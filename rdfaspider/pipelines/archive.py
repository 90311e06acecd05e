"""Keeps what was fetched in the archive, before its page is stored and done."""

from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured, UsageError
from scrapy.utils.misc import load_object

from rdfaspider import __version__
from rdfaspider.archive.archive import Archive, ArchiveError, Entry, Packed
from rdfaspider.compat import create_looping_call
from rdfaspider.items import Page, Source
from rdfaspider.pipelines.extract import header_directives
from rdfaspider.secrets import is_secret, secrets_of
from rdfaspider.settings.declarations import OWN, SECRETS
from rdfaspider.signals import exchanged

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfaspider.archive.exchange import Exchange

logger = logging.getLogger(__name__)

# It says what went over the line.
_HANDLER = "rdfaspider.downloader.handler.GuardedHttpDownloadHandler"

# Small pages are packed in the loop: a thread would wait for the interpreter's lock several times a page, and
# that takes longer than the packing. They are packed in groups of this many pages or bytes, which takes two
# to four milliseconds; a page alone takes twice as long, since the processor's caches hold nothing of it.
_GROUP, _GROUP_BYTES = 32, 1 << 18
# Seconds after which a smaller group is packed.
_SOON = 0.05
# Bytes of a body from which on it is packed in a thread: so many take a tenth of a millisecond.
_LARGE = 1 << 15


def archive_directory(settings: BaseSettings) -> Path:
    """Return the directory of the crawl's archive, which its workers share."""
    return Path(settings["CREW_JOBDIR"] or settings["JOBDIR"] or ".") / "archive"


class ArchivePipeline:
    """Makes records of pages, and writes them in a thread, all that came meanwhile together.

    A page goes on when its record is safe. An archive that cannot be written raises OSError, which
    stops the crawl.
    """

    def __init__(self, crawler: Crawler, archive: Archive) -> None:
        self.crawler = crawler
        self.archive = archive
        self.agent = crawler.settings["BOT_NAME"]
        self._thread = ThreadPoolExecutor(1, "archive")
        self._gathered: list[tuple[Entry, asyncio.Future[Source]]] = []
        self._gathered_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[tuple[Entry | Packed, asyncio.Future[Source]]] = []
        self._is_writing = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        # With a crew, its workers fetch.
        if not settings.getbool("ARCHIVE") or settings["CREW_SETTINGS"]:
            raise NotConfigured
        _check_handlers(settings)
        directory = archive_directory(settings)
        try:
            archive = Archive(
                directory,
                file_bytes=settings.getint("ARCHIVE_FILE_MB") << 20,
                requests=settings.getbool("ARCHIVE_REQUESTS"),
                revisits=settings.getbool("ARCHIVE_REVISITS"),
                about=about(settings),
            )
        except OSError as error:
            raise UsageError(
                f"The archive {directory} cannot be used: {error.strerror}."
            ) from error
        pipeline = cls(crawler, archive)
        crawler.signals.connect(pipeline.keep_besides, exchanged)
        return pipeline

    def open_spider(self) -> None:
        self._reporting = create_looping_call(self._report)
        self._reporting.start(1.0)

    async def process_item(self, page: Page) -> Page:
        if not isinstance(page, Page) or page.exchange is None:
            return page
        exchange, page.exchange = page.exchange, None
        if page.outcome != "postponed":  # else it will be fetched again
            notes = ("depth", str(page.depth)), ("outcome", f"{page.outcome}/{page.reason}")
            page.source = await self.keep(exchange, notes, page.noarchive, page.rendered)
        return page

    async def keep_besides(self, exchange: Exchange) -> None:
        """Write an exchange down that is of no page; where that fails, the next page stops the crawl."""
        try:
            await self.keep(exchange)
        except ArchiveError as error:
            logger.error("%s", error)

    async def keep(
        self,
        exchange: Exchange,
        notes: tuple[tuple[str, str], ...] = (),
        noarchive: bool = False,
        rendered: bytes = b"",
    ) -> Source | None:
        """Write an exchange down, unless its server asks not to; return where, when it is safe."""
        if noarchive or self._forbids(exchange):
            self.crawler.stats.inc_value("archive/left_out/noarchive")
            return None
        done: asyncio.Future[Source] = asyncio.get_running_loop().create_future()
        entry = Entry(exchange, notes, rendered)
        if entry.size < _LARGE:
            self._gather(entry, done)
        else:
            self._waiting.append((entry, done))
            self._write()
        return await done

    def _gather(self, entry: Entry, done: asyncio.Future[Source]) -> None:
        """Have a small page packed with those that come after it."""
        self._gathered.append((entry, done))
        self._gathered_bytes += entry.size
        if len(self._gathered) >= _GROUP or self._gathered_bytes >= _GROUP_BYTES:
            self._pack()
        elif len(self._gathered) == 1:
            self._timer = asyncio.get_running_loop().call_later(_SOON, self._pack)

    def _pack(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        for entry, done in gathered:
            packed = self.archive.pack(entry)
            if isinstance(packed, Packed):
                self._waiting.append((packed, done))
            elif not done.done():
                done.set_result(packed)
        self._write()

    def _forbids(self, exchange: Exchange) -> bool:
        tags = exchange.header(b"x-robots-tag")
        return bool(tags) and "noarchive" in header_directives(
            (tag.decode("latin-1") for tag in tags), self.agent
        )

    def _write(self) -> None:
        if self._is_writing or not self._waiting:
            return
        self._is_writing = True
        written, self._waiting = self._waiting, []
        entries = [entry for entry, _ in written]
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(self._thread, self.archive.put, entries)
        waiters = [waiter for _, waiter in written]
        writing.add_done_callback(lambda done: self._written(waiters, done))

    def _written(
        self, waiters: list[asyncio.Future[Source]], done: asyncio.Future[list[Source]]
    ) -> None:
        error = done.exception()
        sources = [] if error else done.result()
        for number, waiter in enumerate(waiters):
            if waiter.done():  # whoever waited for it was cancelled
                continue
            if error is None:
                waiter.set_result(sources[number])
            else:
                waiter.set_exception(error)
        self._is_writing = False
        self._write()

    async def close_spider(self) -> None:
        self._pack()
        if self._reporting.running:
            self._reporting.stop()
        await asyncio.get_running_loop().run_in_executor(self._thread, self.archive.close)
        self._thread.shutdown()
        self._report()

    def _report(self) -> None:
        for name, number in self.archive.counters.items():
            self.crawler.stats.set_value(f"archive/{name}", number)


def _check_handlers(settings: BaseSettings) -> None:
    """Refuse a crawl whose pages would reach the archive other than as they came, or not at all."""
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    for scheme in ("http", "https"):
        if handlers[scheme] is None or load_object(handlers[scheme]) is not load_object(_HANDLER):
            raise UsageError(
                f"ARCHIVE needs the download handler {_HANDLER}: the one that"
                f" DOWNLOAD_HANDLERS has for {scheme} does not say what went over the line."
            )


def about(settings: BaseSettings) -> list[tuple[str, str]]:
    """Return what the first record of a file says of the crawl: its settings, without secrets."""
    changed = {
        setting.name: setting.shown(settings[setting.name])
        for part in OWN.values()
        for setting in part
        if settings[name := setting.name] != setting.default
        and name not in SECRETS
        and not is_secret(name)
    }
    shown = {name: value for name, value in changed.items() if not secrets_of(name, value)}
    return [
        ("software", f"rdfaspider/{__version__}"),
        ("format", "WARC File Format 1.1"),
        (
            "conformsTo",
            "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        ),
        ("robots", "obey" if settings.getbool("ROBOTS_OBEY") else "ignore"),
        ("http-header-user-agent", str(settings["USER_AGENT"])),
        ("settings", json.dumps(shown, default=str)),
    ]
