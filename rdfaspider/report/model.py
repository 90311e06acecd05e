"""What a report consists of, before it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Cell = str | int | float | None
Point = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """A picture of numbers, with a curve, a cloud of points or a set of bars for each of `names`.

    `labels` name the bars, and `values` has a list for each name, in parallel to them. Otherwise `points` has
    a list for each name. `fits` has a straight line for logarithmic axes, by two points, or None for each
    name. A value is None where it is not known.
    """

    key: str
    title: str
    sentence: str
    kind: Literal["bars", "columns", "points", "lines"]
    names: Sequence[str]
    across: str = ""
    up: str = ""
    labels: Sequence[str] = ()
    values: Sequence[Sequence[float | None]] = ()
    points: Sequence[Sequence[Point]] = ()
    fits: Sequence[tuple[Point, Point] | None] = ()
    is_logarithmic: bool = False

    @property
    def is_empty(self) -> bool:
        return not any(map(any, self.values)) and not any(self.points)

    def rows(self) -> list[list[Cell]]:
        """Return the numbers behind the picture, with a row of names first."""
        if self.labels:
            head: list[Cell] = [self.across or "label", *self.names]
            return [
                head,
                *([label, *row] for label, *row in zip(self.labels, *self.values, strict=True)),
            ]
        rows: list[list[Cell]] = [["series", self.across, self.up]]
        for name, points in zip(self.names, self.points, strict=True):
            rows += [[name, x, y] for x, y in points]
        return rows


@dataclass(frozen=True)
class Table:
    """Rows of cells; numbers are aligned to the right."""

    key: str
    title: str
    sentence: str
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]

    @property
    def is_empty(self) -> bool:
        return not self.cells

    def rows(self) -> list[list[Cell]]:
        return [[*self.columns], *([*row] for row in self.cells)]


@dataclass(frozen=True)
class Section:
    """A subject of the report; `note` says why something is missing."""

    key: str
    title: str
    sentence: str
    items: Sequence[Figure | Table] = ()
    note: str = ""
    facts: Sequence[str] = field(default=())

    @property
    def shown(self) -> list[Figure | Table]:
        return [item for item in self.items if not item.is_empty]
