"""Brings URLs to one normal form, so that one page has one name.

The form is what a browser would request (WHATWG parsing and joining, by Ada), made canonical by
those steps of RFC 3986 section 6 that WHATWG leaves out and that never change the page:

* the fragment goes, it is not sent;
* an empty query goes with its ``?``;
* percent escapes are written in upper case;
* escaped unreserved characters (letters, digits, ``-._~``) are decoded.

The order of the query, ``//`` in a path, user names and stray ``%`` stay: servers tell them apart.
A stray ``%`` of a user name is escaped: it cannot be sent.
"""

import re
from collections.abc import Callable

import ada_url

MAX_LENGTH = 8192
"""Longest URL taken or made, in characters.

RFC 9110 section 4.1 asks servers for 8,000 octets, and common ones stop at 8,190: a longer one
cannot be fetched anyway.
"""

_UNRESERVED = frozenset(b"-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

_HEX = "[0-9A-Fa-f]"

# Either one escape, or a stray "%" with the escapes that follow it: decoding those could complete
# the stray one to a new escape ("%%34%31" would become "%41", and then "A").
_ESCAPES = re.compile(f"%(?:{_HEX}{{2}}|{_HEX}?(?:%{_HEX}{{2}})+)")

# The normal form of each escape.
_WRITTEN = {
    f"%{high}{low}": chr(code) if (code := int(high + low, 16)) in _UNRESERVED else f"%{code:02X}"
    for high in "0123456789ABCDEFabcdef"
    for low in "0123456789ABCDEFabcdef"
}

_USERINFO = re.compile(r"(?<=://)[^/?]*(?=@)")
_STRAY = re.compile(f"%(?!{_HEX}{{2}})")

# An href that is in normal form already, but for a prefix and a fragment: (1) absolute, (2) below
# the root, (3) below the folder, (4) the page itself. It has no escape, no character that WHATWG
# would escape, no host for the rules of IDNA or IPv4, no port, no empty query. That it has no dot
# segment must be checked apart.
_PATH = r"!$&'()*+,\-./0-9;=@A-Z_a-z~"
_QUERY = r"(?:\?[!$&()*+,\-./0-9:;=?@A-Z\[\]_a-z~]++)?"
_HOST = r"(?:[a-z0-9]++(?:-[a-z0-9]++)*+\.)+[a-z]++"
_PLAIN = re.compile(
    rf"(?:(https?://{_HOST}/[{_PATH}:]*+{_QUERY})"
    rf"|(/(?!/)[{_PATH}:]*+{_QUERY})"
    rf"|([A-Za-z0-9_~][{_PATH}]*+{_QUERY})"
    r"|())(?:#[!-~]*+)?"
)


class Joiner:
    """Joins the links of one page to its base, which is parsed once.

    ``Joiner(base).join(href)`` equals ``normalise(href, base)``. Most links of the Web are plain enough
    to be recognised by one regular expression and need no parser. ``encode_query`` encodes the query of
    a link where the page is not in UTF-8.
    """

    __slots__ = ("_base", "_encode_query", "_prefixes")

    def __init__(self, base: str, encode_query: Callable[[str], str] | None = None) -> None:
        """Raise ValueError unless the base is an http(s) URL."""
        self._encode_query = encode_query
        self._base = normalise(encode_query(base) if encode_query else base)
        path = self._base.partition("?")[0]
        root = "/".join(path.split("/", 3)[:3])
        # By the number of the group that matched in _PLAIN.
        self._prefixes: tuple[str, ...] = ("", "", root, path[: path.rindex("/") + 1], self._base)

    def join(self, href: str) -> str:
        """Return the normalised URL; raise ValueError if there is none, or it is not http(s)."""
        if len(href) > MAX_LENGTH:
            raise _too_long(href)
        plain = _PLAIN.fullmatch(href)
        if plain is None or "/." in href:
            if self._encode_query is not None:
                href = self._encode_query(href)
            return _tidy(_parsed(href, self._base))
        group = plain.lastindex or 0
        url = self._prefixes[group] + plain[group]
        if len(url) > MAX_LENGTH:
            raise _too_long(url)
        return url


def normalise(url: str, base: str | None = None) -> str:
    """Return the normal form of a URL, joined to the base if there is one.

    The result is ASCII, its own normal form, and at most MAX_LENGTH long. A ValueError says why
    there is none: not a URL, not http(s), or too long.
    """
    if base is not None:
        return Joiner(base).join(url)
    if len(url) > MAX_LENGTH:
        raise _too_long(url)
    return _tidy(_parsed(url))


def _parsed(href: str, base: str | None = None) -> str:
    try:
        return ada_url.normalize_url(href) if base is None else ada_url.join_url(base, href)
    except ValueError:
        raise ValueError(f"Not a URL: {href[:80]!r}.") from None


def _tidy(parsed: str) -> str:
    """Apply to the parser's answer what RFC 3986 asks beyond WHATWG."""
    if not parsed.startswith(("http://", "https://")):
        raise ValueError(f"Not an http or https URL: {parsed[:80]!r}.")
    url = parsed.partition("#")[0]
    if "@" in url:
        url = _USERINFO.sub(lambda user: _STRAY.sub("%25", user[0]), url, count=1)
    if url[-1] == "?" and url.index("?") == len(url) - 1:
        url = url[:-1]
    if "%" in url:
        url = _ESCAPES.sub(_rewrite, url)
    if len(url) > MAX_LENGTH:
        raise _too_long(url)
    return url


def _rewrite(escapes: re.Match[str]) -> str:
    text = escapes[0]
    if len(text) == 3:
        return _WRITTEN[text]
    first = text.index("%", 1)  # what stands before is the stray one, no escape
    return text[:first] + text[first:].upper()


def _too_long(url: str) -> ValueError:
    return ValueError(f"A URL of {len(url)} characters, more than {MAX_LENGTH}: {url[:80]!r}…")
