"""The download handler: by libcurl, from addresses of our resolver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pycurl  # type: ignore[import-untyped]

from rdfaspider.downloader.options import MAX_IDLE, options_of
from rdfaspider.downloader.transfer import Transfer
from rdfaspider.fetchmeta import meta_of
from rdfaspider.resolver import installed_resolver
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfaspider.downloader.memory import DownloadMemory
    from rdfaspider.resolver import Resolver


class GuardedHttpDownloadHandler:
    """Downloads by libcurl, from addresses of our resolver."""

    # `resolver/extension.py` lets a crawl start only with handlers that say so.
    is_guarded = True
    # The first request opens it: a crawl that is refused leaves nothing behind.
    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        settings = crawler.settings
        self.connect_seconds = settings.getfloat("FETCH_CONNECT_TIMEOUT", 10.0)
        self.head_seconds = settings.getfloat("FETCH_FIRST_BYTE_TIMEOUT", 60.0)
        self.whole_seconds = settings.getfloat("DOWNLOAD_TIMEOUT")
        self.largest_page = settings.getint("EXTRACT_MAX_BYTES") + 1
        self.largest = settings.getint("DOWNLOAD_MAXSIZE")
        self.large = settings.getint("DOWNLOAD_WARNSIZE")
        self.fails_on_loss = settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        self.archives = settings.getbool("ARCHIVE")
        self.reads_all = True  # also the bodies of redirects and errors
        self.resolver: Resolver | None = None  # that of the reactor when there is a request
        # Another downloader may have none.
        self.memory: DownloadMemory | None = getattr(
            getattr(crawler.engine, "downloader", None), "memory", None
        )
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, MAX_IDLE)
        self._template = pycurl.Curl()
        for option, value in options_of(settings).items():
            self._template.setopt(option, value)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> GuardedHttpDownloadHandler:
        return cls(crawler)

    async def download_request(self, request: Request) -> Response:
        if (resolver := self.resolver) is None:
            self.resolver = resolver = installed_resolver()
        resolver.uses_proxy = meta_of(request).get("proxy") is not None
        if resolver.uses_proxy:  # else its addresses are checked when they are looked up
            resolver.check_target(*host_and_port(request.url))
        transfer = Transfer(self, request)
        await transfer.look_up(resolver)
        curl = self._template.duphandle()
        try:
            await transfer.carry_out(curl, self._multi)
        finally:
            curl.close()
        return transfer.response()

    async def close(self) -> None:
        await self._multi.aclose()
