"""Which of the URLs found may be crawled, read from the URLS_ settings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.urls import Filters, Traps

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def read_filters(settings: BaseSettings) -> Filters:
    """Build the filters, or say which setting is wrong."""
    try:
        return Filters(
            settings.getlist("URLS_ACCEPT"),
            settings.getlist("URLS_REJECT"),
            transforms=settings.get("URLS_TRANSFORMS"),
            drop_parameters=settings.getlist("URLS_DROP_PARAMETERS"),
            drop_sessions=settings.getbool("URLS_DROP_SESSIONS"),
            sort_query=settings.getbool("URLS_SORT_QUERY"),
            traps=Traps(year=datetime.now(UTC).year, **settings.getdict("URLS_TRAPS")),
        )
    except (TypeError, ValueError) as error:
        raise UsageError(f"A URLS_ setting is wrong: {error}") from error
