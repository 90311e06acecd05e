"""JSON as pages write it: strictly at first, then with the usual mistakes repaired."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_VALUES = 400_000  # of a text; each takes some hundred bytes
_DIGITS = 1_000  # of a number; Python refuses to read more than 4,300
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r"[\s/*]*+(?:<!--|<!\[CDATA\[)[\s/*]*+")
# A string, or one of the mistakes outside of strings: a comment, a comma before a bracket. Strings
# and comments that are never closed match as well, or each start of one would look to the end.
_PIECES = re.compile(
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+"?)|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|//[^\n]*+|,(?=\s*+[}\]])', re.S
)
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9A-Fa-f]{4})|(.))', re.S)


def is_small(text: str) -> bool:
    """Tell whether a JSON text has no more values than memory is meant for.

    Each but the first follows a comma or an opening bracket; those in strings are counted too.
    """
    if len(text) <= _VALUES:
        return True
    return text.count(",") + text.count("[") + text.count("{") <= _VALUES


def loads(text: str, strict: bool = True) -> Any:
    """Return the value of a JSON text; raise ValueError, also when it is nested very deep."""
    try:
        return json.loads(
            text, strict=strict, parse_int=_int, parse_float=_float, parse_constant=_constant
        )
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def dumps(value: Any) -> bytes:
    """Return a value as JSON in UTF-8, with U+FFFD where a string holds half a character."""
    text = json.dumps(value, ensure_ascii=False, check_circular=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def repaired(text: str) -> str:
    """Return a text without what surrounds JSON in scripts, comments, and commas too many."""
    text = text.strip("\ufeff\x00 \t\r\n;")
    opening = _OPENING.match(text)
    text = text[opening.end() :] if opening else text
    for mark in ("-->", "]]>"):
        body, _, rest = text.rpartition(mark)
        if body and not rest.strip(" \t\r\n/*;"):
            text = body
    text = _PIECES.sub(_string, text)
    # Only now does a comma with a comment behind it stand before its bracket.
    return _PIECES.sub(_string, text).strip(" \t\r\n;")


def _string(match: re.Match[str]) -> str:
    """Return a string with its escapes put right, and nothing for any other piece."""
    text = match[1] or ""
    return _ESCAPE.sub(_escape, text) if "\\" in text else text


def _escape(match: re.Match[str]) -> str:
    return match[0] if match[1] else match[2]


def _int(digits: str) -> int | None:
    return int(digits) if len(digits) <= _DIGITS else None


def _float(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
