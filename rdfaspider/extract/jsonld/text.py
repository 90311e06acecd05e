"""JSON as pages write it: strictly at first, then with the usual mistakes repaired."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_VALUES = 400_000  # of a text; each takes some hundred bytes
_DIGITS = 1_000  # of a number; Python refuses to read more than 4,300
_SURROGATE = re.compile("[\ud800-\udfff]")
# The start of JSON that stands in an HTML comment.
_COMMENTED_OUT = re.compile(r"[\s/*]*+<!--\s*+(?=[{\[])")
# A string that is never closed matches too, otherwise every quote would search to the end of the text.
_STRING = r"""(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+"?)"""
# Pieces of a text: strings, and what stands between tokens in place of white space.
_PIECES = re.compile(
    _STRING
    + r"""
    |'(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*+)'?
    |(?:/[/*])?[ ]?(?:<!\[CDATA\[|\]\]>)[ ]?(?:\*/)?
    |<!--(?:[^-]|-(?!->))*+(?:-->)?|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|(?://|\#)[^\n]*+
    |[\s\x00-\x1f\x7f\xad\u180e\u200b-\u200f\u2060\ufeff]++
    """,
    re.S | re.X,
)
# Commas and semicolons with the brackets around them, and a bracket that lacks a comma behind it.
_COMMAS = re.compile(
    _STRING
    + r"""|(?P<open>[{\[]?)[ ]?[,;][ ,;]*+(?P<close>[}\]]|\Z)?|(?P<lacking>[}\]])[ ]?(?=["{\[])""",
    re.S,
)
_BARE_QUOTE = re.compile(r'(\\.)|"', re.S)
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9A-Fa-f]{4})|(.))', re.S)


class TooBig(ValueError):
    """A text would cost its parser too much; the message names the limit."""


def read(text: str) -> tuple[Any, bool]:
    """Return the value of a JSON text and whether it had to be repaired; raise ValueError."""
    try:
        return loads(text), False
    except TooBig:
        raise
    except ValueError:
        return loads(repaired(text), strict=False), True


def loads(text: str, strict: bool = True) -> Any:
    """Return the value of a JSON text; raise ValueError, also when it is nested very deep.

    Raise TooBig if it has more values than memory is meant for. Each but the first follows a comma or an
    opening bracket; those in strings are counted too.
    """
    if len(text) > _VALUES and sum(map(text.count, ",[{")) > _VALUES:
        raise TooBig("size")
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
    """Return a text with the mistakes around its strings repaired, and the wrong escapes in them."""
    if opening := _COMMENTED_OUT.match(text):
        text = text[opening.end() :]
        body, _, rest = text.rpartition("-->")
        text = body if body and not rest.strip(" \t\r\n/*;") else text
    return _COMMAS.sub(_comma, _PIECES.sub(_piece, text)).strip(" ,")


def _piece(match: re.Match[str]) -> str:
    """Return a string with double quotes and valid escapes, and a space for any other piece."""
    string = match["string"]
    if string is None:
        if match["single"] is None:
            return " "
        string = f'"{_BARE_QUOTE.sub(_quoted, match["single"])}"'
    return _ESCAPE.sub(_escape, string) if "\\" in string else string


def _quoted(match: re.Match[str]) -> str:
    return match[1] or '\\"'


def _comma(match: re.Match[str]) -> str:
    if match["string"] is not None:
        return match["string"]
    if match["lacking"]:
        return match["lacking"] + ","
    around = match["open"] + (match["close"] or "")
    return around or ","


def _escape(match: re.Match[str]) -> str:
    return match[0] if match[1] else match[2]


def _int(digits: str) -> int | None:
    return int(digits) if len(digits) <= _DIGITS else None


def _float(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
