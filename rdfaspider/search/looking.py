"""One thing, or one page, as a store has it: what is said, by which page, when, and from which record.

The statements are read from the graphs of pages, so that blank nodes can be followed; when a page was
fetched, and where its answer is archived, from its provenance (stores/provenance.py). Everything is bounded:
it is shown on one page of a browser.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from pyoxigraph import BlankNode, Literal, NamedNode

from rdfaspider.stores.provenance import CRAWL, PROV
from rdfaspider.stores.selection import Selection
from rdfaspider.urls.iris import without_userinfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Quad

    from rdfaspider.stores import PageStore

# Pages of a thing, statements of a page that are read and shown, mentions of a thing, fetches of a page.
_PAGES, _READ, _SHOWN, _MENTIONS, _FETCHES = 10, 20_000, 500, 100, 20
_LONGEST = 2_000  # characters of a literal
_DEEPEST = 5  # steps through blank nodes
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]{1,8000}")
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_ARCHIVE = "urn:rdfaspider:archive:"
_PLAIN = "http://www.w3.org/2001/XMLSchema#string"

Value = dict[str, Any]


def checked(iri: str) -> str:
    """Return an IRI; ValueError if it is none. Then it may stand in a query."""
    if not _IRI.fullmatch(iri):
        raise ValueError(f"{iri[:100]} is not an IRI.")
    return iri


def look_at_thing(store: PageStore, iri: str) -> Value:
    """Return what pages say of a thing, and where they mention it."""
    thing = f"<{checked(iri)}>"
    found = store.query(
        f"SELECT DISTINCT ?page {{ GRAPH ?page {{ {thing} ?p ?o }} {_IS_PAGE} }} LIMIT {_PAGES + 1}"
    )
    pages = [row["page"].value for row in found]
    mentions = [
        {"page": row["page"].value, "subject": _value(row["s"]), "predicate": row["p"].value}
        for row in store.query(
            f"SELECT ?page ?s ?p {{ GRAPH ?page {{ ?s ?p {thing} }} {_IS_PAGE} }} LIMIT {_MENTIONS + 1}"
        )
    ]
    shown = pages[:_PAGES]
    history = _provenance(store, shown)
    said = []
    for page in shown:
        tree = _Tree(_statements(store, page))
        statements = tree.said(NamedNode(iri))
        said.append({**history[page], "page": without_userinfo(page), "said": statements})
    return {
        "iri": iri,
        "pages": said,
        "has_more_pages": len(pages) > _PAGES,
        "mentions": [_without_userinfo(each) for each in mentions[:_MENTIONS]],
        "has_more_mentions": len(mentions) > _MENTIONS,
    }


def look_at_page(store: PageStore, page: str) -> Value:
    """Return all that a page says, thing by thing."""
    quads = _statements(store, checked(page))
    tree = _Tree(quads)
    history = _provenance(store, [page])[page]
    return {
        **history,
        "page": without_userinfo(page),
        "statements": len(quads),
        "things": [{"thing": _value(each), "said": tree.said(each)} for each in tree.roots()],
        "is_cut": tree.is_cut or len(quads) == _READ,
    }


_IS_PAGE = f'FILTER(!STRSTARTS(STR(?page), "{CRAWL}"))'


def _statements(store: PageStore, page: str) -> list[Quad]:
    quads = []
    for quad in store.select(Selection(pages=frozenset((page,)))):
        quads.append(quad)
        if len(quads) == _READ:
            break
    return quads


def _without_userinfo(mention: Value) -> Value:
    return {**mention, "page": without_userinfo(mention["page"])}


class _Tree:
    """The statements of a page, by subject; blank nodes are shown where something leads to them."""

    def __init__(self, quads: Iterable[Quad]) -> None:
        self._by_subject: dict[Any, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        self._led_to: set[Any] = set()
        for quad in quads:
            self._by_subject[quad.subject][quad.predicate.value].append(quad.object)
            if isinstance(quad.object, BlankNode) and quad.object != quad.subject:
                self._led_to.add(quad.object)
        self._left = _SHOWN
        self.is_cut = False

    def roots(self) -> list[Any]:
        """Return the subjects that are not shown below another one; those with a type first."""
        found = [each for each in self._by_subject if each not in self._led_to]
        if not found:  # a ring of blank nodes
            found = list(self._by_subject)[:1]
        return sorted(found, key=lambda each: _TYPE not in self._by_subject[each])

    def said(self, subject: Any, depth: int = 0, above: tuple[Any, ...] = ()) -> list[Value]:
        """Return what is said of a subject, by predicate, its types first."""
        groups = self._by_subject.get(subject, {})
        shown = []
        for predicate in sorted(groups, key=lambda name: (name != _TYPE, name)):
            values = []
            for value in groups[predicate]:
                if not self._left:
                    self.is_cut = True
                    break
                self._left -= 1
                values.append(self._shown(value, depth, (*above, subject)))
            if values:
                shown.append({"predicate": predicate, "values": values})
        return shown

    def _shown(self, value: Any, depth: int, above: tuple[Any, ...]) -> Value:
        if isinstance(value, BlankNode) and value not in above and depth < _DEEPEST:
            return {"kind": "blank", "said": self.said(value, depth + 1, above)}
        return _value(value)


def _value(term: Any) -> Value:
    if isinstance(term, NamedNode):
        return {"kind": "iri", "value": term.value}
    if isinstance(term, Literal):
        datatype = term.datatype.value
        more = {"language": term.language} if term.language else {}
        if datatype != _PLAIN and not term.language:
            more = {"datatype": datatype}
        is_long = len(term.value) > _LONGEST
        return {"kind": "literal", "value": term.value[:_LONGEST] + "…" * is_long, **more}
    return {"kind": "blank", "said": []}


def _provenance(store: PageStore, pages: list[str]) -> dict[str, Value]:
    """Return when each page was fetched, the latest first, and its latest record in the archive."""
    found: dict[str, Value] = {page: {"fetches": [], "record": None} for page in pages}
    if not pages:
        return found
    some = f"VALUES ?page {{ {' '.join(f'<{page}>' for page in pages)} }}"
    status = "http://www.w3.org/2011/http#statusCodeValue"
    fetches = store.query(
        f"SELECT ?page ?time ?status {{ {some} GRAPH ?crawl {{ ?fetch <{PROV}generated> ?page ;"
        f" <{PROV}endedAtTime> ?time OPTIONAL {{ ?fetch <{status}> ?status }} }} }}"
        f" ORDER BY DESC(?time) LIMIT {_FETCHES * len(pages)}"
    )
    for row in fetches:
        fetch = {"time": row["time"].value, "status": row["status"] and row["status"].value}
        if fetch not in (known := found[row["page"].value]["fetches"]):
            known.append(fetch)
    records = store.query(
        f"SELECT ?page ?record ?file ?time ?offset {{ {some} GRAPH ?crawl {{"
        f" ?page <{PROV}wasDerivedFrom> ?record . ?record <{_ARCHIVE}file> ?file"
        f" OPTIONAL {{ ?record <{PROV}generatedAtTime> ?time }}"
        f" OPTIONAL {{ ?record <{_ARCHIVE}offset> ?offset }} }} }}"
        f" ORDER BY DESC(?time) LIMIT {_FETCHES * len(pages)}"
    )
    for row in records:
        about = found[row["page"].value]
        if about["record"] is None:
            names = ("record", "file", "time", "offset")
            about["record"] = {name: row[name] and row[name].value for name in names}
    return found
