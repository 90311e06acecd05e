"""URLs as names of graphs: what browsers send and RDF forbids is escaped."""

import re
from typing import Final

# A stray "%", and characters that WHATWG leaves in a path or a query and RFC 3987 has no place for.
_FORBIDDEN: Final = re.compile(r'%(?![0-9A-Fa-f]{2})|[\x00-\x20"<>\\^`{|}\[\]]')


def to_iri(url: str) -> str:
    """Return the IRI that names the graph of a normalised URL; most are their own.

    `http://a.test/100%?q={x}` is `http://a.test/100%25?q=%7Bx%7D`. Two URLs may share an IRI, if they
    differ only in that one is escaped and the other is not; servers hardly tell them apart.
    """
    # The host may have brackets: it is an IPv6 address then.
    slash = url.index("/", 8) if len(url) > 8 and "/" in url[8:] else len(url)
    path = url[slash:]
    if not _FORBIDDEN.search(path):
        return url
    return url[:slash] + _FORBIDDEN.sub(lambda found: f"%{ord(found[0]):02X}", path)
