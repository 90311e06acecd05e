"""Reads the head of an answer from its lines, and refuses one that could be read in two ways.

libcurl has parsed them, and forgives more: it takes the chunks of an answer that has a length too, and the
last of two lengths.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfaspider.compat import DownloadFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Bytes of all heads of an answer, headers of one, and heads: the final one and informational ones.
MAX_HEAD_BYTES: Final = 65_536
MAX_HEADERS: Final = 128
MAX_HEADS: Final = 10

_STATUS: Final = re.compile(rb"HTTP/(1\.[01]|2|3) ([1-9][0-9][0-9])(?: ([^\r\n\0]*+))?\r?\n")
_BLANK: Final = (b"\r\n", b"\n")
# Possessive quantifiers, so that no header takes more than linear time.
_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
_HEADERS: Final = re.compile(rb"(?:" + _TOKEN + rb"[ \t]*+:[^\r\n\0]*+\r?\n)*+")
_HEADER: Final = re.compile(rb"(" + _TOKEN + rb")[ \t]*+:[ \t]*+([^\r\n\0]*+)\r?\n")
_FOLD: Final = re.compile(rb"\r?\n[ \t]++")
_FRAMING: Final = frozenset((b"content-length", b"transfer-encoding"))
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")


class Head(NamedTuple):
    """The first line and the headers of an answer, in their order and as they came.

    `length` is what Content-Length says, None without.
    """

    version: str
    status: int
    reason: bytes
    headers: list[tuple[bytes, bytes]]
    length: int | None


def head_of(lines: Sequence[bytes]) -> Head | None:
    """Return the final head among the lines that came, None if it is not complete.

    Raise DownloadFailedError if it is not HTTP.
    """
    begin = heads = 0
    for end, line in enumerate(lines):
        if line not in _BLANK:
            continue
        first = _STATUS.fullmatch(lines[begin])
        if first is None:
            raise DownloadFailedError("it does not answer in HTTP")
        version, status, reason = first.groups(b"")
        if status[:1] != b"1" or status == b"101":
            headers, length = _headers(b"".join(lines[begin + 1 : end]))
            return Head(version.decode(), int(status), reason, headers, length)
        heads += 1
        if heads == MAX_HEADS:
            raise DownloadFailedError("too many informational answers")
        begin = end + 1
    return None


def _headers(text: bytes) -> tuple[list[tuple[bytes, bytes]], int | None]:
    """Return the headers of a head, and what Content-Length says."""
    if len(text) > MAX_HEAD_BYTES:
        raise DownloadFailedError(f"its head has more than {MAX_HEAD_BYTES:,} bytes")
    if b"\n " in text or b"\n\t" in text:
        text = _FOLD.sub(b" ", text)
    whole = _HEADERS.match(text)
    if whole is None or whole.end() < len(text):
        raise DownloadFailedError("a header of it is not HTTP")
    headers = [(name, value.rstrip(b" \t")) for name, value in _HEADER.findall(text)]
    if len(headers) > MAX_HEADERS:
        raise DownloadFailedError(f"it has more than {MAX_HEADERS} headers")
    framing = [(name, value) for name, value in headers if name.lower() in _FRAMING]
    if not framing:
        return headers, None
    if len({value for _, value in framing}) > 1:
        raise DownloadFailedError("conflicting Content-Length or Transfer-Encoding headers")
    name, value = framing[0]
    if name.lower() == b"transfer-encoding":
        if len(framing) > 1:
            raise DownloadFailedError("conflicting Transfer-Encoding headers")
        return headers, None
    if not _LENGTH.fullmatch(value):
        raise DownloadFailedError("a Content-Length that is no number")
    return headers, int(value)
