"""A batch of scripts in stages, each with what to do with its reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier.redis.link import Script

# Links and notes are safe before the page they come from is ended; what is looked at is looked at last.
NOTES, VERSIONS, PUTS, LANDS, TAKES, LOOKS = range(6)


class Batch:
    def __init__(self) -> None:
        self.stages: list[list[Script]] = [[] for _ in range(LOOKS + 1)]
        self._handlers: list[list[Callable[[Any], None]]] = [[] for _ in self.stages]

    def add(self, stage: int, script: Script, handler: Callable[[Any], None]) -> None:
        self.stages[stage].append(script)
        self._handlers[stage].append(handler)

    def deal_with(self, replies: list[list[Any]]) -> None:
        """Hand each reply to who waits for it."""
        for handlers, answers in zip(self._handlers, replies, strict=True):
            for handler, answer in zip(handlers, answers, strict=True):
                handler(answer)


def ignore(reply: Any) -> None:
    """Do nothing with a reply."""
