"""Columns of the user's own in the table of pages: functions of a page, named by dotted paths.

The values are in the row of the page by the name of their column. The columns that a crawl has had are a note
of the frontier, a line each with the kind of its values (`price real`), so that the table can be read without
the user's code.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from rdfaspider.pages.table import COLUMNS
from rdfaspider.plugins import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rdfaspider.items import Page
    from rdfaspider.pages.table import Columns, PageRecord, Rows

# The name of the note.
NOTE = "columns"

_MAX_CHARACTERS = 100
_KINDS = {"int": "whole", "bool": "whole", "float": "real", "str": "text"}
_TYPES = {"whole": int, "real": float, "text": str}

logger = logging.getLogger(__name__)


class OwnColumns:
    """The columns that a setting adds, each `name: package.module.function`; ValueError if one is wrong."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.kinds: dict[str, str] = {}
        self._functions: dict[str, Callable[[Page], Any]] = {}
        self._failed: set[str] = set()
        for text in texts:
            name, _, path = text.partition(": ")
            if not name.isidentifier() or not path:
                raise ValueError(f"Not a column (name: package.module.function): {text[:200]!r}.")
            if name in COLUMNS or name in self.kinds:
                raise ValueError(f"There is a column {name} already.")
            self._functions[name], self.kinds[name] = _function(path.strip())

    def values(self, page: Page) -> dict[str, Any]:
        """Return the values of a page that was read; a column whose function fails has none."""
        found = {}
        for name, function in self._functions.items():
            try:
                value = function(page)
                if value is not None:
                    found[name] = _checked(value, self.kinds[name])
            except Exception as error:
                if name not in self._failed:
                    self._failed.add(name)
                    said = f"{type(error).__name__}: {error}"
                    logger.warning("The column %s stays empty for %s (%s)", name, page.url, said)
        return found


def kinds_in(notes: Iterable[bytes | None]) -> dict[str, str]:
    """Return the columns that notes have, with their kinds."""
    lines = (line for note in notes for line in (note or b"").decode().splitlines())
    return dict(line.split(" ", 1) for line in lines)


def extended(records: Iterable[PageRecord], own: Columns) -> tuple[Columns, Rows]:
    """Return the table of pages with the user's columns: its columns and its rows."""

    def cells(record: PageRecord) -> Iterator[Any]:
        for name, kind in own.items():
            value = record.own.get(name)  # of another kind if the column has changed
            yield value if isinstance(value, _TYPES[kind]) else None

    rows = ((*record[: len(COLUMNS)], *cells(record)) for record in records)
    return {**COLUMNS, **own}, rows


def _function(path: str) -> tuple[Callable[[Page], Any], str]:
    """Return the function at a path and the kind of what it returns; a class is called once for one."""
    function = load(path, "a column")
    if isinstance(function, type):
        try:
            function = function()
        except Exception as error:
            raise ValueError(f"{path} cannot be a column: {error}.") from error
    returned = inspect.signature(function).return_annotation
    name = returned if isinstance(returned, str) else inspect.formatannotation(returned)
    kind = _KINDS.get(name.partition("|")[0].strip())
    if kind is None:
        raise ValueError(
            f"{path} cannot be a column: annotate what it returns, as -> int, -> float or -> str."
        )
    return function, kind


def _checked(value: Any, kind: str) -> int | float | str:
    """Return a value as a row holds it; ValueError if it cannot."""
    if kind == "text":
        return str(value)[:_MAX_CHARACTERS].encode("utf-8", "replace").decode()
    number: int | float = _TYPES[kind](value)
    if not -(1 << 63) <= number < 1 << 63:  # nor is a NaN
        raise ValueError(f"{number} is not within 64 bits")
    return number
