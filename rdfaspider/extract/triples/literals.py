"""Literals as N-Quads terms, and the datatypes that HTML reads from dates and times."""

from __future__ import annotations

import re
from functools import lru_cache

from pyoxigraph import Literal

from rdfaspider.extract.contexts import XSD

_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_DATE = r"-?\d{4,}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d(?:\.\d+)?"
_TIMES = (
    ("date", re.compile(_DATE + _ZONE, re.A)),
    ("time", re.compile(_TIME + _ZONE, re.A)),
    ("dateTime", re.compile(f"{_DATE}T{_TIME}{_ZONE}", re.A)),
    ("gYearMonth", re.compile(r"-?\d{4,}-\d\d" + _ZONE, re.A)),
    ("gYear", re.compile(r"-?\d{4,}" + _ZONE, re.A)),
    (
        "duration",
        re.compile(
            r"-?P(?=.)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?",
            re.A,
        ),
    ),
)
_NUMBERS = (
    ("integer", re.compile(r"-?\d+", re.A)),
    ("double", re.compile(r"-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?", re.A)),
)


def quoted(text: str, suffix: str = "") -> str:
    """Return a string as N-Quads writes it, with its language or datatype as a suffix."""
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if '"' in text:
        text = text.replace('"', '\\"')
    if "\n" in text:
        text = text.replace("\n", "\\n")
    if "\r" in text:
        text = text.replace("\r", "\\r")
    return f'"{text}"{suffix}'


def time_suffix(text: str) -> str:
    """Return the datatype of a date, a time or a duration as a suffix, or an empty string."""
    return _suffix(text, _TIMES)


def number_suffix(text: str) -> str:
    """Return the datatype of a number as a suffix, or an empty string."""
    return _suffix(text, _NUMBERS)


def _suffix(text: str, forms: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    return next((f"^^<{XSD}{name}>" for name, form in forms if form.fullmatch(text)), "")


@lru_cache(maxsize=1024)
def language_suffix(tag: str) -> str:
    """Return a language tag as a suffix; a malformed tag gives an empty string."""
    try:
        Literal("", language=tag)
    except ValueError:
        return ""
    return f"@{tag}"
