"""Names to addresses, and no connection to an address that a crawler has no business with.

A page may link to `http://169.254.169.254/`, to `http://2130706433/`, to a name whose owner points it
at 127.0.0.1, or to one that changes its mind between two look-ups. Two checks stand in the way:

* each request: a host that names a refused address is not asked for, not even through a proxy
  (the download handler calls `Resolver.check_target`);
* each connection: only addresses that may be connected to are handed out, and nothing is looked up
  again after that (`Resolver.resolve`).

addresses   which addresses are refused, however they are written
guard       which of them are allowed all the same
cache       what names resolve to, remembered for a while
repository  the cache on disk, for the next run
lookups     which name is looked up next
directory   the addresses of hosts: literal, from the cache, or looked up
resolver    the resolver that Twisted and the download handler ask
typed       what a person asks for: its server may be private
extension   checks the wiring, places hosts at servers, reports

The first six know nothing of Scrapy.
"""

from rdfaspider.resolver.resolver import ForbiddenAddressError, Resolver, installed_resolver

__all__ = ["ForbiddenAddressError", "Resolver", "installed_resolver"]
