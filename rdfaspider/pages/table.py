"""The table of pages: the rows of the frontier joined with the analysis of their bodies, a record a page.

Records come in the order of the frontier's keys, so those of a host, and of a domain, are neighbours. Memory
does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from rdfaspider.pages.analysis import AnalysisTable, Near, TextFacts
from rdfaspider.pages.language import primary
from rdfaspider.pages.row import KEY, Row, unpack
from rdfaspider.urls import without_userinfo
from rdfaspider.urls.hosts import host

# Pages that are joined at a time.
_BATCH = 1_000

# Finds the numbers of the pages that had these bodies first, by the digests' keys.
FirstWith = Callable[[Sequence[bytes]], Sequence[int | None]]


class Ended(NamedTuple):
    """An ended URL as the frontier has it, with the packed row of its page; `copy_of` is a page's number."""

    url: str
    state: str
    depth: int
    number: int
    row: bytes | None
    copy_of: int | None


class PageRecord(NamedTuple):
    """A page as users see it; None is what is not known (docs/pages.md has the meaning of each field)."""

    url: str
    host: str
    number: int
    state: str
    reason: str | None
    status: int | None
    depth: int
    fetched: int | None
    milliseconds: int | None
    content_type: str | None
    encoding: str | None
    size: int | None
    sha1: str | None
    title: str | None
    language: str | None
    detected: str | None
    certainty: int | None
    words: int | None
    links: int | None
    triples: int | None
    rdfa: int | None
    jsonld: int | None
    microdata: int | None
    rdf: int | None
    copy_of: int | None
    cluster: int | None
    similarity: float | None
    modified: int | None
    problems: int | None
    signals: str | None
    license: str | None
    policy: str | None
    topic: str | None
    topics: str | None
    own: Mapping[str, int | float | str]  # values of the user's columns (own.py)


_KINDS = {
    **dict.fromkeys(("url", "host", "state", "reason", "content_type", "encoding"), "text"),
    **dict.fromkeys(("sha1", "title", "language", "detected"), "text"),
    **dict.fromkeys(("signals", "license", "policy", "topic", "topics"), "text"),
    "fetched": "time",
    "modified": "time",
    "similarity": "real",
}
# The fields of a row that are 0 or empty if nothing is known, and those that are counted of pages alone.
_KNOWN = (
    *("reason", "status", "milliseconds", "content_type", "encoding", "title", "language"),
    *("signals", "license", "policy", "topics"),
)
_COUNTED = ("size", "links", "triples", "rdfa", "jsonld", "microdata", "rdf", "problems")
# The names of a table's columns, each with the kind of its values: text, time (in seconds), real or whole.
Columns = Mapping[str, str]
Rows = Iterable[Sequence[Any]]
COLUMNS: Columns = {name: _KINDS.get(name, "whole") for name in PageRecord._fields[:-1]}


def place_of(column: str, columns: Columns) -> int:
    """Return the place of a column in a row; ValueError if there is none."""
    if column not in columns:
        raise ValueError(f"There is no column {column[:80]}: choose among {', '.join(columns)}.")
    return list(columns).index(column)


def join(
    ended: Iterable[Ended], analysis: AnalysisTable | None, first_with: FirstWith
) -> Iterator[PageRecord]:
    """Yield a record for each ended URL that has a row; those that cannot be read are left out."""
    pages = iter(ended)
    while batch := list(islice(pages, _BATCH)):
        read = [(page, *unpacked) for page in batch if (unpacked := _read(page.row)) is not None]
        digests = [digest[:KEY] for _, _, digest in read]
        facts: list[TextFacts | None] = [None] * len(read)
        near: list[Near | None] = [None] * len(read)
        if analysis is not None:
            facts, near = analysis.facts(digests), analysis.clusters(digests)
        firsts = [each.first for each in near if each is not None]
        numbers = dict(zip(firsts, first_with(firsts), strict=True))
        for (page, row, digest), text, cluster in zip(read, facts, near, strict=True):
            yield _record(page, row, digest, text, cluster, numbers)


def _read(row: bytes | None) -> tuple[Row, bytes] | None:
    try:
        return None if row is None else unpack(row)
    except ValueError:  # of a later version, or damaged
        return None


def _record(
    page: Ended,
    row: Row,
    digest: bytes,
    text: TextFacts | None,
    near: Near | None,
    numbers: dict[bytes, int | None],
) -> PageRecord:
    if row.words or row.sketch:
        text = TextFacts(row.detected, row.certainty, row.words)
    is_page = row.reason == "page"  # else nobody has counted
    # The first of a cluster may be in a frontier that was not named.
    cluster = numbers[near.first] if near else None
    known = {name: getattr(row, name) or None for name in _KNOWN}
    known |= {name: getattr(row, name) if is_page else None for name in _COUNTED}
    return PageRecord(
        **known,
        url=without_userinfo(page.url),
        host=host(page.url),
        number=page.number,
        state=page.state,
        depth=page.depth,
        fetched=row.fetched if 0 < row.fetched < 1 << 32 else None,
        sha1=digest.hex() or None,
        detected=text.language or None if text else None,
        certainty=text.certainty if text and text.language else None,
        words=text.words if text else None,
        copy_of=page.copy_of,
        cluster=cluster,
        similarity=near.similarity if near and cluster is not None else None,
        modified=row.modified if 0 < row.modified < 1 << 32 else None,
        topic=row.topics.partition(" ")[0] or None,
        own=row.own,
    )


class Selection(NamedTuple):
    """Which records are wanted; None is any."""

    status: int | None = None
    language: str | None = None
    copies: bool = False
    topic: str | None = None

    def has(self, record: PageRecord) -> bool:
        if self.status is not None and record.status != self.status:
            return False
        if self.copies and not is_copy(record) and not is_near_copy(record):
            return False
        if self.topic is not None and not is_about(record, self.topic):
            return False
        if self.language is not None:
            return primary(self.language) in (
                primary(record.language or ""),
                record.detected or "",
            )
        return True


def is_about(record: PageRecord, topic: str) -> bool:
    """Tell whether a page is about a topic or one of its sub-topics."""
    return any(f"{name}/".startswith(f"{topic}/") for name in (record.topics or "").split())


def is_copy(record: PageRecord) -> bool:
    """Tell whether another page had the same body before."""
    return record.copy_of is not None


def is_near_copy(record: PageRecord) -> bool:
    """Tell whether a page is similar to the first of its cluster, without being a copy."""
    return record.copy_of is None and record.cluster is not None and record.cluster != record.number
