"""What a service reserves of text and data mining: its /.well-known/tdmrep.json (TDMRep, a W3C report).

The file is an array of rules, each with a `location`, a pattern as in robots.txt, with `tdm-reservation`, 1
or 0, and perhaps with a `tdm-policy`. The first location that matches decides, however long the others are:
the report says that the most specific match is the first in sequence. Where none matches, nothing is said.
Rules that are not well formed are passed over.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Self

from rdfaspider.robots.patterns import in_order, pattern, target, unescape_query

PLACE = "/.well-known/tdmrep.json"
LIMIT = 64 * 1024  # octets of a file
_RULES = 500
_LONGEST = 2_000  # characters of a location, and of a policy


class Rule(NamedTuple):
    """Whether what matches a location is reserved, and the address of the terms, "" for none."""

    location: bytes
    is_reserved: bool
    policy: str


class Reservations:
    """The rules of one service, in the order of its file."""

    __slots__ = ("_rules",)

    def __init__(self, rules: list[Rule]) -> None:
        # Where nothing is reserved, nothing needs to be looked up.
        self._rules = rules if any(rule.is_reserved for rule in rules) else []

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Read a file; ValueError if it is not an array in JSON."""
        try:
            found = json.loads(body[:LIMIT])
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        if not isinstance(found, list):
            raise ValueError("not an array")
        return cls([rule for each in found[:_RULES] if (rule := _rule(each)) is not None])

    def of(self, url: str) -> tuple[str, str]:
        """Return reservation and policy of a URL as headers would: ("1", policy), ("", "") for none."""
        if not self._rules:
            return "", ""
        wanted = target(url)
        forms = {wanted, unescape_query(wanted)}
        for rule in self._rules:
            head, *parts = rule.location.split(b"*")
            if any(form.startswith(head) and in_order(parts, form, len(head)) for form in forms):
                return ("1", rule.policy) if rule.is_reserved else ("", "")
        return "", ""

    def to_bytes(self) -> bytes:
        rules = [[rule.location.decode("ascii"), *rule[1:]] for rule in self._rules]
        return json.dumps(rules).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return a copy of what was stored; ValueError if it is not in the form of `to_bytes`."""
        return cls([Rule(place.encode(), *rest) for place, *rest in json.loads(data)])


def _rule(found: Any) -> Rule | None:
    if not isinstance(found, dict):
        return None
    place, reservation, policy = (
        found.get(name) for name in ("location", "tdm-reservation", "tdm-policy")
    )
    if not (isinstance(place, str) and 0 < len(place) <= _LONGEST) or reservation not in (0, 1):
        return None
    terms = policy.strip() if isinstance(policy, str) and len(policy) <= _LONGEST else ""
    return Rule(pattern(place.encode("utf-8", "surrogatepass")), reservation == 1, terms)
