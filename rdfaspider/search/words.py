"""What a user types, as a query of FTS5, and types as the index knows them.

Words must all occur; "a phrase" is in quotes, a word after - must not occur, lemo* is the beginning of a
word. Everything else is text: no operator of FTS5 gets through.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rdfaspider.extract.contexts import PREFIXES

if TYPE_CHECKING:
    import sqlite3

_LONGEST, _MOST = 400, 24  # characters, and words
_PART = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')
_WORD = re.compile(r"\w")
_TYPES = 200  # with the same last word


def expression(words: str, types: list[int], *, any_of: bool = False) -> str:
    """Return the query for words, all of them or any, and types, any of them; ValueError if it is empty."""
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
        parts.append(f"types : ({' OR '.join(f't{number}' for number in types)})")
    if not parts:
        raise ValueError("Give words to search for, or a type.")
    query = " AND ".join(parts)
    for each in unwanted:
        query = f"({query}) NOT {{name words}} : {each}"
    return query


def has_several(words: str) -> bool:
    """Tell whether any of the words could be found where all of them are not."""
    return len([sign for sign, *_ in _PART.findall(words[:_LONGEST]) if not sign]) > 1


def types_of(database: sqlite3.Connection, text: str) -> list[int]:
    """Return the numbers of the types that a text names: by IRI, as schema:Recipe, or as Recipe.

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
        find = "SELECT number FROM terms WHERE last = ? AND things > 0 ORDER BY things DESC LIMIT ?"
        return [number for (number,) in database.execute(find, (text.lower(), _TYPES))]
    for iri in list(iris):  # schema.org is written both ways
        scheme, _, rest = iri.partition("://")
        if rest and scheme in ("http", "https"):
            iris.append(f"{'http' if scheme == 'https' else 'https'}://{rest}")
    marks = ", ".join("?" * len(iris))
    find = f"SELECT number FROM terms WHERE iri IN ({marks}) AND things > 0"
    found = [number for (number,) in database.execute(find, iris)]
    if not (found or is_iri or prefix.lower() in PREFIXES):  # nor is it an IRI, such as urn:…
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
