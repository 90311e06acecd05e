"""XML (XHTML, SVG and other vocabularies) to a document, through libxml2.

No DTD is loaded, no entity is expanded but the named characters of XHTML, nothing is fetched.
"""

from __future__ import annotations

import html.entities
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from lxml import etree

from rdfaspider.extract.document.limits import Limits
from rdfaspider.extract.document.tree import (
    INLINE,
    MANY,
    UNSEEN,
    XHTML,
    Document,
    Spend,
    escaped,
    start_tag,
    without_unread,
)

_XML = "{http://www.w3.org/XML/1998/namespace}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}RDF"
_SVG = "{http://www.w3.org/2000/svg}svg"
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_PREDEFINED = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
_EMBEDDED = 10_000_000  # bytes of all subtrees in RDF/XML, with what they inherit
_EVENTS = ("start", "end", "start-ns")
_text = etree.XPath("string()")


class XmlDocument(Document):
    """A page in libxml2's tree."""

    def __init__(
        self,
        root: Any,
        media_type: str,
        names: frozenset[str],
        limits: Limits,
        cuts: Counter[str],
    ) -> None:
        self._root = root
        if excess := cut_attributes(root, limits.attributes):
            cuts["attributes"] += excess
        self.host = _host(self._root, media_type)
        self.text = _text
        self._names = names
        self._limit = limits.elements
        self._list()
        title = next(self._root.iter("title", f"{{{XHTML}}}title"), None)
        self.title = "" if title is None else _text(title)

    def _list(self) -> None:
        self._room = _EMBEDDED
        self.embedded = []
        elements = self.elements = []
        above = [-1]
        declared: dict[str, str] = {}
        walk = etree.iterwalk(self._root, events=_EVENTS)
        for event, node in walk:
            if event == "end":
                above.pop()
            elif event == "start-ns":
                if node[0]:
                    declared[f"xmlns:{node[0]}"] = node[1]
            elif node.tag == _RDF:
                self._embed(node)
                walk.skip_subtree()
                above.append(-1)
                if not elements:  # the root is always listed
                    elements.append((-1, "RDF", {}, node))
            else:
                attributes = declared | _attributes(node)
                if len(attributes) > MANY:
                    attributes = without_unread(attributes)
                if not elements or declared or _matters(attributes, self._names):
                    elements.append((above[-1], _local(node.tag), attributes, node))
                    above.append(len(elements) - 1)
                else:
                    above.append(above[-1])
                declared = {}
                if len(elements) >= self._limit:
                    break
        self.attributes = set().union(*(attributes for _, _, attributes, _ in elements))
        self.is_cut = len(elements) >= self._limit or self._room <= 0

    def _embed(self, node: Any) -> None:
        """Note a subtree in RDF/XML; all declarations around it are written with each."""
        if self._room > 0:
            base, subtree = node.base or "", etree.tostring(node, with_tail=False)
            self._room -= len(base) + len(subtree)
            self.embedded.append((base, subtree))

    def has_elements(self, node: Any) -> bool:
        return next(node.iterchildren("*"), None) is not None

    def visible_text(self) -> str:
        written: list[str] = []
        walk = etree.iterwalk(self._root, events=("start", "end"))
        for event, node in walk:
            tag = _local(node.tag)
            is_unseen = tag in UNSEEN or "hidden" in node.attrib
            if not is_unseen and tag not in INLINE:
                written.append(" ")
            if event == "end":
                written.append(node.tail or "")
            elif is_unseen:
                walk.skip_subtree()
            else:
                written.append(node.text or "")
        return "".join(written)

    def html(self, node: Any, spend: Spend) -> str:
        return self.xml(node, {}, spend)

    def xml(self, node: Any, namespaces: Mapping[str, str], spend: Spend) -> str:
        inherited = {f"xmlns:{prefix}": iri for prefix, iri in namespaces.items()}
        for prefix, iri in node.nsmap.items():
            inherited[f"xmlns:{prefix}" if prefix else "xmlns"] = iri
        written = [escaped(node.text or "")]
        for child in node:
            _write(child, inherited, written, spend)
            written.append(escaped(child.tail or ""))
        return "".join(written)


