"""Literals as N-Quads terms, and the datatypes that HTML reads from dates and times."""

from __future__ import annotations

import re
from functools import lru_cache

from pyoxigraph import Literal

from rdfaspider.extract.contexts import XSD

_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_DATE = r"-?\d{4,}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d(?:\.\d+)?"
_FORMS = (
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
    for name, form in _FORMS:
        if form.fullmatch(text):
            return f"^^<{XSD}{name}>"
    return ""


@lru_cache(maxsize=1024)
def language_suffix(tag: str) -> str:
    """Return a language tag as a suffix; a malformed tag gives an empty string."""
    try:
        Literal("", language=tag)
    except ValueError:
        return ""
    return f"@{tag}"
