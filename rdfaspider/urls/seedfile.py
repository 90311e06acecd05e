"""Reads seeds: URLs given as an argument, one per line in a file, or on standard input.

A file may be gzipped, whatever its name is. Text is UTF-8 or, with its mark, UTF-16; a byte that is
neither is read as Latin-1. Empty lines and lines that begin with `#` are skipped. The file is
streamed, so its size does not matter.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.secrets import without_secrets
from rdfaspider.urls.hosts import unfit_authority
from rdfaspider.urls.iris import without_userinfo
from rdfaspider.urls.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# A comma separates URLs only where another one begins: commas are allowed inside them.
_SEPARATOR = re.compile(r",\s*(?=https?:)", re.IGNORECASE)

_GZIP = b"\x1f\x8b"

# Bad seeds that are named.
_NAMED = 20

# A longer line is not a URL, and its file is not a list of URLs: a device, an image, a gzip bomb.
_MAX_LINE = 1 << 20


class BadSeeds:
    """Counts seeds that cannot be used, and tells of the first ones."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.count = 0
        self._tell = tell

    def __call__(self, place: str, text: str, error: Exception) -> None:
        self.count += 1
        if self.count <= _NAMED:
            shown, reason = without_secrets(text[:200]), without_secrets(str(error))
            self._tell(f"Skipped the seed {shown} in {place}: {reason}")
        elif self.count == _NAMED + 1:
            self._tell("Further bad seeds are not listed.")

    def sum_up(self) -> None:
        """Tell how many there were, if not all were named."""
        if self.count > _NAMED:
            self._tell(f"Skipped {self.count:,} seeds in all.")


def usable_seeds(lines: Iterable[tuple[str, str]], bad: BadSeeds) -> Iterator[str]:
    """Yield the seeds that can be used, in normal form, of pairs of a place and a text."""
    for place, text in lines:
        try:
            yield seed_url(text)
        except ValueError as error:
            bad(place, text, error)


def read_seed_lines(argument: str) -> Iterator[tuple[str, str]]:
    """Yield (where it stands, text) for each seed of `URL[,URL…]`, FILE, or `-` (standard input).

    Raise ValueError with a sentence if the seeds cannot be read.
    """
    if re.match(r"https?:", argument, re.IGNORECASE):
        for text in _SEPARATOR.split(argument):
            yield "the argument", text.strip()
        return
    name = "standard input" if argument == "-" else argument[:200]
    with _reading(argument, name) as lines:
        for number, line in enumerate(iter(lambda: lines.readline(_MAX_LINE), ""), start=1):
            if len(line) == _MAX_LINE:
                raise ValueError(f"{name} is not a seed list: line {number} is too long.")
            text = line.strip()
            if text and not text.startswith("#"):
                yield f"{name}, line {number}", text


def seed_url(text: str) -> str:
    """Return a seed in normal form; ValueError with a sentence if no page can be there."""
    url = normalise(text)
    if unfit := unfit_authority(url):
        raise ValueError(f"No page can be at the {unfit} of {without_userinfo(url)[:80]!r}.")
    return url


@contextmanager
def _reading(argument: str, name: str) -> Iterator[io.TextIOWrapper]:
    """Open the file as text; raise ValueError with a sentence if it cannot be read."""
    try:
        with _binary(argument) as file, _unpacked(file) as unpacked:
            text = io.TextIOWrapper(unpacked, _encoding(unpacked), errors="seedfile.latin-1")
            try:
                yield text
            finally:
                text.detach()  # who opened the file closes it
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"Cannot read the seeds: {name} is damaged ({error}).") from error
    except OSError as error:
        raise ValueError(
            f"Cannot read the seeds: {name} is neither a URL that begins with http:// or https://"
            f" nor a file that can be read ({error.strerror or error})."
        ) from error


@contextmanager
def _binary(argument: str) -> Iterator[io.BufferedReader]:
    if argument != "-":
        with Path(argument).open("rb") as file:
            yield file
    elif sys.stdin is None:
        raise ValueError("Cannot read the seeds: there is no standard input.")
    elif hasattr(sys.stdin, "buffer"):
        yield sys.stdin.buffer  # type: ignore[misc]  # a BufferedReader unless somebody replaced it
    else:  # text in memory stands in for it
        yield io.BufferedReader(io.BytesIO(sys.stdin.read().encode()))


@contextmanager
def _unpacked(file: io.BufferedReader) -> Iterator[io.BufferedReader | gzip.GzipFile]:
    if file.peek(2)[:2] == _GZIP:
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield unpacked
    else:
        yield file


def _encoding(file: io.BufferedReader | gzip.GzipFile) -> str:
    utf16 = file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return "utf-16" if utf16 else "utf-8-sig"


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("seedfile.latin-1", _as_latin_1)
