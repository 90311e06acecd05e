"""The rules of one robots.txt for one agent, as RFC 9309 reads them.

A `Robots` is what a crawler keeps of a robots.txt: the rules of its own agent and nothing else.

    robots = Robots(body, "rdfaspider/0.1 (+https://example.org/about)")
    robots.allows("https://example.com/private/")    # False
    robots.crawl_delay, robots.sitemaps              # 10.0, ("https://example.com/map.xml",)
    Robots.from_bytes(robots.to_bytes())             # the same rules, without the file

`parser` reads the file, `patterns` brings rules and URLs to one form for comparison, `record` keeps what is
known of one robots.txt and for how long, `sitemaps` reads sitemaps, `feeds` RSS and Atom, `reservations`
the file by which a service reserves text and data mining.
`middlewares/robots.py` applies them.
"""

from __future__ import annotations

from typing import Self

from rdfaspider.robots.parser import parse
from rdfaspider.robots.patterns import Rules, in_order, target, unescape_query

LIMIT = 500 * 1024  # octets, the least that RFC 9309 section 2.5 asks for

Index = dict[bytes, list[tuple[int, list[bytes]]]]


class Robots:
    """The rules of one agent in one robots.txt.

    `crawl_delay` is in seconds as the file gives it, so the caller may want to cap it, or None.
    `sitemaps` are the absolute URLs of the Sitemap lines of the whole file. What it says of the training of
    models (DisallowAITraining, Content-Signal) is a fact that is kept; it forbids no fetch.

    Layout: patterns are indexed by their head, which is all that precedes the first wildcard.

        head -> [(rank, the parts between the wildcards), ...], highest rank first

    *The invariant*: a rank is twice the length of the pattern, plus one if it allows. So the
    highest rank that matches is the answer of RFC 9309 (the longest match, Allow on a tie), its
    last bit is the verdict, and 1, the rank of an empty Allow, stands for no match.

    Cost: a URL is looked up once per length of head, not once per rule, and a file within `LIMIT`
    has no room for more than a thousand lengths. The parts between wildcards are searched from
    left to right, each where it first occurs: if that fails no other choice would have helped, so
    nothing is ever tried again.
    """

    __slots__ = ("_index", "_lengths", "_rules", "_training", "crawl_delay", "sitemaps")

    crawl_delay: float | None
    sitemaps: tuple[str, ...]

    def __init__(self, body: bytes, user_agent: str, *, limit: int = LIMIT) -> None:
        """Keep what the first `limit` octets of a file say to an agent.

        The agent is a product token or a whole User-Agent header. There are no bad files: what is
        not understood is passed over.
        """
        self._keep(*parse(body, user_agent, limit))

    def _keep(
        self,
        rules: Rules,
        crawl_delay: float | None = None,
        sitemaps: tuple[str, ...] = (),
        training: Rules | None = None,
    ) -> None:
        # Where nothing is disallowed, what is allowed says nothing.
        self._rules = {} if all(rules.values()) else rules
        self._index = _index(self._rules)
        self._lengths = sorted({len(head) for head in self._index}, reverse=True)
        self.crawl_delay = crawl_delay
        self.sitemaps = sitemaps
        self._training = None
        if training and not all(training.values()):
            self._training = Robots.__new__(Robots)
            self._training._keep(training)

    @classmethod
    def allow_all(cls) -> Self:
        """Return the rules of a site that has no robots.txt (RFC 9309 section 2.3.1.3)."""
        return cls(b"", "*")

    @classmethod
    def deny_all(cls) -> Self:
        """Return the rules of a site whose robots.txt is out of reach (section 2.3.1.4)."""
        return cls(b"User-agent: *\nDisallow: /", "*")

    def allows(self, url: str) -> bool:
        """Tell whether the agent may fetch a URL, given whole or from its path on."""
        if not self._rules:
            return True
        wanted = target(url)
        if wanted == b"/robots.txt$":
            return True
        rank = self._rank(wanted, 1)
        if b"%" in wanted and (unescaped := unescape_query(wanted)) != wanted:
            rank = self._rank(unescaped, rank)
        return rank % 2 == 1

    def allows_training(self, url: str) -> bool:
        """Tell whether the file leaves it open to train models with what is at a URL."""
        return self._training is None or self._training.allows(url)

    def _rank(self, wanted: bytes, best: int) -> int:
        """Return the highest rank that matches, or `best` if that is higher."""
        for length in self._lengths:
            for rank, parts in self._index.get(wanted[:length], ()):
                if rank <= best:
                    break
                if in_order(parts, wanted, length):
                    best = rank
                    break
        return best

    def to_bytes(self) -> bytes:
        """Return a form to be stored: a line per fact, whose first octet tells its kind."""
        lines = [b"1"]  # the version of the form
        if self.crawl_delay is not None:
            lines.append(b"~%r" % self.crawl_delay)
        lines.extend(b"@" + sitemap.encode() for sitemap in self.sitemaps)
        lines.extend((b"+" if allow else b"-") + rule for rule, allow in self._rules.items())
        if self._training is not None:
            rules = self._training._rules.items()
            lines.extend((b"y" if allow else b"n") + rule for rule, allow in rules)
        return b"\n".join(lines)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return a copy of what was stored; ValueError if it is not in the form of `to_bytes`."""
        version, *lines = data.split(b"\n")
        if version != b"1":
            raise ValueError(f"stored robots rules of unknown version {version[:20]!r}")
        rules: Rules = {}
        training: Rules = {}
        crawl_delay, sitemaps = None, []
        for line in lines:
            kind, value = line[:1], line[1:]
            if kind in (b"+", b"-"):
                rules[value] = kind == b"+"
            elif kind in (b"y", b"n"):
                training[value] = kind == b"y"
            elif kind == b"@":
                sitemaps.append(value.decode())
            elif kind == b"~":
                crawl_delay = float(value)
            else:
                raise ValueError(f"stored robots rules with a line of unknown kind {kind!r}")
        robots = cls.__new__(cls)
        robots._keep(rules, crawl_delay, tuple(sitemaps), training)
        return robots


def _index(rules: Rules) -> Index:
    index: Index = {}
    for pattern, allow in rules.items():
        head, *parts = pattern.split(b"*")
        index.setdefault(head, []).append((2 * len(pattern) + allow, parts))
    for ranked in index.values():
        ranked.sort(reverse=True)
    return index
