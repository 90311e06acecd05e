"""Selection of pages and triples in a store: by page, host, type and predicate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from rdfaspider.urls import authority, normalise, to_iri

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


@dataclass(frozen=True)
class Selection:
    """Pages, by the IRIs of their graphs or by hosts; triples, by predicate or by the type of the subject.

    An empty field excludes nothing. A thing has a type if the same page says so.
    """

    pages: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    types: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        pages: Iterable[str] = (),
        hosts: Iterable[str] = (),
        types: Iterable[str] = (),
        predicates: Iterable[str] = (),
    ) -> Selection:
        """Read what a user wrote; raise ValueError with a sentence about what is wrong."""
        return cls(
            frozenset(map(_page, pages)),
            frozenset(map(_host, hosts)),
            tuple(dict.fromkeys(map(_iri, types))),
            tuple(dict.fromkeys(map(_iri, predicates))),
        )

    @property
    def is_everything(self) -> bool:
        """Tell whether every page is selected."""
        return not (self.pages or self.hosts)

    def has_page(self, graph: str) -> bool:
        if self.is_everything:
            return True
        return graph in self.pages or bool(self.hosts and self._by_host.match(graph))

    def of_page(self, quads: Iterable[Quad]) -> Iterable[Quad]:
        """Return the selected ones of a page's quads."""
        if not (self.types or self.predicates):
            return quads
        return self._of_page(list(quads))

    def _of_page(self, quads: list[Quad]) -> Iterator[Quad]:
        types = {NamedNode(name) for name in self.types}
        predicates = {NamedNode(name) for name in self.predicates}
        things = {quad.subject for quad in quads if quad.predicate == TYPE and quad.object in types}
        for quad in quads:
            if (not types or quad.subject in things) and (
                not predicates or quad.predicate in predicates
            ):
                yield quad

    @cached_property
    def _by_host(self) -> re.Pattern[str]:
        return re.compile(self._host_pattern())

    def _host_pattern(self) -> str:
        """Return a pattern for graph names that means the same in Python and in SPARQL."""
        names = (
            re.escape(host) + ("" if _has_port(host) else "(:[0-9]+)?")
            for host in sorted(self.hosts)
        )
        return f"^https?://([^/@]*@)?({'|'.join(names)})(/|$)"

    @property
    def pattern(self) -> str:
        """Return a regular expression for the names of the graphs of selected pages."""
        if self.is_everything:
            return ""
        names = [f"^{re.escape(page)}$" for page in sorted(self.pages)]
        return "|".join([*names, self._host_pattern()] if self.hosts else names)

    # --- as SPARQL ---

    def graphs(self) -> str:
        """Return a SPARQL pattern that makes ?g the graph of a selected page."""
        if self.pages and not self.hosts:
            return f"VALUES ?g {{ {_terms(sorted(self.pages))} }}"  # stores look these up
        tests = [f"?g = <{page}>" for page in sorted(self.pages)]
        if self.hosts:
            pattern = self._host_pattern().replace("\\", "\\\\")
            tests.append(f'REGEX(STR(?g), "{pattern}")')
        return f"FILTER({' || '.join(tests)})" if tests else ""

    def query(self) -> str:
        """Return the query for all selected quads, as ?s ?p ?o ?g."""
        patterns = ["?s ?p ?o"]
        if self.predicates:
            patterns.insert(0, f"VALUES ?p {{ {_terms(self.predicates)} }}")
        if len(self.types) == 1:
            patterns.insert(0, f"?s a {_terms(self.types)}")
        elif self.types:  # gives one row even if a thing has several of the types
            patterns.append(f"FILTER EXISTS {{ VALUES ?t {{ {_terms(self.types)} }} ?s a ?t }}")
        return f"SELECT ?s ?p ?o ?g {{ {self.graphs()} GRAPH ?g {{ {' . '.join(patterns)} }} }}"

    def sizes(self) -> str:
        """Return the query for the graphs of all selected pages, ?g, and the number of their quads, ?n."""
        return (
            f"SELECT ?g (COUNT(*) AS ?n) {{ {self.graphs()} GRAPH ?g {{ ?s ?p ?o }} }} GROUP BY ?g"
        )


def _terms(iris: Iterable[str]) -> str:
    return " ".join(f"<{iri}>" for iri in iris)


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def _page(url: str) -> str:
    try:
        return to_iri(normalise(url))
    except ValueError as error:
        raise ValueError(f"{url} is not the URL of a page: {error}.") from error


def _host(name: str) -> str:
    if not re.search(r"[/@?#\s]", name):
        try:
            return authority(normalise(f"http://{name}/"))
        except ValueError:
            pass
    raise ValueError(f"{name} is not a host: give its name alone, as example.org.")


def _iri(text: str) -> str:
    try:
        return NamedNode(text).value
    except ValueError as error:
        raise ValueError(
            f"{text} is not an IRI: give it whole, as http://schema.org/name."
        ) from error
