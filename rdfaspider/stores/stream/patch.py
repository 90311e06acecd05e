"""One change of one page as RDF Patch: the statements that a visit found removed and added.

    H id <urn:rdfaspider:change:5f0c9d1e2a7b4c36-42> .
    H time "2026-11-16T10:02:33.250Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
    H page <http://site.test/a> .
    H cause "410" .
    TX .
    D <http://site.test/a#it> <http://schema.org/name> "Old"@en <http://site.test/a> .
    A <http://site.test/a#it> <http://schema.org/name> "New"@en <http://site.test/a> .
    TC .

The number in the id rises with each change of a crawl. `cause` says why a graph was cleared. A page that the
stream has not seen before has `H first "true" .`; all its statements are added. Blank nodes are labelled by
what is said of them (`changes.py`): a node about which anything changes is removed, and another one added.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The first and the last line of a patch; line feeds in literals are escaped.
BEGIN = b"H id <"
END = b"TC .\n"

_PREFIX = "urn:rdfaspider:change:"
_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
_PATCH = re.compile(
    rb"H id <" + _PREFIX.encode() + rb"([0-9a-f]{16})-(\d+)> \.\n"
    rb'H time "([^"\n]+)"\^\^<[^>\n]+> \.\n'
    rb"H page <([^>\n]+)> \.\n"
    rb'(?:H cause "([^"\n]*)" \.\n)?'
    rb'(H first "true" \.\n)?'
    rb"TX \.\n((?:[AD] [^\n]*\n)*)TC \.\n"
)
_TIME = re.compile(rb'^H time "([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Patch:
    """What one visit changed; `removed` and `added` are N-Triples without their full stops."""

    crawl: str  # 16 hexadecimal digits, which no other crawl has
    number: int
    time: float
    page: str
    removed: list[bytes]
    added: list[bytes]
    cause: str = ""
    is_first: bool = False

    @property
    def name(self) -> str:
        """An IRI for this change."""
        return f"{_PREFIX}{self.crawl}-{self.number}"

    def text(self) -> bytes:
        graph = f" <{self.page}> .\n".encode()
        cause = re.sub(r'[^ -~]|["\\]', " ", self.cause)
        head = (
            f'H id <{self.name}> .\nH time "{date(self.time)}"^^<{_DATE_TIME}> .\n'
            f"H page <{self.page}> .\n"
            + (f'H cause "{cause}" .\n' if cause else "")
            + ('H first "true" .\n' if self.is_first else "")
            + "TX .\n"
        ).encode()
        rows = [b"D " + line + graph for line in self.removed]
        rows += [b"A " + line + graph for line in self.added]
        return b"".join([head, *rows, END])


def date(seconds: float) -> str:
    """Return a time as patches write it."""
    moment = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")


def patches_in(data: bytes) -> Iterator[Patch]:
    """Yield the patches in a text; what is not a whole patch is left out."""
    for found in _PATCH.finditer(data):
        crawl, number, time, page, cause, first, rows = found.groups()
        graph = b" <" + page + b"> ."
        lines: dict[bytes, list[bytes]] = {b"D": [], b"A": []}
        for row in rows.splitlines():
            lines[row[:1]].append(row[2:].removesuffix(graph))
        try:
            moment = datetime.fromisoformat(time.decode()).timestamp()
        except ValueError:
            continue
        yield Patch(
            crawl.decode(),
            int(number),
            moment,
            page.decode(),
            lines[b"D"],
            lines[b"A"],
            (cause or b"").decode(),
            bool(first),
        )
