"""URLs as names of graphs: with what RDF forbids escaped, and without passwords."""

import re

from rdfaspider.urls.normalise import normalise

# A stray "%", and characters that WHATWG leaves in a path or a query and RFC 3987 has no place for.
_FORBIDDEN = re.compile(r'%(?![0-9A-Fa-f]{2})|[\x00-\x20"<>\\^`{|}\[\]]')
# The last "@" before the path ends the user's name and password.
_USERINFO = re.compile(r"^([^/?#]+://)[^/?#]*@")


def without_userinfo(url: str) -> str:
    """Return a URL without user name and password, which are only for fetching."""
    return _USERINFO.sub(r"\1", url) if "@" in url else url


def as_linked(url: str, page: str) -> str:
    """Return a URL that a page names, without a user and password, unless they are the page's own.

    A password in a link is no secret, but would be sent to the server of the link. A page that was fetched
    with a password has relative links to other pages of its server, which need it too.
    """
    if "@" not in url or url.split("/", 3)[2] == page.split("/", 3)[2]:
        return url
    return without_userinfo(url)


def redirect_target(location: str, url: str) -> str:
    """Return the normalised URL that an answer from `url` redirects to; ValueError if there is none."""
    return as_linked(normalise(location, url), url)


def to_iri(url: str) -> str:
    """Return the IRI that names the graph of a normalised URL; most are their own.

    `http://me:secret@a.test/100%?q={x}` is `http://a.test/100%25?q=%7Bx%7D`. Two URLs may share an IRI if
    they differ only in how they are escaped, or in the user; servers hardly tell the former apart.
    """
    url = without_userinfo(url)
    # The host may have brackets: it is an IPv6 address then.
    slash = url.index("/", 8) if len(url) > 8 and "/" in url[8:] else len(url)
    path = url[slash:]
    if not _FORBIDDEN.search(path):
        return url
    return url[:slash] + _FORBIDDEN.sub(lambda found: f"%{ord(found[0]):02X}", path)
