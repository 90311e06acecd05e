"""What names resolve to, remembered for a while."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfaspider.resolver.addresses import Address

# Of a name with more addresses: enough to try another when one is down.
MAX_ADDRESSES = 8


class Cache:
    """The addresses of the names that were used last, until they expire.

    Layout: one dictionary, name -> (time of expiry, addresses), the least recently used first.
    No addresses are an answer too: the look-up failed, and is not repeated at once.
    Invariant: never more than `size` names.
    """

    def __init__(self, size: int, hit_seconds: float, miss_seconds: float) -> None:
        if size < 1:
            raise ValueError(f"A cache of {size} names keeps none: at least one is needed.")
        self.size = size
        self.hit_seconds = hit_seconds
        self.miss_seconds = miss_seconds
        self._answers: OrderedDict[str, tuple[float, tuple[Address, ...]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, name: str, now: float) -> tuple[Address, ...] | None:
        """Return the addresses of a name, or None when they must be looked up."""
        answer = self._answers.get(name)
        if answer is None or answer[0] <= now:
            return None
        self._answers.move_to_end(name)
        return answer[1]

    def put(self, name: str, addresses: tuple[Address, ...], now: float) -> None:
        seconds = self.hit_seconds if addresses else self.miss_seconds
        self._answers[name] = (now + seconds, addresses[:MAX_ADDRESSES])
        self._answers.move_to_end(name)
        if len(self._answers) > self.size:
            self._answers.popitem(last=False)
