"""The pages in WARC files, ours or anybody's, as they were answered and without what they were packed in."""

from __future__ import annotations

from collections import Counter, OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from rdfaspider.archive.content import original_of, unpacked_body
from rdfaspider.archive.index.index import index_of
from rdfaspider.archive.warc.members import HEAD
from rdfaspider.archive.warc.reader import OPEN, open_file, seconds_of, source_of
from rdfaspider.archive.warc.stream import read_records
from rdfaspider.items import RENDERED_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Set
    from pathlib import Path

    from rdfaspider.archive.warc.reader import Record
    from rdfaspider.archive.warc.stream import Found
    from rdfaspider.items import Source

# Bytes read of blocks where only headers are wanted.
_LITTLE = 1 << 12
# Records with the bodies of revisits that are known, some 250 bytes each.
_ORIGINALS = 50_000
# Bytes of a digest: SHA-512 in hexadecimal, and the name of the algorithm.
_DIGEST = 200
# Characters of a date and of a media type: those that were met are remembered.
_DATE, _TYPE = 40, 500
_POLICY = 2_000  # characters of the address of a policy
_TDM = (b"tdm-reservation", b"tdm-policy")
# Bytes of a line with the size of a chunk.
_SIZE_LINE = 256
# Times that a body may be packed, as in a crawl.
_CODINGS = 3


class Answer(NamedTuple):
    """A page as it was answered; `fetched` is in seconds since the epoch, 0 if unknown.

    `source` is where it was found, if that has a name.
    """

    url: str
    fetched: float
    status: int
    content_type: str
    robots: list[str]  # values of X-Robots-Tag
    body: bytes
    source: Source | None = None
    tdm: tuple[str, str] = ("", "")  # tdm-reservation and tdm-policy
    rendered: bytes = b""  # the document that a crawl read instead of the body

    @property
    def html(self) -> tuple[bytes, str]:
        """What is read of the page, and its type."""
        return (self.rendered, RENDERED_TYPE) if self.rendered else (self.body, self.content_type)


class Wanted(NamedTuple):
    """Which records are read: what their headers must say, and how much of a body."""

    url: Callable[[str], bool]
    date: Callable[[str], bool]
    content_type: Callable[[str], bool]
    most: int


class Skipped(Exception):
    """A record is left out; the only argument says why."""


