"""Starts the console in a crawl (CONSOLE_PORT), and ends it with the crawl."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import suppress
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from rdfaspider.scheduler import uses_frontier
from rdfaspider.signals import store_opened

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfaspider.console.crawls.running import RunningCrawl
    from rdfaspider.console.server import Server
    from rdfaspider.stores import Sink

logger = getLogger(__name__)

# The file in JOBDIR that has the address with the token; only its owner can read it.
NAME = "console"


class ConsoleExtension:
    """Serves a crawl to a browser while it runs."""

    def __init__(self, crawler: Crawler, port: int, token: str, *, open_metrics: bool) -> None:
        self.crawler = crawler
        self.port = port
        self.token = token or secrets.token_urlsafe(24)
        self.open_metrics = open_metrics
        self._server: Server | None = None
        self._crawl: RunningCrawl | None = None
        self._path: Path | None = None
        self._sink: Sink | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        port = settings.get("CONSOLE_PORT")
        if port in (None, "", "None") or not uses_frontier(settings):
            raise NotConfigured
        extension = cls(
            crawler,
            int(port),
            settings["CONSOLE_TOKEN"],
            open_metrics=settings.getbool("CONSOLE_OPEN_METRICS"),
        )
        crawler.signals.connect(extension.store_opened, store_opened)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def store_opened(self, pipeline: Any) -> None:
        self._sink = pipeline.sink

    async def spider_opened(self) -> None:
        # Most crawls have no console, and the import takes a tenth of a second.
        from rdfaspider.console.crawls.running import RunningCrawl
        from rdfaspider.console.guards import Guards
        from rdfaspider.console.routes import routes_of
        from rdfaspider.console.server import Server

        self._crawl = RunningCrawl(self.crawler, self._sink)
        guards = Guards(self.token, self.open_metrics)
        self._server = Server(guards, routes_of({self._crawl.name: self._crawl}))
        try:
            port = await self._server.start(self.port)
        except OSError as error:
            logger.error(
                "The crawl goes on without its console, which cannot listen at CONSOLE_PORT=%d: %s.",
                self.port,
                error.strerror,
            )
            return
        self._crawl.start()
        self._announce(port)

    def _announce(self, port: int) -> None:
        """Show the address on a terminal, and write it to a file; not to a log, which others may read."""
        address = f"http://127.0.0.1:{port}/"
        url = f"{address}?token={self.token}"
        is_written = self._write(url)
        logger.info("The console listens at port %d.", port)
        shown = f"{address} ({self._path} has its token)" if is_written else url
        print(f"The console: {url if sys.stderr.isatty() else shown}", file=sys.stderr, flush=True)

    def _write(self, url: str) -> bool:
        """Write the address to a file for the user alone; return whether it is there."""
        if not self.crawler.settings["JOBDIR"]:
            return False
        self._path = Path(self.crawler.settings["JOBDIR"]) / NAME
        try:
            self._path.unlink(missing_ok=True)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{url}\n")
        except OSError:
            return False
        return True

    async def spider_closed(self) -> None:
        if self._crawl is not None:
            self._crawl.stop()
        if self._server is not None:
            await self._server.stop()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
