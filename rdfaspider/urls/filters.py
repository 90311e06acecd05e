"""Which URLs to crawl: rules that accept, reject and transform them.

A rule is a string of a kind and a value:

==========================  ======================================================================
``suffix:example.org``      the host is ``example.org`` or ends in ``.example.org``
``extension:pdf``           the last path segment ends in ``.pdf``, in any case
``keyword:login``           the URL contains ``login``, in any case
``regex:^https://[^/]+/p``  the regular expression is found in the URL
``python:package.mod.name``  the function returns something true for the URL
==========================  ======================================================================
"""

import re
from collections.abc import Iterable

from rdfaspider.plugins import load
from rdfaspider.urls.defaults import DIRECTORY_INDEX, NO_PAGES, TRACKING, WWW
from rdfaspider.urls.expressions import Expression, linear
from rdfaspider.urls.hosts import host
from rdfaspider.urls.normalise import normalise
from rdfaspider.urls.sessions import path_without_sessions, query_without_sessions
from rdfaspider.urls.traps import Traps

# Hosts on which parameters are dropped, so that a note can have them all.
_MOST_HOSTS = 5_000
_TRANSFORMS = {"DIRECTORY_INDEX": DIRECTORY_INDEX, "WWW": WWW}


class Filters:
    """Admits URLs, cleans them, or says why not."""

    def __init__(
        self,
        accept: Iterable[str] = (),
        reject: Iterable[str] = NO_PAGES,
        *,
        transforms: Iterable[str | tuple[str, str]] = (),
        drop_parameters: Iterable[str] = TRACKING,
        drop_sessions: bool = True,
        sort_query: bool = False,
        traps: Traps | None = None,
    ) -> None:
        """Build the filters from rules; raise ValueError with the rule that is wrong.

        :param accept: rules; one must match, unless there are none
        :param reject: rules; none may match
        :param transforms: regular expressions with what replaces each match, as in `re.sub`, or
            ``DIRECTORY_INDEX`` and ``WWW`` by name, in any case
        :param drop_parameters: names of query parameters, in any case, perhaps like ``utm_*``
        """
        self._accept = Rules(accept, open=True)
        self._reject = Rules(reject, open=True)
        self._transforms = [*map(_transform, transforms)]
        names = [name.lower() for name in drop_parameters]
        self._dropped = frozenset(name for name in names if not name.endswith("*"))
        self._dropped_prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
        self._drop_sessions = drop_sessions
        self._sort_query = sort_query
        self._traps = traps
        self._idle: dict[str, set[str]] = {}

    @property
    def idle(self) -> list[str]:
        """Return the parameters that are dropped on one host only, after their host and a space."""
        return sorted(f"{host} {name}" for host, names in self._idle.items() for name in names)

    def drop(self, idle: str) -> bool:
        """Drop a parameter on one host; return whether that is new, and not one of too many hosts."""
        name_of_host, _, name = idle.partition(" ")
        names = self._idle.get(name_of_host, set())
        if name in names or len(self._idle) >= _MOST_HOSTS:
            return False
        self._idle[name_of_host] = {*names, name}
        return True

    def without_idle(self, url: str) -> str:
        """Return a URL without the parameters that are dropped on its host."""
        path, mark, query = url.partition("?")
        names = self._idle.get(host(url)) if mark else None
        if names is None:
            return url
        kept = [part for part in query.split("&") if part.partition("=")[0] not in names]
        return normalise(f"{path}?{'&'.join(kept)}")

    def admit(self, url: str) -> tuple[str, str]:
        """Return a normalised URL in the form to crawl, and an empty reason or why it is rejected.

        Reasons are the kind of the rejecting rule, ``accept`` if no rule accepts, ``transform`` if
        the transforms left no URL, and ``trap/`` with the name of a trap rule.
        """
        try:
            cleaned = self._clean(url)
        except ValueError:
            return url, "transform"
        if rejected := self._reject.match(cleaned):
            return cleaned, rejected
        if self._accept and not self._accept.match(cleaned):
            return cleaned, "accept"
        if self._traps and (trap := self._traps.reason(cleaned)):
            return cleaned, f"trap/{trap}"
        return cleaned, ""

    def _clean(self, url: str) -> str:
        url = self.without_idle(url)
        path, mark, query = url.partition("?")
        if self._drop_sessions:
            path = path_without_sessions(path)
        cleaned = path + mark + self._clean_query(query) if query else path
        for pattern, replacement in self._transforms:
            cleaned = pattern.sub(replacement, cleaned)
        return url if cleaned == url else normalise(cleaned)

    def _clean_query(self, query: str) -> str:
        parameters = query.split("&")
        if self._drop_sessions:
            parameters = query_without_sessions(parameters)
        parameters = [parameter for parameter in parameters if not self._drops(_name(parameter))]
        if self._sort_query:
            parameters.sort(key=_name)
        return "&".join(parameters)

    def _drops(self, name: str) -> bool:
        return name in self._dropped or name.startswith(self._dropped_prefixes)


