"""The links that frontiers keep, as arrays.

Links that were kept by key, because their target had no number then, are looked up. Links of a page to
itself say nothing, and most are its own canonical form: they are left out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from rdfaspider.linkgraph.edges import NO_REST, NOFOLLOW, lines_of, read_media, split
from rdfaspider.linkgraph.files.sorting import join
from rdfaspider.linkgraph.files.varints import Array, decode, gaps_to_rows
from rdfaspider.linkgraph.pages import NOBODY, PAGES_AT_ONCE, batched
from rdfaspider.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rdfaspider.linkgraph.pages import Source

_KEYS = 1 << 16  # looked up at once
# Domains outside that are remembered; beyond twice as many, those with the fewest links are forgotten.
_DOMAINS = 200_000


class LinkStream:
    """Yields links as numbers (files/sorting.py), in arrays of some thousands; a link may come twice.

    `nodes` has for each source the node of each of its numbers (pages.py). `counts` and `domains` have what
    is only counted: pages, media, and links to URLs that the crawl does not have: out of it, beyond its
    limits, or not to be followed. `media_of_pages` has how many pages have how many
    media of each kind.
    """

    def __init__(
        self, sources: Sequence[Source], nodes: Sequence[Array], counts: Counter[str] | None = None
    ) -> None:
        self._sources = sources
        self._nodes = nodes
        self.counts: Counter[str] = Counter() if counts is None else counts
        self.domains: Counter[str] = Counter()
        self.media_of_pages: dict[str, Counter[int]] = {}

    def __iter__(self) -> Iterator[Array]:
        pending: list[tuple[int, int, bytes]] = []
        for source, nodes in zip(self._sources, self._nodes, strict=True):
            for some in batched(source.pages(), PAGES_AT_ONCE):
                split_up = [split(value) for _, value in some]
                own = np.array([number for number, _ in some], np.int64)
                yield _numbered(own, split_up, nodes)
                for node, (_, _, rest) in zip(nodes[own].tolist(), split_up, strict=True):
                    if rest != NO_REST and node != NOBODY:
                        self._read_rest(node, rest, pending)
                    if len(pending) >= _KEYS:
                        yield self._look_up(pending)
                self.counts["pages"] += len(some)
        yield self._look_up(pending)

    def _read_rest(self, node: int, rest: bytes, pending: list[tuple[int, int, bytes]]) -> None:
        media, place = read_media(rest, 0)
        for media_kind, count in media.items():
            self.counts["media"] += count
            self.media_of_pages.setdefault(media_kind, Counter())[count] += 1
        keys, outside = lines_of(rest[place:])
        pending += [(node, kind, key) for kind, key in keys]
        for host, count in outside.items():
            self.domains[registered_domain(f"http://{host}/")] += count
        self.counts["outside"] += sum(outside.values())
        if len(self.domains) > 2 * _DOMAINS:
            self.domains = Counter(dict(self.domains.most_common(_DOMAINS)))

    def _look_up(self, pending: list[tuple[int, int, bytes]]) -> Array:
        """Return the links kept by key whose targets are known now; count the others."""
        keys = sorted({key for _, _, key in pending})
        found: dict[bytes, int] = {}
        for source, nodes in zip(self._sources, self._nodes, strict=True):
            left = [key for key in keys if key not in found]
            for key, number in zip(left, source.numbers(left), strict=True):
                if number is not None and number < source.size and nodes[number] != NOBODY:
                    found[key] = int(nodes[number])
        links = []
        for node, kind, key in pending:
            target = found.get(key)
            if target is None:
                self.counts["unfollowed" if kind == NOFOLLOW else "beyond"] += 1
            elif target != node:
                links.append((node, target, kind))
        pending.clear()
        columns = np.array(links, np.uint64).reshape(-1, 3).T
        return join(*columns)


def _numbered(own: Array, split_up: list[tuple[int, bytes, bytes]], nodes: Array) -> Array:
    """Return the links of pages that have numbers."""
    data = b"".join([gaps for _, gaps, _ in split_up])
    ends = np.cumsum([len(gaps) for _, gaps, _ in split_up])
    counted = np.concatenate(([0], np.cumsum(np.frombuffer(data, np.uint8) < 128)))
    degrees = np.diff(counted[ends], prepend=0)
    targets = gaps_to_rows(own, degrees, decode(data))
    kinds = np.repeat(np.array([kind for kind, _, _ in split_up], np.uint8), degrees)
    firsts, others = nodes[np.repeat(own, degrees)], nodes[targets]
    known = (firsts != NOBODY) & (others != NOBODY) & (firsts != others)
    return join(firsts[known], others[known], kinds[known])
