"""Which answers that were kept are pages, for the commands that read them again."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from scrapy.settings import BaseSettings

    from rdfaspider.archive.answers import Wanted


def wanted_of(
    settings: BaseSettings,
    is_url: Callable[[str], bool] = lambda url: True,
    is_date: Callable[[str], bool] = lambda date: True,
    types: Collection[str] = (),
) -> Wanted:
    """Return what a crawl would take for a page, if its URL and date are wanted, or of these types alone."""
    from scrapy.http.headers import Headers

    from rdfaspider.archive.answers import Wanted
    from rdfaspider.middlewares.contenttype import unwanted

    @lru_cache(1024)
    def is_type(content_type: str) -> bool:
        if types and content_type.partition(";")[0].strip().lower() not in types:
            return False
        return not unwanted(Headers({"Content-Type": content_type}))

    return Wanted(is_url, is_date, is_type, settings.getint("EXTRACT_MAX_BYTES") + 1)
