"""Which properties belong to which item of Microdata.

An element with a property belongs to its *owner*, the nearest item above it, and to every item
that names it, or an element above it, in @itemref.

Layout: for each owner (``NOBODY`` above all items) the ascending indices of the elements that it
owns. Invariant: an element that is not an item has the owner of all that its subtree adds to an
item that refers to it, so that these properties are one slice of that owner's list. A reference
thus costs two bisections, however large the subtree is, and what several references have in common
is found by comparing the ends of slices.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import starmap

from rdfaspider.extract.document.tree import Document
from rdfaspider.extract.triples.literals import language_suffix

NOBODY = -1
_REFERENCES = 10_000  # of one item that are looked at


class Scopes:
    """Finds the items of a document and, for each, its properties; languages come along."""

    def __init__(self, document: Document) -> None:
        self._elements = document.elements
        self._scopes: list[int] = []  # by element: the owner of what is inside
        self._owned: defaultdict[int, list[int]] = defaultdict(list)
        self._places: dict[str, int] = {}  # id -> the first element that has it
        self._ends: list[int] = []  # by element: the last one inside
        self.languages: list[str] = []  # by element, as suffixes
        self.top: list[int] = []  # the items that are nobody's property
        if self._walk():
            self._prepare_references()

    def _walk(self) -> bool:
        """Fill in owners and languages; tell whether any item refers to other elements."""
        refers = False
        for index, (parent, _, attributes, _) in enumerate(self._elements):
            owner, language = NOBODY, ""
            if parent >= 0:
                owner, language = self._scopes[parent], self.languages[parent]
            if "lang" in attributes or "xml:lang" in attributes:
                tag = attributes.get("xml:lang", attributes.get("lang", ""))
                language = language_suffix(tag.strip())
            is_item = "itemscope" in attributes
            if "itemprop" in attributes or "itemprop-reverse" in attributes:
                self._owned[owner].append(index)
            elif is_item:
                self.top.append(index)
            refers = refers or (is_item and "itemref" in attributes)
            self._scopes.append(index if is_item else owner)
            self.languages.append(language)
        return refers

    def _prepare_references(self) -> None:
        self._ends = list(range(len(self._elements)))
        for index in reversed(range(len(self._elements))):
            parent, _, attributes, _ = self._elements[index]
            if parent >= 0:
                self._ends[parent] = max(self._ends[parent], self._ends[index])
            if "id" in attributes:
                self._places[attributes["id"]] = index

    def properties(self, item: int) -> list[int]:
        """Return the elements with properties of an item, each once."""
        owned = self._owned.get(item, [])
        references = self._elements[item][2].get("itemref")
        if not references:
            return owned
        slices: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        slices[item].append((0, len(owned)))
        for name in references.split(maxsplit=_REFERENCES)[:_REFERENCES]:
            if name in self._places:
                owner, start, end = self._slice(self._places[name])
                slices[owner].append((start, end))
        found = starmap(self._joined, slices.items())
        return [index for part in found for index in part if index != item]

    def _slice(self, index: int) -> tuple[int, int, int]:
        """Return an owner and which part of its list lies in the element or is the element."""
        parent, _, attributes, _ = self._elements[index]
        owner = self._scopes[parent] if parent >= 0 else NOBODY
        last = index if "itemscope" in attributes else self._ends[index]
        owned = self._owned.get(owner, [])
        return owner, bisect_left(owned, index), bisect_right(owned, last)

    def _joined(self, owner: int, slices: list[tuple[int, int]]) -> list[int]:
        owned = self._owned.get(owner, [])
        found: list[int] = []
        done = 0
        for start, end in sorted(slices):
            found += owned[max(start, done) : end]
            done = max(done, end)
        return found
