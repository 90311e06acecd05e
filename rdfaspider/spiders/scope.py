"""Which links a crawl follows: how far from its seeds it goes, and what the URLS_ settings say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.urls import Filters, Traps, host, registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.settings import BaseSettings

_KEYS: dict[str, Callable[[str], str]] = {"host": host, "domain": registered_domain}


class Scope:
    """The set of URLs that share their host, or their registered domain, with a member.

    `grown` are new members that have not been stored yet.
    """

    def __init__(self, kind: str, seeds: Iterable[str]) -> None:
        if kind not in (*_KEYS, "all"):
            raise UsageError(f"scope={kind} is not known: choose host, domain or all.")
        self.kind = kind
        self._key = _KEYS.get(kind)
        self.members: set[str] = set()
        self.grown: list[str] = []
        for url in seeds:
            self.add(url)

    def add(self, url: str) -> None:
        if self._key:
            self.members.add(self._key(url))

    def grow(self, url: str) -> bool:
        """Add a URL that the crawl has reached; tell whether it was outside."""
        if url in self:
            return False
        assert self._key is not None
        self.grown.append(self._key(url))
        self.add(url)
        return True

    def __contains__(self, url: str) -> bool:
        return self._key is None or self._key(url) in self.members


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
