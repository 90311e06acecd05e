"""The spider's state, stored with the frontier so that a crawl resumes as it was begun.

Layout: the note `spider` has the state at each start, in one piece. Later growth of the scope follows in
the notes `scope 0`, `scope 1` …, one member each, so that a hundred thousand seeds that have moved cost one
small note each. Workers that share a crawl add to the first note instead: their frontier sends all of them
what is new in it.
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
        """Restore the spider's state; UsageError if it was asked for something else."""
        memory = self._notes.note(_SPIDER)
        if memory is None:
            return
        self.is_resumed = True
        spider.recall(memory)
        while (member := self._notes.note(f"scope {self._members}")) is not None:
            spider.scope.members.add(member.decode())
            self._members += 1

    def begin(self, spider: Any) -> None:
        """Write the state, and follow what other workers add from now on."""
        if self._is_shared:
            self._notes.watch(_SPIDER, spider.recall)
        self.save(spider)

    def save(self, spider: Any) -> None:
        """Write the whole state."""
        spider.has_learnt = False
        self._notes.set_note(_SPIDER, spider.memory)

    def keep(self, spider: Any) -> None:
        """Write the growth of the scope."""
        grown: list[str] = spider.scope.grown
        spider.scope.grown = []
        if grown and self._is_shared:
            self.save(spider)
        else:
            for member in grown:
                self._notes.set_note(f"scope {self._members}", member.encode())
                self._members += 1
