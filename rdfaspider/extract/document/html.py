"""HTML to a document, through lexbor, which builds the tree that browsers build."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rdfaspider.extract.document.tree import UNSEEN, XHTML, Element, Spend, escaped, start_tag

try:
    from rdfaspider.extract.document.lexbor import Nodes
except ImportError:  # it was not compiled
    from rdfaspider.extract.document.nodes import Nodes  # type: ignore[assignment]

_HIDDEN: Final = ",".join(sorted(UNSEEN - {"head", "title"}))  # of the body
_NAMESPACE: Final = re.compile(rb"xmlns:[^\s=>/]++")


def namespaces(body: bytes) -> frozenset[str]:
    """Return the attributes named xmlns:… of a page, which is given in lower case."""
    return frozenset(name.decode() for name in _NAMESPACE.findall(body))


class HtmlDocument:
    """A page of HTML; its tree lives as long as the document."""

    __slots__ = (
        "_limit",
        "_names",
        "_nodes",
        "_objects",
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
        self._nodes = Nodes(self._tree)
        self._objects: dict[int, Any] | None = None
        self.host = "html5"
        self.text: Callable[[Any], str] = self._nodes.text
        self.namespaces = namespaces
        self.embedded: list[tuple[str, bytes]] = []
        self._names = names | namespaces
        self._limit = limit
        self.elements: list[Element]
        self.elements, self.is_cut = self._nodes.list(self._names, limit)
        title = self._tree.css_first("title")
        self.title = "" if title is None else title.text()

    def list_also(self, name: str) -> None:
        """List the elements that have another attribute, too; indices change."""
        self._names |= {name}
        self._objects = None
        self.elements, self.is_cut = self._nodes.list(self._names, self._limit)

    def place(self, index: int) -> int:
        """Return the index of the nearest listed ancestor of an unplaced element, which has its place now."""
        return self._nodes.place(index)

    def has_elements(self, node: Any) -> bool:
        """Tell whether an element has child elements."""
        return self._nodes.has_elements(node)

    def visible_text(self) -> str:
        """Return the text that a reader sees, with a space between elements; nodes are gone then."""
        body = self._tree.body
        if body is None:
            return ""
        self._nodes.forget()
        # The innermost first: a node inside another that is gone must not be touched.
        for node in reversed(body.css(_HIDDEN)):
            node.decompose()
        return body.text(separator=" ")

    def html(self, node: Any, spend: Spend) -> str:
        """Return the content of an element as HTML."""
        return self._object(node).inner_html or ""

    def xml(self, node: Any, namespaces: Mapping[str, str], spend: Spend) -> str:
        """Return the content of an element as XML that stands on its own."""
        inherited = {"xmlns": XHTML, **{f"xmlns:{key}": iri for key, iri in namespaces.items()}}
        written: list[str] = []
        pending: list[tuple[Any, bool]] = [(child, True) for child in _children(self._object(node))]
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

    def _object(self, node: Any) -> Any:
        """Return selectolax's object of a node, as which nodes.py knows it anyway."""
        if isinstance(node, LexborNode):
            return node
        if self._objects is None:
            root: Any = self._tree.root
            listed = {self._nodes.address(element[3]) for element in self.elements}
            self._objects = {each.mem_id: each for each in root.traverse() if each.mem_id in listed}
        return self._objects[self._nodes.address(node)]


def _children(node: Any) -> list[Any]:
    """Return the child nodes, the last one first."""
    return list(node.iter(include_text=True))[::-1]


def _start(node: Any, inherited: dict[str, str]) -> str:
    own = {name: value or "" for name, value in node.attributes.items()}
    namespaces = inherited | {name: own.pop(name) for name in list(own) if name.startswith("xmlns")}
    return start_tag(node.tag, [*sorted(namespaces.items()), *sorted(own.items())])
