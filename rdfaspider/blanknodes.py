"""Blank nodes of two graphs: which are alike, by what is said of them."""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Blank nodes whose surroundings are alike this many links around are taken for alike.
_ROUNDS = 8


def colours(words: Sequence[tuple[bytes, bytes, bytes]]) -> dict[bytes, bytes]:
    """Return the colour of each blank node: what is said of it and around it."""
    found = {word: b"_" for triple in words for word in triple[::2] if word.startswith(b"_:")}
    distinct = 0
    for _ in range(_ROUNDS):
        said = defaultdict(list)
        for subject, predicate, value in words:
            said[subject].append(b">" + predicate + b" " + found.get(value, value))
            said[value].append(b"<" + predicate + b" " + found.get(subject, subject))
        found = {node: _hash(colour, said[node]) for node, colour in found.items()}
        if len(set(found.values())) == distinct:
            break
        distinct = len(set(found.values()))
    return found


def _hash(colour: bytes, said: list[bytes]) -> bytes:
    return blake2b(colour + b"\n".join(sorted(said)), digest_size=16).digest()
