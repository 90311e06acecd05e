"""Containment of failures: a reader that fails does not affect the others.

Pages are also read by libraries in C and Rust, which panic or run out of memory or stack on some of
them. Any exception of a reader is counted in ``Facts.cuts`` as "READER memory" or "READER error".
"""

from __future__ import annotations

import traceback
from types import TracebackType

from rdfaspider.extract.facts import Facts

_MESSAGE = 200  # characters of what was raised
_TRACEBACK = 4_000  # characters of where


class contained:
    """Contain all exceptions of a block except those meant for the whole process."""

    __slots__ = ("_facts", "_reader")

    def __init__(self, reader: str, facts: Facts) -> None:
        self._reader = reader
        self._facts = facts

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is None:
            return True
        if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
            return False
        # The frames hold what took the memory.
        traceback.clear_frames(trace)
        if isinstance(error, MemoryError):
            self._facts.cuts[f"{self._reader} memory"] += 1
        else:
            # A panic of Rust is no Exception.
            self._facts.cuts[f"{self._reader} error"] += 1
            self._facts.errors[self._reader] = _told(error, trace)
        return True


def _told(error: BaseException, trace: TracebackType | None) -> str:
    """Return where something was raised, and in the last line what."""
    place = "".join(traceback.format_tb(trace))[-_TRACEBACK:]
    message = " ".join(str(error)[:_MESSAGE].split())
    return f"{place}{type(error).__name__}: {message}"
