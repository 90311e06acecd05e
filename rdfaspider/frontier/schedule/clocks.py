"""Times by name, so many that memory is bounded."""

from __future__ import annotations

_MOST = 10_000


class Clocks:
    """The latest times that were set; the eldest are forgotten when there are too many."""

    def __init__(self) -> None:
        self._times: dict[bytes, float] = {}

    def __getitem__(self, name: bytes) -> float:
        """Return a time, 0 if none is known."""
        return self._times.get(name, 0.0)

    def __setitem__(self, name: bytes, time: float) -> None:
        self._times.pop(name, None)
        if len(self._times) >= _MOST:
            del self._times[next(iter(self._times))]
        self._times[name] = time

    def pop(self, name: bytes) -> float:
        return self._times.pop(name, 0.0)
