"""The arguments of a spider, `-a NAME=VALUE`."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.items import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Spider


def check_arguments(spider: type[Spider], names: Iterable[str]) -> None:
    """Raise UsageError for an argument that the spider does not have.

    A subclass has the arguments of its `__init__` and of those above it, and its class attributes.
    Services such as scrapyd pass names that begin with an underscore.
    """
    known = _own_arguments(spider)
    faults = [
        _sentence(spider.name, name, known)
        for name in names
        if not (name in known or name.startswith("_") or hasattr(spider, name))
    ]
    if faults:
        raise UsageError("\n".join(faults))


def _own_arguments(spider: type[Spider]) -> list[str]:
    """Return the arguments that the spider and the classes above it name, its own first."""
    named: dict[str, None] = {}
    for each in spider.__mro__:
        if "__init__" in vars(each) and each is not object:
            parameters = list(inspect.signature(vars(each)["__init__"]).parameters.values())[1:]
            named |= {p.name: None for p in parameters if p.kind not in _VARIADIC}
    return list(named)


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _sentence(spider: str, name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}."
    return f"{name} is not an argument of the spider {spider}: {hint}"


def read_depth(argument: str | None) -> int | None:
    """Return the depth given as an argument, None if there is none."""
    if argument is None:
        return None
    if not argument.isdecimal():
        raise UsageError(
            f"depth={argument} is not a number: 0 is the seeds alone, 1 the pages they link to."
        )
    if int(argument) > MAX_DEPTH:
        raise UsageError(f"depth={argument} is too deep: it must be between 0 and {MAX_DEPTH}.")
    return int(argument)
