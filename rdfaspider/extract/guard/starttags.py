"""What a start tag opens, and which elements before it that closes or may close."""

from __future__ import annotations

import re
from collections.abc import Callable

from rdfaspider.extract.guard.elements import (
    BLOCKS,
    BREAKOUT,
    CELLS,
    FOREIGN,
    HEADINGS,
    IMPLIED,
    INTEGRATION,
    MARKERS,
    PARTS,
    ROWS,
    SPECIAL,
    VOID,
)
from rdfaspider.extract.guard.stack import DOUBTFUL, LOOPED, SEARCHED, ElementStack

_ITEM = SPECIAL - {b"address", b"dialog", b"div", b"p"}
# Elements that may mean nothing, and elements of SVG and MathML that mean nothing special in HTML.
_DEPENDENT = PARTS.union({b"form"}, *INTEGRATION.values(), {b"annotation-xml"})


def start(stack: ElementStack, name: bytes, tag: re.Match[bytes]) -> None:
    """Take in a start tag, a match of TAGS."""
    if stack.foreign:
        place = stack.markers[-1]
        if stack.names[place] in FOREIGN or stack.marks[place] & DOUBTFUL:
            _start_inside(stack, name, tag, place)
            return
    if name in _EFFECTS:
        _EFFECTS[name](stack, name)
    if name in VOID:
        return
    if name in FOREIGN and not stack.odd and tag["end"].endswith(b"/"):
        return
    stack.push(name, _has_attributes(tag))
    last = len(stack) - 1
    if name in _DEPENDENT and not (name in PARTS and stack.is_in_table(last)):
        stack.doubt(last)


def _start_inside(stack: ElementStack, name: bytes, tag: re.Match[bytes], place: int) -> None:
    """Take in a start tag inside SVG or MathML, or what may be inside."""
    if stack.marks[place] & DOUBTFUL:
        stack.doubt(0)
    elif name in BREAKOUT:
        stack.doubt(place)
        if name in _EFFECTS:
            _EFFECTS[name](stack, name)
    elif tag["end"].endswith(b"/") and stack.odd == stack.foreign:
        return
    is_html = name in INTEGRATION.get(stack.names[place], ()) and not stack.marks[place]
    stack.push(name, _has_attributes(tag))
    if name in MARKERS and name not in FOREIGN and not is_html:
        stack.doubt(len(stack) - 1)


def _has_attributes(tag: re.Match[bytes]) -> bool:
    return tag.end("attributes") > tag.end("name")


def close_p(stack: ElementStack, name: bytes = b"") -> None:
    """Close an open paragraph."""
    if stack.paragraphs:
        if stack.names[-1] == b"p":
            stack.pop()
        may_close_p(stack)


def may_close_p(stack: ElementStack, name: bytes = b"") -> None:
    """Mark an open paragraph as doubtful."""
    if stack.paragraphs:
        stack.doubt_within(b"p")


def _start_item(stack: ElementStack, name: bytes) -> None:
    """Open li, dd or dt, which closes the one before."""
    close_p(stack)
    alike = (b"li",) if name == b"li" else (b"dd", b"dt")
    names, marks = stack.names, stack.marks
    if names and names[-1] in alike:
        stack.pop()
        return
    doubtful = len(names)
    for place in range(len(names) - 1, -1, -1):
        if names[place] in alike:
            doubtful = place
        elif names[place] in _ITEM and not marks[place] & DOUBTFUL:
            break
        stack.steps += LOOPED
    stack.doubt(doubtful)


def _start_heading(stack: ElementStack, name: bytes) -> None:
    close_p(stack)
    if stack.names and stack.names[-1] in HEADINGS:
        stack.doubt(len(stack) - 1)


def _start_alone(stack: ElementStack, name: bytes) -> None:
    """Open an element that cannot contain another one of its kind, which closes that."""
    stack.steps += SEARCHED * len(stack)
    if name in stack.names:
        if stack.names[-1] == name == b"a":
            stack.pop()
        stack.doubt_within(name)


def _start_option(stack: ElementStack, name: bytes) -> None:
    if stack.names and stack.names[-1] == b"option":
        stack.pop()


def _start_ruby(stack: ElementStack, name: bytes) -> None:
    place = len(stack)
    while place and stack.names[place - 1] in IMPLIED:
        place -= 1
    stack.steps += LOOPED * (len(stack) - place)
    stack.doubt(place)


def _start_table(stack: ElementStack, name: bytes) -> None:
    """Open a table, which closes a table around it unless a cell is between them."""
    may_close_p(stack)
    if stack.markers:
        place = stack.markers[-1]
        if stack.names[place] == b"table" or stack.marks[place] & DOUBTFUL:
            stack.doubt_all(b"table")


def _start_part(stack: ElementStack, name: bytes) -> None:
    """Open a cell, a row or a part of a table, which closes all that is open in the table."""
    names = stack.names
    if stack.markers:
        place = stack.markers[-1]
        if names[place] in CELLS and stack.is_sure(place) and stack.is_in_table(place):
            stack.close(place, keeps=False)
    if names and names[-1] in CELLS:
        stack.pop()
    if names and names[-1] == b"tr" and name not in CELLS:
        stack.pop()
    if names and names[-1] in ROWS and names[-1] != b"tr" and name in ROWS and name != b"tr":
        stack.pop()
    if not names or (names[-1] != b"table" and names[-1] not in ROWS):
        stack.doubt_all(b"table")


def _start_frameset(stack: ElementStack, name: bytes) -> None:
    stack.doubt(0)


_Effect = Callable[[ElementStack, bytes], None]
_PARAGRAPH_EFFECTS: dict[bytes, _Effect] = {
    **dict.fromkeys(BLOCKS | {b"hr"}, close_p),
    **dict.fromkeys((b"dialog", b"form", b"hgroup", b"search"), may_close_p),
}
_OTHER_EFFECTS: dict[bytes, _Effect] = {
    **dict.fromkeys((b"li", b"dd", b"dt"), _start_item),
    **dict.fromkeys(HEADINGS, _start_heading),
    **dict.fromkeys((b"a", b"nobr", b"button"), _start_alone),
    **dict.fromkeys((b"option", b"optgroup"), _start_option),
    **dict.fromkeys((b"rb", b"rp", b"rt", b"rtc"), _start_ruby),
    **dict.fromkeys(PARTS | {b"col"}, _start_part),
    b"table": _start_table,
    b"frameset": _start_frameset,
}
_EFFECTS = _PARAGRAPH_EFFECTS | _OTHER_EFFECTS

CLOSING = frozenset(_OTHER_EFFECTS)
"""Elements whose start tag may close others."""

CLOSING_P = frozenset(_PARAGRAPH_EFFECTS)
"""Elements whose start tag closes nothing but a paragraph."""
