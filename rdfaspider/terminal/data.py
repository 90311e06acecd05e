"""Data for programs, written to a terminal without control sequences."""

from __future__ import annotations

import codecs
import re
from typing import BinaryIO, TextIO, cast

from rdfaspider.terminal import escaped

# Line ends are kept; a carriage return alone could overwrite text.
_LINE_END = re.compile("(\r?\n|\t)")


class _Escaping:
    """Writes UTF-8 as text to a terminal, with control characters escaped."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._rest = ""

    def write(self, data: bytes) -> int:
        text = self._rest + self._decoder.decode(data)
        # A line feed may follow.
        self._rest = "\r" if text.endswith("\r") else ""
        self._show(text.removesuffix(self._rest))
        return len(data)

    def flush(self) -> None:
        self._show(self._rest + self._decoder.decode(b"", final=True))
        self._rest = ""
        self._terminal.flush()

    def _show(self, text: str) -> None:
        parts = _LINE_END.split(text)
        self._terminal.write("".join(p if n % 2 else escaped(p) for n, p in enumerate(parts)))


def output_of(stream: TextIO) -> BinaryIO:
    """Return the binary stream to write to: raw for a file or a pipe, escaped for a terminal."""
    if stream.isatty():
        return cast("BinaryIO", _Escaping(stream))
    return stream.buffer
