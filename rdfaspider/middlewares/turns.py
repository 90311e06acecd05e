"""Pages that have to wait for another turn of their host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from rdfaspider.frontier import FrontierUnavailable

if TYPE_CHECKING:
    from rdfaspider.frontier import Frontier


class Postponed(IgnoreRequest):
    """A URL has to wait for another turn of its host."""

    postpones = True


def noted(frontier: Frontier, name: str) -> bytes | None:
    """Return a note of the frontier; raise Postponed if it cannot be read now."""
    try:
        return frontier.note(name)
    except FrontierUnavailable as error:
        raise Postponed from error
