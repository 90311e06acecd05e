"""Which kept page led to a new one when it was visited again.

What the new page is worth counts for the page that led to it, also where a redirect lies between them. In
memory only: what was found before a restart and is read after it counts for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# New pages that are remembered.
_MOST = 100_000


class Discoveries:
    def __init__(self) -> None:
        # By the page or redirect whose links are in the inbox, and by a new URL: the page that led to it.
        self._by_referrer: dict[int, int] = {}
        self._by_new: dict[int, int] = {}

    def follow(self, referrer: int, page: int) -> None:
        """Note that the links which a URL adds to the inbox come from a visit of a kept page."""
        self._by_referrer[referrer] = page

    def add(self, keys: Iterable[bytes], finders: dict[bytes, int], first: int) -> None:
        """Note new URLs, whose numbers begin at `first`, with 1 + the number of the URL that found each."""
        if self._by_referrer:
            for number, key in enumerate(keys, first):
                page = self._by_referrer.get(finders.get(key, 0) - 1)
                if page is not None and len(self._by_new) < _MOST:
                    self._by_new[number] = page
            self._by_referrer.clear()

    def end(self, number: int) -> int | None:
        """Return the page that led to a URL which has ended, None if none did."""
        return self._by_new.pop(number, None)
