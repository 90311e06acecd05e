"""Names to addresses, and no connection to an address that a crawler has no business with.

A page may link to `http://169.254.169.254/`, to `http://2130706433/`, to a name whose owner points it
at 127.0.0.1, or to one that changes its mind between two look-ups. Two checks stand in the way:

* each request: a host that names a refused address is not asked for, not even through a proxy
  (`requests`, called by the download handlers `http11` and `aiohttp`);
* each connection: only addresses that may be connected to are handed out, and nothing is looked up
  again after that (`resolver`).

`addresses` says what is refused, `guard` what is allowed all the same, `cache`, `lookups` and
`directory` find addresses; these know nothing of Scrapy. `proxies` knows which hosts need none, `typed` which
a person asked for. `extension` checks the wiring and reports.
"""

from rdfaspider.resolver.resolver import ForbiddenAddressError, Resolver, installed_resolver

__all__ = ["ForbiddenAddressError", "Resolver", "installed_resolver"]