class Rules:
    """Rules by kind, each kind in the form that is cheapest to look up.

    Only those of the settings are `open` to functions: whoever may add rules to a running crawl must not
    choose what is imported. Nor may he stop it: regular expressions that come `late` are matched in linear
    time.
    """

    def __init__(self, rules: Iterable[str], *, open: bool = False, late: bool = False) -> None:
        kinds = ("suffix", "extension", "keyword", "regex", *(("python",) if open else ()))
        values: dict[str, list[str]] = {kind: [] for kind in kinds}
        for rule in rules:
            kind, _, value = rule.partition(":")
            if kind not in values or not value:
                raise ValueError(
                    f"Not a rule ({', '.join(f'{kind}:' for kind in kinds)}): {rule!r}."
                )
            values[kind].append(value)
        self._suffixes = tuple(_suffix(value) for value in values["suffix"])
        self._extensions = frozenset(_checked_extension(value) for value in values["extension"])
        self._keywords = tuple(value.lower() for value in values["keyword"])
        compiled = linear if late else _pattern
        self._patterns: tuple[Expression, ...] = tuple(map(compiled, values["regex"]))
        self._functions = tuple(load(path, "a rule") for path in values.get("python", ()))
        self._has_any = any(values.values())

    def __bool__(self) -> bool:
        return self._has_any

    def match(self, url: str) -> str:
        """Return the kind of a rule that matches the URL, or an empty string."""
        if self._suffixes and f".{host(url)}".endswith(self._suffixes):
            return "suffix"
        if self._extensions and _extension(url) in self._extensions:
            return "extension"
        if self._keywords:
            lower = url.lower()
            if any(keyword in lower for keyword in self._keywords):
                return "keyword"
        if any(pattern.search(url) for pattern in self._patterns):
            return "regex"
        if any(function(url) for function in self._functions):
            return "python"
        return ""


def _name(parameter: str) -> str:
    return parameter.partition("=")[0].lower()


def _extension(url: str) -> str:
    """Return what follows the last dot of the last path segment, in lower case."""
    segment = url.partition("?")[0].rpartition("/")[2].partition(";")[0]
    return segment.rpartition(".")[2].lower() if "." in segment else ""


def _checked_extension(value: str) -> str:
    extension = value.removeprefix(".").lower()
    if not re.fullmatch("[a-z0-9_+-]+", extension):
        raise ValueError(f"Not what follows a last dot: {'extension:' + value!r}.")
    return extension


def _suffix(value: str) -> str:
    """Return the suffix as hosts are written in URLs, with a dot before it."""
    try:
        url = normalise(f"http://{value.removeprefix('.')}/")
    except ValueError:
        raise ValueError(f"Not a host: {'suffix:' + value!r}.") from None
    if url != f"http://{host(url)}/":
        raise ValueError(f"More than a host: {'suffix:' + value!r}.")
    return f".{host(url)}"


def _pattern(value: str) -> re.Pattern[str]:
    try:
        return re.compile(value)
    except re.error as error:
        raise ValueError(f"Not a regular expression ({error}): {'regex:' + value!r}.") from None


def _transform(transform: str | tuple[str, str]) -> tuple[re.Pattern[str], str]:
    if isinstance(transform, str):
        if transform.upper() not in _TRANSFORMS:
            raise ValueError(f"Not a transform ({', '.join(_TRANSFORMS)}): {transform!r}.")
        transform = _TRANSFORMS[transform.upper()]
    expression, replacement = transform
    try:
        pattern = re.compile(expression)
        pattern.sub(replacement, "")  # reads the replacement, whether or not it is used
    except (re.error, IndexError) as error:
        raise ValueError(f"Not a transform ({error}): {(expression, replacement)!r}.") from None
    return pattern, replacement
