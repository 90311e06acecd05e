"""URLs that the user has excluded while the crawl runs.

Layout: the note `excluded` is a JSON array of rules, as in URLS_REJECT (urls/filters.py). All workers watch
it, and a resumed crawl reads it, so what is once excluded stays so. Links that match are not taken in. What
waits already is denied when its turn comes; that costs its host no turn.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rdfaspider.urls.filters import Rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier import Frontier
    from rdfaspider.service.notes import SharedNotes

NOTE = "excluded"
_LONGEST = 1_000  # characters of a rule


class Exclusions:
    """`changed` is called when there are new rules."""

    def __init__(self, notes: Frontier | SharedNotes, changed: Callable[[], None]) -> None:
        self._notes = notes
        self._changed = changed
        self.rules: list[str] = []
        self._compiled: Rules | None = None

    def begin(self) -> None:
        """Read the rules of the crawl, and follow what others add."""
        self._notes.watch(NOTE, self._read)
        if (data := self._notes.note(NOTE)) is not None:
            self._read(data)

    def add(self, rule: str) -> None:
        """Exclude all URLs that match a rule; ValueError if it is none."""
        check_rule(rule)
        self._notes.set_note(NOTE, json.dumps(sorted({*self.rules, rule})).encode())
        self._set({*self.rules, rule})

    def has(self, url: str) -> bool:
        return self._compiled is not None and bool(self._compiled.match(url))

    def _read(self, data: bytes) -> None:
        self._set({*self.rules, *json.loads(data)})

    def _set(self, rules: set[str]) -> None:
        if rules != set(self.rules):
            self.rules = sorted(rules)
            self._compiled = Rules(self.rules, late=True)
            self._changed()


def check_rule(rule: str) -> None:
    """Raise ValueError if a rule cannot be used."""
    if len(rule) > _LONGEST:
        raise ValueError(f"A rule has at most {_LONGEST:,} characters.")
    Rules([rule], late=True)
