"""Rows as a table, written as they come; the first rows decide how wide the columns are.

On a terminal cells are cut so that a row fits on a line. Elsewhere nothing is cut, and a wide cell pushes
the others to the right. Memory does not grow with the number of rows.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, TextIO

from rdfaspider.terminal import cells, columns, cut, escaped, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# The first rows, up to this number and this many characters, decide how wide the columns are.
_ROWS, _CHARACTERS = 200, 1 << 20
# Between two columns; the least width of a column that is cut; the greatest in a file.
_GAP = "  "
_NARROWEST, _WIDEST = 4, 100


class Table:
    """Formats rows for a stream; afterwards `rows` counts them and `is_cut` tells whether a cell was cut."""

    def __init__(self, names: Sequence[str], stream: TextIO, *, remedy: str = "") -> None:
        self.rows = 0
        self.is_cut = False
        self._names = names
        self._remedy = remedy
        self._columns = columns(stream)
        self._encoding = stream.encoding or "utf-8"

    def lines(self, rows: Iterable[Sequence[str]]) -> Iterator[str]:
        """Yield the head, a line for each row, and their number; also the remedy for cut cells."""
        written = (self._written(row) for row in rows)
        head = self._written(self._names)
        first = list(_first(written))
        widths = self._widths([head, *first])
        yield self._line(head, widths)
        yield _GAP.join("-" * width for width in widths) + "\n"
        for row in chain(first, written):
            self.rows += 1
            yield self._line(row, widths)
        is_cut = f", long cells cut{self._remedy}" if self.is_cut else ""
        yield f"({plural(self.rows, 'row')}{is_cut})\n"

    def _written(self, row: Sequence[str]) -> list[str]:
        # No more is escaped of a long text than can be seen.
        most = None if self._columns is None else 4 * self._columns
        return [escaped(cell[:most], self._encoding) for cell in row]

    def _widths(self, rows: Sequence[Sequence[str]]) -> list[int]:
        widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
        if self._columns is None:
            return [min(width, _WIDEST) for width in widths]
        return _fitted(widths, self._columns - len(_GAP) * (len(widths) - 1))

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        if self._columns is not None:
            shown = [cut(cell, w, self._encoding) for cell, w in zip(row, widths, strict=True)]
            self.is_cut = self.is_cut or shown != row
            row = shown
        padded = (cell + " " * (w - cells(cell)) for cell, w in zip(row, widths, strict=True))
        return _GAP.join(padded).rstrip() + "\n"


def _first(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    characters = 0
    for row in islice(rows, _ROWS):
        yield row
        characters += sum(map(len, row))
        if characters > _CHARACTERS:
            return


def _fitted(widths: Sequence[int], room: int) -> list[int]:
    """Return widths that add up to at most `room`: the widest columns shrink to one common width."""
    if sum(widths) <= room:
        return list(widths)
    rest, limit = room, 0
    for done, width in enumerate(sorted(widths)):
        limit = rest // (len(widths) - done)
        if width > limit:
            break
        rest -= width
    limit = max(limit, _NARROWEST)
    return [min(width, limit) for width in widths]
