"""What names resolve to, remembered for a while."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.resolver.addresses import Address

# Addresses kept of one name: enough to try another when one is down.
MAX_ADDRESSES = 8


class Cache:
    """The addresses of the names used last, until they expire, and for a while after that.

    Layout: one dictionary, name -> (time of expiry, time of the end, addresses), the least recently used
    first. An empty answer counts too: the look-up failed, and is not repeated at once. Addresses that have
    expired are stale, and may be used until their end: better than to wait for a name server (RFC 8767).
    Invariant: never more than `size` names.
    """

    def __init__(
        self, size: int, hit_seconds: float, miss_seconds: float, stale_seconds: float = 0.0
    ) -> None:
        if size < 1:
            raise ValueError(f"A cache of {size} names keeps none: at least one is needed.")
        self.size = size
        self.hit_seconds = hit_seconds
        self.miss_seconds = miss_seconds
        self.stale_seconds = stale_seconds
        self._answers: OrderedDict[str, tuple[float, float, tuple[Address, ...]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, name: str, now: float) -> tuple[Address, ...] | None:
        """Return the addresses of a name, stale ones too, or None when they must be looked up."""
        answer = self._answers.get(name)
        if answer is None or answer[1] <= now:
            return None
        self._answers.move_to_end(name)
        return answer[2]

    def is_stale(self, name: str, now: float) -> bool:
        """Tell whether the addresses of a name should be looked up again."""
        answer = self._answers.get(name)
        return answer is not None and answer[0] <= now

    def entries(self) -> Iterator[tuple[str, float, float, tuple[Address, ...]]]:
        """Yield the names that have addresses, with the times of expiry and end, the last used at the end."""
        for name, (expiry, end, addresses) in self._answers.items():
            if addresses:
                yield name, expiry, end, addresses

    def restore(
        self, name: str, addresses: tuple[Address, ...], expiry: float, end: float, now: float
    ) -> bool:
        """Remember an earlier answer, unless its end has come or the settings allow it less time."""
        expiry = min(expiry, now + self.hit_seconds)
        end = min(end, expiry + self.stale_seconds)
        if not addresses or end <= now or name in self._answers or len(self) >= self.size:
            return False
        self._answers[name] = (expiry, end, addresses[:MAX_ADDRESSES])
        return True

    def put(self, name: str, addresses: tuple[Address, ...], now: float) -> None:
        """Remember an answer; if it is empty, stale addresses are kept until their end."""
        if addresses:
            expiry = now + self.hit_seconds
            self._answers[name] = (expiry, expiry + self.stale_seconds, addresses[:MAX_ADDRESSES])
        else:
            expiry = now + self.miss_seconds
            _, end, known = self._answers.get(name, (0.0, 0.0, ()))
            is_good = known and end > now
            self._answers[name] = (
                (min(expiry, end), end, known) if is_good else (expiry, expiry, ())
            )
        self._answers.move_to_end(name)
        if len(self._answers) > self.size:
            self._answers.popitem(last=False)
