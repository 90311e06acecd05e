"""Which HTML the fast tree builder may read, and what must be cut before any may.

lexbor builds the tree that browsers build, and inherits what that algorithm costs on mark-up that
nobody writes by accident: the square of the nesting depth, of the options of a select, of the
attributes of one element; and one element for each formatting element left open times each block
after it, which makes 1.4 GB out of 37 kB. libxml2 repairs tag soup less faithfully but in linear
time, except for the attributes. So a page goes to lexbor when its tags nest well enough, else to
libxml2, and an element with thousands of attributes loses the rest of them.

The look at the tags is a cheap one: it does not know comments, scripts and quoted values for what
they are. A page can be written to pass it and still cost much; a process with limits of its own
must stand behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TAG = re.compile(rb"<(/?[a-z][a-z0-9]*)")
# Formatting elements with attributes, for only of those can many be left open at a time; options.
_RISKS = re.compile(
    rb"<(?:(?:b(?:ig)?|i|u|s(?:mall|tr(?:ike|ong))?|em|tt|font|code|nobr)[\s/]|option)"
)
# All formatting elements, and the elements that hide those around them from an end tag inside.
_FORMATTING = re.compile(
    rb"<(/?(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
    rb"|applet|marquee|object|table|template))[\s/>]"
)
_ATTRIBUTE = re.compile(
    rb"[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?)?"
)
_START = re.compile(rb"<[A-Za-z][^\s/>]*+")
_LONG = 8_192  # bytes of a tag that may hold too many attributes
_SMALL = 1_000  # tags that can do no harm, whatever they are
_FLAT = 10_000  # tags that can do no harm by nesting
_OPTIONS = 3_000
_ALIKE = 13 * 3  # formatting elements that may be left open without attributes
_FORMATS = 100  # formatting elements inside each other
_PRODUCT = 500_000  # tags times mistakes: a bound on the elements made out of mistakes

# Void elements, and those whose end tags authors leave out and that cannot nest by themselves.
_LOOSE = frozenset(
    name
    for word in b"area base br col embed hr img input link meta param source track wbr".split()
    + b"p tr td th tbody thead tfoot option colgroup path".split()
    for name in (word, b"/" + word)
)


def is_tame(body: bytes, depth: int) -> bool:
    """Tell whether a page, in lower case, nests well enough for the fast tree builder."""
    count = body.count(b"<")
    if count <= _SMALL:
        return True
    risks = _RISKS.findall(body)
    options = risks.count(b"<option")
    if options > _OPTIONS:
        return False
    if count > _FLAT and _mistakes(_TAG.findall(body), depth) * count > _PRODUCT:
        return False
    if (len(risks) - options + _ALIKE) * count <= _PRODUCT:
        return True
    return _mistakes(_FORMATTING.findall(body), _FORMATS) * count <= _PRODUCT


def _mistakes(tags: list[bytes], depth: int) -> int:
    """Count tags without their counterpart; a page that is too deep counts as all mistakes."""
    mistakes = 0
    opened: list[bytes] = []
    for tag in tags:
        if tag in _LOOSE:
            continue
        if tag[0] != 47:  # not a slash
            opened.append(tag)
            if len(opened) > depth:
                return _PRODUCT
        elif opened and opened[-1] == tag[1:]:
            opened.pop()
        else:
            mistakes += 1
            if tag[1:] in opened[-16:]:
                while opened.pop() != tag[1:]:
                    mistakes += 1
    return mistakes + len(opened)


def without_excess(body: bytes, limit: int) -> tuple[bytes, int]:
    """Return the page without attributes beyond the limit, and how many tags lost some."""
    kept: list[bytes] = []
    passed = done = 0
    for start in sorted({*_tags_before(body, b">"), *_tags_before(body, b"<")}):
        tag = _START.match(body, start) if start >= passed else None
        if tag is None:
            continue
        passed, complete = _skipped(body, tag.end(), limit)
        if not complete:
            kept.append(body[done:passed])
            passed, _ = _skipped(body, passed, len(body))
            done = passed
    return (b"".join([*kept, body[done:]]) if kept else body), len(kept)


def _tags_before(body: bytes, mark: bytes) -> Iterator[int]:
    """Yield tags that may be very long: those around a long stretch without the mark."""
    start = 0
    while start + _LONG < len(body):
        end = body.rfind(mark, start, start + _LONG)
        if end < 0:
            end = body.find(mark, start)
            end = len(body) if end < 0 else end
            yield max(start - 1, 0)
            for tag in _START.finditer(body, start, end):
                yield tag.start()
        start = end + 1


def _skipped(body: bytes, position: int, limit: int) -> tuple[int, bool]:
    """Pass over as many attributes as the limit allows; tell whether these were all."""
    for _ in range(limit):
        attribute = _ATTRIBUTE.match(body, position)
        if attribute is None:
            return position, True
        position = attribute.end()
    return position, False
