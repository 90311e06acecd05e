"""Text for people: as wide as the terminal, in its characters, and without control sequences.

A page may say anything, so text from a page passes `escaped` before it is shown. Commands write
within `quiet_pipe`, so that `| head` ends them silently. `table` formats rows, `data` writes output for
programs to a terminal.
"""

from __future__ import annotations

import os
import re
import select
import sys
import unicodedata
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

from rdfaspider.secrets import masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Control characters, those that change the direction of writing, and surrogates.
_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
CLEAR_LINE = "\r\x1b[K"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
# If a terminal does not say.
_COLUMNS = 80
# What the user has typed.
PROGRAM = "rdfaspider" if Path("".join(sys.argv[:1])).name == "rdfaspider" else "scrapy"
_PROGRAM = re.compile(r"\bscrapy(?=\s+[a-z<]|\")")


def columns(stream: TextIO) -> int | None:
    """Return how many columns to use: COLUMNS if set, else those of the terminal; None if there is none."""
    if not stream.isatty():
        return None
    wanted = os.environ.get("COLUMNS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) else true_columns(stream)


def true_columns(terminal: TextIO) -> int:
    """Return how many columns a terminal has, whatever COLUMNS is set to."""
    try:
        return os.get_terminal_size(terminal.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS


def plural(count: int, noun: str) -> str:
    """Return `1 page`, `2,000 pages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time as people write it, 1:02:03 or 2:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def number_of(text: str, count: int) -> str:
    """Return `page that is` or `pages that are` of `page/pages that is/are`."""
    return re.sub(r"(\w+)/(\w+)", r"\1" if count == 1 else r"\2", text)


def inert(cell: Any) -> Any:
    """Return a cell for CSV, with an apostrophe before a text that a spreadsheet would run as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell


def escaped(text: str, encoding: str | None = None) -> str:
    r"""Return the text with control characters written as `\n`, `\x1b`, `\u202e`.

    With an encoding, so are the characters that it lacks.
    """
    text = _STEERING.sub(_escape, text)
    return text.encode(encoding, "backslashreplace").decode(encoding) if encoding else text


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _NAMED.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def cells(text: str) -> int:
    """Return how many columns an escaped text takes: two for a wide character, none for an accent."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, width: int, encoding: str = "utf-8") -> str:
    """Return an escaped text, cut with a mark at its end if it is too wide."""
    if cells(text) <= width:
        return text
    mark = "…".encode(encoding, "ignore").decode(encoding) or "~"
    room = width - len(mark)
    for position, character in enumerate(text):
        room -= _cells(character)
        if room < 0:
            return (text[:position] + mark)[: max(width, 0)]
    return text


def accept_all(stream: TextIO) -> None:
    """Let a stream write characters that its encoding lacks as escapes, instead of raising an error."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """End the block silently when nobody reads its output any longer, as after `| head`."""
    accept_all(sys.stdout)
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Else the interpreter would flush the rest at its end, and fail again.
        for descriptor in filter(_has_no_reader, (sys.stdout.fileno(), sys.stderr.fileno())):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _has_no_reader(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return bool(poll.poll(0))  # errors are always reported


def as_typed(text: str) -> str:
    """Return a text whose `scrapy COMMAND` is `rdfaspider COMMAND` if that is what the user has typed."""
    return _PROGRAM.sub(PROGRAM, text)


def complain(command: str, error: object) -> None:
    """Say on standard error what went wrong, in one line."""
    print(as_typed(f"scrapy {command}: {escaped(masked(str(error)))}"), file=sys.stderr)


def exit_code_of(command: str, work: Callable[[], int | None]) -> int:
    """Do the work of a command; report a failure in one line on standard error, never a traceback."""
    with quiet_pipe():
        try:
            return work() or 0
        except BrokenPipeError:
            raise
        except (OSError, ValueError, SyntaxError, RuntimeError) as error:
            complain(command, error)
            return 1
        except KeyboardInterrupt:
            complain(command, "interrupted.")
            return 130
    return 0


def confirm(question: str) -> bool:
    """Ask on standard error, and return whether the answer is yes. EOFError without a terminal."""
    if not sys.stdin.isatty():
        raise EOFError
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


class StatusLine:
    """A line on a terminal that shows the progress of long work, and is updated in place.

    Call `show` as often as you like within the block: it writes every `interval` seconds. Nothing is
    written where there is no terminal.
    """

    def __init__(self, stream: TextIO, *, interval: float = 0.5, is_shown: bool = True) -> None:
        self._stream = stream
        self._columns = columns(stream) if is_shown else None
        self._interval = interval
        self._next = monotonic() + interval
        self._is_there = False

    def show(self, text: str) -> None:
        if self._columns is None or monotonic() < self._next:
            return
        self._next = monotonic() + self._interval
        self._is_there = True
        encoding = self._stream.encoding
        line = cut(escaped(text, encoding), self._columns - 1, encoding)
        self._stream.write(CLEAR_LINE + line)
        self._stream.flush()

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._is_there:
            self._stream.write(CLEAR_LINE)
            self._stream.flush()
