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

from rdfaspider.extract.document.limits import Limits
from rdfaspider.extract.document.tree import LARGE
from rdfaspider.extract.guard import attributes
from rdfaspider.extract.guard.nesting import follow
from rdfaspider.extract.guard.risks import FORMATTING_NAMES, Risks
from rdfaspider.extract.guard.stack import ElementStack, TooOdd
from rdfaspider.extract.guard.tags import ATTRIBUTE, NAMED_ATTRIBUTE, TAGS

try:
    from rdfaspider.extract.guard.scan import count, has_prefixes
except ImportError:  # it was not compiled
    from rdfaspider.extract.guard.risks import count, has_prefixes

_RICH = re.compile(rb"<(?:%s)(?=[\t\n\f\r /])(?:%s){60}" % (FORMATTING_NAMES, ATTRIBUTE))
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
_MADE = 250_000  # elements made out of formatting elements that were left open
_STEPS = 100_000_000  # open elements that the tree builder passes: less than half a second


class GuardedPage:
    """A page, and whether its tags may be other than they seem."""

    __slots__ = ("_lowered", "body", "is_suspect")

    def __init__(self, body: bytes, is_suspect: bool = False) -> None:
        self.body = body
        self.is_suspect = is_suspect
        self._lowered: bytes | None = None

    @property
    def lowered(self) -> bytes:
        """The page in lower case, which few pages are asked for."""
        if self._lowered is None:
            self._lowered = self.body.lower()
        return self._lowered

    @property
    def has_prefixes(self) -> bool:
        """Whether there may be an attribute named xmlns:…"""
        return has_prefixes(self.body)


def without_excess(page: GuardedPage, limits: Limits, cuts: Counter[str]) -> GuardedPage:
    """Return a page of HTML without tags and attributes beyond the limits; cuts are counted."""
    if not attributes.may_exceed(page.body, limits.attributes):
        return page
    body, excess = attributes.without_excess(page.body, page.lowered, limits.attributes)
    if not excess:
        page.is_suspect = True
        return page
    cuts["attributes"] += excess
    return GuardedPage(body, is_suspect=True)


def without_tags(body: bytes, limit: int) -> bytes:
    """Return a page up to where it has more tags than the limit allows."""
    if body.count(b"<") <= limit:
        return body
    return body[: len(body) - len(body.split(b"<", limit + 1)[-1]) - 1]


def is_tame(page: GuardedPage, depth: int) -> bool:
    """Tell whether the fast tree builder may read a page."""
    size = len(page.body)
    if size <= _HARMLESS and page.body.count(b"<") <= _SMALL and not page.is_suspect:
        return True
    risks = Risks(*count(page.body))
    if risks.roots > _MERGED or risks.options > _OPTIONS:
        return False
    is_small = risks.tags <= _SMALL or (risks.tags <= _FLAT and _has_little_formatting(risks))
    if is_small and size <= LARGE and not page.is_suspect:
        return True
    if risks.tags > _SMALL and len(_RICH.findall(page.lowered)) > _COMPARED:
        return False
    return _is_bounded(page.lowered, depth)


def _has_little_formatting(risks: Risks) -> bool:
    """Tell whether no tag can make too many elements out of formatting elements left open."""
    return risks.rich <= _COMPARED and (risks.bare + risks.rich) * risks.tags <= _MADE


def _is_bounded(body: bytes, depth: int) -> bool:
    """Tell the same as `is_tame`, by following the tags."""
    stack = ElementStack()
    names: set[bytes] = set()
    number = 0
    tags = TAGS.finditer(body)
    try:
        while some := list(islice(tags, _OFTEN)):
            follow(some, stack)
            if len(stack) > depth or stack.steps > _STEPS or stack.made > _MADE:
                return False
            if len(body) > LARGE:
                found = _NAME.findall(b"".join([tag["attributes"] or b"" for tag in some]))
                names.update(found, [tag["name"] for tag in some])
                number += len(found)
            if len(names) > _NAMES or number > _ATTRIBUTES:
                return False
    except TooOdd:
        return False
    return True
