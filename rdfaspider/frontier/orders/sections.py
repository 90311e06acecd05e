"""The sections of a host, for harvest.py: which promises most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.focus.contexts import lift_of
from rdfaspider.focus.harvest import Harvest, section_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.frontier.tables.waiting import Picked

MOST_SECTIONS = 64
"""Sections of a host that are compared; URLs in other sections wait until these are empty."""

# In a finding: where class and promise are.
_PROMISED = 24

PLACES = [bytes((0, 255 - byte)) for byte in range(256)]
"""What ends a rank, by the class and promise of its hint."""


class Sections:
    """The sections of one host in which URLs wait, and the best of them.

    Layout: `promises` has the best promise of each section. `ahead` has the next URLs of the section
    `ahead_of`, after the one that was picked last; the next one is last. If `is_all`, it has no more.
    Invariant: `best` is the highest score and its section, so a new section is compared with it only; None if
    all are to be scored. If `is_compared`, the host stands among others by this score.
    """

    __slots__ = ("ahead", "ahead_of", "best", "is_all", "is_compared", "promises")

    def __init__(self, promises: dict[bytes, int]) -> None:
        self.promises = promises
        self.best: tuple[float, bytes] | None = None
        self.is_compared = False
        self.ahead: list[Picked] = []
        self.ahead_of = b""
        self.is_all = False

    def add(
        self, host_key: bytes, keys: Sequence[bytes], findings: Sequence[int], harvest: Harvest
    ) -> list[bytes]:
        """Take in new URLs of the host with their findings; return the rank of each."""
        self.ahead.clear()
        self.is_all = False
        promises, start = self.promises, len(host_key)
        ranks: list[bytes] = []
        for key, found in zip(keys, findings, strict=True):
            section, promise = section_of(key), found >> _PROMISED
            ranks.append(section[start:] + PLACES[promise])
            known = promises.get(section, -1)
            if promise > known and (known >= 0 or len(promises) < MOST_SECTIONS):
                promises[section] = promise
                self._compare(section, promise, harvest)
        return ranks

    def find_best(self, harvest: Harvest) -> tuple[float, bytes]:
        """Return the highest score and its section."""
        if self.best is None:
            self.best = max(
                (harvest.score(section, lift_of(promise)), section)
                for section, promise in self.promises.items()
            )
        return self.best

    def set_promise(self, section: bytes, promise: int, harvest: Harvest) -> None:
        """Update what a section promises."""
        if self.promises.get(section) != promise:
            self.promises[section] = promise
            self._compare(section, promise, harvest)

    def _compare(self, section: bytes, promise: int, harvest: Harvest) -> None:
        """Compare a section whose promise has changed with the best one."""
        best = self.best
        if best is None:
            return
        if best[1] == section:
            self.forget_best()
            return
        score = harvest.score(section, lift_of(promise))
        if (score, section) > best:
            self.best, self.is_compared = (score, section), False

    def drop(self, section: bytes) -> None:
        """Drop a section in which nothing waits."""
        self.promises.pop(section, None)
        if self.best is not None and self.best[1] == section:
            self.forget_best()

    def forget_best(self) -> None:
        """Let all be scored again: the best is gone, or something was learnt about the host."""
        self.best, self.is_compared = None, False
