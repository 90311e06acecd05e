"""The elements of a page that may be open in the tree of a browser.

Layout: a stack of names, each with a mark. Invariant: whatever the tree builder of the HTML standard
has on its stack of open elements, or on its list of active formatting elements, is on this stack as
well; and what is not marked as doubtful is really open. A doubtful formatting element may be active
without being open, and then every tag may make it again.
"""

from __future__ import annotations

from rdfaspider.extract.elements import FOREIGN, FORMATTING, MARKERS, ODD

DOUBTFUL, RICH, BARE = 1, 2, 4  # marks; the latter two of formatting elements, by their attributes

_MOST = 3  # formatting elements with the same name and attributes that can be active
_ALIKE = _MOST * len(FORMATTING)
_MARKING = 20  # steps of the tree builder that marking an element costs


class TooOdd(Exception):
    """Says that what the tags of a page mean depends on the tree."""


class ElementStack:
    """The names and marks, and what the tree builder may have done so far.

    steps  elements that it passed on its stack
    made   elements that it made out of formatting elements left open
    """

    def __init__(self) -> None:
        self.steps = 0
        self.made = 0
        self._names: list[bytes] = []
        self._marks = bytearray()
        self._markers: list[int] = []  # where on the stack elements of MARKERS are
        self._odd = 0  # elements of ODD on the stack
        self._foreign = 0  # elements of FOREIGN on the stack
        self._paragraphs = 0  # elements p on the stack
        self._rich = 0  # doubtful formatting elements with attributes
        self._bare = 0  # and without
        self._suspects = 0  # those that any tag may make again
        self._forms = True  # whether </form> means what it says
        self._active: dict[bytes, int] = {}  # formatting elements by name
        self._crowded: set[bytes] = set()  # names of which there were more than can be active

    def __len__(self) -> int:
        return len(self._names)

    def _push(self, name: bytes, has_attributes: bool) -> None:
        if name in MARKERS:
            self._markers.append(len(self._names))
            if name in ODD:
                self._count_odd(name, 1)
        elif name == b"p":
            self._paragraphs += 1
        elif name in FORMATTING:
            self._format(name, RICH if has_attributes else BARE)
            return
        elif name == b"form":
            self._forms = self._forms and name not in self._names
        elif name == b"plaintext":
            raise TooOdd
        self._names.append(name)
        self._marks.append(0)

    def _format(self, name: bytes, mark: int) -> None:
        self._names.append(name)
        self._marks.append(mark)
        active = self._active[name] = self._active.get(name, 0) + 1
        if active > _MOST:
            self._crowded.add(name)

    def _pop(self) -> tuple[bytes, int]:
        name, mark = self._names.pop(), self._marks.pop()
        if name in MARKERS:
            self._markers.pop()
            if name in ODD:
                self._count_odd(name, -1)
        elif name == b"p":
            self._paragraphs -= 1
        elif name in FORMATTING:
            self._retire(name, mark)
        return name, mark

    def _remove(self, place: int) -> None:
        """Remove a formatting element that has no marker above it."""
        name, mark = self._names.pop(place), self._marks.pop(place)
        if name in FORMATTING:
            self._retire(name, mark)

    def _retire(self, name: bytes, mark: int) -> None:
        self._note(mark, -1)
        self._active[name] -= 1
        if not self._active[name]:
            self._crowded.discard(name)

    def _doubt(self, place: int) -> None:
        """Mark an element and all inside as doubtful."""
        marks = self._marks
        self.steps += _MARKING * (len(marks) - place)
        for above in range(place, len(marks)):
            if not marks[above] & DOUBTFUL:
                marks[above] |= DOUBTFUL
                self._note(marks[above], 1)

    def _count_odd(self, name: bytes, change: int) -> None:
        self._odd += change
        if name in FOREIGN:
            self._foreign += change

    def _note(self, mark: int, change: int) -> None:
        if mark == DOUBTFUL | RICH:
            self._rich += change
        elif mark == DOUBTFUL | BARE:
            self._bare += change
        self._suspects = self._rich + min(self._bare, _ALIKE)
