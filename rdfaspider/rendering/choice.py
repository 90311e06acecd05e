"""Which pages are rendered: those of which a second of a browser is expected to bring enough.

Pages of one template are alike: scripts add something to nearly all of them or to none. A template is a
section of a host (focus/harvest.py) and the kind of its pages, which is what their HTML shows of scripts
and of data. The first pages of a template are samples. Before it has any, a template is believed to be
like the others of its host and kind, and these like those of its kind that have the same section on other
hosts, like all of its kind, and like all that hold as much and show any such scripts.

A template whose samples gained nothing is left alone. Each page that passes by makes another look worth
more, because a template that had many pages will have more, and each look that fails makes the next one
come about five times later.

Layout. `_table` has, for each template and each group of templates, five numbers: renders, those that
gained, the sum of their gains, the sum of their seconds, and the pages that passed by since the last look.
A page counts less for a group the more the template has had, so a group counts templates rather than pages.

Invariant. There are at most `most` templates and groups; beyond that the half with the fewest renders is
dropped, and is unknown from then on. Renders are at most `share` of the pages, and BURST.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from rdfaspider.focus.harvest import section_of
from rdfaspider.urls.keys import to_key

if TYPE_CHECKING:
    from rdfaspider.items import Content, Page

# A page is rendered if a second of it is expected to bring this share of what a second usually brings where
# it brings anything; and if all of it brings this share of what a page of the crawl usually holds.
FLOOR, FLOOR_OF_PAGES = 1 / 8, 1 / 16
# The share of the pages of a template that gain, if any do.
DENSE = 0.8
# The share of templates that gain, of pages that hold nothing, little or much and show scripts that make
# data; and of all other pages with scripts.
FIRST_SHARES = (0.5, 0.2, 0.05)
FIRST_SHARE = 0.1
# What a render brings at least, and how long it takes, before anything is known.
FIRST_GAIN, FIRST_SECONDS = 5.0, 2.0
# How many templates its parent counts for in a group.
STRENGTH = 2.0
# Pages after which a template or host passes half of each further one to its group.
FADE = 2.0
# Renders of which a template, and templates of which a group, keeps the memory: sites change.
MEMORY, LONG_MEMORY = 32, 512
# What a new link is worth, in triples, and how many of a page count: a menu that a script makes is on each
# page of its host, so a link counts once. So many are remembered.
LINK, MOST_LINKS, LINKS_KNOWN = 0.5, 20, 100_000
# The least gain that shows that scripts add something: frames of advertisements are links, too.
LEAST_GAIN = 1.0
# Renders that may come at once, before the share counts.
BURST = 64.0
# Pages of a kind whose passing is as good a reason for a sample as that of one of the same template.
_KINDRED = 16
# Pages of a template that once gained, but too little, whose passing makes another look twice as good.
_LASTING = 256
# Samples under way, of a template that may gain, that count as one which failed: no page waits for them.
_AT_ONCE = 4
# Pages that pass by until a render that was never learnt from is forgotten.
_PATIENCE = 32

_LITTLE, _FEW_LINKS = 8, 3  # triples, and links, of a page that holds little
_READ = 1 << 19  # bytes in which marks are looked for
_CODE, _DIGITS = 1, re.compile(r"[0-9]+")
# No tag begins inside of what these match, so they are linear.
_TAG = re.compile(rb"<script\b[^<>]{0,1000}+", re.IGNORECASE)
_EMPTY = re.compile(rb"[^<>]{0,200}+>\s{0,200}+</")
_ROOTS = (
    b'id="root"',
    b'id="app"',
    b'id="__next"',
    b'id="__nuxt"',
    b'id="___gatsby"',
    b"<app-root",
)
_MARKS = (
    # roots of frameworks
    (*_ROOTS, b"ng-version", b"data-reactroot", b"data-server-rendered", b"ember-application"),
    # tag managers
    (b"dataLayer", b"/gtm.js", b"/utag.js", b"_satellite", b"_mtm", b"_paq"),
    # the state that they begin with
    (b"__NEXT_DATA__", b"__NUXT__", b"_STATE__", b'type="application/json"'),
    # what they fetch
    (b"fetch(", b"XMLHttpRequest", b"axios"),
    # what they say to readers without scripts
    (b"enable JavaScript", b"enable javascript", b"requires JavaScript", b"activate JavaScript"),
)


def marks_of(body: bytes) -> int:
    """Return what the HTML of a page shows of scripts, as bits; 0 if it has none that run."""
    body = body[:_READ]
    tags = _TAG.findall(body)
    data = [tag for tag in tags if b"json" in tag]
    if len(data) == len(tags) and b"onload=" not in body:
        return 0
    marks = _CODE
    for place, words in enumerate(_MARKS, 1):
        if any(word in body for word in words):
            marks |= 1 << place
    if body.count(b"ld+json") > sum(b"ld+json" in tag for tag in data):  # in code
        marks |= 1 << len(_MARKS) + 1
    for word in (b"<main", *_ROOTS):
        place = body.find(word)
        if place >= 0 and _EMPTY.match(body, place + 1):
            marks |= 1 << len(_MARKS) + 2
    return marks


class LearntChoice:
    """Chooses pages to render by what rendering has brought so far; `share` of all pages at most.

    Call `learn` once for each page of which `wants` was true; rendered is None if that failed.
    """

    def __init__(self, share: float = 1.0, most: int = 50_000) -> None:
        if not 0 <= share <= 1 or most < 16:
            raise ValueError(f"a share of the pages and room for 16 groups, not {share}, {most}")
        self._share = share
        self._most = most
        self._left = BURST
        self._table: dict[str, list[float]] = {}
        # Renders under way, by template.
        self._pending: Counter[str] = Counter()
        # Renders, those that gained, their gains; the seconds of all; pages, what they held.
        self._sums = [0.0] * 6
        # Hashes of the links that were gained, the latest last.
        self._links: dict[int, None] = {}

    def wants(self, page: Page, raw: Content) -> bool:
        """Tell whether to render a page, of which this is read without."""
        self._left = min(self._left + self._share, BURST)
        self._sums[4] += 1
        self._sums[5] += raw.nquads.count(b"\n")
        marks = marks_of(page.body)
        if not marks or not self._share:
            return False
        groups = _groups(page.url, marks, raw)
        kind, template = self._counts(groups[1]), self._counts(groups[-1])
        chance, gain, seconds = self._expect(groups, marks, raw)
        if template[1]:  # it may have changed
            chance *= 1.0 + template[4] / _LASTING
        else:  # a sample: if it gains, so do the pages to come
            chance *= 1.0 + template[4] + kind[4] / _KINDRED
        if self._left < 1.0 or chance * gain < self._least(seconds):
            kind[4] += 1.0
            template[4] += 1.0
            if template[4] > _PATIENCE:
                del self._pending[groups[-1]]
            return False
        kind[4] = template[4] = 0.0
        self._pending[groups[-1]] += 1
        self._left -= 1.0
        return True

    def learn(self, page: Page, raw: Content, rendered: Content | None, seconds: float) -> None:
        """Take note of what a browser has brought in so many seconds; None if it has failed."""
        gain = self._gain(raw, rendered) if rendered else 0.0
        rich, weight = float(gain >= LEAST_GAIN), 1.0
        groups = _groups(page.url, marks_of(page.body), raw)
        template, host, *others = groups[::-1]
        if (pending := self._pending[template] - 1) > 0:
            self._pending[template] = pending
        else:
            del self._pending[template]
        for place, name in enumerate((template, host, *others)):
            counts = self._counts(name)
            for column, number in enumerate((1.0, rich, gain, seconds)):
                counts[column] += weight * number
            if place < 2:
                weight *= FADE / (FADE + counts[0])
            if counts[0] > (LONG_MEMORY if place else MEMORY):
                counts[:4] = [number / 2 for number in counts[:4]]
        for column, number in enumerate((1.0, rich, rich * gain, seconds)):
            self._sums[column] += number

    def _gain(self, raw: Content, rendered: Content) -> float:
        """Return what a browser has brought, in triples."""
        triples = rendered.nquads.count(b"\n") - raw.nquads.count(b"\n")
        added = {*rendered.links}.difference(raw.links)
        new = {*map(hash, added)}.difference(self._links)
        self._links.update(dict.fromkeys(new))
        if len(self._links) > LINKS_KNOWN:
            self._links = dict.fromkeys([*self._links][LINKS_KNOWN // 2 :])
        return max(triples, 0) + LINK * min(len(new), MOST_LINKS)

    def _expect(self, groups: list[str], marks: int, raw: Content) -> tuple[float, float, float]:
        """Return the probability that a page gains, what it gains then, and the seconds that it takes."""
        share = FIRST_SHARES[_holds(raw)] if marks != _CODE else FIRST_SHARE
        gain, seconds = self._usual()
        *above, template = groups
        for name in above:
            if counts := self._table.get(name):
                renders, rich, gains, spent, _ = counts
                share = (STRENGTH * share + rich) / (STRENGTH + renders)
                gain = (gain + gains) / (1.0 + rich)
                seconds = (STRENGTH * seconds + spent) / (STRENGTH + renders)
        renders, rich, gains, spent, _ = self._table.get(template, _NOTHING)
        seconds = (STRENGTH * seconds + spent) / (STRENGTH + renders)
        if rich:
            return (DENSE + rich) / (1.0 + renders), (gain + gains) / (1.0 + rich), seconds
        # Bayes: a template that gains has as many samples without a gain by chance.
        failed = share * (1.0 - DENSE) ** (renders + self._pending[template] / _AT_ONCE)
        return DENSE * failed / (failed + 1.0 - share), gain, seconds

    def _usual(self) -> tuple[float, float]:
        """Return what a render brings that brings anything, and the seconds of any.

        Before anything is known, it brings as much as a page usually holds.
        """
        renders, rich, gains, seconds, pages, held = self._sums
        first = max(FIRST_GAIN, held / (1.0 + pages))
        return (first + gains) / (1.0 + rich), (FIRST_SECONDS + seconds) / (1.0 + renders)

    def _least(self, seconds: float) -> float:
        """Return what a page must be expected to bring in so many seconds.

        It is the more, the less of the share is left.
        """
        gain, usual = self._usual()
        held = self._sums[5] / self._sums[4]
        scarcity = max(0.0, 1.0 - 2.0 * self._left / BURST)
        share: float = FLOOR ** (1.0 - scarcity)
        return max(share * gain * seconds / usual, FLOOR_OF_PAGES * held)

    def _counts(self, name: str) -> list[float]:
        counts = self._table.get(name)
        if counts is None:
            if len(self._table) >= self._most:
                self._forget()
            counts = self._table[name] = [*_NOTHING]
        return counts

    def _forget(self) -> None:
        """Drop the half with the fewest renders, the oldest first."""
        table = self._table
        for name in sorted(table, key=lambda name: table[name][0])[: self._most // 2]:
            del table[name]
            del self._pending[name]

    # --- across a restart ---

    def state(self) -> dict[str, Any]:
        """Return what was learnt, for JSON."""
        table = {name: [round(each, 3) for each in row] for name, row in self._table.items()}
        return {"sums": self._sums, "table": table}

    def restore(self, state: dict[str, Any]) -> None:
        """Take what `state` returned; ValueError if it is damaged."""
        try:
            sums = [float(number) for number in state["sums"]]
            table = {str(name): [*map(float, row)] for name, row in state["table"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"What was learnt of rendering is damaged: {error!r}.") from error
        if len(sums) != len(self._sums) or any(len(row) != len(_NOTHING) for row in table.values()):
            raise ValueError("What was learnt of rendering is damaged: numbers are missing.")
        self._sums, self._table = sums, table
        while len(self._table) >= self._most:
            self._forget()


_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0)


def _holds(content: Content) -> int:
    """Return 0, 1 or 2 for a page that holds no triples, few or more."""
    triples = content.nquads.count(b"\n")
    return 0 if not triples else 1 if triples < _LITTLE else 2


def _groups(url: str, marks: int, raw: Content) -> list[str]:
    """Return the groups of a page, the widest one first, and its template."""
    section = section_of(to_key(url)).decode("ascii")
    host, slash, folder = section.partition("/")
    host = host.partition("@")[0]  # no passwords
    kind = f"{marks:x}.{_holds(raw)}{len(raw.links) <= _FEW_LINKS:d}"
    pattern = _DIGITS.sub("0", slash + folder.lower())
    widest = f"{'code' if marks == _CODE else 'marks'} {_holds(raw)}"
    return [widest, kind, f"{kind} {pattern}", f"{kind} {host}", f"{kind} {host}{slash}{folder}"]
