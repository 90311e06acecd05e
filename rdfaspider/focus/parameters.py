"""Query parameters that choose no page, such as session ids under unusual names, by what they do.

A page that is the same under three values of a parameter, apart from the parameter itself, speaks for
leaving it out on its host, and one that differs speaks against it. It takes several pages: an error page is
the same for all numbers of articles, even if it names its path. And the parameter must be in their links, as
one is that makes many URLs of a page; an error page or an empty search has no reason to pass it on.

Layout: the values and the body of the first page seen for each URL without one of its parameters, and what
speaks for and against each parameter of a host. Of both only the latest `most` are kept.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from rdfaspider.urls.hosts import host
from rdfaspider.urls.sessions import DRAWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Thing = TypeVar("Thing")

_FEWEST = 3  # pages that were the same, and values of each, from which on a parameter is left out
_WEIGHT = 4  # such pages that one which differs outweighs
_PARAMETERS = 8  # of a page that are looked at
_LARGEST = 1 << 20  # bytes of such a page


@dataclass(slots=True)
class _Evidence:
    same: set[int] = field(default_factory=set)
    others: int = 0

    @property
    def suffices(self) -> bool:
        return len(self.same) >= max(_FEWEST, _WEIGHT * self.others + 1)


class IdleParameters:
    """Learns from pages which parameters choose none."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._first: OrderedDict[tuple[str, str], tuple[list[str], int]] = OrderedDict()
        self._evidence: OrderedDict[tuple[str, str], _Evidence] = OrderedDict()

    def learn(self, url: str, links: Sequence[str], body: bytes) -> list[str]:
        """Return the parameters that turn out to be idle on the host of a page."""
        if len(body) > _LARGEST:
            return []
        path, _, query = url.partition("?")
        own = _values(query)
        start = f"{path}?"
        queries = [link[len(start) :] for link in links if link.startswith(start)]
        varied = (name for other in queries for name in _values(other))
        found = []
        for name in islice(dict.fromkeys((*own, *varied)), _PARAMETERS):
            evidence = self._kept(self._evidence, (host(url), name), _Evidence())
            if evidence.others >= _FEWEST:
                continue
            value = own.get(name, "")
            rest = _without(name, value, body)
            key = f"{path}?{_rest(query, name)}", name
            values, first = self._kept(self._first, key, ([value], hash(rest)))
            if value in values:
                continue
            if hash(rest) != first:
                evidence.others += 1
                continue
            if len(values) < _FEWEST:
                values.append(value)
            if len(values) == _FEWEST and _has(links, name):
                evidence.same.add(hash(rest.replace(path[path.index("/", 8) :].encode(), b"")))
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


def _has(links: Iterable[str], name: str) -> bool:
    """Tell whether one of the links of a page has a parameter."""
    return any(f"?{name}=" in link or f"&{name}=" in link for link in links)


def _without(name: str, value: str, body: bytes) -> bytes:
    """Return the body of a page without a parameter of its URL and links."""
    body = body.replace(b"&amp;", b"&")
    for joint in (b"?", b"&", b";"):
        start = joint + name.encode() + b"="
        if start in body:
            body = re.sub(re.escape(start) + rb"[^&\"'<>\s#;]*", b"", body)
    return body.replace(value.encode(), b"") if DRAWN.fullmatch(value) else body
