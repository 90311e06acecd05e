"""HTML to a document, through lexbor, which builds the tree that browsers build."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import methodcaller
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from rdfaspider.extract.document.tree import (
    LARGE,
    MANY,
    UNSEEN,
    XHTML,
    Element,
    Spend,
    escaped,
    start_tag,
    without_unread,
)

_HIDDEN = ",".join(sorted(UNSEEN - {"head", "title"}))  # of the body
_NAMESPACE = re.compile(rb"xmlns:[^\s=>/]++")
_LINKING = frozenset(("href", "src"))
_RELATIONS = frozenset(("rel", "rev"))
_TARGETS = _LINKING | {"resource"}


def namespaces(body: bytes) -> frozenset[str]:
    """Return the attributes named xmlns:… of a page, which is given in lower case."""
    return frozenset(name.decode() for name in _NAMESPACE.findall(body))


class HtmlDocument:
    """A page of HTML; its tree lives as long as the document.

    Who does not follow links can have the plain ones left out, which are most of the list of many pages. One
    is listed all the same if something listed is inside it, or if a relation above it may lead to it.
    """

    __slots__ = ("_tree", "elements", "embedded", "host", "is_cut", "namespaces", "text", "title")

    def __init__(
        self,
        body: bytes,
        names: frozenset[str],
        limit: int,
        namespaces: frozenset[str] = frozenset(),
        *,
        plain_links: bool = True,
    ) -> None:
        self._tree = LexborHTMLParser(body)
        self.host = "html5"
        self.text: Callable[[Any], str] = methodcaller("text")
        self.namespaces = namespaces
        self.embedded: list[tuple[str, bytes]] = []
        self.is_cut = False
        self.elements = self._listed(names | namespaces, limit, len(body) > LARGE, plain_links)
        title = self._tree.css_first("title")
        self.title = "" if title is None else title.text()

    def _listed(
        self, names: frozenset[str], limit: int, is_large: bool, plain_links: bool
    ) -> list[Element]:
        root: Any = self._tree.root
        elements: list[Element] = [(-1, "html", _filled(root.attributes), root)]
        places: dict[int, int] = {root.mem_id: 0}
        left_out: dict[int, dict[str, str | None]] = {}  # plain links: their attributes
        append, place_of = elements.append, places.get
        is_dull, is_plain = names.isdisjoint, (names - _LINKING).isdisjoint
        nodes = root.traverse()
        next(nodes)
        room = limit - 1
        for node in nodes:
            attributes = node.attributes
            if is_dull(attributes):
                continue
            room -= 1
            if room <= 0:
                self.is_cut = True
                break
            if not plain_links:
                if is_plain(attributes):
                    left_out[node.mem_id] = attributes
                    continue
                # From here on a plain link may be the end of this relation.
                plain_links = _is_hanging(attributes)
            above = node.parent
            parent = place_of(above.mem_id)
            if parent is None:
                parent = _place(above, places, left_out, elements)
            places[node.mem_id] = len(elements)
            if None in attributes.values():
                attributes = _filled(attributes)
            if is_large and len(attributes) > MANY:
                attributes = without_unread(attributes)
            append((parent, node.tag, attributes, node))
        return elements

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


def _is_hanging(attributes: Mapping[str, object]) -> bool:
    """Tell whether an element has a relation that leads to what is inside the element."""
    return not _RELATIONS.isdisjoint(attributes) and _TARGETS.isdisjoint(attributes)


def _place(
    node: Any,
    places: dict[int, int],
    left_out: Mapping[int, dict[str, str | None]],
    elements: list[Element],
) -> int:
    """Return the index of a node or its nearest listed ancestor; no way up is walked twice.

    Links that were left out are listed now: nothing that is listed stands between them and the node.
    """
    passed: list[Any] = []
    while (place := places.get(node.mem_id)) is None:
        passed.append(node)
        node = node.parent
    for node in reversed(passed):
        if left_out and (attributes := left_out.get(node.mem_id)) is not None:
            elements.append((place, node.tag, _filled(attributes), node))
            place = len(elements) - 1
        places[node.mem_id] = place
    return place


def _children(node: Any) -> list[Any]:
    """Return the child nodes, the last one first."""
    return list(node.iter(include_text=True))[::-1]


def _start(node: Any, inherited: dict[str, str]) -> str:
    own = {name: value or "" for name, value in node.attributes.items()}
    namespaces = inherited | {name: own.pop(name) for name in list(own) if name.startswith("xmlns")}
    return start_tag(node.tag, [*sorted(namespaces.items()), *sorted(own.items())])
