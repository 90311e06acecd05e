"""How often a page has what may do harm: counted by a simple search, which may see tags where there are none.

`scan.c` does the same in much less time, and is used where it could be compiled.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from rdfaspider.extract.guard.elements import FORMATTING

FORMATTING_NAMES = rb"b(?:ig)?|i|u|s(?:mall|tr(?:ike|ong))?|em|tt|font|code|nobr"
"""The names of formatting elements, the only ones that can be left open in great number, as a pattern."""

# Of each tag the name, what follows it, and a > if it has attributes and its element is closed at once, with
# nothing but text inside.
_RISKS = re.compile(
    rb"""<(%s|option|html|body)([\t\n\f\r />])
    (?:(?<![/>])(?:[\t\n\f\r\x20]*+[a-z-]++(?:="[^"<>]*+"|='[^'<>]*+')?+(?=[\t\n\f\r\x20>]))*+
    [\t\n\f\r\x20]*+>[^<]*+</\1(>))?+""".replace(b"\n    ", b"")
    % FORMATTING_NAMES
)
_ALIKE = 3  # formatting elements that may be left open without attributes, of each name


class Risks(NamedTuple):
    """How often there are tags that may do harm; what is closed at once cannot."""

    tags: int
    roots: int  # html and body
    options: int
    bare: int  # formatting elements without attributes, of each name as many as may be left open
    rich: int  # those with attributes


def count(body: bytes) -> tuple[int, int, int, int, int]:
    """Return the fields of Risks."""
    body = body.lower()
    roots = options = bare = rich = 0
    for (name, end, is_closed), number in Counter(_RISKS.findall(body)).items():
        if name == b"option":
            options += number
        elif name not in FORMATTING:
            roots += number
        elif end == b">":
            bare += min(number, _ALIKE)
        elif not is_closed:
            rich += number
    return body.count(b"<"), roots, options, bare, rich


def has_prefixes(body: bytes) -> bool:
    """Tell whether there may be an attribute named xmlns:…"""
    return b"xmlns:" in body.lower()
