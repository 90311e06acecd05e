"""`extract` in the shape of the extruct library, for those who move over.

    from rdfaspider.adapters.extruct import extract
    extract(html, base_url="https://example.org/", syntaxes=["microdata", "json-ld", "rdfa"])

The answer has a list for each syntax, as extruct's: items with their properties, the objects in the page's
scripts, and expanded JSON-LD. It differs where statements have no order and no doubles: equal values of one
property are one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyoxigraph import BlankNode, Literal, NamedNode

from rdfaspider.extract import Limits, Options
from rdfaspider.extract import extract as extract_page
from rdfaspider.extract.contexts import RDF, XSD
from rdfaspider.extract.document.encoding import to_utf8
from rdfaspider.extract.document.parse import parse
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.jsonld import ATTRIBUTES, blocks
from rdfaspider.extract.jsonld import text as jsontext
from rdfaspider.extract.microdata.registry import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyoxigraph import Quad

SYNTAXES = ("microdata", "json-ld", "rdfa")
"""What a page is read for; extruct has more, such as Microformats, which are no RDF."""

_TYPE = f"{RDF}type"
_LIMITS = replace(Limits(), links=0)
_DEEPEST = 100  # items inside each other

Values = dict[str, list[Any]]


def extract(
    html: str | bytes,
    base_url: str = "http://localhost/",
    encoding: str = "",
    syntaxes: Sequence[str] = SYNTAXES,
) -> dict[str, list[Any]]:
    """Return what a page holds, by syntax; ValueError for a syntax that is not known.

    `base_url` is the URL of the page, `encoding` that of its bytes if it is known. A page that takes too much
    memory raises MemoryError.
    """
    if unknown := [name for name in syntaxes if name not in SYNTAXES]:
        raise ValueError(f"{', '.join(unknown)}: choose among {', '.join(SYNTAXES)}.")
    if isinstance(html, str):
        html, encoding = html.encode("utf-8", "replace"), "utf-8"
    content_type = f"text/html; charset={encoding}" if encoding else "text/html"
    readers = {"microdata": _microdata, "json-ld": _json_ld, "rdfa": _rdfa}
    return {name: readers[name](html, base_url, content_type) for name in syntaxes}


def _quads(body: bytes, url: str, content_type: str, name: str) -> list[Quad]:
    options = Options(formats=frozenset((name,)), limits=_LIMITS)
    found = extract_page(body, url, content_type, options)
    if found.facts.is_out_of_memory:
        raise MemoryError(f"{url} takes more memory to read than a page may.")
    return found.quads


def _rdfa(body: bytes, url: str, content_type: str) -> list[dict[str, Any]]:
    nodes: dict[str, dict[str, Any]] = {}
    for quad in _quads(body, url, content_type, "rdfa"):
        name = _name(quad.subject)
        node = nodes.setdefault(name, {"@id": name})
        if quad.predicate.value == _TYPE and not isinstance(quad.object, Literal):
            node.setdefault("@type", []).append(_name(quad.object))
        else:
            node.setdefault(quad.predicate.value, []).append(_expanded(quad.object))
    return list(nodes.values())


def _name(term: Any) -> str:
    return f"_:{term.value}" if isinstance(term, BlankNode) else str(term.value)


def _expanded(term: Any) -> dict[str, str]:
    if not isinstance(term, Literal):
        return {"@id": _name(term)}
    value = {"@value": term.value}
    if term.language:
        value["@language"] = term.language
    elif term.datatype.value != f"{XSD}string":
        value["@type"] = term.datatype.value
    return value


def _json_ld(body: bytes, url: str, content_type: str) -> list[Any]:
    body, _ = to_utf8(body, content_type)
    document = parse(body, "text/html", ATTRIBUTES, Limits(), Facts())
    found: list[Any] = []
    for _, text in blocks(document):
        value = _loaded(text)
        found += value if isinstance(value, list) else [value] if value is not None else []
    return found


def _loaded(text: str) -> Any:
    """Return the value of a script, repaired if need be; None if it has none."""
    try:
        return jsontext.read(text)[0]
    except ValueError:
        return None


def _microdata(body: bytes, url: str, content_type: str) -> list[dict[str, Any]]:
    """Return the items that are no value of another, or of none but themselves."""
    described: defaultdict[Any, Values] = defaultdict(dict)
    used = set()
    for quad in _quads(body, url, content_type, "microdata"):
        described[quad.subject].setdefault(quad.predicate.value, []).append(quad.object)
        if quad.predicate.value != _TYPE and quad.object != quad.subject:
            used.add(quad.object)
    items = dict(described)
    tops = [node for node in items if node not in used] or list(items)[:1]
    return [_Items(items).item(node, f"{url.partition('#')[0]}#") for node in tops]


class _Items:
    """Items as they are nested: each is given whole once, and by its name from then on.

    Otherwise a page of twenty items, each of which names the next one twice, would be a million.
    """

    def __init__(self, items: dict[Any, Values]) -> None:
        self._items = items
        self._given: set[Any] = set()

    def item(self, node: Any, untyped: str, depth: int = 0) -> dict[str, Any]:
        self._given.add(node)
        values = self._items[node]
        return _described(node, values, untyped, lambda term, name: self._value(term, name, depth))

    def _value(self, term: Any, namespace: str, depth: int) -> Any:
        """Return a text, or an item."""
        if term in self._items and term not in self._given and depth < _DEEPEST:
            return self.item(term, namespace, depth + 1)
        return _name(term)


def _described(
    node: Any, values: Values, untyped: str, value_of: Callable[[Any, str], Any]
) -> dict[str, Any]:
    types = [kind.value for kind in values.get(_TYPE, [])]
    namespace = REGISTRY.namespace(types[0]) if types else untyped
    item: dict[str, Any] = {}
    if types:
        item["type"] = types[0] if len(types) == 1 else types
    if isinstance(node, NamedNode):
        item["id"] = node.value
    item["properties"] = {
        predicate.removeprefix(namespace): _joined([value_of(value, namespace) for value in found])
        for predicate, found in values.items()
        if predicate != _TYPE
    }
    return item


def _joined(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values
