"""The topics file: TOML, a table for each topic, a table in a table for a sub-topic.

    [food]
    keywords = ["recipe", "cooking", "kitchen"]
    types = ["http://schema.org/Recipe"]
    vocabularies = ["http://purl.org/foodontology#"]
    seeds = ["https://www.example.org/recipes/"]

    [food.baking]
    keywords = ["bread", "oven", "yeast"]

A keyword is a word or a phrase, in any case and form (keywords.py). A topic needs keywords, types or
vocabularies, which identify its pages; its seeds are pages with many links to such pages. Errors name the
line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_TOPICS = 255  # a topic is a byte of a rank, and 0 is everything else
_LISTS = ("keywords", "types", "vocabularies", "seeds")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


class Topic(NamedTuple):
    """One topic; `parent` is the number of the topic that contains it, 0 if none."""

    name: str
    parent: int
    keywords: frozenset[str]
    types: frozenset[str]
    vocabularies: tuple[str, ...]
    seeds: tuple[str, ...]


def read_topics(path: Path) -> list[Topic]:
    """Read a topics file; ValueError with file and line if it is invalid. Topic 0 is everything else."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not in UTF-8.") from error
    try:
        return parse_topics(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def parse_topics(text: str) -> list[Topic]:
    """Parse a topics file; ValueError with the line at fault."""
    import tomllib  # few crawls have topics

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(_with_line_first(str(error), text)) from error
    topics = [Topic("", 0, frozenset(), frozenset(), (), ())]
    reader = _Reader(_Lines(text), topics)
    for name, table in tables.items():
        reader.read((name,), table, 0)
    if len(topics) == 1:
        raise ValueError("line 1: there is no topic; write [name] and its keywords below")
    return topics


def _with_line_first(message: str, text: str) -> str:
    found = _AT_LINE.search(message)
    line = found[1] if found and found[1] else text.count("\n") + 1
    return f"line {line}: {_AT_LINE.sub('', message).strip()}"


class _Lines:
    """Finds the line of a table or of a key in it, if they are written plainly."""

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), start=1):
            if header := _HEADER.match(line):
                table = tuple(part.strip().strip("\"'") for part in header[1].split("."))
                self._lines.setdefault(table, number)
            elif key := _KEY.match(line):
                self._lines.setdefault((*table, key[1]), number)

    def of(self, path: tuple[str, ...]) -> int:
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


class _Reader:
    def __init__(self, lines: _Lines, topics: list[Topic]) -> None:
        self._lines, self._topics = lines, topics

    def read(self, path: tuple[str, ...], table: Any, parent: int) -> None:
        """Add the topic of a table, then its sub-topics."""
        if not isinstance(table, dict):
            known = (
                f"a topic has {', '.join(_LISTS)} and sub-topics" if path[1:] else "it is no topic"
            )
            raise self._error(path, f"{path[-1]!r} is not known here; {known}")
        if not _NAME.fullmatch(path[-1]) or path[-1] in _LISTS:
            raise self._error(
                path, "a name is letters, digits, - and _, and no word of this format"
            )
        if len(self._topics) > MOST_TOPICS:
            raise self._error(path, f"more than {MOST_TOPICS} topics")
        self._topics.append(self._topic(path, table, parent))
        number = len(self._topics) - 1
        for name, value in table.items():
            if name not in _LISTS:
                self.read((*path, name), value, number)

    def _topic(self, path: tuple[str, ...], table: dict[str, Any], parent: int) -> Topic:
        keywords, types, vocabularies, seeds = (self._list(path, table, name) for name in _LISTS)
        if not (keywords or types or vocabularies):
            raise self._error(path, "a topic needs keywords, types or vocabularies")
        for word in keywords:
            if not re.search(r"\w", word):
                raise self._error((*path, "keywords"), f"{word!r} has no letter")
        for name, iris in (("types", types), ("vocabularies", vocabularies)):
            for iri in iris:
                if not re.fullmatch(r"https?://\S+", iri):
                    raise self._error((*path, name), f"{iri!r} is no http or https IRI")
        return Topic(
            "/".join(path),
            parent,
            frozenset(word.casefold() for word in keywords),
            frozenset(without_scheme(iri) for iri in types),
            tuple(without_scheme(iri) for iri in vocabularies),
            tuple(self._seeds(path, seeds)),
        )

    def _list(self, path: tuple[str, ...], table: dict[str, Any], name: str) -> list[str]:
        values = table.get(name, [])
        if not isinstance(values, list) or not all(
            value and isinstance(value, str) for value in values
        ):
            raise self._error((*path, name), f"{name} must be a list of texts that are not empty")
        return values

    def _seeds(self, path: tuple[str, ...], seeds: list[str]) -> Iterator[str]:
        for seed in seeds:
            try:
                yield normalise(seed)
            except ValueError as error:
                raise self._error((*path, "seeds"), str(error)) from error

    def _error(self, path: tuple[str, ...], what: str) -> ValueError:
        return ValueError(f"line {self._lines.of(path)}: {'.'.join(path)}: {what}")


def without_scheme(iri: str) -> str:
    """Return an IRI without http:// or https://, because vocabularies are written with both."""
    return iri.partition("://")[2]
