"""How deep a page may nest in the tree of a browser: a bound from above, without the tree.

A start tag is pushed on a stack, unless the standard closes the element at once. A tag pops only what
the standard surely closes. What it may close besides stays and becomes doubtful: no conclusion is
drawn from that any more (``ElementStack`` has the invariant).

Well nested pages are followed exactly, with end tags left out where the standard allows it. Each
mistake of other pages costs the stack an element or two for good.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from contextlib import suppress

from rdfaspider.extract.elements import (
    ADOPTED,
    BLOCKS,
    BREAKOUT,
    CELLS,
    CLEARING,
    FOREIGN,
    FORMATTING,
    HEADINGS,
    IMPLIED,
    INTEGRATION,
    MARKERS,
    PARTS,
    ROWS,
    SPECIAL,
    VOID,
)
from rdfaspider.extract.elementstack import BARE, DOUBTFUL, RICH, ElementStack, TooOdd
from rdfaspider.extract.tags import TAGS

_REACH = 8  # elements that an end tag may close at once and still be understood
_CLONES = 32  # elements that the end tag of a formatting element makes at most
_SLASH = 47
_NAME = TAGS.groupindex["name"]
_TABLE = MARKERS - PARTS
_ITEM = SPECIAL - {b"address", b"dialog", b"div", b"p"}
# Elements that may mean nothing, and elements of SVG and MathML that mean nothing special in HTML.
_DEPENDENT = PARTS.union({b"form"}, *INTEGRATION.values(), {b"annotation-xml"})
_INSIDE_P = MARKERS | {b"button", b"ol", b"ul"}


class OpenElements(ElementStack):
    """The elements that may be open while the tags of a page are read."""

    def __init__(self) -> None:
        super().__init__()
        self._noted: Container[bytes] = _STARTS  # names whose start tag asks for more than a push

    def read(self, tags: Iterable[re.Match[bytes]]) -> None:
        """Take in matches of TAGS; raise TooOdd if nobody can tell what they mean."""
        names, marks, steps = self._names, self._marks, 0
        for tag in tags:
            name = tag[_NAME]
            if name is None:
                self._read_text(tag)
            elif name[0] == _SLASH:
                name = name[1:]
                if names and names[-1] == name and name not in _NOTED:
                    del names[-1], marks[-1]
                else:
                    self._end(name)
            elif name in self._noted:
                self._start(name, tag)
            else:
                names.append(name)
                marks.append(0)
            steps += len(names)
            if self._suspects:
                self.made += self._suspects
        self.steps += steps

    def _push(self, name: bytes, has_attributes: bool) -> None:
        super()._push(name, has_attributes)
        if name in _SCOPING:
            self._choose()

    def _pop(self) -> tuple[bytes, int]:
        name, mark = super()._pop()
        if name in _SCOPING:
            self._choose()
        return name, mark

    def _choose(self) -> None:
        """Choose the start tags that ask for more than a push."""
        if self._foreign:
            self._noted = _ALL
        else:
            self._noted = _STARTS_IN_P if self._paragraphs else _STARTS

    def _read_text(self, tag: re.Match[bytes]) -> None:
        """Pass over text that holds no tags in HTML, unless it may stand elsewhere."""
        if self._odd:
            text = tag["text"] or tag["code"]
            if text and b"<" in text:
                raise TooOdd
            if tag["cdata"] and not tag["cdata"].endswith(b"]]"):
                raise TooOdd
        if tag["raw"] == b"xmp":
            self._may_close_p()

    def _start(self, name: bytes, tag: re.Match[bytes]) -> None:
        if self._foreign:
            place = self._markers[-1]
            if self._names[place] in FOREIGN or self._marks[place] & DOUBTFUL:
                self._start_inside(name, tag, place)
                return
        effect = _EFFECTS.get(name)
        if effect is not None:
            effect(self, name)
        if name in VOID:
            return
        if name in FOREIGN and not self._odd and tag["end"].endswith(b"/"):
            return
        self._push(name, _has_attributes(tag))
        last = len(self._names) - 1
        if name in _DEPENDENT and not (name in PARTS and self._is_in_table(last)):
            self._doubt(last)

    def _start_inside(self, name: bytes, tag: re.Match[bytes], place: int) -> None:
        """Take in a start tag inside SVG or MathML, or what may be inside."""
        if self._marks[place] & DOUBTFUL:
            self._doubt(0)
        elif name in BREAKOUT:
            self._doubt(place)
            if name in _EFFECTS:
                _EFFECTS[name](self, name)
        elif tag["end"].endswith(b"/") and self._odd == self._foreign:
            return
        is_html = name in INTEGRATION.get(self._names[place], ()) and not self._marks[place]
        self._push(name, _has_attributes(tag))
        if name in MARKERS and name not in FOREIGN and not is_html:
            self._doubt(len(self._names) - 1)

    def _end(self, name: bytes) -> None:
        names = self._names
        if not names:
            return
        if names[-1] == name or (name in HEADINGS and names[-1] in HEADINGS):
            if name != b"form" or self._forms:
                self._pop()
        elif name not in VOID:
            self._end_inside(name)
        if self._foreign and name in (b"br", b"p"):
            self._doubt(0)

    def _end_inside(self, name: bytes) -> None:
        """Take in the end tag of an element that is not the last one open."""
        place = -1 if name == b"form" else self._found(name)
        if place >= 0 and name in ADOPTED and name not in self._crowded:
            self._remove(place)
            self._doubt(place)
        elif place >= 0 and name not in ADOPTED and self._is_sure(place):
            self._close(place, keeps=name not in CLEARING)
        else:
            self._ignore(name)

    def _found(self, name: bytes) -> int:
        """Return where the element is that an end tag must close, or -1 if that is not sure."""
        names = self._names
        if name in PARTS or name == b"table":
            barriers = _TABLE
        elif name in BLOCKS or name in ADOPTED:
            barriers = _INSIDE_P if name in (b"p", b"li") else MARKERS
        else:
            barriers = SPECIAL
        for place in range(len(names) - 1, max(len(names) - 1 - _REACH, -1), -1):
            if names[place] == name:
                return place if name not in PARTS or self._is_in_table(place) else -1
            if names[place] in barriers:
                break
        return -1

    def _is_in_table(self, place: int) -> bool:
        while place and self._names[place - 1] in ROWS:
            place -= 1
        if not place or self._names[place - 1] != b"table":
            return False
        return not self._marks[place - 1] & DOUBTFUL

    def _is_sure(self, place: int) -> bool:
        """Tell whether an element is open and its tags, and those inside, mean what they say."""
        return not self._odd and not self._marks[place] & DOUBTFUL

    def _close(self, place: int, keeps: bool) -> None:
        """Close an element and all inside, but keep the formatting elements that stay active."""
        kept = []
        while len(self._names) > place:
            name, mark = self._pop()
            if keeps and mark & (RICH | BARE):
                kept.append((name, mark))
        for name, mark in reversed(kept):
            self._format(name, mark & ~DOUBTFUL)
        self._doubt(place)

    def _ignore(self, name: bytes) -> None:
        """Leave the stack as it is, though the end tag may have closed something."""
        self.steps += len(self._names)
        if name in HEADINGS or name in PARTS:
            self._doubt(0)
        elif name in self._names:
            self._doubt(self._names.index(name))
        if name == b"form":
            self._forms = False
        elif name in FORMATTING:
            self.made += _CLONES

    # What start tags do to the elements that are open.

    def _close_p(self, name: bytes = b"") -> None:
        if self._paragraphs:
            if self._names[-1] == b"p":
                self._pop()
            self._may_close_p(name)

    def _may_close_p(self, name: bytes = b"") -> None:
        if self._paragraphs:
            self._doubt_first(b"p")

    def _start_item(self, name: bytes) -> None:
        """A start tag of li, dd or dt closes the one before."""
        self._close_p()
        alike = (b"li",) if name == b"li" else (b"dd", b"dt")
        names, marks = self._names, self._marks
        if names and names[-1] in alike:
            self._pop()
            return
        for place in range(len(names) - 1, -1, -1):
            self.steps += 1
            if names[place] in alike:
                self._doubt(place)
            elif names[place] in _ITEM and not marks[place] & DOUBTFUL:
                break

    def _start_heading(self, name: bytes) -> None:
        self._close_p()
        if self._names and self._names[-1] in HEADINGS:
            self._doubt(len(self._names) - 1)

    def _start_alone(self, name: bytes) -> None:
        """A start tag of an element that cannot stand in another such closes that one."""
        names = self._names
        if name in names:
            if names[-1] == name == b"a":
                names.pop()
                self._marks.pop()
            self._doubt_first(name)

    def _start_option(self, name: bytes) -> None:
        if self._names and self._names[-1] == b"option":
            self._pop()

    def _start_ruby(self, name: bytes) -> None:
        place = len(self._names)
        while place and self._names[place - 1] in IMPLIED:
            place -= 1
        self._doubt(place)

    def _start_table(self, name: bytes) -> None:
        """A table in a table, but not in a cell of it, closes that."""
        self._may_close_p()
        if self._markers:
            place = self._markers[-1]
            if self._names[place] == b"table" or self._marks[place] & DOUBTFUL:
                self._doubt_all(b"table")

    def _start_part(self, name: bytes) -> None:
        """A cell, a row or a part of a table closes all that is open in the table."""
        names = self._names
        if self._markers:
            place = self._markers[-1]
            if names[place] in CELLS and self._is_sure(place) and self._is_in_table(place):
                self._close(place, keeps=False)
        if names and names[-1] in CELLS:
            self._pop()
        if names and names[-1] == b"tr" and name not in CELLS:
            self._pop()
        if names and names[-1] in ROWS and names[-1] != b"tr" and name in ROWS and name != b"tr":
            self._pop()
        if not names or (names[-1] != b"table" and names[-1] not in ROWS):
            self._doubt_all(b"table")

    def _start_frameset(self, name: bytes) -> None:
        self._doubt(0)

    def _doubt_first(self, name: bytes) -> None:
        """Doubt the elements of a name that are not behind a marker, and all inside of them."""
        floor = 0
        for place in reversed(self._markers):
            self.steps += 1
            if not self._marks[place] & DOUBTFUL:
                floor = place
                break
        self.steps += len(self._names) - floor
        with suppress(ValueError):
            self._doubt(self._names.index(name, floor))

    def _doubt_all(self, name: bytes) -> None:
        self.steps += len(self._names)
        if name in self._names:
            self._doubt(self._names.index(name))


def _has_attributes(tag: re.Match[bytes]) -> bool:
    return tag.end("attributes") > tag.end("name")


_Effect = Callable[[OpenElements, bytes], None]
_PARAGRAPH_EFFECTS: dict[bytes, _Effect] = {
    **dict.fromkeys(BLOCKS | {b"hr"}, OpenElements._close_p),
    **dict.fromkeys((b"dialog", b"form", b"hgroup", b"search"), OpenElements._may_close_p),
}
_OTHER_EFFECTS: dict[bytes, _Effect] = {
    **dict.fromkeys((b"li", b"dd", b"dt"), OpenElements._start_item),
    **dict.fromkeys(HEADINGS, OpenElements._start_heading),
    **dict.fromkeys((b"a", b"nobr", b"button"), OpenElements._start_alone),
    **dict.fromkeys((b"option", b"optgroup"), OpenElements._start_option),
    **dict.fromkeys((b"rb", b"rp", b"rt", b"rtc"), OpenElements._start_ruby),
    **dict.fromkeys(PARTS | {b"col"}, OpenElements._start_part),
    b"table": OpenElements._start_table,
    b"frameset": OpenElements._start_frameset,
}
_EFFECTS = _PARAGRAPH_EFFECTS | _OTHER_EFFECTS


class _All(Container[bytes]):
    def __contains__(self, name: object) -> bool:
        return True


_ALL = _All()
_SCOPING = FOREIGN | {b"p"}
# Names whose start tags, and whose end tags, ask for more than a push and a pop.
_NOTED = MARKERS | FORMATTING | {b"p", b"form"}
_STARTS = _NOTED.union(_OTHER_EFFECTS, VOID, {b"plaintext"})
_STARTS_IN_P = _STARTS.union(_EFFECTS)
