"""Which fetches may begin, so that hosts that do not answer leave room for those that do.

Layout. A fetch under way is young for its first seconds, then slow. A slow one only waits for its host, so
it holds no slot, up to a number of slow ones. Unproven hosts may hold only a share of the slots: a host is
proven while the last page asked of it came soon. URLs that wait for that share are kept in a room of
limited size, the oldest first; they keep the turns of their hosts. Invariant. A fetch is in one of three
sets: tries (young, of an unproven host), quick (young, of a proven one), slow. There are at most `share`
tries and at most `most_slow` slow ones; beyond that the young stay young. Nothing survives the process:
hosts prove themselves again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfaspider.frontier import Taken

# Seconds after which a fetch counts as slow. Most pages arrive within one.
YOUNG = 2.0
# Seconds in which a page must arrive for its host to be proven.
SOON = 5.0
# Tries flow while half of those under way are younger than this, in seconds, and the last ones ended, or
# became slow, sooner on average.
FLOW = 0.5
# The weight of one try in that average.
_WEIGHT = 1 / 16
# URLs kept while tries flow (enough for the next moments), if there are as many slots, and while they do
# not.
_FEW = 16
_ROOM = 1000

# Bits of the set of proven hosts, 2 MB. Beyond that many hosts, some share bits, which does little harm.
_BITS = 1 << 24


class Lanes:
    """Decides which hosts may be fetched from, and counts what is under way."""

    def __init__(self, slots: int, share: float = 0.5, most_slow: int = 0) -> None:
        self.slots = slots
        self.share = max(1, int(slots * share))
        self.most_slow = most_slow
        self._proven = bytearray(_BITS // 8)
        # By number of the grant: when it began, and the host.
        self._tries: OrderedDict[int, tuple[float, int]] = OrderedDict()
        self._quick: OrderedDict[int, tuple[float, int]] = OrderedDict()
        self._slow: dict[int, tuple[float, int]] = {}
        self._room: deque[tuple[float, Taken]] = deque()
        self._return = 0.0
        self._seconds = 0.0

    def resize(self, other: Lanes) -> None:
        """Adopt the sizes of other lanes; what is under way stays."""
        self.slots, self.share, self.most_slow = other.slots, other.share, other.most_slow

    # --- what is under way ---

    def young(self, now: float) -> int:
        """Return how many slots are held."""
        self._age(now)
        return len(self._tries) + len(self._quick)

    @property
    def slow(self) -> int:
        return len(self._slow)

    def admits(self, host: int, now: float) -> bool:
        """Return whether the lane of a host has room for a fetch."""
        if self.is_proven(host):
            return True
        self._age(now)
        return len(self._tries) < self.share

    def begin(self, number: int, host: int, now: float) -> None:
        lane = self._quick if self.is_proven(host) else self._tries
        lane[number] = (now, host)

    def end(self, number: int, now: float, *, answered: bool | None) -> None:
        """End a fetch; `answered` is None if it says nothing about its host."""
        for lane in (self._tries, self._quick, self._slow):
            if (known := lane.pop(number, None)) is not None:
                began, host = known
                if lane is self._tries:
                    self._average(now - began)
                if answered is not None:
                    self._prove(host, answered and now - began <= SOON)
                return

    def is_proven(self, host: int) -> bool:
        bit = host % _BITS
        return bool(self._proven[bit >> 3] >> (bit & 7) & 1)

    def _prove(self, host: int, is_proven: bool) -> None:
        bit = host % _BITS
        if is_proven:
            self._proven[bit >> 3] |= 1 << (bit & 7)
        else:
            self._proven[bit >> 3] &= ~(1 << (bit & 7))

    def _age(self, now: float) -> None:
        for lane in (self._tries, self._quick):
            while lane and len(self._slow) < self.most_slow:
                number = next(iter(lane))
                if now - lane[number][0] < YOUNG:
                    break
                self._slow[number] = lane.pop(number)
                if lane is self._tries:
                    self._average(YOUNG)

    def _average(self, seconds: float) -> None:
        self._seconds += (seconds - self._seconds) * _WEIGHT

    # --- what waits ---

    @property
    def waiting(self) -> int:
        """Return how many URLs are kept."""
        return len(self._room)

    def keep(self, taken: Taken, now: float) -> bool:
        """Keep a URL until its lane has room; False if too many are kept."""
        if len(self._room) >= _ROOM:
            return False
        self._room.append((now, taken))
        return True

    def next_kept(self, now: float) -> tuple[float, Taken] | None:
        """Return the URL kept for longest, and since when, if it may be fetched."""
        if self._room and self.admits(self._room[0][1].host, now):
            return self._room.popleft()
        return None

    def is_patient(self, now: float) -> bool:
        """Return whether enough URLs wait for now, while their lane flows."""
        return (
            len(self._room) >= min(_FEW, self.slots)
            and max(self._seconds, self._median_age(now)) < FLOW
        )

    def return_time(self, now: float) -> float:
        """Return when a URL that is not kept should return: one after the other, as the lane moves."""
        self._return = max(self._return, now + YOUNG) + YOUNG / self.share
        return self._return

    def seconds_to_room(self, now: float) -> float | None:
        """Return the seconds until a try becomes slow, None if nothing waits for that."""
        if not self._room or not self._tries or len(self._slow) >= self.most_slow:
            return None
        began, _ = next(iter(self._tries.values()))
        return max(0.0, began + YOUNG - now)

    def _median_age(self, now: float) -> float:
        if not self._tries:
            return 0.0
        began, _ = next(islice(self._tries.values(), len(self._tries) // 2, None))
        return now - began
