"""Property copying of HTML+RDFa: what ``rdfa:copy`` takes from an ``rdfa:Pattern``."""

from __future__ import annotations

from collections import defaultdict

from rdfaspider.extract.contexts import RDF, RDFA
from rdfaspider.extract.triples.graph import Graph

_TYPE = f"<{RDF}type>"
_COPY = f"<{RDFA}copy>"
_PATTERN = f"<{RDFA}Pattern>"
_VISIT = 20  # characters that a pattern costs, so that long ways to useless ones end too


def copy_patterns(graph: Graph) -> None:
    """Give every copying subject the properties of its patterns, then remove the patterns that
    were copied.

    A pattern may copy from another, and two may copy from each other: each subject takes from all
    the patterns that it can reach, once.
    """
    triples = graph.triples
    patterns = {s for s, p, o in triples if o == _PATTERN and p == _TYPE}
    if not patterns:
        return
    copied: dict[str, list[str]] = defaultdict(list)
    properties: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for subject, predicate, value in triples:
        if predicate == _COPY and value in patterns:
            copied[subject].append(value)
        elif subject in patterns and (predicate, value) != (_TYPE, _PATTERN):
            properties[subject].append((predicate, value))
    used = {pattern for values in copied.values() for pattern in values}
    for triple in list(triples):
        if triple[0] in used or (triple[1] == _COPY and triple[2] in patterns):
            del triples[triple]
    for subject in copied:
        if subject not in used:
            reached = _reachable(subject, copied)
            graph.spend(_VISIT * len(reached))
            for pattern in reached:
                for predicate, value in properties[pattern]:
                    graph.add(subject, predicate, value)


def _reachable(subject: str, copied: dict[str, list[str]]) -> list[str]:
    found: dict[str, None] = {}
    pending = list(copied[subject])
    while pending:
        pattern = pending.pop()
        if pattern not in found:
            found[pattern] = None
            pending.extend(copied.get(pattern, ()))
    return list(found)
