"""The one view of a parsed page that every reader of it shares.

A document is a flat list of elements in document order. Each is a tuple of the index of the nearest
listed ancestor (-1 for the root), the tag, the attributes and the parser's own node. Only elements
that carry an attribute somebody asked for are listed, and always the root, which comes first. An
UNPLACED element is a plain link: @href or @src is all that it has, and nothing listed is inside but plain
links. A reader to whom it matters where the link stands asks for its place.
Readers walk the list once, front to back, and keep what they know about an element under its index:
nothing recurses, and a page may be nested as deep as it likes.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

XHTML = "http://www.w3.org/1999/xhtml"

Element = tuple[int, str, dict[str, str], Any]
UNPLACED = -2
"""Stands for the index of an ancestor that nobody has looked for."""

Spend = Callable[[int], None]
"""Takes in how many characters were made out of the page; raises Full when they are too many."""

MANY = 32  # attributes; an element with more is listed with those that a reader asks for
_READ = """
    about content data datatype datetime href http-equiv id inlist itemid itemprop
    itemprop-reverse itemref itemscope itemtype lang name prefix property rel resource rev
    role src type typeof value version vocab xml:base xml:lang
"""
READ = frozenset(_READ.split())
"""The attributes that readers ask for, beside those named xmlns:…"""
_UNSEEN = """
    datalist head iframe link meta noembed noframes noscript rp script style template title
"""
UNSEEN = frozenset(_UNSEEN.split())
"""The elements that a browser does not show."""
_INLINE = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp
    small span strike strong sub sup time tt u var wbr
"""
INLINE = frozenset(_INLINE.split())
"""The elements whose text a browser shows in one line with the text around them."""


def without_unread(attributes: dict[str, str]) -> dict[str, str]:
    """Return the attributes that some reader asks for."""
    return {
        name: attributes[name] for name in attributes if name in READ or name.startswith("xmlns:")
    }


class Document(Protocol):
    """A parsed page, whichever parser read it."""

    host: str  # the host language: html5, xhtml1, xhtml5, svg or xml
    title: str
    elements: list[Element]
    attributes: set[str]  # the names of all attributes of the elements but of plain links
    embedded: list[tuple[str, bytes]]  # base and bytes of subtrees in RDF/XML
    is_cut: bool  # whether the tree does not hold the whole page
    text: Callable[[Any], str]  # the text inside a node, without comments
    _names: frozenset[str]

    @property
    def namespaces(self) -> set[str]:
        """The attributes named xmlns:… that occur."""
        return {name for name in self.attributes if name.startswith("xmlns:")}

    def list_also(self, name: str) -> None:
        """List the elements that have another attribute, too; indices change."""
        self._names |= {name}
        self._list()

    def _list(self) -> None:
        """Fill in the elements that have one of the attributes ``_names``, and what follows from them."""

    def place(self, index: int) -> int:
        """Return the index of the nearest listed ancestor of an unplaced element, which has its place now."""
        return self.elements[index][0]

    def has_elements(self, node: Any) -> bool:
        """Return whether an element has child elements."""

    def visible_text(self) -> str:
        """Return the text that a browser shows, with white space where it shows a break.

        After this no other method may be called: nodes may be gone.
        """

    def html(self, node: Any, spend: Spend) -> str:
        """Return the content of an element as HTML."""

    def xml(self, node: Any, namespaces: Mapping[str, str], spend: Spend) -> str:
        """Return the content of an element as XML that stands on its own.

        ``spend`` is told the length of each piece before more are made, and may raise.
        """


# What Canonical XML escapes in attribute values.
_REFERENCES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"}
)


def escaped(text: str) -> str:
    """Return character data with the characters that XML reserves escaped."""
    return html.escape(text, quote=False)


def start_tag(name: str, attributes: Iterable[tuple[str, str]]) -> str:
    """Return a start tag of XML, its attributes in the order given."""
    written = [f' {key}="{value.translate(_REFERENCES)}"' for key, value in attributes]
    return f"<{name}{''.join(written)}>"
