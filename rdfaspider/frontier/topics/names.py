"""The names of a crawl's topics, kept with its frontier: there a topic is a number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.frontier import Frontier
    from rdfaspider.frontier.topics.file import Topic

NOTE = "topics"


def keep_names(frontier: Frontier, topics: Sequence[Topic]) -> None:
    """Note the names of a crawl's topics; ValueError if it was begun with others."""
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
    """Return the names of topics that a frontier has noted, by their numbers."""
    return [str(name) for name in json.loads(note)] if note else []
