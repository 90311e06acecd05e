"""The elements of a page that may be open in the tree of a browser.

Layout: a stack of names, each with a mark. Invariant: whatever the tree builder of the HTML standard
has on its stack of open elements, or on its list of active formatting elements, is on this stack as
well; and what is not marked as doubtful is really open. A doubtful formatting element may be active
without being open, and then every tag may make it again.
"""

from __future__ import annotations

from contextlib import suppress

from rdfaspider.extract.guard.elements import FOREIGN, FORMATTING, MARKERS, ODD, ROWS

DOUBTFUL, RICH, BARE = 1, 2, 4  # marks; the latter two of formatting elements, by their attributes

_MOST = 3  # formatting elements with the same name and attributes that can be active
_ALIKE = _MOST * len(FORMATTING)
_DOUBTED = bytes(mark | DOUBTFUL for mark in range(256))

# Steps of the tree builder that take as long as one here: in a loop, and in a search.
LOOPED, SEARCHED = 20, 4


class TooOdd(Exception):
    """The meaning of the tags of a page depends on the tree."""


class ElementStack:
    """The names and marks, and what the tree builder may have done so far.

    steps       elements that it passed on its stack
    made        elements that it made out of formatting elements left open
    markers     where on the stack elements of MARKERS are
    odd         elements of ODD on the stack
    foreign     elements of FOREIGN on the stack
    paragraphs  elements p on the stack
    suspects    formatting elements that any tag may make again
    crowded     names of formatting elements with more open than can be active
    forms       whether </form> means what it says
    """

    def __init__(self) -> None:
        self.names: list[bytes] = []
        self.marks = bytearray()
        self.steps = 0
        self.made = 0
        self.markers: list[int] = []
        self.odd = 0
        self.foreign = 0
        self.paragraphs = 0
        self.suspects = 0
        self.crowded: set[bytes] = set()
        self.forms = True
        self._rich = 0  # doubtful formatting elements with attributes
        self._bare = 0  # and without
        self._active: dict[bytes, int] = {}  # formatting elements by name

    def __len__(self) -> int:
        return len(self.names)

    def push(self, name: bytes, has_attributes: bool) -> None:
        if name in MARKERS:
            self.markers.append(len(self.names))
            if name in ODD:
                self._count_odd(name, 1)
        elif name == b"p":
            self.paragraphs += 1
        elif name in FORMATTING:
            self._push_formatting(name, RICH if has_attributes else BARE)
            return
        elif name == b"form":
            self.forms = self.forms and name not in self.names
        elif name == b"plaintext":
            raise TooOdd
        self.names.append(name)
        self.marks.append(0)

    def _push_formatting(self, name: bytes, mark: int) -> None:
        self.names.append(name)
        self.marks.append(mark)
        active = self._active[name] = self._active.get(name, 0) + 1
        if active > _MOST:
            self.crowded.add(name)

    def pop(self) -> tuple[bytes, int]:
        name, mark = self.names.pop(), self.marks.pop()
        if name in MARKERS:
            self.markers.pop()
            if name in ODD:
                self._count_odd(name, -1)
        elif name == b"p":
            self.paragraphs -= 1
        elif name in FORMATTING:
            self._retire(name, mark)
        return name, mark

    def remove(self, place: int) -> None:
        """Remove a formatting element that has no marker above it."""
        name, mark = self.names.pop(place), self.marks.pop(place)
        if name in FORMATTING:
            self._retire(name, mark)

    def close(self, place: int, keeps: bool) -> None:
        """Close an element and all inside, but keep the formatting elements that stay active."""
        kept = []
        while len(self.names) > place:
            name, mark = self.pop()
            if keeps and mark & (RICH | BARE):
                kept.append((name, mark))
        for name, mark in reversed(kept):
            self._push_formatting(name, mark & ~DOUBTFUL)
        self.doubt(place)

    def doubt(self, place: int) -> None:
        """Mark an element and all inside as doubtful."""
        marks = self.marks[place:]
        self.steps += SEARCHED * len(marks)
        self.marks[place:] = marks.translate(_DOUBTED)
        self._note(marks.count(RICH), marks.count(BARE))

    def doubt_all(self, name: bytes) -> None:
        """Mark all elements of a name, and all inside them, as doubtful."""
        self._doubt_from(0, name)

    def doubt_within(self, name: bytes) -> None:
        """Mark the elements of a name that are not behind a marker, and all inside them, as doubtful."""
        floor = 0
        for place in reversed(self.markers):
            self.steps += LOOPED
            if not self.marks[place] & DOUBTFUL:
                floor = place
                break
        self._doubt_from(floor, name)

    def _doubt_from(self, floor: int, name: bytes) -> None:
        self.steps += SEARCHED * (len(self.names) - floor)
        with suppress(ValueError):
            self.doubt(self.names.index(name, floor))

    def is_sure(self, place: int) -> bool:
        """Tell whether an element is open and its tags, and those inside, mean what they say."""
        return not self.odd and not self.marks[place] & DOUBTFUL

    def is_in_table(self, place: int) -> bool:
        """Tell whether a part of a table is where it belongs."""
        while place and self.names[place - 1] in ROWS:
            self.steps += LOOPED
            place -= 1
        if not place or self.names[place - 1] != b"table":
            return False
        return not self.marks[place - 1] & DOUBTFUL

    def _retire(self, name: bytes, mark: int) -> None:
        self._note(-(mark == DOUBTFUL | RICH), -(mark == DOUBTFUL | BARE))
        self._active[name] -= 1
        if not self._active[name]:
            self.crowded.discard(name)

    def _count_odd(self, name: bytes, change: int) -> None:
        self.odd += change
        if name in FOREIGN:
            self.foreign += change

    def _note(self, rich: int, bare: int) -> None:
        """Count doubtful formatting elements that come or go."""
        self._rich += rich
        self._bare += bare
        self.suspects = self._rich + min(self._bare, _ALIKE)
