"""Instructions to a crawl of one process while it runs: pause, stop, other delays, other settings.

The same instructions as those of a shared crawl (service/notes.py), but nobody else hears them, and the next
run does not know of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.service.notes import DELAY_OF, NUMBERS, check_instruction, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier import Frontier


class Steering:
    """`changed` is called with all instructions after each new one, `stop` once when the crawl is to end."""

    def __init__(
        self,
        frontier: Frontier,
        changed: Callable[[dict[str, str]], None],
        stop: Callable[[], None],
    ) -> None:
        self._frontier = frontier
        self._changed = changed
        self._stop = stop
        self._politeness = frontier.politeness if isinstance(frontier, LocalFrontier) else None
        self.told: dict[str, str] = {}

    @property
    def state(self) -> str:
        """Return the instruction: run, pause or stop."""
        return self.told.get("state", "run")

    def tell(self, name: str, value: str) -> None:
        """Give an instruction; ValueError if it is invalid."""
        check_instruction(name, value, self.told)
        if self.state == "stop":
            raise ValueError("The crawl is stopping.")
        self.told[name] = value
        if name in NUMBERS or name.startswith(DELAY_OF):
            self._apply_numbers()
        self._changed(self.told)
        if self.state == "stop":
            self._stop()

    def _apply_numbers(self) -> None:
        if self._politeness is not None and isinstance(self._frontier, LocalFrontier):
            self._frontier.politeness = replace(self._politeness, **numbers_of(self.told))
