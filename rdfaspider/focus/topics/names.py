"""The names of a crawl's topics, stored with its frontier, where a topic is a number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.focus.topics.file import Topic

NOTE = "topics"


class Notes(Protocol):
    """The part of a frontier that keeps notes."""

    def note(self, name: str) -> bytes | None: ...

    def set_note(self, name: str, value: bytes) -> None: ...


def keep_names(frontier: Notes, topics: Sequence[Topic]) -> None:
    """Store the names of a crawl's topics; ValueError if it was begun with others."""
    names = [topic.name for topic in topics]
    begun = read_names(frontier.note(NOTE))
    if names[: len(begun)] != begun:
        raise ValueError(
            f"This crawl was begun with the topics {', '.join(begun[1:])}, in this order, and cannot go on"
            " with others: new ones may come after these; or begin a new crawl with -s JOBDIR=DIRECTORY."
        )
    if names != begun:
        frontier.set_note(NOTE, json.dumps(names).encode())


def read_names(note: bytes | None) -> list[str]:
    """Return the names of topics in a note, by their numbers."""
    return [str(name) for name in json.loads(note)] if note else []
