"""The triples of one page while they are being found, and what its readers share.

Terms are N-Quads strings (``<iri>``, ``_:label``, ``"text"@en``) and a triple is a tuple of three.
Strings make equality cheap, and pyoxigraph parses a page's worth of N-Quads three times faster than
its constructors build the same quads one by one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from itertools import count
from operator import itemgetter

from rdfaspider.extract.document.limits import Limits
from rdfaspider.extract.triples.literals import quoted

Triple = tuple[str, str, str]


class Full(Exception):
    """Says that the page has used up what it may bring out; its message names the limit."""


class Graph:
    """An insertion-ordered set of triples that never outgrows its limits.

    ``cuts`` counts what the limits leave out, ``warnings`` how often each class of RDFa's processor graph
    would have been raised, by its local name. ``digest`` makes the labels of blank nodes unique to the page,
    and the same on every run. ``frame`` is the length of the graph's name, which each quad will hold.
    """

    def __init__(
        self,
        limits: Limits,
        cuts: Counter[str],
        warnings: Counter[str],
        digest: str = "",
        frame: int = 0,
    ) -> None:
        self.triples: dict[Triple, None] = {}
        self.limits = limits
        self.cuts = cuts
        self.warnings = warnings
        # Returns a blank node that is new. A method of this graph would hold it in a cycle.
        self.fresh = partial(next, map(f"_:b{digest}x{{}}".format, count(1)))
        self._named = defaultdict[str, str](self.fresh)
        self._frame = frame
        self._quads = limits.quads
        self._longest = limits.literal
        self._room = limits.output

    def named(self, name: str) -> str:
        """Return the blank node that the page calls ``_:name``."""
        return self._named[name]

    def add(self, subject: str, predicate: str, value: str) -> None:
        """Add a triple; raise Full at the limits of the page."""
        triple, triples = (subject, predicate, value), self.triples
        room = self._room - (len(subject) + len(predicate) + len(value) + self._frame)
        if room < 0:
            raise Full("output")
        if len(triples) >= self._quads and triple not in triples:
            raise Full("quads")
        self._room = room
        triples[triple] = None

    def spend(self, characters: int) -> None:
        """Count characters that were copied out of the page; raise Full when too many were."""
        self._room -= characters
        if self._room < 0:
            raise Full("output")

    def literal(self, text: str, suffix: str) -> str:
        """Return a literal as a term, an empty string for one that is too long; raise Full."""
        if len(text) > self._longest:
            self.cuts["literal"] += 1
            self.spend(len(text))
            return ""
        return quoted(text, suffix)

    def predicates(self) -> set[str]:
        return set(map(itemgetter(1), self.triples))

    def length_of_longest(self) -> int:
        """Return the length of the longest value that the graph has."""
        return max(map(len, map(itemgetter(2), self.triples)), default=0)

    def nquads(self, graph_name: str) -> bytes:
        """Return the triples as N-Quads in the named graph, itself given as a term."""
        # Not a string of all of it: one character may make each of its characters take four bytes.
        lines = map(str.encode, map(" ".join, self.triples))
        return f" {graph_name} .\n".encode().join([*lines, b""])
