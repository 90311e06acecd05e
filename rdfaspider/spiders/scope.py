"""How far from its seeds a crawl may wander."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.urls import host, registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_KEYS: dict[str, Callable[[str], str]] = {"host": host, "domain": registered_domain}


class Scope:
    """The set of URLs that share their host, or their registered domain, with a member.

    `grown` are the members that it has grown by and that nobody has written down yet.
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
        """Add a URL to which the crawl has come by itself; tell whether it was outside."""
        if url in self:
            return False
        assert self._key is not None
        self.grown.append(self._key(url))
        self.add(url)
        return True

    def __contains__(self, url: str) -> bool:
        return self._key is None or self._key(url) in self.members
