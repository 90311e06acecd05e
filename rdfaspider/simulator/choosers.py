"""Orders for the frontier in memory: breadth, the harvest, and a bandit of hosts to compare it with."""

from __future__ import annotations

from math import log
from random import Random
from typing import TYPE_CHECKING
from zlib import crc32

from rdfaspider.focus.contexts import context_of, lift_of, richness
from rdfaspider.focus.harvest import Harvest, Shares, section_of
from rdfaspider.simulator.memory import MemoryFrontier

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.simulator.memory import Chooser, MemoryHost, WaitingUrl


class BreadthChooser:
    """Shallow pages first, then in order of arrival, whatever they are worth."""

    def group(self, key: bytes) -> bytes:
        return b""

    def context(self, source: bytes, gain: float, target: bytes) -> int:
        return 0

    def rank(self, key: bytes, depth: int, context: int) -> float:
        return depth

    def choose(self, host: MemoryHost) -> tuple[float, bytes]:
        first = host.groups[b""][0]
        return first.depth * 1e9 + first.number, b""

    def learn(self, host: MemoryHost, entry: WaitingUrl, gain: float) -> None:
        """Learn nothing: that is the point."""


class HarvestChooser:
    """Draws for each section of a ready host what its next page will bring, and takes the best."""

    def __init__(self, seed: int = 0, largest_share: float = 0.1) -> None:
        self.harvest = Harvest(seed=seed)
        self._shares = Shares(largest_share)

    def group(self, key: bytes) -> bytes:
        return section_of(key)

    def context(self, source: bytes, gain: float, target: bytes) -> int:
        if not source:
            return 0
        section = section_of(source)
        usual = self.harvest.estimate([])[1]
        return context_of(section, section_of(target), richness(gain, usual))

    def rank(self, key: bytes, depth: int, context: int) -> float:
        return 255 - self.harvest.contexts.promise(context)

    def choose(self, host: MemoryHost) -> tuple[float, bytes]:
        score = self.harvest.score
        best = max(
            (score(section, lift_of(255 - int(group[0].rank))), section)
            for section, group in host.groups.items()
        )
        beyond = 0.0 if self._shares.has_room(host.number) else 1e9
        return beyond - best[0], best[1]

    def learn(self, host: MemoryHost, entry: WaitingUrl, gain: float) -> None:
        self._shares.count(host.number)
        self.harvest.learn(entry.key, gain, entry.context)


class BanditChooser:
    """Anthelion's way, the baseline: a bandit chooses the host, a classifier its URL.

    A host is drawn by Beta(rich + 1, poor + 1) of its pages. Its URLs are ranked by naive Bayes over the
    words of their paths, their host and whether the page that linked to them was rich, hashed.
    """

    _SLOTS = 10_000

    def __init__(self, seed: int = 0) -> None:
        self._chance = Random(seed)
        self._hosts: dict[int, list[int]] = {}
        self._words = ([1] * self._SLOTS, [1] * self._SLOTS)  # poor, rich

    def group(self, key: bytes) -> bytes:
        return b""

    def context(self, source: bytes, gain: float, target: bytes) -> int:
        return 1 + (gain > 0) if source else 0

    def rank(self, key: bytes, depth: int, context: int) -> float:
        poor, rich = self._words
        odds = sum(log(rich[slot] / poor[slot]) for slot in self._slots(key, context))
        return -odds

    def choose(self, host: MemoryHost) -> tuple[float, bytes]:
        poor, rich = self._hosts.get(host.number, (0, 0))
        return -self._chance.betavariate(rich + 1, poor + 1), b""

    def learn(self, host: MemoryHost, entry: WaitingUrl, gain: float) -> None:
        is_rich = gain > 0
        self._hosts.setdefault(host.number, [0, 0])[is_rich] += 1
        for slot in self._slots(entry.key, entry.context):
            self._words[is_rich][slot] += 1

    def _slots(self, key: bytes, context: int) -> list[int]:
        words = [*key.replace(b"?", b"/").split(b"/"), b"parent %d" % context]
        return [crc32(word) % self._SLOTS for word in words if word]


ORDERS: dict[str, Callable[[int], Chooser]] = {
    "breadth": lambda seed: BreadthChooser(),
    "bandit": BanditChooser,
    "harvest": HarvestChooser,
}


def simulated(order: str, seed: int = 0, delay: float = 1.0) -> MemoryFrontier:
    """Return a frontier in memory with the order of this name; its hosts rest `delay` seconds."""
    if order not in ORDERS:
        raise ValueError(f"There is no simulated order {order}: choose {', '.join(ORDERS)}.")
    return MemoryFrontier(ORDERS[order](seed), delay)
