"""How deep a page may nest in the tree of a browser: a bound from above, without the tree.

A start tag is pushed on a stack, unless the standard closes the element at once. A tag pops only what
the standard surely closes. What it may close besides stays and becomes doubtful: no conclusion is
drawn from that any more (``ElementStack`` has the invariant).

Well nested pages are followed exactly, with end tags left out where the standard allows it. Each
mistake of other pages costs the stack an element or two for good.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from rdfaspider.extract.guard.elements import FORMATTING, MARKERS, VOID
from rdfaspider.extract.guard.endtags import end
from rdfaspider.extract.guard.stack import ElementStack, TooOdd
from rdfaspider.extract.guard.starttags import CLOSING, CLOSING_P, may_close_p, start
from rdfaspider.extract.guard.tags import TAGS

_SLASH = 47
_NAME = TAGS.groupindex["name"]


class _All(Container[bytes]):
    def __contains__(self, name: object) -> bool:
        return True


_ALL = _All()
# Names whose end tags, and whose start tags, ask for more than a pop and a push.
_NOTED = MARKERS | FORMATTING | {b"p", b"form"}
_STARTS = _NOTED.union(CLOSING, VOID, {b"plaintext"})
_STARTS_IN_P = _STARTS | CLOSING_P


def follow(tags: Iterable[re.Match[bytes]], stack: ElementStack) -> None:
    """Take matches of TAGS in on a stack; raise TooOdd if nobody can tell what they mean."""
    names, marks, steps = stack.names, stack.marks, 0
    noted = _noted(stack)
    for tag in tags:
        name = tag[_NAME]
        if name is None:
            _pass_text(tag, stack)
        elif name[0] == _SLASH:
            name = name[1:]
            if names and names[-1] == name and name not in _NOTED:
                del names[-1], marks[-1]
            else:
                end(stack, name)
                noted = _noted(stack)
        elif name in noted:
            start(stack, name, tag)
            noted = _noted(stack)
        else:
            names.append(name)
            marks.append(0)
        steps += len(names)
        if stack.suspects:
            stack.made += stack.suspects
    stack.steps += steps


def _noted(stack: ElementStack) -> Container[bytes]:
    """Return the names whose start tags ask for more than a push."""
    if stack.foreign:
        return _ALL
    return _STARTS_IN_P if stack.paragraphs else _STARTS


def _pass_text(tag: re.Match[bytes], stack: ElementStack) -> None:
    """Pass over text that holds no tags in HTML, unless it may stand elsewhere."""
    if stack.odd:
        text = tag["text"] or tag["code"]
        if text and b"<" in text:
            raise TooOdd
        if tag["cdata"] and not tag["cdata"].endswith(b"]]"):
            raise TooOdd
    if tag["raw"] == b"xmp":
        may_close_p(stack)
