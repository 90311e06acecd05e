"""Data that a program would read, written to a terminal: nothing in it steers that."""

from __future__ import annotations

import codecs
import re
from typing import BinaryIO, TextIO, cast

from rdfaspider.terminal import escaped

# Ends of lines are kept; a carriage return alone would let a text be written over.
_LINE_END = re.compile("(\r?\n|\t)")


class _Escaping:
    """Writes UTF-8 as text to a terminal, with escapes for what would steer it."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._rest = ""

    def write(self, data: bytes) -> int:
        text = self._rest + self._decoder.decode(data)
        # What comes next may belong to its end.
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
    """Return what data is written to: as it is to a file or a pipe, escaped to a terminal."""
    if stream.isatty():
        return cast("BinaryIO", _Escaping(stream))
    return stream.buffer
