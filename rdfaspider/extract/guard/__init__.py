"""Which HTML the fast tree builder may read, and what must be cut before any parser may.

lexbor builds the tree that browsers build, and inherits what that algorithm costs on mark-up that
nobody writes by accident. Its time grows with the square of

* the nesting depth,
* the options of a select,
* the attributes of one element, to which each further html and body tag adds its own,
* the number of different names of elements and attributes,

and it makes one element for each formatting element left open at each block after it: 1.4 GB out of
37 kB. libxml2 repairs tag soup less faithfully, but in linear time except for the attributes
and for the depth, which it limits. So a page goes to lexbor when it surely costs little
(``is_tame``), else to libxml2, and what is too much for both is cut before (``without_excess``).

A simple search shows that most pages have too few tags, or too few harmful ones, to do harm. The tags
of the others are read as a browser reads them (``tags``), and followed on a stack of the elements that
may be open (``nesting``).
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import NamedTuple

from rdfaspider.extract.document.limits import Limits
from rdfaspider.extract.document.tree import LARGE
from rdfaspider.extract.guard import attributes
from rdfaspider.extract.guard.elements import FORMATTING
from rdfaspider.extract.guard.nesting import follow
from rdfaspider.extract.guard.stack import ElementStack, TooOdd
from rdfaspider.extract.guard.tags import ATTRIBUTE, NAMED_ATTRIBUTE, TAGS

_FORMATTING = rb"b(?:ig)?|i|u|s(?:mall|tr(?:ike|ong))?|em|tt|font|code|nobr"
# Formatting elements, the only ones that can be left open in great number; options; html and body. Of each
# the name, what follows it, and a > if it has attributes and is closed at once, with nothing but text inside.
_RISKS = re.compile(
    rb"""<(%s|option|html|body)([\t\n\f\r />])
    (?:(?<![/>])(?:[\t\n\f\r\x20]*+[a-z-]++(?:="[^"<>]*+"|='[^'<>]*+')?+(?=[\t\n\f\r\x20>]))*+
    [\t\n\f\r\x20]*+>[^<]*+</\1(>))?+""".replace(b"\n    ", b"")
    % _FORMATTING
)
_RICH = re.compile(rb"<(?:%s)(?=[\t\n\f\r /])(?:%s){60}" % (_FORMATTING, ATTRIBUTE))
_NAME = re.compile(NAMED_ATTRIBUTE)
_SMALL = 1_000  # a page with fewer tags is harmless
_HARMLESS = 64_000  # bytes of such a page that costs little, even if it is one tag
_FLAT = 10_000  # tags that can do no harm by nesting
_OFTEN = 1_000  # tags between two checks of the costs
_NAMES = 5_000  # different names of elements and attributes
_ATTRIBUTES = 400_000  # attributes of a page, which take 240 bytes each
_OPTIONS = 3_000
_MERGED = 10  # html and body tags whose attributes go to one element
_COMPARED = 100  # formatting elements with many attributes, which are compared with each other
_ALIKE = 3  # formatting elements that may be left open without attributes, of each name
_MADE = 250_000  # elements made out of formatting elements that were left open
_STEPS = 100_000_000  # open elements that the tree builder passes: less than half a second


_Risk = tuple[bytes, bytes, bytes]


class GuardedPage(NamedTuple):
    """A page, also in lower case, and whether its tags may be other than they seem."""

    body: bytes
    lowered: bytes
    is_suspect: bool = False


def without_excess(page: GuardedPage, limits: Limits, cuts: Counter[str]) -> GuardedPage:
    """Return a page of HTML without tags and attributes beyond the limits; cuts are counted."""
    if not attributes.may_exceed(page.lowered, limits.attributes):
        return page
    body, excess = attributes.without_excess(*page[:2], limits.attributes)
    if not excess:
        return page._replace(is_suspect=True)
    cuts["attributes"] += excess
    return GuardedPage(body, body.lower(), True)


def without_tags(body: bytes, limit: int) -> bytes:
    """Return a page up to where it has more tags than the limit allows."""
    if body.count(b"<") <= limit:
        return body
    return body[: len(body) - len(body.split(b"<", limit + 1)[-1]) - 1]


def is_tame(page: GuardedPage, depth: int) -> bool:
    """Tell whether the fast tree builder may read a page."""
    body = page.lowered
    count = body.count(b"<")
    if count <= _SMALL and len(body) <= _HARMLESS and not page.is_suspect:
        return True
    risks = Counter(_RISKS.findall(body))
    if _sum(risks, b"html", b"body") > _MERGED or _sum(risks, b"option") > _OPTIONS:
        return False
    is_small = count <= _SMALL or (count <= _FLAT and _has_little_formatting(risks, count))
    if is_small and len(body) <= LARGE and not page.is_suspect:
        return True
    if count > _SMALL and len(_RICH.findall(body)) > _COMPARED:
        return False
    return _is_bounded(body, depth)


def _sum(risks: Counter[_Risk], *names: bytes) -> int:
    return sum(number for (name, _, _), number in risks.items() if name in names)


def _has_little_formatting(risks: Counter[_Risk], count: int) -> bool:
    """Tell whether no tag can make too many elements out of formatting elements left open."""
    bare = rich = 0
    for (name, end, is_closed), number in risks.items():
        if name in FORMATTING and not is_closed:
            if end == b">":
                bare += min(number, _ALIKE)
            else:
                rich += number
    return rich <= _COMPARED and (bare + rich) * count <= _MADE


def _is_bounded(body: bytes, depth: int) -> bool:
    """Tell the same as `is_tame`, by following the tags."""
    stack = ElementStack()
    names: set[bytes] = set()
    count = 0
    tags = TAGS.finditer(body)
    try:
        while some := list(islice(tags, _OFTEN)):
            follow(some, stack)
            if len(stack) > depth or stack.steps > _STEPS or stack.made > _MADE:
                return False
            if len(body) > LARGE:
                found = _NAME.findall(b"".join([tag["attributes"] or b"" for tag in some]))
                names.update(found, [tag["name"] for tag in some])
                count += len(found)
            if len(names) > _NAMES or count > _ATTRIBUTES:
                return False
    except TooOdd:
        return False
    return True
