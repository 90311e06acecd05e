"""Open guesses: made from pages that were fetched, answered when their own pages come back (rows T2, T3).

Invariant. A guess is open from the moment it goes to the frontier until its page comes back. There are at
most `_MOST` open ones; beyond that the oldest, which the frontier may have turned away, is dropped. What
was learnt and what is open is one note, written when the crawl ends; a kill loses what was learnt in its
run. What a host answers to a URL that nobody has is asked for with its first guesses. A page with the body
of another of its server, its own path left out, is no hit: many servers answer 200 for what is missing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from rdfaspider.focus.guesses import Guesses
from rdfaspider.urls import authority

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.items import Page

_MOST = 50_000
# A path that no host has. It comes before others in the order of keys.
_NONSENSE = "/-there-is-no-such-page-"
# The name of the note.
NOTE = "guesses"


class Guessing:
    """Makes guesses while they pay; `budget` is what may be lost on a host."""

    def __init__(self, budget: int, stored: bytes | None = None) -> None:
        self._guesses = Guesses(budget)
        self._open: dict[str, None] = {}
        self._bodies: dict[tuple[str, int], None] = {}  # of each server
        if stored is not None:
            learnt, _, open_ = stored.partition(b"\n")
            self._guesses.load(learnt)
            self._open.update(dict.fromkeys(json.loads(open_)))
        self.made = self.hits = 0

    def answer(self, page: Page) -> bool:
        """Learn from a page, if it was a guess; return whether its server has not shown it before."""
        is_new = page.is_read and self._is_new(page)
        if page.url in self._open:
            del self._open[page.url]
            self._guesses.answered(page.url, is_new)
            self.hits += is_new
        return is_new

    def _is_new(self, page: Page) -> bool:
        path = urlsplit(page.url).path
        body = page.body.replace(path.encode(), b"") if len(path) > 1 else page.body
        known = authority(page.url), hash(body)
        is_new = known not in self._bodies
        if is_new and len(self._bodies) >= _MOST:
            del self._bodies[next(iter(self._bodies))]
        self._bodies[known] = None
        return is_new and path != _NONSENSE

    def guess(self, page: Page, is_welcome: Callable[[str], bool]) -> list[str]:
        """Return further URLs that may exist, given that this page does.

        `is_welcome` returns whether a URL may be followed and is not known yet.
        """
        found = []
        for url in self._guesses.candidates(page.url):
            if url in self._open or not is_welcome(url):
                continue
            if not self._guesses.made(url):
                break
            if len(self._open) >= _MOST:
                del self._open[next(iter(self._open))]
            self._open[url] = None
            found.append(url)
        if found and is_welcome(nonsense := urljoin(page.url, _NONSENSE)):
            found.append(nonsense)
        self.made += len(found)
        return found

    def dump(self) -> bytes:
        return self._guesses.dump() + b"\n" + json.dumps(list(self._open)).encode()
