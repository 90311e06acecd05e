"""What all readers of a page share: its blank nodes, and how often something was wrong."""

from __future__ import annotations

from collections import Counter

Warnings = Counter[str]
"""How often each class of the processor graph would have been raised, by its local name."""


class Labels:
    """Blank node labels of one page: unique through the page's digest, the same on every run."""

    __slots__ = ("_named", "_next", "_prefix")

    def __init__(self, digest: str) -> None:
        self._prefix = f"_:b{digest}x"
        self._next = 0
        self._named: dict[str, str] = {}

    def fresh(self) -> str:
        """Return a blank node that nobody else has."""
        self._next += 1
        return f"{self._prefix}{self._next}"

    def named(self, name: str) -> str:
        """Return the blank node that the page calls ``_:name``."""
        label = self._named.get(name)
        if label is None:
            label = self._named[name] = self.fresh()
        return label
