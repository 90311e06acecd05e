"""What an archive costs a crawl, by the clocks of its threads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from threading import local
from time import process_time, thread_time
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from rdfaspider.archive.archive import Archive
from rdfaspider.downloader.transfer import Transfer
from rdfaspider.items import Page
from rdfaspider.pipelines.archive import ArchivePipeline

SPENT = {"thread": 0.0, "loop": 0.0}
within = local()


def metered(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that adds its CPU time to that of a part, unless it runs within another such."""

    def call(*arguments: Any, **options: Any) -> Any:
        if getattr(within, "metered", False):
            return function(*arguments, **options)
        within.metered = True
        began = thread_time()
        try:
            return function(*arguments, **options)
        finally:
            SPENT[part] += thread_time() - began
            within.metered = False

    return call


class Steps:
    """A coroutine whose steps are metered; what it waits for is not."""

    def __init__(self, coroutine: Any) -> None:
        self._send = metered("loop", coroutine.send)

    def __await__(self) -> Any:
        value = None
        while True:
            try:
                waits_for = self._send(value)
            except StopIteration as end:
                return end.value
            value = yield waits_for


class MeteredPipeline(ArchivePipeline):
    """Meters what the pipeline does in the loop and in its thread."""

    def __init__(self, crawler: Crawler, archive: Archive) -> None:
        super().__init__(crawler, archive)
        archive.put = metered("thread", archive.put)  # type: ignore[method-assign]
        self._pack = metered("loop", self._pack)  # type: ignore[method-assign]
        self._written = metered("loop", self._written)  # type: ignore[method-assign]
        Transfer._exchange = metered("loop", Transfer._exchange)  # type: ignore[method-assign]

    async def process_item(self, page: Page) -> Page:
        answer: Page = await Steps(super().process_item(page))
        return answer


class Meter:
    """Writes CPU seconds of the process and of the archive, and pages, to the file ARCHIVE_METER."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        meter = cls()
        began = 0.0

        def opened() -> None:
            nonlocal began
            began = process_time()

        async def closed() -> None:
            await asyncio.sleep(0)
            result = {
                **SPENT,
                "process": process_time() - began,
                "pages": crawler.stats.get_value("archive/captures"),
                "bytes": crawler.stats.get_value("archive/bytes"),
                "received": crawler.stats.get_value("downloader/response_bytes"),
            }
            Path(crawler.settings["METER_FILE"]).write_text(json.dumps(result))

        meter._listeners = (opened, closed)  # type: ignore[attr-defined]
        crawler.signals.connect(opened, signals.spider_opened)
        crawler.signals.connect(closed, signals.spider_closed)
        return meter