def parsed_xml(body: bytes) -> Any:
    """Return the root of a document in UTF-8; raise ValueError if it is not well-formed."""
    parser = xml_parser(encoding="utf-8", resolve_entities=False)
    try:
        return read_tree(_ENTITY.sub(_character, body), parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(str(error)) from error


def xml_parser(**options: Any) -> Any:
    """Return a parser that fetches nothing, and keeps neither comments nor processing instructions."""
    return etree.XMLParser(
        no_network=True, load_dtd=False, remove_comments=True, remove_pis=True, **options
    )


def read_tree(body: bytes, parser: Any) -> Any:
    """Return what a parser of lxml returns or raises, but MemoryError where it is out of memory."""
    try:
        return etree.fromstring(body, parser)
    finally:
        if any(entry.type == etree.ErrorTypes.ERR_NO_MEMORY for entry in parser.error_log):
            raise MemoryError


def xpath(root: Any, path: str) -> Any:
    """Return what an XPath expression finds in a tree; raise MemoryError."""
    try:
        return root.xpath(path)
    except etree.XPathError:  # the expression is sound
        raise MemoryError from None


def cut_attributes(root: Any, limit: int) -> int:
    """Delete attributes beyond the limit; return how many elements lost some.

    lxml looks for each attribute from the first one on.
    """
    elements = xpath(root, f"//*[count(@*) > {limit}]")
    for element in elements:
        for name in element.keys()[limit:]:
            del element.attrib[name]
    return len(elements)


def _host(root: Any, media_type: str) -> str:
    if root.tag == _SVG or media_type == "image/svg+xml":
        return "svg"
    if root.tag != f"{{{XHTML}}}html" and media_type != "application/xhtml+xml":
        return "xml"
    public = root.getroottree().docinfo.public_id or ""
    return "xhtml1" if "XHTML" in public or "XHTML" in root.get("version", "") else "xhtml5"


def _character(match: re.Match[bytes]) -> bytes:
    """Return a named character of HTML as numeric references; other entities stay as they are."""
    text = html.entities.html5.get(f"{match[1].decode()};")
    if text is None or match[1] in _PREDEFINED:
        return match[0]
    return "".join(f"&#{ord(character)};" for character in text).encode()


def _attributes(node: Any) -> dict[str, str]:
    return {
        name.replace(_XML, "xml:") if name[0] == "{" else name: value
        for name, value in node.items()
    }


def _matters(attributes: dict[str, str], names: frozenset[str]) -> bool:
    return not names.isdisjoint(attributes) or any(name[:6] == "xmlns:" for name in attributes)


def _local(tag: str) -> str:
    return tag.removeprefix(f"{{{XHTML}}}")


def _write(top: Any, inherited: dict[str, str], written: list[str], spend: Spend) -> None:
    """Write an element in document order, without recursion and without its tail."""
    declared = inherited
    for event, node in etree.iterwalk(top, events=_EVENTS):
        if event == "start-ns":
            declared = declared | {f"xmlns:{node[0]}" if node[0] else "xmlns": node[1]}
        elif event == "start":
            attributes = [*sorted(_declared(declared)), *_written(node, spend)]
            written.append(start_tag(_qualified(node), attributes))
            spend(len(written[-1]))
            written.append(escaped(node.text or ""))
            declared = {}
        else:
            written.append(f"</{_qualified(node)}>")
            if node is not top:
                written.append(escaped(node.tail or ""))


def _declared(namespaces: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, iri) for name, iri in namespaces.items() if name != "xmlns:xml"]


def _qualified(node: Any) -> str:
    local = node.tag.rpartition("}")[2]
    return f"{node.prefix}:{local}" if node.prefix else local


def _written(node: Any, spend: Spend) -> list[tuple[str, str]]:
    """Return the attributes in the order of Canonical XML: by namespace, then by name."""
    prefixes = {_XML[1:-1]: "xml"}
    if any(name[0] == "{" and not name.startswith(_XML) for name in node.keys()):  # noqa: SIM118
        prefixes |= {iri: prefix for prefix, iri in node.nsmap.items() if prefix}
        spend(len(prefixes))
    pairs: list[tuple[str, str]] = []
    for name, value in sorted(node.items(), key=lambda item: item[0].rpartition("}")):
        namespace, _, local = name.rpartition("}")
        pairs.append((f"{prefixes[namespace[1:]]}:{local}" if namespace else local, value))
    return pairs
