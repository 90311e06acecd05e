from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.exceptions import StopDownload
from scrapy.http.headers import Headers

from rdfaspider.middlewares.contenttype import ContentTypeMiddleware, unwanted


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html; charset=utf-8", False),
        ("TEXT/HTML", False),
        ("text/plain", False),
        ("application/xhtml+xml", False),
        ("application/xml", False),
        ("image/svg+xml", False),
        ("", False),
        ("application/pdf", True),
        ("image/png", True),
        ("video/mp4", True),
        ("application/octet-stream", True),
    ],
)
def test_what_is_wanted(content_type: str, expected: bool) -> None:
    assert unwanted(Headers({"Content-Type": content_type} if content_type else {})) is expected


def test_only_pages_are_hung_up_on() -> None:
    headers = Headers({"Content-Type": "application/pdf"})
    middleware = ContentTypeMiddleware()
    middleware.headers_received(headers, Request("http://a.test/robots.txt"))
    sitemap = Request("http://a.test/map.gz", meta={"depth": 0, "sitemap": []})
    middleware.headers_received(headers, sitemap)
    with pytest.raises(StopDownload) as stop:
        middleware.headers_received(headers, Request("http://a.test/", meta={"depth": 0}))
    assert stop.value.fail is False
