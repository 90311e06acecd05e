"""Which hosts belong together, and which worker they go to.

A partition function maps the name of a host to a number. `digest` is the default; the sums of characters
are those of two papers, kept for comparison (docs/service.md): KSpider adds up all characters of a host,
Tarantula those at even or at odd places.

An assignment maps partitions to workers. It serves locality only (connections, robots.txt and names at
hand): every worker that asks gets URLs that may be fetched. `rendezvous` moves little when a worker comes
or goes; `phases` is KSpider's phase swapping: all partitions move on together with the clock. As partitions
are not equally busy, `even_out` then moves a few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Seconds of one phase.
PHASE = 60.0


def digest(host: str, partitions: int) -> int:
    """Return the partition of a host by a hash of its name."""
    return _hash(host) % partitions


def characters(host: str, partitions: int) -> int:
    """Return the partition of a host by the sum of its characters (KSpider, figure 4)."""
    return sum(host.encode()) % partitions


def even_characters(host: str, partitions: int) -> int:
    """Return the partition of a host by the characters at even places (Tarantula, equation 1)."""
    return sum(host.encode()[::2]) % partitions


def odd_characters(host: str, partitions: int) -> int:
    """Return the partition of a host by the characters at odd places (Tarantula, equation 2)."""
    return sum(host.encode()[1::2]) % partitions


PARTITIONINGS: dict[str, Callable[[str, int], int]] = {
    "digest": digest,
    "characters": characters,
    "even": even_characters,
    "odd": odd_characters,
}


def rendezvous(partitions: int, workers: Sequence[str], now: float = 0.0) -> list[str]:
    """Return the worker of each partition: of those with room, the one with the highest hash.

    Each has room for its share, rounded up. So the shares are even, and when a worker dies, little more
    than its own partitions move, to all the others.
    """
    names = sorted(workers)
    room = dict.fromkeys(names, -(-partitions // len(names)) if names else 0)
    owners = []
    for partition in range(partitions):
        owner = max((n for n in names if room[n]), key=lambda name: _hash(f"{partition} {name}"))
        room[owner] -= 1
        owners.append(owner)
    return owners


def phases(partitions: int, workers: Sequence[str], now: float) -> list[str]:
    """Return the worker of each partition in the present phase (KSpider, section 2.2).

    At any moment no two workers have the same partition, and in as many phases as there are workers each
    has had them all.
    """
    names = sorted(workers)
    turn = int(now // PHASE)
    return [names[(partition + turn) % len(names)] for partition in range(partitions)]


ASSIGNMENTS: dict[str, Callable[[int, Sequence[str], float], list[str]]] = {
    "rendezvous": rendezvous,
    "phases": phases,
}


@dataclass(frozen=True, slots=True)
class Division:
    """How hosts are divided into partitions, and these among workers, by the names of the functions above."""

    partitions: int = 256
    partitioning: str = "digest"
    assignment: str = "rendezvous"

    def partition(self, host: str) -> int:
        """Return the partition of a host."""
        return PARTITIONINGS[self.partitioning](host, self.partitions)

    def phase(self, now: float) -> int:
        """Return a number that changes when the clock moves partitions to other workers."""
        return int(now // PHASE) if self.assignment == "phases" else 0

    def assign(self, partitions: int, workers: Sequence[str], now: float) -> list[str]:
        """Return the worker of each partition."""
        return ASSIGNMENTS[self.assignment](partitions, workers, now)


def even_out(owners: Sequence[str], loads: Sequence[float], workers: Sequence[str]) -> list[str]:
    """Return owners among whom the loads of partitions are even, as far as few moves allow.

    Nothing moves while the busiest and the idlest worker differ by less than a tenth of the mean, so that
    small changes of the loads change nothing.
    """
    evened = list(owners)
    shares = dict.fromkeys(sorted(workers), 0.0)
    for owner, load in zip(evened, loads, strict=True):
        shares[owner] += load
    close = 0.1 * sum(loads) / len(shares)
    while True:
        busiest, idlest = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
        gap = shares[busiest] - shares[idlest]
        fitting = [p for p, o in enumerate(evened) if o == busiest and 0 < loads[p] < gap]
        if gap <= close or not fitting:
            return evened
        # Each move narrows the gap between the two, so this ends.
        moved = min(fitting, key=lambda p: abs(loads[p] - gap / 2))
        evened[moved] = idlest
        shares[busiest] -= loads[moved]
        shares[idlest] += loads[moved]


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
