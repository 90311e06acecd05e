"""The pages of one host: a complete tree, numbered breadth first.

Layout: the root is page 0 and the children of page `i` are `i * pages + 1` to `i * pages + pages`,
so that parent, child and existence are arithmetic. The path of a page spells its way from the
root: a section for the first step, a letter of its level and a number for each further one
(`/books/a3/b0`), so that no honest path repeats a segment as the traps do.

Invariant: `index(path(i)) == i` for every page, and `index` raises for any other path.
"""

from __future__ import annotations

# The section of a page tells what it is about; none is the beginning of another, so that
# `Disallow: /books` in robots.txt means this section and no other.
SECTIONS = ("people", "books", "events", "places", "music", "films", "recipes", "courses")


class Tree:
    """Numbers and paths of the pages of a host with `levels` below its root."""

    def __init__(self, levels: int, pages: int) -> None:
        self.levels = levels
        self.pages = pages
        self.count = sum(pages**level for level in range(levels + 1))

    def children(self, index: int) -> range:
        """Return the children of a page: `pages` of them, none at the last level."""
        first = index * self.pages + 1
        return range(first, first + self.pages) if first < self.count else range(0)

    def parent(self, index: int) -> int:
        """Return the parent of a page; the root has none and must not be asked."""
        return (index - 1) // self.pages

    def steps(self, index: int) -> list[int]:
        """Return which child to take at each level on the way from the root."""
        steps = []
        while index:
            index, step = divmod(index - 1, self.pages)
            steps.append(step)
        return steps[::-1]

    def section(self, index: int) -> int:
        """Return the number of the section that a page is in, -1 for the root."""
        while index > self.pages:
            index = (index - 1) // self.pages
        return index - 1

    def path(self, index: int) -> str:
        """Return the path of a page."""
        if index == 0:
            return "/"
        first, *rest = self.steps(index)
        steps = (f"{letter(level)}{step}" for level, step in enumerate(rest))
        return "/".join(["", section_name(first), *steps])

    def index(self, path: str) -> int:
        """Return the page at a path, ValueError if there is none."""
        if path == "/":
            return 0
        empty, first, *rest = path.split("/", self.levels + 1)
        if empty or len(rest) >= self.levels:
            raise ValueError(f"no page is at {path[:100]!r}")
        index = 0
        steps = (step_number(segment, level) for level, segment in enumerate(rest))
        for step in (section_number(first), *steps):
            if step >= self.pages:
                raise ValueError(f"no page is at {path[:100]!r}")
            index = index * self.pages + 1 + step
        return index


def section_name(section: int) -> str:
    """Return the first path segment of a section; after the eighth the names are numbered."""
    round_, kind = divmod(section, len(SECTIONS))
    return f"{round_ + 1}-{SECTIONS[kind]}" if round_ else SECTIONS[kind]


def section_number(name: str) -> int:
    """Return the section of a first path segment, ValueError if it is none."""
    digits, _, kind = name.rpartition("-")
    if kind not in SECTIONS or digits in ("0", "1") or name.startswith("-"):
        raise ValueError(f"no section has the name {name[:100]!r}")
    round_ = number(digits) - 1 if digits else 0
    return round_ * len(SECTIONS) + SECTIONS.index(kind)


def letter(level: int) -> str:
    """Return the letter of a level below the sections."""
    return chr(ord("a") + level % 26)


def step_number(segment: str, level: int) -> int:
    """Return the step that a segment of this level stands for, ValueError if it is none."""
    if not segment.startswith(letter(level)):
        raise ValueError(f"no page of this level has the name {segment[:100]!r}")
    return number(segment[1:])


def number(digits: str) -> int:
    """Return the value of a plain decimal numeral of at most 18 digits, ValueError otherwise."""
    plain = digits.isascii() and digits.isdecimal() and len(digits) <= 18
    if not plain or (digits[0] == "0" and digits != "0"):
        raise ValueError(f"not a plain number: {digits[:100]!r}")
    return int(digits)