class Answers:
    """Reads pages from files, and counts what it leaves out by the reason; `sources` says where they are.
    URLs that are `gone` are left out."""

    def __init__(
        self,
        wanted: Wanted,
        counts: Counter[str],
        *,
        sources: bool = True,
        gone: Set[str] = frozenset(),
    ) -> None:
        self.wanted = wanted
        self._gone = gone
        self.counts = counts
        self._sources = sources
        self._remembers = False  # where bodies are: the index of an archive knows that
        self._originals: OrderedDict[bytes, tuple[Path, int]] = OrderedDict()

    def read(
        self, file: BinaryIO, path: Path | None = None, offset: int = 0
    ) -> Iterator[tuple[int, Answer | None]]:
        """Yield a page for each record that is one, else None, and where the record is."""
        # A body may be packed, so more of it than is wanted may have to be read; headers come on top.
        most = 2 * self.wanted.most + (1 << 18)
        outcome: str | None = None
        rendered = b""
        first = _record_at(path, 0, most) if offset and path else None
        is_ours = first is not None and _is_ours(first)
        self._remembers = path is not None and not index_of(path.parent).is_dir()
        for found in read_records(file, most, self.counts, offset):
            record = found.record
            self.counts["records"] += 1
            kind = record.kind
            if kind == "warcinfo":
                is_ours = _is_ours(record)
            elif kind == "metadata" and is_ours:
                outcome, rendered = _outcome(record), b""
            elif kind == "conversion" and is_ours:
                rendered = record.block[: self.wanted.most]
            elif kind in ("response", "revisit"):
                is_page = not is_ours or _is_page(outcome)
                outcome = None
                answer = self._answer(found, path, is_page)
                if answer is not None and rendered:
                    answer = answer._replace(rendered=rendered)
                rendered = b""
                yield found.offset, answer
                continue
            yield found.offset, None

    def remember(self, path: Path, end: int | None = None) -> None:
        """Find out where the bodies of a file are, up to an offset, for revisits that come after it.

        An archive with an index needs no such memory.
        """
        if index_of(path.parent).is_dir():
            return
        with open_file(path) as file:
            for found in read_records(file, _LITTLE, Counter()):
                if end is not None and found.offset >= end:
                    return
                self._remember(found, path)

    def _answer(self, found: Found, path: Path | None, is_page: bool) -> Answer | None:
        if self._remembers:
            self._remember(found, path)
        try:
            if not is_page:
                raise Skipped("no page")
            answer = self.read_answer(found.record, path)
        except Skipped as skipped:
            self.counts[f"skipped/{skipped}"] += 1
        except ValueError:
            self.counts["skipped/unreadable"] += 1
        else:
            return self._located(answer, found, path) if self._sources else answer
        return None

    def _located(self, answer: Answer, found: Found, path: Path | None) -> Answer:
        name = path.name.removesuffix(OPEN) if path else "-"
        source = source_of(found.record, name, found.offset, found.length)
        return answer._replace(source=source)

    def read_answer(self, record: Record, path: Path | None) -> Answer:
        """Return the page that a record of a file is; raise Skipped, or ValueError, if it is none."""
        url = record.text(b"warc-target-uri").strip("<>")
        date = record.text(b"warc-date")[:_DATE]
        if not url.startswith(("http://", "https://")):
            raise Skipped("no page")
        if not self.wanted.url(url) or not self.wanted.date(date):
            raise Skipped("not asked for")
        head, body = _parts(record.block)
        first, *lines = head.split(b"\r\n")
        status, headers = _status(first), _headers(lines)
        content_type = _text(headers.get(b"content-type", [b""])[0][:_TYPE])
        if not 200 <= status < 300:
            raise Skipped("status")
        # Where a crawl did not want the rest of an answer, it was of another type.
        was_left = record.text(b"warc-truncated") == "unspecified"
        if was_left or not self.wanted.content_type(content_type):
            raise Skipped("type")
        if url in self._gone:
            raise Skipped("gone")
        if record.kind == "revisit":
            body = self._original(record, path).payload
        body = self._unpacked(head, headers, body)
        robots = [value.decode("latin-1") for value in headers.get(b"x-robots-tag", ())]
        tdm = [_text(headers.get(name, [b""])[0][:_POLICY]) for name in _TDM]
        return Answer(
            url, seconds_of(date), status, content_type, robots, body, tdm=(tdm[0], tdm[1])
        )

    def _unpacked(self, head: bytes, headers: dict[bytes, list[bytes]], body: bytes) -> bytes:
        if b"chunked" in b",".join(headers.get(b"transfer-encoding", ())).lower():
            body = unchunked(body)
        if not (codings := headers.get(b"content-encoding")):
            return body[: self.wanted.most]
        if b",".join(codings).count(b",") >= _CODINGS:
            raise ValueError("The body is packed too often.")
        return unpacked_body(head, body, self.wanted.most)

    def _remember(self, found: Found, path: Path | None) -> None:
        digest = found.record.headers.get(b"warc-payload-digest")
        if digest is None or path is None or found.record.kind != "response":
            return
        if len(digest) > _DIGEST:
            return
        self._originals.setdefault(digest, (path, found.offset))
        if len(self._originals) > _ORIGINALS:
            self._originals.popitem(last=False)

    def _original(self, revisit: Record, path: Path | None) -> Record:
        """Return the record that has the body of a revisit."""
        digest = revisit.headers.get(b"warc-payload-digest", b"")
        if place := self._originals.get(digest):
            original = _record_at(*place, 2 * self.wanted.most)
            if original and original.headers.get(b"warc-payload-digest") == digest:
                return original
        if path is not None and index_of(path.parent).is_dir():
            with suppress(ValueError, OSError):
                return original_of(path.parent, revisit)
        raise Skipped("revisit")


def _is_ours(record: Record) -> bool:
    return record.kind == "warcinfo" and b"software: rdfaspider/" in record.block


def _parts(block: bytes) -> tuple[bytes, bytes]:
    """Return the head of an HTTP message and its body; ValueError if the head does not end."""
    end = block.find(b"\r\n\r\n", 0, HEAD)
    if end < 0 and len(block) > HEAD:
        raise ValueError("The headers of an answer do not end.")
    return (block[:end], block[end + 4 :]) if end >= 0 else (block, b"")


def _status(line: bytes) -> int:
    version, _, rest = line.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/") or not status.isdigit():
        raise ValueError("There is no answer of HTTP in the record.")
    return int(status)


def _record_at(path: Path, offset: int, most: int) -> Record | None:
    with open_file(path) as file:
        for found in read_records(file, most, Counter(), offset):
            return found.record
    return None


def _outcome(metadata: Record) -> str:
    """Return what became of a page in the crawl that has fetched it, "" if it was none."""
    for line in metadata.block.split(b"\r\n"):
        name, _, value = line.partition(b": ")
        if name == b"outcome":
            return value.decode("latin-1")
    return ""


def _is_page(outcome: str | None) -> bool:
    """Tell whether a crawl has read an answer as a page, or would have if it could."""
    reason = (outcome or "").partition("/")[2]
    return reason == "page" or reason.startswith("extract-")


def _headers(lines: list[bytes]) -> dict[bytes, list[bytes]]:
    headers: dict[bytes, list[bytes]] = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers.setdefault(name.strip().lower(), []).append(value.strip())
    return headers


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def unchunked(body: bytes) -> bytes:
    """Return a body without the framing of chunks; one that has none, or is cut, as far as it goes."""
    whole = bytearray()  # rather than a list: the chunks may be tiny
    begin = 0
    while (end := body.find(b"\r\n", begin, begin + _SIZE_LINE)) >= 0:
        try:
            size = int(body[begin:end].partition(b";")[0], 16)
        except ValueError:
            break
        if size <= 0:
            return bytes(whole)
        whole += body[end + 2 : end + 2 + size]
        begin = end + 2 + size + 2
    # Many archives say that a body is chunked and keep it without chunks.
    return bytes(whole) or body
