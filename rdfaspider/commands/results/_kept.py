"""Which answers that were kept are pages, for the commands that read them again."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from scrapy.settings import BaseSettings

    from rdfaspider.archive.answers import Wanted


def date_of(text: str) -> str:
    """Return the digits of a date of an option, "" if it is not given; ValueError if it is none."""
    from rdfaspider.archive.index.captures import seconds_at

    digits = "".join(each for each in text if each.isdecimal())
    try:
        if text and (not text.isascii() or len(digits) not in (4, 6, 8, 10, 12, 14)):
            raise ValueError
        if digits:
            seconds_at(digits)
    except ValueError:
        raise ValueError(
            f"{text[:40]} is no date: give 2026, 2026-11-16 or 20261116003000."
        ) from None
    return digits


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
