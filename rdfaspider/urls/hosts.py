"""Host, port and domain of a URL in normal form, without parsing it again."""

import re
from functools import lru_cache
from urllib.parse import urlsplit

from rdfaspider.urls.suffixes import registered

# Characters that WHATWG allows in a host name, but no server and no IRI can have.
_ODD = re.compile(r"https?://[^/?]*[\"`{}]")

# Everything before the path, as urlsplit cuts it off.
_ORIGIN = re.compile(r"[A-Za-z]+://[^/?#]*")

# Ports of other services, which browsers do not let a page ask by HTTP (the "bad ports" of WHATWG Fetch).
_FORBIDDEN_PORTS = {
    *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
    *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161),
    *(179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563),
    *(587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060),
    *(5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
}


def unfit_authority(url: str) -> str:
    """Return why no page can be at the server of a normalised URL, "" if one can."""
    if _ODD.match(url):
        return "host"
    _, port = split_port(authority(url))
    if port.isdecimal() and (not int(port) or int(port) in _FORBIDDEN_PORTS):
        return "port"
    return ""


def authority(url: str) -> str:
    """Return host and port of a normalised URL, without a user name: ``example.org:8080``."""
    return url.split("/", 3)[2].rpartition("@")[2]


def split_port(authority: str) -> tuple[str, str]:
    """Return host and port of `host[:port]`; the port is "" if there is none, an IPv6 host has brackets."""
    host, colon, port = authority.rpartition(":")
    return (authority, "") if not colon or authority.endswith("]") else (host, port)


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host of a URL, an IPv6 address without brackets, and the port to connect to."""
    origin = _ORIGIN.match(url)
    return _host_and_port(url if origin is None else origin[0])


@lru_cache(maxsize=4_096)
def _host_and_port(origin: str) -> tuple[str, int]:
    parts = urlsplit(origin)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


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
    return domain_of(host(url))


@lru_cache(maxsize=10_000)
def domain_of(name: str) -> str:
    """Return the registered domain of a host; blogspot.com and other private suffixes are one domain."""
    return registered(name, private=False) or name


@lru_cache(maxsize=10_000)
def owner_of(name: str) -> str:
    """Return the part of a host name that belongs to one owner: ``me.blogspot.com``."""
    return registered(name, private=True) or name
