"""Regular expressions that people give to a running crawl, matched in linear time.

Python's `re` may take hours for a few characters of a URL, and nothing else happens meanwhile. RE2 cannot: it
knows no look-around and no back-references. It takes some microseconds a match where `re` takes less than
one, so rules in settings, which are matched with every link and were chosen with care, stay with `re`.
"""

from __future__ import annotations

from typing import Protocol

_MEMORY = 1 << 20  # bytes of a compiled expression


class Expression(Protocol):
    """A compiled regular expression."""

    def search(self, text: str, /) -> object:
        """Return something true if the expression is found in a text."""


def linear(expression: str) -> Expression:
    """Compile a regular expression; ValueError with a sentence if RE2 cannot match it."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    try:
        compiled: Expression = re2.compile(expression, options)
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0].decode(errors="replace") if isinstance(error, re2.error) else "not text"
        raise ValueError(
            f"{expression[:200]!r} is not a regular expression: {why}. (RE2 reads it, which knows no"
            " look-around and no back-references.)"
        ) from None
    return compiled
