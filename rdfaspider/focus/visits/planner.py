"""The past of a page, and when its next visit is due.

The frontier asks for each page that it keeps, and the simulator asks the same code in virtual time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple
from zlib import crc32

from rdfaspider.focus.visits.rates import FIRST_RATE_OF_NEW, Rates
from rdfaspider.focus.visits.scale import (
    CHANGES,
    SECONDS,
    WEIGHT,
    decode_interval,
    encode_coarsely,
    encode_interval,
)
from rdfaspider.focus.visits.value import (
    MEMORY,
    PRIOR_OF_NEW,
    corrected,
    interval,
    profit,
    rate_of,
    value,
    value_of_new,
)

DAY = 86_400.0
# The last second that four bytes can name: a visit that is planned for later is planned for then.
LAST_TIME = 0xFFFFFFFF

# The longest interval, unless it is given: seconds at least, and the multiple of the mean. A shorter one
# spends more on pages that do not change than these bring: at a mean of 30 days, one of 90 days costs 0.01 of
# the optimum.
_LONGEST, _LONG = 90 * DAY, 36.0
# How many times in the longest interval all pages are priced again: about daily, if that is 90 days. More
# often, and prices follow chance.
_PRICED = 100

_CRC = float(1 << 32)
# First visits that are remembered because others may be alike.
_ALIKE = 4_096


# The most that PageRank may count: it has no bound of its own.
MOST_RANK = 1_000.0

POLICIES = ("value", "wire")


@dataclass(frozen=True, slots=True)
class RevisitRules:
    """When a crawl visits pages again. Times are seconds.

    mean      between two visits of a page, over all pages: the budget; 0 for what hosts and workers allow
    share     of the fetches that may be revisits while new pages wait
    shortest  time between two visits of a page
    longest   time between two visits of a page; 0 for 36 times the mean, at least 90 days
    every     a fixed time between visits, for all pages; 0 to let their values decide
    missed    until a page that was not found is tried again
    rank      the most times that PageRank multiplies or divides the weight of a page; 1 leaves it out
    policy    `value`: a page is due when a visit brings the price; `wire`: cycles of URLs by profit
    cycle     URLs in a cycle
    until     pages that are due later are left to the next run, so that this one ends; 0 for no end
    """

    mean: float = 7 * DAY
    share: float = 0.5
    shortest: float = 3_600.0
    longest: float = 0.0
    every: float = 0.0
    missed: float = DAY
    rank: float = 4.0
    policy: str = "value"
    cycle: int = 100_000
    until: float = 0.0

    def __post_init__(self) -> None:
        if not self.longest:
            object.__setattr__(self, "longest", max(_LONGEST, _LONG * self.mean))
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"the share of revisits must be between 0 and 1, not {self.share}")
        if self.policy not in POLICIES:
            raise ValueError(f"there is no policy {self.policy}: choose {' or '.join(POLICIES)}")
        if not 1.0 <= self.rank <= MOST_RANK:
            raise ValueError(
                f"PageRank can multiply weights by 1 to {MOST_RANK:g} times, not {self.rank}"
            )
        if self.until and self.policy == "wire":
            raise ValueError(
                "WIRE's cycles choose pages that are not due, so they have no end"
                " (FRONTIER_REVISIT_DUE, FRONTIER_REVISIT_POLICY)"
            )
        if self.cycle < 1:
            raise ValueError(f"a cycle has at least one URL, not {self.cycle}")
        if not 0.0 < self.shortest <= self.longest:
            raise ValueError(
                f"the shortest time between visits ({self.shortest}) must be positive and at most the"
                f" longest ({self.longest})"
            )

    @property
    def period(self) -> float:
        """Return the seconds in which all pages are priced again."""
        return self.longest / _PRICED


class Past(NamedTuple):
    """What is kept of the visits of a page; all but the time are codes (scale.py).

    `found` are the new pages that its visits have found, as multiples of a new page of mean weight.
    """

    last: int  # time of the last visit
    changes: int
    seconds: int
    weight: int
    found: int
    interval: int

    @property
    def due(self) -> int:
        """Return the time of the next visit."""
        due = self.last + decode_interval(self.interval)
        return due if due < LAST_TIME else LAST_TIME

    def until(self, time: float) -> Past:
        """Return the same past with the next visit at a time, or a little later."""
        return self._replace(interval=encode_interval(max(time - self.last, 1.0)))

    def due_by(self, time: float) -> Past:
        """Return the same past with the next visit at a time, or a little earlier: it is due then."""
        seconds = max(int(time - self.last), 1)
        code = encode_interval(seconds)
        return self._replace(interval=code - (decode_interval(code) > seconds))

    @property
    def triples(self) -> float:
        """Return the weight that was kept."""
        return WEIGHT.numbers[self.weight]

    @property
    def worth(self) -> float:
        """Return the weight, at least 1: a page without triples may get some."""
        return WEIGHT.numbers[self.weight] or 1.0


# The fields of a past in a record of the frontier, as the module struct writes them.
PAST_FORMAT = "IBBBBH"
# The same where nobody asks for them by name: a plain tuple is made much faster than a past.
Fields = tuple[int, int, int, int, int, int]


class Planner:
    """Plans visits by rules, what was learnt about rates, and a price, which is 0 until there is one.

    `rates_of_new` are those of new pages that pages lead to, `weight_of_new` is their weight in the mean.
    """

    def __init__(
        self,
        rules: RevisitRules,
        rates: Rates | None = None,
        price: float = 0.0,
        rates_of_new: Rates | None = None,
    ) -> None:
        self.rules = rules
        self.rates = rates or Rates()
        self.rates_of_new = rates_of_new or Rates(first=FIRST_RATE_OF_NEW)
        self.weight_of_new = 1.0
        self.price = price
        # What was planned after first visits: the codes of weight and interval and the seconds of the latter,
        # by what they follow from.
        self._first: dict[tuple[float | None, ...], tuple[int, int, int]] = {}

    def rate(self, key: bytes, past: Past) -> float:
        """Return the rate at which the page of a key is believed to change."""
        prior = self.rates.rate(key)
        return rate_of(CHANGES.numbers[past.changes], SECONDS.numbers[past.seconds], prior)

    def of_new(self, key: bytes, past: Past) -> float:
        """Return the weight of the new pages, a second, that the page of a key is believed to lead to."""
        found, seconds = CHANGES.numbers[past.found], SECONDS.numbers[past.seconds]
        rate = rate_of(found, seconds, self.rates_of_new.rate(key), PRIOR_OF_NEW)
        return rate * self.weight_of_new

    def profit(self, key: bytes, past: Past, now: float) -> float:
        """Return what WIRE expects of a visit now."""
        return profit(past.worth, self.rate(key, past), max(now - past.last, 0.0))

    def value_of_new(self, weight: float) -> float:
        """Return what a visit to a new page with a weight would bring."""
        return value_of_new(weight, self.rates.of_crawl)

    def begin(self, now: float, weight: float | None) -> Past:
        """Return the past of a page after its first visit; its interval is not planned yet."""
        return Past(ceil(now), 0, 0, WEIGHT.encode(weight or 1.0), 0, 0)

    def visit(
        self, key: bytes, past: Past, now: float, changed: bool | None, weight: float | None
    ) -> Past:
        """Return the past of a page after another visit; its interval is not planned yet.

        If nobody can tell whether it has changed, nothing is learnt.
        """
        last, code = ceil(now), past.weight if weight is None else WEIGHT.encode(weight)
        if changed is None:
            return past._replace(last=last, weight=code)
        elapsed = max(now - past.last, 1.0)
        changes, seconds = CHANGES.numbers[past.changes], SECONDS.numbers[past.seconds]
        rate = rate_of(changes, seconds, self.rates.rate(key))
        new = corrected(rate * elapsed) if changed else 0.0
        self.rates.learn(key, new, elapsed)
        self.rates_of_new.learn(key, 0.0, elapsed)
        chance = crc32(key, last) / _CRC
        return Past(
            last,
            CHANGES.encode(MEMORY * changes + new, chance),
            SECONDS.encode(MEMORY * seconds + elapsed, 1.0 - chance),
            code,
            CHANGES.encode(MEMORY * CHANGES.numbers[past.found], chance),
            past.interval,
        )

    def find(self, key: bytes, past: Past, number: int, weight: float) -> Past:
        """Return the past of a page whose visit has found a new page; its interval is not planned yet."""
        pages = weight / self.weight_of_new
        self.rates_of_new.learn(key, pages, 0.0)
        found = CHANGES.numbers[past.found] + pages
        return past._replace(found=CHANGES.encode(found, crc32(key, number) / _CRC))

    def first(
        self,
        key: bytes,
        now: float,
        weight: float | None,
        factor: float = 1.0,
        soonest: float = 0.0,
    ) -> tuple[Fields, int]:
        """Return the past of a page after its first visit, and when the next is due: the same as `begin` and
        `plan`, but many pages are alike."""
        of_new = self.rates_of_new.rate(key) * self.weight_of_new
        alike = (self.rates.rate(key), weight, of_new, self.price * factor, soonest)
        found = self._first.get(alike)
        if found is None or not self.price:
            past = self.plan(key, self.begin(now, weight), factor, soonest)
            if len(self._first) >= _ALIKE:
                self._first.clear()
            found = past.weight, past.interval, decode_interval(past.interval)
            self._first[alike] = found
        code, interval, seconds = found
        last = ceil(now)
        due = last + seconds
        return (last, 0, 0, code, 0, interval), due if due < LAST_TIME else LAST_TIME

    def plan(self, key: bytes, past: Past, factor: float = 1.0, soonest: float = 0.0) -> Past:
        """Return a past with the interval to the next visit, at a multiple of the price."""
        last, changes, seconds, weight, found, _ = past
        code = self.interval(key, past, factor, soonest)
        return Past(last, changes, seconds, weight, found, code)

    def interval(self, key: bytes, past: Past, factor: float = 1.0, soonest: float = 0.0) -> int:
        """Return the code of the interval to the next visit, which is no shorter than `soonest`."""
        rules = self.rules
        if rules.every:
            return encode_interval(max(rules.every, soonest))
        if rules.policy == "wire":
            return encode_coarsely(max(rules.longest, soonest))
        rate, of_new = self.rate(key, past), self.of_new(key, past)
        if not self.price:
            age = rules.mean or rules.shortest
            self.price = value(past.worth, self.rates.of_crawl, age) + of_new * age * age / 2
        seconds = interval(past.worth, rate, self.price * factor, of_new)
        seconds = max(seconds, rules.shortest, soonest)
        return encode_coarsely(min(seconds, rules.longest))
