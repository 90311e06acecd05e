"""Query parameters that choose no page, such as session ids under unusual names, by what they do.

A page that is the same under two values of a parameter, apart from the parameter itself, speaks for leaving
it out on its host, and one that differs speaks against it. It takes several pages and several values: an
error page is the same for all numbers of articles, and `page=1` is often the same as none.

Layout: the value and the body of the first page seen for each URL without one of its parameters, and what
speaks for and against each parameter of a host. Of both only the latest `most` are kept.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from rdfaspider.urls.hosts import host

if TYPE_CHECKING:
    from collections.abc import Iterable

    Thing = TypeVar("Thing")

_FEWEST = 3  # pages that were the same, and values, from which on a parameter is left out
_WEIGHT = 4  # such pages that one which differs outweighs
_PARAMETERS = 8  # of a page that are looked at
_LARGEST = 1 << 20  # bytes of such a page
_LONG = 8  # characters of a value that stands for itself wherever it is


@dataclass(slots=True)
class _Evidence:
    same: set[int] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    others: int = 0

    @property
    def suffices(self) -> bool:
        return (
            min(len(self.same), len(self.values)) >= _FEWEST
            and len(self.same) > _WEIGHT * self.others
        )


class IdleParameters:
    """Learns from pages which parameters choose none."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._first: OrderedDict[tuple[str, str], tuple[str, int]] = OrderedDict()
        self._evidence: OrderedDict[tuple[str, str], _Evidence] = OrderedDict()

    def learn(self, url: str, links: Iterable[str], body: bytes) -> list[str]:
        """Return the parameters that turn out to be idle on the host of a page."""
        if len(body) > _LARGEST:
            return []
        path, _, query = url.partition("?")
        own = _values(query)
        linked = (link.partition("?") for link in links if link.startswith(path))
        varied = (name for to, _, other in linked if to == path for name in _values(other))
        found = []
        for name in islice(dict.fromkeys((*own, *varied)), _PARAMETERS):
            evidence = self._kept(self._evidence, (host(url), name), _Evidence())
            if evidence.others >= _FEWEST:
                continue
            value = own.get(name, "")
            here = value, hash(_without(name, value, body))
            before = self._kept(self._first, (f"{path}?{_rest(query, name)}", name), here)
            if value != before[0]:
                if here[1] == before[1]:
                    evidence.same.add(here[1])
                    evidence.values |= {value, before[0]} - {""}
                else:
                    evidence.others += 1
                if evidence.suffices:
                    found.append(name)
        return found

    def _kept(
        self, table: OrderedDict[tuple[str, str], Thing], key: tuple[str, str], new: Thing
    ) -> Thing:
        """Return what a table has for a key, which is the new thing if it had none."""
        table[key] = found = table.pop(key, new)
        if len(table) > self._most:
            table.popitem(last=False)
        return found


def _values(query: str) -> dict[str, str]:
    """Return the parameters of a query that have a value."""
    pairs = (part.partition("=") for part in query.split("&"))
    return {name: value for name, _, value in pairs if value}


def _rest(query: str, name: str) -> str:
    return "&".join(part for part in query.split("&") if part.partition("=")[0] != name)


def _without(name: str, value: str, body: bytes) -> bytes:
    """Return the body of a page without a parameter of its URL and links."""
    body = body.replace(b"&amp;", b"&")
    for joint in (b"?", b"&", b";"):
        start = joint + name.encode() + b"="
        if start in body:
            body = re.sub(re.escape(start) + rb"[^&\"'<>\s#;]*", b"", body)
    return body.replace(value.encode(), b"") if len(value) >= _LONG else body
