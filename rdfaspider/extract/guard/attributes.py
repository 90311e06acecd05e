"""HTML without more attributes on an element than any author writes.

Both parsers compare each attribute of an element with all before it. So a tag with very many of them
loses the rest. Few pages have such a tag, so that only those that may are read tag by tag.
"""

from __future__ import annotations

import re

from rdfaspider.extract.document.tree import LARGE
from rdfaspider.extract.guard.tags import ATTRIBUTE, TAGS

_ATTRIBUTE = re.compile(ATTRIBUTE)
_TAG = re.compile(rb"</?[A-Za-z][^\t\n\f\r />]*+")
_SPACE = b"\t\n\f\r "
_AROUND = frozenset(_SPACE + b"=")  # before the quote that begins a value
_LONG = 2_048  # bytes of a tag that may do harm: some hundred attributes; a quarter in a large page
_STEPS = 3  # long steps through a page that may all end inside one tag
_NEAR = 64  # bytes that are looked at for the = of a value


def may_exceed(body: bytes, limit: int) -> bool:
    """Tell whether a tag of a page may have more attributes; a no is always right.

    Tags are meant that are long enough to do harm. A tag ends at a ``>`` that stands in no quoted
    value. So the page is gone through in long steps from ``>`` to ``>``, with a closer look where
    none comes for long, or none that surely ends a tag. Text of scripts may be mistaken for tags.
    """
    step = _LONG if len(body) <= LARGE else _LONG // 4
    start = passed = doubts = 0
    in_double = in_single = False  # whether the last quote of either kind may begin a value
    while start + step < len(body):
        end = body.rfind(b">", start, start + step)
        if end < 0:
            end = body.find(b">", start)
            end = len(body) if end < 0 else end
            if doubts:
                return True
            for tag in _TAG.finditer(body, start, end - step):
                if tag.start() >= passed:
                    passed, is_all = _skipped(body, tag.end(), limit)
                    if not is_all:
                        return True
        if (quote := body.rfind(b'"', start, end)) >= 0:
            in_double = body[quote - 1] in _AROUND and _may_begin(body, quote)
        if (quote := body.rfind(b"'", start, end)) >= 0:
            in_single = body[quote - 1] in _AROUND and _may_begin(body, quote)
        doubts = doubts + 1 if in_double or in_single else 0
        if doubts == _STEPS:
            return True
        start = end + 1
    return False


def _may_begin(body: bytes, quote: int) -> bool:
    """Tell whether a quote may begin a value: nothing but space parts it from a =."""
    before = body[max(quote - _NEAR, 0) : quote].rstrip(_SPACE)
    return not before or before.endswith(b"=")


def without_excess(body: bytes, lowered: bytes, limit: int) -> tuple[bytes, int]:
    """Return the page without attributes beyond the limit, and how many tags lost some."""
    kept: list[bytes] = []
    done = 0
    for match in TAGS.finditer(lowered):
        start = match.start()
        if match.end() - start <= 2 * limit:  # no attribute is shorter
            continue
        tag = _TAG.match(lowered, start)
        if tag is None:
            continue
        place, is_all = _skipped(lowered, tag.end(), limit)
        if not is_all:
            kept.append(body[done:place])
            done, _ = _skipped(lowered, place, len(body))
    return (b"".join([*kept, body[done:]]) if kept else body), len(kept)


def _skipped(body: bytes, place: int, limit: int) -> tuple[int, bool]:
    """Pass over as many attributes as the limit allows; tell whether these were all."""
    for _ in range(limit):
        attribute = _ATTRIBUTE.match(body, place)
        if attribute is None:
            return place, True
        place = attribute.end()
    return place, _ATTRIBUTE.match(body, place) is None
