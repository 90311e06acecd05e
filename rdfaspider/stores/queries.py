"""The text of SPARQL queries: where it comes from, and what can be told by its keywords."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def read_query(argument: str) -> str:
    """Return the query that a user gave: as text, as a file name, or - for standard input."""
    if argument == "-":
        return sys.stdin.read()
    # No query without a space or a brace is valid, and hardly any file name has a brace.
    if "{" in argument:
        return argument
    try:
        return Path(argument).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{argument} is not a text in UTF-8: {error}.") from error
    except OSError as error:
        if len(argument.split()) > 1:
            return argument
        raise ValueError(
            f"{argument or 'Nothing'} is neither a query nor a file that can be read: {error.strerror}."
        ) from error


# Comments, IRIs and strings hold no keywords; variables and prefixed names are none.
_TOKEN = re.compile(
    r"""\#[^\n\r]* | <[^<>"{}|^`\\\x00-\x20]*>
      | \"\"\"(?:[^\\]|\\.)*?\"\"\" | '''(?:[^\\]|\\.)*?'''
      | "(?:[^"\\\n\r]|\\.)*" | '(?:[^'\\\n\r]|\\.)*'
      | (?P<word> [?$]\w+ | @?[\w.%:-]+ | [{}()] )""",
    re.VERBOSE | re.DOTALL,
)

_STAR = re.compile(r"SELECT(?:\s+(?:DISTINCT|REDUCED))?\s*\*", re.IGNORECASE)


def _words(sparql: str) -> Iterator[tuple[str, int]]:
    """Yield the names and brackets of a query with their positions."""
    for token in _TOKEN.finditer(sparql):
        if token["word"]:
            yield token["word"], token.start()


def keywords(sparql: str) -> set[str]:
    """Return the names and brackets of a query, in capitals."""
    return {word.upper() for word, _ in _words(sparql)}


def names_its_graphs(sparql: str) -> bool:
    """Tell whether a query chooses its graphs with FROM, and so does not want the union of all."""
    return "FROM" in keywords(sparql)


def with_prefixes(sparql: str, known: Mapping[str, str]) -> str:
    """Return the query with declarations of the known prefixes that it uses and does not declare."""
    words = [word for word, _ in _words(sparql)]
    declared = {name for word, name in pairwise(words) if word.upper() == "PREFIX"}
    used = dict.fromkeys(word.partition(":")[0] for word in words if ":" in word)
    missing = [name for name in used if name in known and f"{name}:" not in declared]
    return "".join(f"PREFIX {name}: <{known[name]}> " for name in missing) + sparql


# How SERVICE must be written, wherever in the text: with space and comments between its parts. A name that
# only ends so is none.
_GAP = r"(?:\s|\#[^\n\r]*[\n\r])*"
_SERVICE = re.compile(
    rf"(?P<name>[?$:][^\s{{}}<>()]*)?SERVICE{_GAP}(?:SILENT{_GAP})?(?:<[^<>]*>|[?$]\w+|[\w.-]*:[^\s{{}}]*){_GAP}\{{",
    re.IGNORECASE,
)
# A comment that can be nothing else: no IRI, as a space precedes it, and no string, as no quote does.
_COMMENT = re.compile(r"""^([^\n\r'"]*?[ \t])?\#[^\n\r]*""", re.MULTILINE)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


def calls_service(sparql: str) -> bool:
    """Tell whether a query may ask another server. One that only speaks of it in a string may count too:
    what is a string is for the store to say, and a mistake here would let it out. Long strings and escapes
    may hold what looks like a comment."""
    if not any(mark in sparql for mark in ("'''", '"""', "\\")):
        sparql = _COMMENT.sub(r"\1", sparql)
    plain = _ESCAPE.sub(lambda code: chr(min(int(code[1] or code[2], 16), sys.maxunicode)), sparql)
    return any(not match["name"] for match in _SERVICE.finditer(plain))


def in_order_of_query(sparql: str, names: list[str]) -> list[str]:
    """Return variables in the order of SELECT, or, for SELECT *, in the order they first appear.

    Stores disagree about the order of SELECT *.
    """
    selects = (place for word, place in _words(sparql) if word.upper() == "SELECT")
    if not _STAR.match(sparql, next(selects, 0)):
        return names
    first = {word[1:]: place for word, place in reversed([*_words(sparql)]) if word[0] in "?$"}
    return sorted(names, key=lambda name: first.get(name, len(sparql)))


def with_columns(sparql: str, names: list[str]) -> str:
    """Return a query of SELECT * with its variables named, in the order they first appear."""
    selects = (place for word, place in _words(sparql) if word.upper() == "SELECT")
    star = _STAR.match(sparql, next(selects, 0))
    if star is None or not names:
        return sparql
    columns = " ".join(f"?{name}" for name in in_order_of_query(sparql, names))
    return f"{sparql[: star.end() - 1]} {columns} {sparql[star.end() :]}"


def within(sparql: str, graph: str) -> str:
    """Return the query with its whole pattern inside GRAPH <graph>; inner GRAPHs keep their meaning."""
    groups = list(_groups(sparql))
    # The first group of CONSTRUCT is its template. CONSTRUCT WHERE has none, but may not have GRAPH either.
    number = 1 if "CONSTRUCT" in keywords(sparql) else 0
    if len(groups) <= number:
        return sparql
    start, end = groups[number]
    return f"{sparql[:start]}{{ GRAPH <{graph}> {sparql[start:end]} }}{sparql[end:]}"


def over(sparql: str, default: Sequence[str], named: Sequence[str]) -> str:
    """Return the query over graphs that the request names, beside those that it names itself."""
    clauses = [f"FROM <{graph}>" for graph in default] + [
        f"FROM NAMED <{graph}>" for graph in named
    ]
    groups = list(_groups(sparql))
    number = 1 if "CONSTRUCT" in keywords(sparql) and len(groups) > 1 else 0
    if not clauses or not groups:
        return sparql
    start = groups[number][0]
    before = [place for word, place in _words(sparql) if place < start and word.upper() == "WHERE"]
    start = before[-1] if before else start
    return f"{sparql[:start]}{' '.join(clauses)} {sparql[start:]}"


def _groups(sparql: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each outermost group { … } that is not in parentheses."""
    depth, start = 0, -1
    for word, place in _words(sparql):
        if word in "({":
            if not depth:
                start = place
            depth += 1
        elif word in ")}":
            depth -= 1
            if not depth and word == "}":
                yield start, place + 1


# What Oxigraph says of a query: the furthest place it came to, and a list of what it knows to follow there,
# which may be hundreds of ranges of characters, or hold a phrase such as "Prefix not found".
_FAULT = re.compile(r"error at (\d+):(\d+): expected (?:one of )?([A-Z]\w* \w[\w ]*)?")
_DECLARATIONS = re.compile(r"(PREFIX \S+ <[^>]*> )+")
_SHOWN = 60


def syntax_fault(error: str, sparql: str) -> str:
    """Return what Oxigraph says of a wrong query as a short sentence."""
    if (found := _FAULT.match(error)) is None:
        return error
    line, column = int(found[1]), int(found[2])
    before = _DECLARATIONS.sub("", "".join(sparql.split("\n")[line - 1 : line])[: column - 1])
    place = f"after {before[-_SHOWN:].strip()}" if before.strip() else "at its beginning"
    return f"The query is wrong in line {line}, {place}{f': {found[3]}' if found[3] else ''}."
