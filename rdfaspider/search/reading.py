"""Searches an index, in this process or another than the one that writes it.

The best of at most 5,000 matches are found by their text (BM25; a word in the name counts four times). If
there are more, matches in names and the newest ones are looked at. Of the best 200 the score is multiplied
by what the PageRank of their page is worth, where it is known: twice the mean rank counts a fifth more. So
an answer takes a bounded time, however common a word is.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Self

from rdfaspider.search import FOLDER
from rdfaspider.search.index import NAME
from rdfaspider.search.words import expression, has_several, types_in
from rdfaspider.urls.iris import without_userinfo

if TYPE_CHECKING:
    from collections.abc import Sequence

# Matches that are scored by their text, and those that are ranked; things of a page of results.
SCORED, _RANKED, SHOWN = 5_000, 200, 20
# Seconds for a search, and steps of SQLite between two looks at the clock.
_SECONDS, _STEPS = 3.0, 20_000
# Around the words that were found, in a piece of text of so many words.
BEGIN, END, _PIECE = "\x02", "\x03", 24
_ROWS = 100  # of a list of terms

Ranks = Callable[[Iterable[str]], Mapping[str, float]]


class NoIndex(ValueError):
    """Says how to get an index."""


class Result(NamedTuple):
    """A thing that was found; `words` have marks, `pages` counts those of the best that describe it."""

    name: str
    types: list[str]
    subject: str
    page: str
    time: float
    words: str
    pages: int
    rank: float | None
    score: float


class Answer(NamedTuple):
    """Results from a place on. `matches` counts all, unless it is cut; `any_of`: no thing has all words."""

    results: list[Result]
    offset: int
    found: int
    matches: int
    is_cut: bool
    any_of: bool


class Term(NamedTuple):
    """A type, predicate, vocabulary or host, and how many there are of it."""

    iri: str
    uses: int


class _Match(NamedTuple):
    score: float
    row: int
    subject: str
    page: str
    time: float


class Reader:
    """Reads the index of a crawl's directory; NoIndex if there is none. For one thread."""

    def __init__(self, jobdir: Path) -> None:
        path = (jobdir / FOLDER / NAME).resolve()
        if not path.exists():
            raise NoIndex(
                "This crawl has no search index: crawl with SEARCH=1, or run scrapy search --rebuild."
            )
        try:
            self._database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)
        except sqlite3.Error as error:
            raise ValueError(f"The search index cannot be read: {error}.") from error
        self._end = monotonic() + _SECONDS
        self._database.set_progress_handler(lambda: monotonic() > self._end, _STEPS)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> None:
        self.close()
        if isinstance(error, sqlite3.OperationalError) and "interrupted" in str(error):
            raise ValueError("This takes too long: search for rarer words.") from error
        if isinstance(error, sqlite3.Error):
            raise ValueError(f"The search index cannot be read: {error}.") from error

    def size(self) -> tuple[int, int]:
        """Return how many pages and things there are."""
        execute = self._database.execute
        ((pages, things),) = execute("SELECT COUNT(*), TOTAL(count) FROM pages").fetchall()
        return pages, int(things)

    def search(
        self, words: str, types: str = "", offset: int = 0, ranks: Ranks = lambda urls: {}
    ) -> Answer:
        """Return things with these words and one of these types, from a place in the results on.

        Types are between spaces; things of a type after - are left out, and subclasses count as their class.
        """
        wanted, unwanted = types_in(self._database, types)
        if wanted == []:
            return Answer([], 0, 0, 0, False, False)
        query, any_of = expression(words, wanted or [], unwanted), False
        matches, is_cut = self._matches(query)
        if not matches and has_several(words):
            query, any_of = expression(words, wanted or [], unwanted, any_of=True), True
            matches, is_cut = self._matches(query)
        best = self._best(matches)
        known = ranks({match.page for match in best})
        best.sort(key=lambda match: -match.score * _worth(known.get(match.page)))
        groups: dict[str | int, list[_Match]] = {}
        for match in best:
            groups.setdefault(match.subject or match.row, []).append(match)
        shown = list(groups.values())[offset : offset + SHOWN]
        results = [self._result(query, group, known.get(group[0].page)) for group in shown]
        return Answer(results, offset, len(groups), len(matches), is_cut, any_of and bool(best))

    def _matches(self, query: str) -> tuple[dict[int, float], bool]:
        """Return the rows that match with the scores of their texts, and whether there are more."""
        find = (
            "SELECT rowid, -bm25(things, 4.0, 1.0, 0.0) FROM things WHERE things MATCH ?"
            " ORDER BY rowid DESC LIMIT ?"
        )
        found = dict(self._database.execute(find, (query, SCORED)).fetchall())
        is_cut = len(found) == SCORED
        if is_cut and "{name words}" in query:
            named = query.replace("{name words}", "name")
            found |= dict(self._database.execute(find, (named, SCORED)).fetchall())
        return found, is_cut

    def _best(self, scores: Mapping[int, float]) -> list[_Match]:
        rows = sorted(scores, key=lambda row: (-scores[row], -row))[:_RANKED]
        find = (
            "SELECT things.subject, pages.url, pages.time FROM things, pages WHERE things.rowid = ?1 AND"
            " pages.first = (SELECT MAX(first) FROM pages WHERE first <= ?1)"
        )
        found = ((row, self._database.execute(find, (row,)).fetchone()) for row in rows)
        # A page that was replaced meanwhile has other rows now.
        return [_Match(scores[row], row, *more) for row, more in found if more is not None]

    def _result(self, query: str, group: Sequence[_Match], rank: float | None) -> Result:
        first = group[0]
        find = (
            "SELECT name, types, snippet(things, 1, ?, ?, '…', ?) FROM things"
            " WHERE things MATCH ? AND rowid = ?"
        )
        marks = (BEGIN, END, _PIECE)
        row = self._database.execute(find, (*marks, query, first.row)).fetchone()
        name, types, words = row or ("", "", "")
        page, score = without_userinfo(first.page), first.score * _worth(rank)
        pages = len({match.page for match in group})
        named = self._named(types)
        return Result(name, named, first.subject, page, first.time, words, pages, rank, score)

    def _named(self, tokens: str) -> list[str]:
        """Return the IRIs of types."""
        numbers = [int(token[1:]) for token in tokens.split()[:20]]
        find = "SELECT iri FROM terms WHERE number = ?"
        return [iri for number in numbers for (iri,) in self._database.execute(find, (number,))]

    def times(self, pages: Iterable[str]) -> dict[str, float]:
        """Return when pages were visited last, as far as it is known."""
        find = "SELECT time FROM pages WHERE url = ? AND time > 0"
        rows = ((page, self._database.execute(find, (page,)).fetchone()) for page in pages)
        return {page: row[0] for page, row in rows if row}

    def types(self, search: str = "", offset: int = 0) -> list[Term]:
        """Return types with the number of things that have them, most first."""
        return self._terms("things", search, offset)

    def predicates(self, search: str = "", offset: int = 0) -> list[Term]:
        """Return predicates with the number of statements, most first."""
        return self._terms("uses", search, offset)

    def _terms(self, count: str, search: str, offset: int) -> list[Term]:
        find = (
            f"SELECT iri, {count} FROM terms WHERE {count} > 0 AND INSTR(LOWER(iri), ?)"
            f" ORDER BY {count} DESC, iri LIMIT ? OFFSET ?"
        )
        rows = self._database.execute(find, (search.strip().lower()[:200], _ROWS, offset))
        return [Term(*row) for row in rows]

    def vocabularies(self, host: str = "") -> list[Term]:
        """Return the vocabularies of a host, or of all, with the number of statements."""
        if host:
            find = "SELECT vocabulary, uses FROM vocabularies WHERE host = ? ORDER BY uses DESC LIMIT ?"
            rows = self._database.execute(find, (host, _ROWS))
        else:
            find = (
                "SELECT vocabulary, SUM(uses) AS sum FROM vocabularies GROUP BY vocabulary"
                " ORDER BY sum DESC LIMIT ?"
            )
            rows = self._database.execute(find, (_ROWS,))
        return [Term(*row) for row in rows]

    def hosts(self, vocabulary: str) -> list[Term]:
        """Return the hosts that use a vocabulary, with the number of statements."""
        find = "SELECT host, uses FROM vocabularies WHERE vocabulary = ? ORDER BY uses DESC LIMIT ?"
        return [Term(*row) for row in self._database.execute(find, (vocabulary, _ROWS))]


def unmarked(text: str) -> str:
    """Return a text without the marks of words."""
    return text.replace(BEGIN, "").replace(END, "")


def _worth(rank: float | None) -> float:
    """Return what the PageRank of a page is worth, 1 for the mean or if it is not known."""
    return 1.0 if not rank else min(3.0, max(0.5, 1 + 0.2 * math.log2(rank)))
