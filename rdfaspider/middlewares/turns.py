"""Pages that have to wait for another turn of their host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from rdfaspider.frontier import FrontierUnavailable

if TYPE_CHECKING:
    from rdfaspider.frontier import Frontier


class Postponed(IgnoreRequest):
    """Says that a URL has to wait for another turn of its host, and is to be asked for then."""

    postpones = True


def noted(frontier: Frontier, name: str) -> bytes | None:
    """Return a note of the frontier; Postponed if it cannot be read now, which is not the page's fault."""
    try:
        return frontier.note(name)
    except FrontierUnavailable as error:
        raise Postponed from error
