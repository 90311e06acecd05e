"""What a store says of a crawl: vocabularies, types and predicates, counted in one pass over its quads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode

from rdfaspider.extract.contexts import PREFIXES

if TYPE_CHECKING:
    from pyoxigraph import Quad

_PREFIXES = {vocabulary: prefix for prefix, vocabulary in PREFIXES.items()}
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
# Terms that are told apart: a hostile page makes up its own.
_TERMS = 1_000_000
# Quads after which progress is told.
_STEP = 50_000


def findings_of(
    quads: Iterable[Quad], most: int, tell: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Return what the quads of pages say; graphs that no page has, such as provenance, are left out."""
    predicates: Counter[str] = Counter()
    types: Counter[str] = Counter()
    objects: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    graphs: set[int] = set()
    last, is_page, total = None, False, 0
    for number, quad in enumerate(quads, start=1):
        graph = quad.graph_name
        if graph != last:
            last = graph
            is_page = isinstance(graph, NamedNode) and graph.value.startswith(("http:", "https:"))
            if is_page:
                graphs.add(hash(graph))
        if not is_page:
            continue
        total += 1
        predicate, value = quad.predicate.value, quad.object
        if predicate in predicates or len(predicates) < _TERMS:
            predicates[predicate] += 1
        if isinstance(value, Literal):
            objects["literal"] += 1
            if value.language:
                languages[value.language] += 1
        elif isinstance(value, NamedNode):
            objects["IRI"] += 1
            if predicate == _TYPE and (value.value in types or len(types) < _TERMS):
                types[value.value] += 1
        else:
            objects["blank node"] += 1
        if number % _STEP == 0:
            tell(f"Reading the store: {number:,} quads …")
    return {
        "triples": total,
        "graphs": len(graphs),
        "predicate_count": len(predicates),
        "type_count": len(types),
        "predicates": dict(predicates.most_common(most)),
        "types": dict(types.most_common(most)),
        "vocabularies": dict(_by_vocabulary(predicates).most_common(most)),
        "predicate_frequencies": dict(sorted(Counter(predicates.values()).items())),
        "objects": dict(objects.most_common()),
        "literal_languages": dict(languages.most_common(most)),
    }


def vocabulary_of(iri: str) -> str:
    """Return the vocabulary of a term: what precedes its last # or /."""
    cut = max(iri.rfind("#"), iri.rfind("/")) + 1
    return iri[:cut] if cut > len("https://") else iri


def compact(iri: str) -> str:
    """Return a term by the prefix of its vocabulary, if RDFa knows one: `schema:Event`."""
    vocabulary = vocabulary_of(iri)
    prefix = _PREFIXES.get(vocabulary.replace("https://schema.org/", "http://schema.org/"))
    return f"{prefix}:{iri[len(vocabulary) :]}" if prefix else iri


def _by_vocabulary(terms: Counter[str]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for term, count in terms.items():
        sums[vocabulary_of(term)] += count
    return sums
