"""Stops a download at its headers when it is not a page."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import StopDownload

from rdfaspider.extract.mediatypes import MEDIA_TYPES
from rdfaspider.fetchmeta import is_for_page
from rdfaspider.robots.feeds import is_feed
from rdfaspider.urls import redirect_target

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.headers import Headers

# Any text may be mislabelled mark-up; the rest are the XML hosts of RDFa, and RDF.
_WANTED = (
    "text/",
    "application/xhtml+xml",
    "application/xml",
    "image/svg+xml",
    *(name for name in MEDIA_TYPES if name.startswith("application/")),
)


def header_text(headers: Headers, name: str) -> str:
    """Return a header as text: UTF-8 if it is valid, as in browsers, else Latin-1."""
    # Past the look-up of Scrapy, which writes the name anew each time.
    values = dict.get(headers, _key(name))
    value: bytes = values[-1] if values else b""
    try:
        return value.decode("utf-8").strip()
    except UnicodeDecodeError:
        return value.decode("latin-1").strip()


@cache
def _key(name: str) -> bytes:
    """Return the name of a header as Scrapy writes it."""
    return name.title().encode()


def tdm_of(headers: Headers) -> tuple[str, str]:
    """Return the headers tdm-reservation and tdm-policy."""
    return header_text(headers, "tdm-reservation"), header_text(headers, "tdm-policy")


def moved_to(response: Response) -> str:
    """Return the URL that an answer redirects to, "" if it does not, or to nowhere."""
    if not (300 <= response.status < 400 and "Location" in response.headers):
        return ""
    try:
        return redirect_target(header_text(response.headers, "Location"), response.url)
    except ValueError:
        return ""


def unwanted(headers: Headers) -> bool:
    """Tell whether the headers announce something that is not a page."""
    content_type = header_text(headers, "Content-Type").lower()
    # HTML without any type is still common.
    return bool(content_type) and not content_type.startswith(_WANTED)


class ContentTypeMiddleware:
    """Stops the download of images, archives and the like (row R5); feeds are read in a crawl with revisits.

    It is a downloader middleware by its place and purpose; the headers reach it by signal, since
    a middleware's own `process_response` is called only when the whole body is there.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls()
        middleware.reads_feeds = crawler.settings.getbool("FRONTIER_REVISIT")
        crawler.signals.connect(middleware.headers_received, signals.headers_received)
        return middleware

    reads_feeds = False

    def headers_received(self, headers: Headers, request: Request) -> None:
        if is_for_page(request.meta) and unwanted(headers):
            if self.reads_feeds and is_feed(header_text(headers, "Content-Type"), b""):
                return
            raise StopDownload(fail=False)
