"""What a user types, as a query of FTS5, and types as the index knows them.

Words must all occur; "a phrase" is in quotes, a word after - must not occur, lemo* is the beginning of a
word. Everything else is text: no operator of FTS5 gets through.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rdfaspider.extract.contexts import PREFIXES
from rdfaspider.search.classes import named, with_subclasses

if TYPE_CHECKING:
    import sqlite3

_LONGEST, _MOST = 400, 24  # characters, and words
_PART = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')
_WORD = re.compile(r"\w")
_TYPES = 200  # that a query may name, subclasses included; those of most things


def expression(
    words: str, types: list[int], unwanted_types: list[int], *, any_of: bool = False
) -> str:
    """Return the query for words, all of them or any, and types, any of them but none of the unwanted.

    Raise ValueError if it is empty.
    """
    wanted: list[str] = []
    unwanted: list[str] = []
    for sign, phrase, word in _PART.findall(words[:_LONGEST])[:_MOST]:
        text = (phrase or word).replace('"', "")
        if _WORD.search(text):
            is_beginning = text.endswith("*") and not phrase
            quoted = f'"{text.rstrip("*")}"{" *" if is_beginning else ""}'
            (unwanted if sign else wanted).append(quoted)
    parts = []
    if wanted:
        parts.append(f"{{name words}} : ({(' OR ' if any_of else ' AND ').join(wanted)})")
    if types:
        parts.append(_of_types(types))
    if not parts:
        raise ValueError("Give words to search for, or a type.")
    query = " AND ".join(parts)
    for each in unwanted:
        query = f"({query}) NOT {{name words}} : {each}"
    return f"({query}) NOT {_of_types(unwanted_types)}" if unwanted_types else query


def _of_types(numbers: list[int]) -> str:
    return f"types : ({' OR '.join(f't{number}' for number in numbers)})"


def has_several(words: str) -> bool:
    """Tell whether any of the words could be found where all of them are not."""
    return len([sign for sign, *_ in _PART.findall(words[:_LONGEST]) if not sign]) > 1


def types_in(database: sqlite3.Connection, text: str) -> tuple[list[int] | None, list[int]]:
    """Return the numbers of the types in a text, and of those after -; None if it asks for none."""
    words = text.split()
    wanted = [word for word in words if word[0] != "-"]
    numbers = [number for word in wanted for number in types_of(database, word)]
    unwanted = [n for word in words if word[0] == "-" for n in types_of(database, word[1:])]
    return numbers if wanted else None, unwanted


def types_of(database: sqlite3.Connection, text: str) -> list[int]:
    """Return the numbers of a type and its subclasses: by IRI, as schema:Recipe, or as Recipe.

    Raise ValueError if it has a prefix that is not known.
    """
    text = text.strip().strip("<>")
    prefix, colon, last = text.partition(":")
    is_iri = "://" in text
    if colon and not is_iri and prefix.lower() in PREFIXES:
        iris = [PREFIXES[prefix.lower()] + last]
    elif colon:
        iris = [text]
    else:
        find = "SELECT iri FROM terms WHERE last = ? AND things > 0 ORDER BY things DESC LIMIT ?"
        rows = database.execute(find, (text.lower(), _TYPES))
        iris = [*(iri for (iri,) in rows), *named(text.lower())]
    iris = with_subclasses(iris)
    marks = ", ".join("?" * len(iris))
    find = f"SELECT number FROM terms WHERE iri IN ({marks}) AND things > 0 ORDER BY things DESC LIMIT ?"
    found = [number for (number,) in database.execute(find, (*iris, _TYPES))]
    # IRIs such as urn:… have no slashes.
    if colon and not (found or is_iri or prefix.lower() in PREFIXES):
        raise ValueError(
            f"The prefix {prefix[:100]!r} is unknown, and nothing has the type {text[:200]}. Known are"
            f" {', '.join(sorted(PREFIXES))}; others are given by their IRIs."
        )
    return found


def short(iri: str) -> str:
    """Return an IRI with a well-known prefix, if one fits."""
    for name, start in PREFIXES.items():
        if iri.startswith(start) and len(iri) > len(start):
            return f"{name}:{iri[len(start) :]}"
    if iri.startswith("https://schema.org/"):
        return f"schema:{iri.removeprefix('https://schema.org/')}"
    return iri
