"""HTML to a document, through turbohtml, which builds the tree that browsers build."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import Any

import turbohtml
from turbohtml import query

from rdfaspider.extract.document.tree import (
    INLINE,
    MANY,
    UNPLACED,
    UNSEEN,
    XHTML,
    Document,
    Spend,
    escaped,
    start_tag,
    without_unread,
)
from rdfaspider.heap import limited

_HIDDEN = ",".join(("[hidden]", *sorted(UNSEEN)))
_FLOWING = ",".join(sorted(INLINE))
_NAMESPACE = re.compile(rb"xmlns:[^\s=>/]{1,64}+")
_NAMESPACES = 64  # different names of such attributes in a page; each is looked for on each element
_SPECIAL = re.compile(r"([^\w-])")
_LINKING = frozenset(("href", "src"))
_DEPTH = 128  # listed elements inside each other, the text of each of which may be asked for
_MEMORY = 160 << 20  # bytes that a tree may take; the largest of other pages take 120 MB
_SMALL = 10_000  # bytes of a page whose tree takes less in any case


class HtmlDocument(Document):
    """A page of HTML; its tree lives as long as the document.

    Most elements of many pages are plain links, which matter only to the list of links. Finding the
    listed ancestor of an element takes longer than all else about it, so plain links stay UNPLACED
    unless something that is listed is inside, or a reader asks.

    ``_places`` has the index of each listed node, inverted while it is unplaced, and of others that of
    their nearest listed ancestor.
    """

    def __init__(self, body: bytes, names: frozenset[str], limit: int) -> None:
        """Parse a page in UTF-8; raise MemoryError if its tree is too large."""
        self._tree = parsed(body.decode())
        for template in self._tree.select("template"):
            if _is_html(template):  # what is inside is not on the page
                template.clear()
        self.host = "html5"
        self.text = attrgetter("text")
        self.embedded = []
        declared = dict.fromkeys(_NAMESPACE.findall(body.lower()))
        namespaces = (name.decode("utf-8", "replace") for name in islice(declared, _NAMESPACES))
        self._names = names.union(namespaces)
        self._limit = limit
        self._list()
        self.is_cut |= len(declared) > _NAMESPACES
        titles = (each.text for each in self._tree.select("title") if _is_html(each))
        self.title = next(titles, "")

    def _list(self) -> None:
        root: Any = self._tree.root
        # At the deepest level some elements stand beside the root.
        self._places: dict[Any, int] = {root: 0, self._tree: 0}
        self.elements = [(-1, "html", _strings(root), root)]
        places, elements = self._places, self.elements
        nodes: list[Any] = _matcher(self._names).select(self._tree, self._limit + 1)
        if nodes and nodes[0] is root:
            del nodes[0]
        self.is_cut = len(nodes) >= self._limit
        depths = [0]
        self.attributes = set(elements[0][2])
        note = self.attributes.update
        others = self._names - _LINKING
        for node in nodes[: self._limit - 1]:
            attributes: dict[str, Any] = node.attrs.copy()
            # Attributes of words come as lists. Of the others, such as class, nobody reads the value.
            if len(attributes) > MANY:
                attributes = without_unread(attributes)
            if others.isdisjoint(attributes):
                places[node] = ~len(elements)
                elements.append((UNPLACED, node.tag, attributes, node))
                depths.append(0)
                continue
            if "rel" in attributes:
                attributes["rel"] = node.attr("rel")
            if "rev" in attributes:
                attributes["rev"] = node.attr("rev")
            above = node.parent
            parent = places.get(above, UNPLACED)
            if parent < 0:
                parent = self._listed(above)
            depth = depths[parent] + 1
            if depth > _DEPTH:
                self.is_cut = True
                continue
            places[node] = len(elements)
            elements.append((parent, node.tag, attributes, node))
            depths.append(depth)
            note(attributes)

    def place(self, index: int) -> int:
        return self.elements[self._listed(self.elements[index][3])][0]

    def _listed(self, node: Any) -> int:
        """Return the index of a node or its nearest listed ancestor; no way up is walked twice.

        Links on the way are placed.
        """
        places = self._places
        passed: list[tuple[Any, int | None]] = []
        while (place := places.get(node)) is None or place < 0:
            passed.append((node, place))
            node = node.parent
        for below, inverted in passed[::-1]:
            if inverted is not None:
                self.elements[~inverted] = (place, *self.elements[~inverted][1:])
                place = ~inverted
            places[below] = place
        return place

    def has_elements(self, node: Any) -> bool:
        return any(isinstance(child, turbohtml.Element) for child in node.children)

    def visible_text(self) -> str:
        body = self._tree.select_one("body")
        if body is None:
            return ""
        body.remove(_HIDDEN).strip_tags(_FLOWING)
        comments: Any = body.xpath(".//comment()")
        for comment in comments:
            comment.extract()
        body.normalize()
        return " ".join(body.strings)

    def html(self, node: Any, spend: Spend) -> str:
        content: str = node.inner_html
        return content

    def xml(self, node: Any, namespaces: Mapping[str, str], spend: Spend) -> str:
        inherited = {"xmlns": XHTML, **{f"xmlns:{key}": iri for key, iri in namespaces.items()}}
        written: list[str] = []
        pending: list[tuple[Any, bool]] = [(child, True) for child in _children(node)]
        while pending:
            child, outermost = pending.pop()
            if isinstance(child, str):
                written.append(child)
            elif isinstance(child, turbohtml.Text):
                written.append(escaped(child.data))
                spend(len(written[-1]))
            elif isinstance(child, turbohtml.Element):
                written.append(_start(child, inherited if outermost else {}))
                spend(len(written[-1]))
                pending.append((f"</{child.tag}>", False))
                pending.extend((inner, False) for inner in _children(child))
        return "".join(written)


def parsed(page: str | bytes, encoding: str | None = None) -> turbohtml.Document:
    """Return the tree of a page; raise MemoryError if it is too large, LookupError for an unknown encoding.

    Each paragraph opens again what formatting is left open. So 200 kB can make a tree of gigabytes, and no
    quick look at the tags can tell. A limit around this call ends that in a process without other threads,
    as those of a crawl and of `scrapy extract` are. Others need a limit of their own.
    """
    with limited(_MEMORY) if len(page) > _SMALL else nullcontext():
        return turbohtml.parse(
            page, encoding=encoding, positions=False, allow_declarative_shadow_roots=False
        )


@lru_cache(64)
def _matcher(names: frozenset[str]) -> query.Matcher:
    """Return what selects the elements that have one of these attributes."""
    written = [_SPECIAL.sub(r"\\\1", name) for name in sorted(names)]
    return query.compile(",".join(f"[{name}]" for name in written) or ":not(*)")


def _is_html(node: Any) -> bool:
    """Return whether an element is of HTML, and not of SVG or MathML."""
    return node.namespace is turbohtml.Namespace.HTML


def _children(node: Any) -> list[Any]:
    """Return the child nodes, the last one first."""
    return list(node.children)[::-1]


def _strings(node: Any) -> dict[str, str]:
    """Return all attributes of an element as they are written."""
    return {name: node.attr(name) or "" for name in node.attrs}


def _start(node: Any, inherited: dict[str, str]) -> str:
    own = _strings(node)
    namespaces = inherited | {name: own.pop(name) for name in list(own) if name.startswith("xmlns")}
    return start_tag(node.tag, [*sorted(namespaces.items()), *sorted(own.items())])
