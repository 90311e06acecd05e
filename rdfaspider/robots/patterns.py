"""The one form in which the patterns of rules and the paths of URLs are compared.

Both are octet strings in which unreserved characters stand for themselves and whatever a path or
query may not hold is escaped, so that `/~a`, `/%7ea` and `/%7Ea`, or `/ü` and `/%c3%bc`, are equal
(RFC 9309 section 2.2.2). Reserved characters and their escapes stay different: `/a/b`, `/a%2Fb`.

*The invariant*: a `*` is always the wildcard and a `$` always the end; those that are meant
literally are escaped. The path of a URL ends in a `$` too, so the end needs no special code: `/a$` is
how `/a$` begins and not how `/ab$` begins.
"""

from __future__ import annotations

import re

Rules = dict[bytes, bool]  # pattern -> does it allow

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
# What a path or query holds as it is, after RFC 3986 sections 3.3 and 3.4, without `*` and `$`.
_PLAIN = rb"A-Za-z0-9\-._~!&'()+,;=:@/?"
_IN_TARGET = re.compile(rb"%%[0-9A-Fa-f]{2}|[^%b]" % _PLAIN)
_IN_PATTERN = re.compile(rb"%%[0-9A-Fa-f]{2}|[^%b*]" % _PLAIN)
_IN_QUERY = re.compile(rb"%(?:2F|3A|3F|40)")
_NORMAL_PATTERN = re.compile(rb"[/*][%b*]*+\$?" % _PLAIN)
_ORIGIN = r"[A-Za-z][A-Za-z0-9+.-]*+://[^/?#]*+"
_URL = re.compile(rf"(?:{_ORIGIN})?([^#]*+)")
_NORMAL_URL = re.compile(rf"{_ORIGIN}(/[{_PLAIN.decode()}]*+)")


def pattern(value: bytes) -> bytes:
    """Return the value of an Allow or Disallow line in normal form."""
    if _NORMAL_PATTERN.fullmatch(value):  # most are
        return value
    end = b"$" if value.endswith(b"$") else b""
    normal = unescape_query(_IN_PATTERN.sub(_normal_octet, value.removesuffix(b"$")))
    return (b"" if normal.startswith((b"/", b"*")) else b"/") + normal + end


def target(url: str) -> bytes:
    """Return the path and query of a URL in normal form, with the `$` of the end."""
    if plain := _NORMAL_URL.fullmatch(url):  # most are
        return plain[1].encode() + b"$"
    found = _URL.match(url)
    assert found  # everything in the expression is optional
    normal = _IN_TARGET.sub(_normal_octet, found[1].encode("utf-8", "surrogatepass"))
    return (b"" if normal.startswith(b"/") else b"/") + normal + b"$"


def unescape_query(normal: bytes) -> bytes:
    """Return a pattern or target with the `/`, `:`, `?` and `@` of its query unescaped.

    There they delimit nothing, so the table of RFC 9309 section 2.2.2 has `?u=http%3A%2F%2Fa` and
    `?u=http://a` match. A pattern always takes this form, but it may be all wildcard where the
    query begins, as in `/*%2F`: hence a target is tried in this form and as it is written.
    """
    path, mark, query = normal.partition(b"?")
    return path + mark + _IN_QUERY.sub(lambda escape: b"%c" % int(escape[0][1:], 16), query)


def in_order(parts: list[bytes], wanted: bytes, start: int) -> bool:
    """Tell whether the parts between wildcards follow each other in a target, from `start` on."""
    for part in parts:
        found = wanted.find(part, start)
        if found < 0:
            return False
        start = found + len(part)
    return True


def _normal_octet(match: re.Match[bytes]) -> bytes:
    written = match[0]
    octet = int(written[1:], 16) if len(written) == 3 else written[0]
    return b"%c" % octet if octet in _UNRESERVED else b"%%%02X" % octet
