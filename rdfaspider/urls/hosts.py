"""The server of a URL, read off its normal form without parsing it again."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tldextract import TLDExtract


def authority(url: str) -> str:
    """Return host and port of a normalised URL, without a user name: ``example.org:8080``."""
    return url.split("/", 3)[2].rpartition("@")[2]


def host(url: str) -> str:
    """Return the host of a normalised URL; an IPv6 address keeps its brackets."""
    name = authority(url)
    if ":" in name and name[-1] != "]":
        return name.rpartition(":")[0]
    return name


def registered_domain(url: str) -> str:
    """Return the name that the owner of a normalised URL's host registered: ``example.co.uk``.

    Hosts that nobody registers (addresses, ``localhost``, public suffixes) are their own domain.
    """
    return _registered(host(url))


@lru_cache(maxsize=10_000)
def _registered(name: str) -> str:
    return _extractor().extract_str(name).top_domain_under_public_suffix or name


@cache
def _extractor() -> "TLDExtract":
    # Imported here because it brings requests along. The bundled list is used as it is: no network,
    # no cache on disk; blogspot.com and other private suffixes count as one domain.
    from tldextract import TLDExtract

    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=False)
