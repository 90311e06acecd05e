"""One setting: what it is for, which values it may have, and what is said of a wrong one.

A value comes as text (`-s NAME=VALUE`, scrapyd) or with its type (a settings file); `read` takes both.
Numbers are declared by `whole` and `number`, which put the unit beside the name.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from scrapy.utils.misc import load_object

from rdfaspider.plugins import is_path
from rdfaspider.secrets import without_secrets

Kind = Literal["bool", "int", "float", "text", "url", "choice", "list", "dict"]

_KINDS: dict[type, Kind] = {
    **{bool: "bool", int: "int", float: "float"},
    **{str: "text", list: "list", dict: "dict"},
}
# The largest numbers where `most` is not set: beyond them timers, threads and files overflow.
_MOST = {"float": 1e9, "int": 1e12}
_SHOWN = 200  # characters of a wrong value
_BOOLS = {"1": True, "True": True, "true": True, "0": False, "False": False, "false": False}
_NOUNS = {
    "text": "a text",
    "url": "a URL or a path",
    "bool": "1 or 0 (True or False)",
    "list": "a list, as a,b or JSON",
    "dict": "a dictionary, as JSON",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as it is declared.

    text           what it does, in one sentence of Markdown
    unit           what a number counts
    least, most    the range of a number; `above` is a least value that is itself not allowed
    choices        the values of a choice, or of the items of a list
    optional       whether it may be None
    secret         whether its value must never be shown
    shown_default  the default in the docs, where the value itself would not help
    syntax         dotted path of a callable that raises ValueError for a wrong value
    open           whether a choice may also be code of another package, by its dotted path; `syntax` loads it
    given_kind     the kind of its values, where the default does not show it
    """

    name: str
    default: Any
    text: str
    unit: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    secret: bool = False
    shown_default: str = ""
    syntax: str = ""
    open: bool = False
    given_kind: Kind | None = None

    @property
    def kind(self) -> Kind:
        if isinstance(self.default, str) and self.choices:
            return "choice"
        return self.given_kind or _KINDS[type(self.default)]

    @property
    def allowed(self) -> str:
        """Say which values are allowed."""
        if self.kind in ("int", "float"):
            noun = "a whole number" if self.kind == "int" else "a number"
            words = f"{noun} of {self.unit}" if self.unit else noun
            words += self._range()
        elif self.kind == "choice":
            words = f"one of {', '.join(self.choices)}"
        elif self.choices:
            words = f"{_NOUNS[self.kind]}, of {', '.join(self.choices)}"
        else:
            words = _NOUNS[self.kind]
        if self.open:
            words += ", or a dotted path (package.module.name)"
        return f"{words}, or None" if self.optional else words

    def _range(self) -> str:
        if self.least is not None and self.most is not None:
            return f" from {self.least:g} to {self.most:g}"
        if self.above is not None:
            most = "" if self.most is None else f" and at most {self.most:g}"
            return f" above {self.above:g}{most}"
        if self.least is not None:
            return f", at least {self.least:g}"
        return ""

    def read(self, value: object) -> Any:
        """Return a value with its type; ValueError in a sentence if it is not allowed."""
        if self.optional and value in (None, "", "None"):
            return None
        try:
            found = self._typed(value)
        except OverflowError as error:
            raise ValueError(self._sentence(value, str(error))) from None
        except (ValueError, TypeError):
            raise ValueError(self._sentence(value, f"it must be {self.allowed}")) from None
        if self.syntax and found != self.default:
            try:
                load_object(self.syntax)(found)
            except (ValueError, TypeError) as error:
                raise ValueError(self._sentence(value, str(error).rstrip("."))) from None
        return found

    def shown(self, value: object) -> str:
        """Return a value as it may be shown: without its secrets."""
        if self.kind == "url":
            return without_secrets(str(value))[:_SHOWN]
        return "…" if self.secret and value else str(value)[:_SHOWN]

    def _sentence(self, value: object, reason: str) -> str:
        shown = "" if self.secret and self.kind != "url" else f"={self.shown(value)}"
        line = "".join(each if each.isprintable() else "?" for each in shown)
        return f"{self.name}{line} is wrong: {reason}."

    def _typed(self, value: object) -> Any:
        match self.kind:
            case "bool":
                return _BOOLS[str(value)] if str(value) in _BOOLS else _refuse(value)
            case "int" | "float":
                return self._number(value)
            case "text" | "url":
                return str(value) if isinstance(value, str | os.PathLike) else _refuse(value)
            case "choice":
                return self._choice(value)
            case "list":
                return self._list(value)
            case "dict":
                return _dict(value)

    def _number(self, value: object) -> int | float:
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            _refuse(value)
        if isinstance(value, float) and not math.isfinite(value):
            _refuse(value)
        number = int(value) if self.kind == "int" else float(value)
        if (
            not math.isfinite(number)
            or (not isinstance(value, str) and number != value)
            or (self.least is not None and number < self.least)
            or (self.above is not None and number <= self.above)
            or (self.most is not None and number > self.most)
        ):
            _refuse(value)
        if number > _MOST[self.kind]:
            raise OverflowError(f"it must be at most {_MOST[self.kind]:,.0f}")
        return number

    def _choice(self, value: object) -> str:
        by_lower = {choice.lower(): choice for choice in self.choices}
        if self.open and is_path(value):
            return str(value)
        return by_lower.get(str(value).strip().lower()) or _refuse(value)

    def _list(self, value: object) -> list[Any]:
        found = _split(value) if isinstance(value, str) else value
        if not isinstance(found, list | tuple | set | frozenset):
            _refuse(value)
        if self.choices and not all(
            each in self.choices or (self.open and is_path(each)) for each in found
        ):
            _refuse(value)
        return list(found)


def whole(
    name: str, unit: str, default: int, text: str, *, least: float = 0, **more: Any
) -> Setting:
    """Declare a whole number, from 0 on unless `least` says otherwise."""
    return Setting(name, default, text, unit, least, given_kind="int", **more)


def number(
    name: str,
    unit: str,
    default: float | None,
    text: str,
    *,
    above: float | None = None,
    **more: Any,
) -> Setting:
    """Declare a number: from 0 on, or above a value that is itself not allowed."""
    least = 0 if above is None else None
    return Setting(name, default, text, unit, least, above, given_kind="float", **more)


def _refuse(value: object) -> NoReturn:
    raise ValueError(value)


def _split(text: str) -> list[Any]:
    """Read a list written as JSON or with commas; an item may itself begin with a bracket."""
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, list):
            return found
    return [item.strip() for item in text.split(",") if item.strip()]


def _dict(value: object) -> dict[Any, Any]:
    found = json.loads(value) if isinstance(value, str) else value
    return dict(found) if isinstance(found, Mapping) else _refuse(value)
