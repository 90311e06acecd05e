"""Reads one answer of HTTP/1 from its bytes.

All limits hold before anything is parsed. What servers of the web get wrong and every client forgives is
forgiven: line ends without CR, folded headers, space before a colon, a missing reason. What could be read in
two ways is refused: two lengths, a length beside chunks.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

# Bytes of a head, or of the lines before it, and how many headers it may have.
MOST_HEAD: Final = 65_536
MOST_HEADERS: Final = 128
# Heads of one answer: the final one, and informational ones (100 Continue, 103 Early Hints).
MOST_HEADS: Final = 10
# Bytes of a line with the size of a chunk, and of the trailers after the last.
_MOST_LINE: Final = 4_096
_MOST_TRAILERS: Final = 8_192

_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
_START: Final = b"HTTP/"
_BLANK: Final = re.compile(rb"\n\r?\n")
_STATUS: Final = re.compile(rb"HTTP/(0\.9|1\.[01]|2\.0) ([1-9][0-9][0-9])(?: ([^\r\n\0]*+))?\r?\n")
# Possessive quantifiers, so that no header takes more than linear time.
_HEADERS: Final = re.compile(rb"(?:" + _TOKEN + rb"[ \t]*+:[^\r\n\0]*+\r?\n)*+")
_HEADER: Final = re.compile(rb"(" + _TOKEN + rb")[ \t]*+:[ \t]*+([^\r\n\0]*+)\r?\n")
_FOLD: Final = re.compile(rb"\r?\n[ \t]++")
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15}+)[ \t]*+(?:;[^\r\n\0]*+)?\r?\n")
_NEXT_SIZE: Final = re.compile(rb"\r?\n" + _SIZE.pattern)
_TRAILERS: Final = re.compile(rb"(?:[^\r\n\0]++\r?\n)*+\r?\n")
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")

_FRAMING: Final = frozenset((b"content-length", b"transfer-encoding", b"connection"))


class BadAnswer(Exception):
    """What a server sent is no answer of HTTP; the message says why."""


class Head(NamedTuple):
    """The first line and the headers of an answer, in their order and as they came."""

    version: str
    status: int
    reason: bytes
    headers: list[tuple[bytes, bytes]]


class Answer:
    """One answer, fed with the bytes that come over a connection.

    head          None until it is there; informational heads are skipped
    length        what Content-Length says, None without
    is_complete   all of the body was fed
    fault         why the body cannot be read further, "" if it can
    is_last       nothing may be asked over this connection after it: its server wants that, or has sent more
                  bytes than the answer has
    """

    def __init__(self, *, has_body: bool) -> None:
        """`has_body` is False for an answer to HEAD."""
        self.head: Head | None = None
        self.length: int | None = None
        self.is_complete = False
        self.is_last = False
        self.fault = ""
        self._has_body = has_body
        self._pending = b""  # of a head, or of a line between chunks
        self._fed = 0  # bytes of heads that were skipped, with the lines before
        self._heads = 0
        self._left: int | None = None  # of the body or of a chunk; None: all until the end
        self._size_line: re.Pattern[bytes] | None = None  # of chunks
        self._is_in_trailers = False

    @property
    def has_begun(self) -> bool:
        """Tell whether anything came."""
        return bool(self._heads or self._pending or self._fed)

    def feed(self, data: bytes) -> bytes:
        """Return the bytes of the body in what came; raise BadAnswer if there is no head to come."""
        if self.head is None:
            data = self._feed_head(data)
            if self.head is None:
                return b""
        if self.is_complete:
            self.is_last |= bool(data)
            return b""
        if self._size_line is not None:
            return self._feed_chunks(data) if data else b""
        if self._left is None:
            return data
        if len(data) > self._left:
            data, self.is_last = data[: self._left], True
        self._left -= len(data)
        self.is_complete = not self._left
        return data

    def feed_end(self) -> None:
        """Take note that the connection has ended; raise BadAnswer if there is no head."""
        self.is_last = True
        if self.head is None:
            raise BadAnswer(
                "the server hung up in the middle of a head"
                if self.has_begun
                else "the server hung up without an answer"
            )
        if self._left is None and self._size_line is None:
            self.is_complete = True
        if not self.is_complete:
            self.fault = self.fault or "the server hung up before the end of its answer"

    def _feed_head(self, data: bytes) -> bytes:
        """Read heads up to the final one; return what comes after it."""
        known = len(self._pending)
        data = self._pending + data
        while True:
            if not known and data[:1] in (b"\r", b"\n"):
                size = len(data)
                data = data.lstrip(b"\r\n")
                self._fed += size - len(data)
            if not data.startswith(_START[: len(data)]):
                raise BadAnswer("it does not answer in HTTP")
            blank = _BLANK.search(data, max(0, known - 2))
            end = blank.end() if blank else len(data)
            if end + self._fed > MOST_HEAD:
                raise BadAnswer(f"its head has more than {MOST_HEAD:,} bytes")
            if blank is None:
                self._pending = data
                return b""
            head = _head(data[: blank.start() + 1])
            self._heads += 1
            data, known = data[end:], 0
            if head.status >= 200 or head.status == 101:
                self._pending = b""
                self._frame(head)
                self.head = head
                return data
            self._fed += end
            if self._heads == MOST_HEADS:
                raise BadAnswer("too many informational answers")

    def _frame(self, head: Head) -> None:
        """Find out where the body ends, and whether the connection can be used again."""
        framing: dict[bytes, list[bytes]] = {}
        for name, value in head.headers:
            if (key := name.lower()) in _FRAMING:
                framing.setdefault(key, []).append(value)
        tokens = b",".join(framing.get(b"connection", ())).lower()
        words = {word.strip() for word in tokens.split(b",")} if tokens else ()
        self.is_last = b"close" in words or (head.version != "1.1" and b"keep-alive" not in words)
        lengths = {*framing.get(b"content-length", ())}
        if lengths:
            length = lengths.pop()
            if lengths or not _LENGTH.fullmatch(length):
                raise BadAnswer("nobody can tell its length")
            self.length = int(length)
        codings = b",".join(framing.get(b"transfer-encoding", ())).lower()
        if codings and self.length is not None:
            raise BadAnswer("it has both a length and chunks")
        if not self._has_body or head.status in (101, 204, 304):
            self._left, self.is_complete = 0, True
            self.is_last |= head.status == 101
        elif codings.rpartition(b",")[2].strip() == b"chunked":
            self._left, self._size_line = 0, _SIZE
        elif self.length is not None and not codings:
            self._left, self.is_complete = self.length, not self.length
        else:
            self.is_last = True

    def _feed_chunks(self, data: bytes) -> bytes:
        """Return the bytes of chunks without what is between them."""
        if self.fault:
            return b""
        data, self._pending = self._pending + data, b""
        pieces: list[bytes] = []
        place = 0
        while not self._is_in_trailers:
            if self._left:
                piece = data[place : place + self._left]
                pieces.append(piece)
                place += len(piece)
                self._left -= len(piece)
                if self._left:
                    return b"".join(pieces)
                self._size_line = _NEXT_SIZE
            assert self._size_line is not None
            size = self._size_line.match(data, place)
            if size is None:
                lines = 1 if self._size_line is _SIZE else 2
                self._wait_for(data[place:], lines, _MOST_LINE)
                return b"".join(pieces)
            place = size.end()
            self._left = int(size[1], 16)
            self._is_in_trailers = not self._left
        if trailers := _TRAILERS.match(data, place):
            self.is_complete = True
            self.is_last |= trailers.end() < len(data)
        elif _BLANK.search(data, place):
            self.fault = "its trailers are not HTTP"
        else:
            self._wait_for(data[place:], _MOST_TRAILERS, _MOST_TRAILERS)
        return b"".join(pieces)

    def _wait_for(self, data: bytes, lines: int, most: int) -> None:
        """Keep what is between chunks until it is complete, unless that can be no more."""
        if len(data) > most or data.count(b"\n") >= lines:
            self.fault = "its chunks are not HTTP"
        self._pending = data


def _head(data: bytes) -> Head:
    """Parse a head without its empty line."""
    first = _STATUS.match(data)
    if first is None:
        raise BadAnswer("it does not answer in HTTP")
    fields = data[first.end() :]
    if b"\n " in fields or b"\n\t" in fields:
        fields = _FOLD.sub(b" ", fields)
    whole = _HEADERS.match(fields)
    if whole is None or whole.end() < len(fields):
        raise BadAnswer("a header of it is not HTTP")
    headers = [(name, value.rstrip(b" \t")) for name, value in _HEADER.findall(fields)]
    if len(headers) > MOST_HEADERS:
        raise BadAnswer(f"it has more than {MOST_HEADERS} headers")
    version, status, reason = first.groups(b"")
    return Head(version.decode(), int(status), reason, headers)
