"""Which shard of a crawl has what: several frontiers share a crawl by host.

The shard with the highest hash of its number and the name is chosen (rendezvous hashing), so every worker
and every service comes to the same result, in whatever order it knows the shards.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from rdfaspider.urls.keys import host_of, to_key

# Pages link mostly to a few hosts, so each is hashed about once.
_REMEMBERED = 65_536
MOST_SHARDS = 64


class Shard(NamedTuple):
    """One shard of a crawl, counted from 0, and the number of shards."""

    number: int = 0
    total: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read "1/2", the first of two; ValueError if it is anything else."""
        number, slash, total = text.partition("/")
        if slash and number.isdecimal() and total.isdecimal():
            shard = cls(int(number) - 1, int(total))
            if 0 <= shard.number < shard.total <= MOST_SHARDS:
                return shard
        raise ValueError(
            f"A shard is written as 1/2, the first of two, and of at most {MOST_SHARDS}, not {text[:50]!r}."
        )

    def __str__(self) -> str:
        return f"{self.number + 1}/{self.total}"

    def has(self, key: bytes) -> bool:
        """Return whether the URL of a key belongs to this shard."""
        return self.total == 1 or _of_name(host_of(key), self.total) == self.number


def shard_of(url: str, total: int) -> int:
    """Return the shard that has the host of a normalised URL."""
    return shard_of_origin(url[: url.index("/", 8)], total)


def keeper_of(address: str, total: int) -> int:
    """Return the shard that keeps the clock of the server at an address."""
    return _of_name(b"server " + address.encode(), total)


def shard_of_note(name: str, total: int) -> int:
    """Return the shard that has a note: one about a host is with the host, all others are with the first."""
    subject = name.rpartition(" ")[2]
    if subject == name:
        return 0
    try:
        return shard_of(f"{subject if '://' in subject else f'http://{subject}'}/", total)
    except ValueError:
        return 0


@lru_cache(_REMEMBERED)
def shard_of_origin(origin: str, total: int) -> int:
    """Return the shard that has a host, by scheme and authority."""
    return _of_name(host_of(to_key(f"{origin}/")), total)


@lru_cache(_REMEMBERED)
def _of_name(name: bytes, total: int) -> int:
    return max(range(total), key=lambda number: blake2b(b"%d %b" % (number, name)).digest())
