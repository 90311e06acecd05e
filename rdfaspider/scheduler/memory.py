"""What the spider remembers, kept with the frontier so that the crawl goes on as it was begun.

Layout: the note `spider` has what the spider says at each start, in one piece. What its scope grows by
afterwards follows in the notes `scope 0`, `scope 1` …, one member each, so that a hundred thousand seeds
that have moved cost one small note each. Workers that share a crawl add to the first note instead: their
frontier tells all of them what is new in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdfaspider.frontier import Frontier
    from rdfaspider.service.notes import SharedNotes

_SPIDER = "spider"


class Memory:
    """Reads the notes of a crawl at its start, and adds to them."""

    def __init__(self, notes: Frontier | SharedNotes, *, is_shared: bool) -> None:
        self._notes = notes
        self._is_shared = is_shared
        self._members = 0
        self.is_resumed = False

    def recall(self, spider: Any) -> None:
        """Let the spider go on as the crawl was begun; UsageError if it was asked not to."""
        memory = self._notes.note(_SPIDER)
        if memory is None:
            return
        self.is_resumed = True
        spider.recall(memory)
        while (member := self._notes.note(f"scope {self._members}")) is not None:
            spider.scope.members.add(member.decode())
            self._members += 1

    def begin(self, spider: Any) -> None:
        """Write everything down, and take over what other workers add from now on."""
        if self._is_shared:
            self._notes.watch(_SPIDER, spider.recall)
        self._notes.set_note(_SPIDER, spider.memory)

    def keep(self, spider: Any) -> None:
        """Write down what the scope has grown by."""
        grown: list[str] = spider.scope.grown
        spider.scope.grown = []
        if grown and self._is_shared:
            self._notes.set_note(_SPIDER, spider.memory)
        else:
            for member in grown:
                self._notes.set_note(f"scope {self._members}", member.encode())
                self._members += 1
