"""Where a crawl has found triples: a share and a worth for every prefix.

Layout. A prefix of keys (urls/keys.py) has three numbers: pages fetched below it, those of them that were
rich (had what the crawl looks for), and the sum of their gains. A child believes its parent until it has
pages of its own: the parent's estimate counts as STRENGTH pages of the child (a Beta prior for the share of
rich pages, a Gamma one for the worth of a rich page), and so from the root down. In the other direction,
the more pages a prefix has seen, the less each further one counts for its parent, so that a section that
was fetched a thousand times does not speak for its siblings.

Links have contexts (contexts.py): which kind of link from which kind of page. The lift of a context is how
much more is found behind such links, in new sections, than their hosts suggest; it corrects the prior.

Invariant. There are never more than `most` prefixes: beyond that, the half with the fewest pages is
dropped, and a dropped prefix counts like its parent. All numbers are finite.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections import Counter, deque
from functools import cache
from itertools import chain, islice
from math import sqrt
from zlib import crc32

from rdfaspider.focus.contexts import Contexts

# The share of pages with RDFa on the web of 2018; a crawl's own pages soon outweigh it.
FIRST_SHARE = 0.06
# Pages after which a prefix weighs as much as its parent; of rich pages, one.
STRENGTH = 2.0
WORTH_STRENGTH = 1.0
# Pages after which a prefix passes half of each further one to its parent.
FADE = 2.0
# Levels of the path that are distinguished: /a/b/ is, /a/b/c/ counts as it.
DEEP = 2
# The most a page counts: one with a whole data set says little about its neighbours.
LARGEST_GAIN = 10_000.0
# The spread of a draw, in standard deviations of the belief.
BOLD = 0.3

_NOTHING = (0.0, 0.0, 0.0)
_CUT = re.compile(rb"[,)/?&]")  # as in the trie
_SECTION = re.compile(rb"[^/]*/(?:[^,)/?&]*+[,)/?&])?")
_MAGIC = b"harvest2"
# bytes of the contexts, bytes of the prefixes, number of counts, the root
_HEAD = struct.Struct(">IIIddd")


@cache
def _luck() -> list[float]:
    """Return quantiles of the normal distribution; other orders do without them, and without the import."""
    from statistics import NormalDist

    return [NormalDist().inv_cdf((place + 0.5) / 1024) for place in range(1024)]


def prefixes(key: bytes, deep: int = DEEP) -> list[bytes]:
    """Return the prefixes of a key, widest first: `org,`, `org,example)/`, `org,example)/a/`.

    A key without folders has only those of its host.
    """
    slash = key.index(b"/") + 1
    found = []
    place = key.find(b",", 0, slash) + 1
    while place:
        found.append(key[:place])
        place = key.find(b",", place, slash) + 1
    found.append(key[:slash])
    if slash < len(key):
        found.extend(key[: end.end()] for end in islice(_CUT.finditer(key, slash), deep))
    return found


def section_of(key: bytes) -> bytes:
    """Return the host and first segment of a key, if the segment is a folder or has a query."""
    return _SECTION.match(key)[0]  # type: ignore[index]


class Harvest:
    """Learns from pages what to expect of prefixes.

    A gain is what a page is worth to this crawl (objectives.py), 0 for nothing. `score` draws from the
    belief, as in Thompson sampling: the highest of many draws is where to go next, and a little-known
    section wins now and then.
    """

    def __init__(self, most: int = 100_000, seed: int = 0) -> None:
        if most < 16:
            raise ValueError(f"a harvest needs room for at least 16 prefixes, not {most}")
        self._most = most
        self._seed = seed << 24
        self._luck = _luck()
        self._table: dict[bytes, list[float]] = {}
        self._root = [0.0, 0.0, 0.0]
        # The host whose sections were scored last, b"" if its estimate is out of date, and that estimate.
        self._host, self._of_host = b"", (0.0, 0.0)
        self.contexts = Contexts()

    def __len__(self) -> int:
        return len(self._table)

    def learn(self, key: bytes, gain: float, context: int = 0) -> None:
        """Learn what a fetched page was worth, and by which kind of link it was found."""
        gain = min(max(gain, 0.0), LARGEST_GAIN)
        rich, weight, table = float(gain > 0), 1.0, self._table
        self._learn_context(context, rich, section_of(key))
        for prefix in reversed(prefixes(key)):
            counts = table.get(prefix)
            if counts is None:
                counts = table[prefix] = [0.0, 0.0, 0.0]
            counts[0] += weight
            counts[1] += weight * rich
            counts[2] += weight * gain
            weight *= FADE / (FADE + counts[0])
        root = self._root
        self._host = b""
        root[0] += weight
        root[1] += weight * rich
        root[2] += weight * gain
        if len(table) > self._most:
            self._forget()

    def _learn_context(self, context: int, rich: float, section: bytes) -> None:
        """Learn what was behind a link, compared with what the levels above its section suggest.

        The more is known about the section, the less this counts: `score` uses a lift only where little is
        known. Most pages are in sections known to be rich, and would hide how little is behind other links.
        """
        pages = self._table.get(section, _NOTHING)[0]
        unknown = STRENGTH / (STRENGTH + pages)
        share, _ = self._estimate_above(section)
        self.contexts.learn(context, unknown * rich, unknown * share)

    def estimate(self, above: list[bytes]) -> tuple[float, float]:
        """Return the expected share of rich pages, and the worth of one, below `prefixes(key)`."""
        pages, rich, gain = self._root
        share = (FIRST_SHARE + rich) / (1.0 + pages)
        worth = (1.0 + gain) / (1.0 + rich)
        for prefix in above:
            counts = self._table.get(prefix)
            if counts is not None:
                pages, rich, gain = counts
                share = (STRENGTH * share + rich) / (STRENGTH + pages)
                worth = (WORTH_STRENGTH * worth + gain) / (WORTH_STRENGTH + rich)
        return share, worth

    def score(self, section: bytes, lift: float = 1.0) -> float:
        """Draw a gain for the next page of a section; `lift` is that of the link to it.

        The draw is a function of the section, the seed and how much is known about the section: it stays
        until something new is learnt, so asking often is no second chance.
        """
        share, worth = self._estimate_above(section)
        pages, rich, gain = self._table.get(section, _NOTHING)
        weight = STRENGTH + pages
        share = (STRENGTH * min(share * lift, 0.95) + rich) / weight
        worth = (WORTH_STRENGTH * worth + gain) / (WORTH_STRENGTH + rich)
        luck = self._luck[crc32(section, self._seed + int(16 * pages)) & 1023]
        return worth * (share + BOLD * luck * sqrt(share * (1.0 - share) / (weight + 1.0)))

    def _estimate_above(self, section: bytes) -> tuple[float, float]:
        """Return the estimate for the parent of a section; those of one host are mostly scored together."""
        host = section[: section.index(b"/") + 1]
        if host == section:
            return self.estimate(prefixes(section)[:-1])
        if host != self._host:
            self._host, self._of_host = host, self.estimate(prefixes(host))
        return self._of_host

    def _forget(self) -> None:
        """Drop the half with the fewest pages, the oldest first, and halve the rest.

        So new prefixes can overtake old ones.
        """
        table = self._table
        for prefix in sorted(table, key=lambda prefix: table[prefix][0])[: self._most // 2]:
            del table[prefix]
        for counts in table.values():
            counts[:] = [number / 2 for number in counts]

    # --- across a restart ---

    def dump(self) -> bytes:
        """Return everything as bytes: the prefixes, one a line, and their counts."""
        contexts, names = self.contexts.pack(), b"\n".join(self._table)
        counts = [*chain.from_iterable(self._table.values())]
        head = _HEAD.pack(len(contexts), len(names), len(counts), *self._root)
        body = (head, contexts, names, struct.pack(f">{len(counts)}f", *counts))
        return _MAGIC + zlib.compress(b"".join(body), 1)

    @classmethod
    def load(cls, data: bytes, most: int = 100_000) -> Harvest:
        """Return what was dumped; ValueError if it is damaged."""
        harvest = cls(most)
        try:
            harvest._read(data)
        except (zlib.error, struct.error, IndexError) as error:
            raise ValueError(f"The stored harvest is damaged: {error}.") from error
        while len(harvest._table) > most:
            harvest._forget()
        return harvest

    def _read(self, data: bytes) -> None:
        if not data.startswith(_MAGIC):
            raise ValueError("This is not a stored harvest.")
        body = zlib.decompress(data[len(_MAGIC) :])
        contexts, names, count, *self._root = _HEAD.unpack_from(body)
        place = _HEAD.size + contexts
        self.contexts.unpack(body[_HEAD.size : place])
        counts = struct.iter_unpack(">fff", body[place + names : place + names + 4 * count])
        prefixes = body[place : place + names].split(b"\n") if names else []
        for prefix, numbers in zip(prefixes, counts, strict=True):
            self._table[prefix] = [*numbers]


class Shares:
    """Counts recent turns, so that no host takes more than its share of a crawl.

    Invariant: the counts are those of the last `window` turns.
    """

    def __init__(self, largest: float = 0.1, window: int = 1_000) -> None:
        if not 0 < largest <= 1:
            raise ValueError(f"a share must be more than 0 and at most 1, not {largest}")
        self._limit = max(1, int(largest * window))
        self._turns: deque[int] = deque(maxlen=window)
        self._counts: Counter[int] = Counter()

    def count(self, host: int) -> None:
        """Count a turn of a host."""
        if len(self._turns) == self._turns.maxlen:
            oldest = self._turns[0]
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]
        self._turns.append(host)
        self._counts[host] += 1

    def has_room(self, host: int) -> bool:
        """Return whether a host may have a turn while others could have it."""
        return self._counts.get(host, 0) < self._limit
