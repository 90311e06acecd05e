"""HTML to a document, through lexbor, which builds the tree that browsers build."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rdfaspider.extract.document.tree import (
    LARGE,
    MANY,
    UNPLACED,
    UNSEEN,
    XHTML,
    Element,
    Spend,
    escaped,
    start_tag,
    without_unread,
)

_HIDDEN: Final = ",".join(sorted(UNSEEN - {"head", "title"}))  # of the body
_NAMESPACE: Final = re.compile(rb"xmlns:[^\s=>/]++")
_PREFIXED: Final = re.compile(
    b"xmlns:"
)  # a literal is found several times as fast as any other pattern
_LINKING: Final = frozenset(("href", "src"))


def namespaces(body: bytes) -> frozenset[str]:
    """Return the attributes named xmlns:… of a page, which is given in lower case."""
    if not _PREFIXED.search(body):
        return frozenset()
    return frozenset(name.decode() for name in _NAMESPACE.findall(body))


class HtmlDocument:
    """A page of HTML; its tree lives as long as the document.

    Most elements of many pages are plain links, and most of those matter to nothing but the list of links.
    Finding the listed ancestor of an element takes longer than all else about it, so plain links stay
    UNPLACED unless something that is listed is inside, or a reader asks.

    ``_places`` has the index of each listed node, inverted while it is unplaced, and of others that of their
    nearest listed ancestor.
    """

    __slots__ = (
        "_is_large",
        "_limit",
        "_names",
        "_places",
        "_tree",
        "elements",
        "embedded",
        "host",
        "is_cut",
        "namespaces",
        "text",
        "title",
    )

    def __init__(
        self,
        body: bytes,
        names: frozenset[str],
        limit: int,
        namespaces: frozenset[str] = frozenset(),
    ) -> None:
        self._tree = LexborHTMLParser(body)
        self.host = "html5"
        self.text: Callable[[Any], str] = LexborNode.text_lexbor
        self.namespaces = namespaces
        self.embedded: list[tuple[str, bytes]] = []
        self._names = names | namespaces
        self._limit = limit
        self._is_large = len(body) > LARGE
        self._list()
        title = self._tree.css_first("title")
        self.title = "" if title is None else title.text()

    def list_also(self, name: str) -> None:
        """List the elements that have another attribute, too; indices change."""
        self._names |= {name}
        self._list()

    def _list(self) -> None:
        names, limit, is_large = self._names, self._limit, self._is_large
        root: Any = self._tree.root
        places: dict[Any, int] = {}  # by `mem_id`; as an int each would be made anew
        elements: list[Element] = []
        self._places, self.elements, self.is_cut = places, elements, False
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
                self.is_cut = True
                break
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

    def place(self, index: int) -> int:
        """Return the index of the nearest listed ancestor of an unplaced element, which has its place now."""
        return self.elements[self._listed(self.elements[index][3])][0]

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
                self.elements[~inverted] = (place, *self.elements[~inverted][1:])
                place = ~inverted
            places[mem_id] = place
        return place

    def has_elements(self, node: Any) -> bool:
        """Tell whether an element has child elements."""
        return any(child.is_element_node for child in node.iter())

    def visible_text(self) -> str:
        """Return the text that a reader sees, with a space between elements; nodes are gone then."""
        body = self._tree.body
        if body is None:
            return ""
        # The innermost first: a node inside another that is gone must not be touched.
        for node in reversed(body.css(_HIDDEN)):
            node.decompose()
        return body.text(separator=" ")

    def html(self, node: Any, spend: Spend) -> str:
        """Return the content of an element as HTML."""
        return node.inner_html or ""

    def xml(self, node: Any, namespaces: Mapping[str, str], spend: Spend) -> str:
        """Return the content of an element as XML that stands on its own."""
        inherited = {"xmlns": XHTML, **{f"xmlns:{key}": iri for key, iri in namespaces.items()}}
        written: list[str] = []
        pending: list[tuple[Any, bool]] = [(child, True) for child in _children(node)]
        while pending:
            child, outermost = pending.pop()
            if isinstance(child, str):
                written.append(child)
            elif child.is_text_node:
                written.append(escaped(child.text()))
                spend(len(written[-1]))
            elif child.is_element_node:
                written.append(_start(child, inherited if outermost else {}))
                spend(len(written[-1]))
                pending.append((f"</{child.tag}>", False))
                pending.extend((inner, False) for inner in _children(child))
        return "".join(written)


def _filled(attributes: dict[str, str | None]) -> dict[str, str]:
    """Return the attributes with an empty string for those that have no value."""
    return {name: value or "" for name, value in attributes.items()}


def _children(node: Any) -> list[Any]:
    """Return the child nodes, the last one first."""
    return list(node.iter(include_text=True))[::-1]


def _start(node: Any, inherited: dict[str, str]) -> str:
    own = {name: value or "" for name, value in node.attributes.items()}
    namespaces = inherited | {name: own.pop(name) for name in list(own) if name.startswith("xmlns")}
    return start_tag(node.tag, [*sorted(namespaces.items()), *sorted(own.items())])
