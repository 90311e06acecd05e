"""The registry of Microdata: where vocabularies begin, and which properties imply others.

A registry is written in the JSON of the W3C's own, http://www.w3.org/ns/md: for each prefix of
types the properties that imply others, as ``subPropertyOf`` or ``equivalentProperty``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rdfaspider.extract.datafiles import read_data

_FOLDER = re.compile(r"[^:/?#]+:(?://[^/?#]*+)?+[^?#]*/")
_RELATIONS = ("subPropertyOf", "equivalentProperty")


@dataclass(frozen=True, slots=True)
class MicrodataRegistry:
    """The known vocabularies; a predicate of theirs maps to those that it implies, as terms."""

    prefixes: tuple[str, ...]
    implied: Mapping[str, tuple[str, ...]]

    @classmethod
    def loads(cls, text: str | bytes) -> MicrodataRegistry:
        """Read a registry in JSON, in which names with @ are comments."""
        entries = {key: entry for key, entry in json.loads(text).items() if key[:1] != "@"}
        implied = {
            f"<{_separated(prefix)}{name}>": _related(relations)
            for prefix, entry in entries.items()
            for name, relations in entry.get("properties", {}).items()
        }
        return cls(tuple(entries), implied)

    def namespace(self, kind: str) -> str:
        """Return what the names of properties are appended to in an item of this type."""
        for prefix in self.prefixes:
            if kind.startswith(prefix):
                return _separated(prefix)
        start, mark, _ = kind.partition("#")
        if mark:
            return start + mark
        folder = _FOLDER.match(kind)
        return folder[0] if folder else f"{kind.partition('?')[0]}#"


def _separated(prefix: str) -> str:
    return prefix if prefix.endswith(("/", "#")) else f"{prefix}#"


def _related(relations: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for relation in _RELATIONS:
        value = relations.get(relation, [])
        found += [value] if isinstance(value, str) else value
    return tuple(f"<{iri}>" for iri in found)


REGISTRY = MicrodataRegistry.loads(read_data("microdata/registry.json"))
