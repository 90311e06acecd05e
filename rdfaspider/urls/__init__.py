"""URLs: one normal form, what to crawl of them, and what to guess from them."""

from rdfaspider.urls.defaults import DIRECTORY_INDEX, NO_PAGES, TRACKING, WWW
from rdfaspider.urls.filters import Filters
from rdfaspider.urls.hosts import authority, host, registered_domain, unfit_authority
from rdfaspider.urls.iris import as_linked, redirect_target, to_iri, without_userinfo
from rdfaspider.urls.mining import neighbours, parents
from rdfaspider.urls.normalise import MAX_LENGTH, Joiner, normalise
from rdfaspider.urls.traps import Traps

__all__ = [
    "DIRECTORY_INDEX",
    "MAX_LENGTH",
    "NO_PAGES",
    "TRACKING",
    "WWW",
    "Filters",
    "Joiner",
    "Traps",
    "as_linked",
    "authority",
    "host",
    "neighbours",
    "normalise",
    "parents",
    "redirect_target",
    "registered_domain",
    "to_iri",
    "unfit_authority",
    "without_userinfo",
]
