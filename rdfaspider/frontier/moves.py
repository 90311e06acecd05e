"""Pages that have moved, until their new place is stored: two notes with the frontier.

    moved TARGET    the URLs of pages that redirect there for good, whose graphs are still kept, a line each
    left URL        where that page redirects to; after a line feed `cleared`, once its graph is

A page that moves writes both. When the target is stored, the graphs of those that moved there are cleared
with it. A page that comes back before that, or moves elsewhere, takes itself out. What survives a kill: the
graph is cleared before the notes say so; clearing it again changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfaspider.frontier import Frontier

# Pages that may wait for one target; a site that sends all its pages home clears the rest at the next visit.
_MOST = 1_000


class Moves:
    """The moves of a crawl; each method may raise FrontierUnavailable."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier

    def depart(self, url: str, target: str) -> bool:
        """Note that a page redirects to a target for good; return False if its graph is cleared already."""
        before, is_cleared = self._left(url)
        if before == target and is_cleared:
            return False
        if before and before != target:
            self.come_back(url)
        waiting = self.waiting_for(target)
        if url not in waiting and len(waiting) < _MOST:
            self._set_waiting(target, [*waiting, url])
        self._frontier.set_note(f"left {url}", target.encode())
        return True

    def waiting_for(self, target: str) -> list[str]:
        """Return the pages that have moved to a target and are not cleared yet."""
        return (self._frontier.note(f"moved {target}") or b"").decode().split()

    def settle(self, target: str, urls: Iterable[str]) -> None:
        """Note that the graphs of pages that moved to a target are cleared."""
        cleared = set(urls)
        left = [url for url in self.waiting_for(target) if url not in cleared]
        self._set_waiting(target, left)
        for url in cleared:
            self._frontier.set_note(f"left {url}", f"{target}\ncleared".encode())

    def come_back(self, url: str) -> None:
        """Note that a page is at its old place again."""
        target, _ = self._left(url)
        if not target:
            return
        waiting = self.waiting_for(target)
        if url in waiting:
            waiting.remove(url)
            self._set_waiting(target, waiting)
        self._frontier.set_note(f"left {url}", b"")

    def _left(self, url: str) -> tuple[str, bool]:
        target, _, cleared = (self._frontier.note(f"left {url}") or b"").decode().partition("\n")
        return target, bool(cleared)

    def _set_waiting(self, target: str, urls: list[str]) -> None:
        self._frontier.set_note(f"moved {target}", "\n".join(urls).encode())
