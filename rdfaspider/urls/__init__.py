"""URLs: one normal form, what to crawl of them, and what to guess from them.

normalise   the normal form, and links joined to their page
hosts       host, port and registered domain of a URL
suffixes    the public suffix list
own         which addresses are one server, and which servers are the user's own
iris        URLs as names of graphs, and without passwords
keys        URLs as keys of the frontier's trie
filters     rules that accept, reject and transform; `defaults` has the usual ones
sessions    session ids, which are dropped
traps       rules that know a crawler trap by its URL
mining      URLs that nobody linked to
seedfile    reads seeds from an argument, a file or standard input
"""

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
