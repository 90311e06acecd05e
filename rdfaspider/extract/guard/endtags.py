"""What an end tag surely closes, and what it may close besides."""

from __future__ import annotations

from rdfaspider.extract.guard.elements import (
    ADOPTED,
    BLOCKS,
    CLEARING,
    FORMATTING,
    HEADINGS,
    MARKERS,
    PARTS,
    SPECIAL,
    VOID,
)
from rdfaspider.extract.guard.stack import ElementStack

_REACH = 8  # elements that an end tag may close at once and still be understood
_CLONES = 32  # elements that the end tag of a formatting element makes at most
_TABLE = MARKERS - PARTS
_INSIDE_P = MARKERS | {b"button", b"ol", b"ul"}


def end(stack: ElementStack, name: bytes) -> None:
    """Take in an end tag."""
    names = stack.names
    if not names:
        return
    if names[-1] == name or (name in HEADINGS and names[-1] in HEADINGS):
        if name != b"form" or stack.forms:
            stack.pop()
    elif name not in VOID:
        _end_inside(stack, name)
    if stack.foreign and name in (b"br", b"p"):
        stack.doubt(0)


def _end_inside(stack: ElementStack, name: bytes) -> None:
    """Take in the end tag of an element that is not the last one open."""
    place = -1 if name == b"form" else _found(stack, name)
    if place >= 0 and name in ADOPTED and name not in stack.crowded:
        stack.remove(place)
        stack.doubt(place)
    elif place >= 0 and name not in ADOPTED and stack.is_sure(place):
        stack.close(place, keeps=name not in CLEARING)
    else:
        _ignore(stack, name)


def _found(stack: ElementStack, name: bytes) -> int:
    """Return where the element is that an end tag must close, or -1 if that is not sure."""
    names = stack.names
    if name in PARTS or name == b"table":
        barriers = _TABLE
    elif name in BLOCKS or name in ADOPTED:
        barriers = _INSIDE_P if name in (b"p", b"li") else MARKERS
    else:
        barriers = SPECIAL
    for place in range(len(names) - 1, max(len(names) - 1 - _REACH, -1), -1):
        if names[place] == name:
            return place if name not in PARTS or stack.is_in_table(place) else -1
        if names[place] in barriers:
            break
    return -1


def _ignore(stack: ElementStack, name: bytes) -> None:
    """Leave the stack as it is, though the end tag may have closed something."""
    if name in HEADINGS or name in PARTS:
        stack.doubt(0)
    else:
        stack.doubt_all(name)
    if name == b"form":
        stack.forms = False
    elif name in FORMATTING:
        stack.made += _CLONES
