"""Which links a crawl follows: how far from its seeds it goes, to how many hosts of a
domain, and what the URLS_ settings say."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import OrderedDict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.urls import Filters, Traps, host, registered_domain
from rdfaspider.urls.hosts import owner_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.settings import BaseSettings

_KEYS: dict[str, Callable[[str], str]] = {"host": host, "domain": registered_domain}

# Domains to remember, those seen last.
_DOMAINS = 20_000


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


class DomainHosts:
    """Admits the first hosts of each registered domain, `most` of them, and no others.

    Where every name has an address (`*.example.com`), each page can link to a hundred new hosts, and the
    frontier keeps a kilobyte for each while it has URLs.

    Layout: the hashes of the admitted hosts, sorted, by domain; the domain seen last is at the end. A domain
    that is forgotten starts again from zero, as all do at the next start. Two hosts of a domain with the same
    hash, one in 2^64, count as one.
    """

    def __init__(self, most: int, domains: int = _DOMAINS) -> None:
        self.most = most
        self.domains = domains
        self._hosts: OrderedDict[str, array[int]] = OrderedDict()

    def admits(self, host: str) -> bool:
        domain = owner_of(host)
        if domain == host:
            return True  # there is only one
        hosts = self._hosts.get(domain)
        if hosts is None:
            hosts = self._hosts[domain] = array("q")
            if len(self._hosts) > self.domains:
                self._hosts.popitem(last=False)
        else:
            self._hosts.move_to_end(domain)
        number = hash(host)
        place = bisect_left(hosts, number)
        if place < len(hosts) and hosts[place] == number:
            return True
        if len(hosts) >= self.most:
            return False
        hosts.insert(place, number)
        return True
