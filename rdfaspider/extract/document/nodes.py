"""The listed elements of lexbor's tree, through selectolax's objects: one for each node, with all attributes.

`lexbor.c` does the same without these objects, and is used where it could be compiled.
"""

from __future__ import annotations

from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rdfaspider.extract.document.tree import LARGE, MANY, UNPLACED, Element, without_unread

_LINKING: Final = frozenset(("href", "src"))


class Nodes:
    """Lists the elements of a tree, and knows their nodes.

    Most elements of many pages are plain links, and most of those matter to nothing but the list of links.
    Finding the listed ancestor of an element takes longer than all else about it, so plain links stay
    UNPLACED unless something that is listed is inside, or a reader asks.

    ``_places`` has the index of each listed node, inverted while it is unplaced, and of others that of their
    nearest listed ancestor.
    """

    __slots__ = ("_elements", "_is_large", "_places", "_root")

    def __init__(self, parser: LexborHTMLParser) -> None:
        self._root: Any = parser.root
        self._is_large = len(parser.raw_html) > LARGE
        self._places: dict[Any, int] = {}
        self._elements: list[Element] = []

    def list(self, names: frozenset[str], limit: int) -> tuple[list[Element], bool]:
        """Return the elements that have one of these attributes, and whether there are more than the limit.

        What was returned before is no longer valid.
        """
        is_large, root = self._is_large, self._root
        places: dict[Any, int] = {}  # by `mem_id`; as an int each would be made anew
        elements: list[Element] = []
        self._places, self._elements = places, elements
        elements.append((-1, "html", _filled(root.attributes), root))
        places[root.mem_id] = 0
        # By number, which takes a third of the time of a name. Names of SVG may lose their capitals, but
        # nobody looks for them.
        tags: dict[Any, str] = {}
        nodes = root.traverse()
        next(nodes)
        count = 0
        for node in nodes:
            attributes: dict[str, Any] = node.attributes
            # One pass by hand: sets and views would go through them four times.
            is_listed = has_empty = False
            is_plain = True  # if it is listed, it links and does nothing else
            for name, value in attributes.items():
                if name in names:
                    is_listed = True
                    if name not in _LINKING:
                        is_plain = False
                if value is None:
                    has_empty = True
            if not is_listed:
                continue
            count += 1
            if count >= limit:
                return elements, True
            if has_empty:
                attributes = _filled(attributes)
            if is_large and len(attributes) > MANY:
                attributes = without_unread(attributes)
            number = node.tag_id
            tag = tags.get(number)
            if tag is None:
                tag = tags[number] = node.tag
            if is_plain:
                places[node.mem_id] = ~count
                elements.append((UNPLACED, tag, attributes, node))
                continue
            above = node.parent
            parent = places.get(above.mem_id, UNPLACED)
            if parent < 0:
                parent = self._listed(above)
            places[node.mem_id] = count
            elements.append((parent, tag, attributes, node))
        return elements, False

    def place(self, index: int) -> int:
        """Return the index of the nearest listed ancestor of an unplaced element, which has its place now."""
        return self._elements[self._listed(self._elements[index][3])][0]

    def _listed(self, node: Any) -> int:
        """Return the index of a node or its nearest listed ancestor; no way up is walked twice.

        Links on the way are placed.
        """
        places = self._places
        passed: list[tuple[int, int | None]] = []
        while (place := places.get(mem_id := node.mem_id)) is None or place < 0:
            passed.append((mem_id, place))
            node = node.parent
        for mem_id, inverted in reversed(passed):
            if inverted is not None:
                self._elements[~inverted] = (place, *self._elements[~inverted][1:])
                place = ~inverted
            places[mem_id] = place
        return place

    def text(self, node: Any) -> str:
        """Return the text inside a node."""
        return LexborNode.text_lexbor(node)

    def has_elements(self, node: Any) -> bool:
        """Tell whether a node has child elements."""
        return any(child.is_element_node for child in node.iter())

    def forget(self) -> None:
        """Drop all nodes: some are about to be removed from the tree."""
        self._places, self._elements = {}, []


def _filled(attributes: dict[str, str | None]) -> dict[str, str]:
    """Return the attributes with an empty string for those that have no value."""
    return {name: value or "" for name, value in attributes.items()}
