"""Limits the hosts of one domain that a crawl visits.

Where every name has an address (`*.example.com`), each page can link to a hundred new hosts, and the frontier
keeps a kilobyte for each while it has URLs.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import OrderedDict

from rdfaspider.urls.hosts import owner_of

# Domains to remember, those seen last.
_DOMAINS = 20_000


class DomainHosts:
    """Admits the first hosts of each registered domain, `most` of them, and no others.

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
