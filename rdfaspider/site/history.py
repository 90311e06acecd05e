"""When pages change, vanish, move and come back, and what their hosts say of it.

All of it follows from the seed, the page and the time; nothing is remembered. Times are seconds since the
web began, in its own time, of which `speed` seconds pass in a second.

A changing page changes every `period` seconds or, with `spread`, at random (a Poisson process): its rate is
that of its host and its section, each log-normal, times a number of its own, which is exponential. To look
up a moment without remembering those before it, time is cut into slots of the mean time between two changes
of the page. The changes in a slot follow from its number, so a page is found by looking back from a moment to
the last slot that has one. A revision is the slot and the number of the change in it.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, log
from statistics import NormalDist
from typing import TYPE_CHECKING

from rdfaspider.site.draws import draw, stream, whole

if TYPE_CHECKING:
    from random import Random

    from rdfaspider.site.parameters import Parameters
    from rdfaspider.site.tree import Tree

# When a web began that does not say: 2026-01-01. Any fixed day does.
BEGINNING = 1767225600.0

# The changes in a slot are 1 in the mean; there are never as many as this.
_MOST = 64
# How far the rate of hosts and sections may be from the mean.
_WIDEST = 1000.0


class History:
    """The times at which the pages of a web change, and at which they are not there."""

    def __init__(self, parameters: Parameters, tree: Tree) -> None:
        self.parameters = parameters
        self._tree = tree
        self.period = lru_cache(maxsize=65536)(self._period)

    # --- changes ---

    def is_changing(self, host: int, index: int) -> bool:
        share = self.parameters.changing
        return bool(share) and draw(self.parameters.seed, "changing", host, index) < share

    def _period(self, host: int, index: int) -> float:
        """Return the mean seconds between two changes of a changing page."""
        parameters = self.parameters
        if not parameters.spread:
            return parameters.period
        section, seed = self._tree.section(index), parameters.seed
        exponent = _normal(seed, "rate", host) + 0.8 * _normal(seed, "rate", host, section)
        own = _exponential(stream(seed, "rate", host, "page", index))
        rate = own * exp(parameters.spread * exponent)
        return parameters.period / min(_WIDEST, max(1 / _WIDEST, rate))

    def revision(self, host: int, index: int, at: float) -> int:
        """Return the number of the version that a page has at a time: 0 first, and rising."""
        if not self.is_changing(host, index):
            return 0
        moment = at / self.period(host, index)
        if not self.parameters.spread:
            return int(moment + self._phase(host, index))
        for slot in range(int(moment), -1, -1):
            if count := sum(time <= moment - slot for time in self._changes(host, index, slot)):
                return slot * _MOST + count
        return 0

    def changed(self, host: int, index: int, revision: int) -> float:
        """Return the time at which a version of a page began."""
        if not revision:
            return 0.0
        period = self.period(host, index)
        if not self.parameters.spread:
            return max(0.0, (revision - self._phase(host, index)) * period)
        slot, count = divmod(revision, _MOST)
        return (slot + self._changes(host, index, slot)[count - 1]) * period

    def _phase(self, host: int, index: int) -> float:
        return draw(self.parameters.seed, "phase", host, index)

    def _changes(self, host: int, index: int, slot: int) -> list[float]:
        """Return when a page changes in a slot, in parts of the slot."""
        numbers = stream(self.parameters.seed, "changes", host, index, slot)
        times: list[float] = []
        time = _exponential(numbers)
        while time < 1 and len(times) < _MOST - 1:
            times.append(time)
            time += _exponential(numbers)
        return times

    # --- absence ---

    def absence(self, host: int, index: int, at: float) -> str:
        """Return "vanished" or "moved" if a page is not at its URL at a time, else ""."""
        kind, left, back = self._life(host, index)
        return kind if left <= at < back else ""

    def left(self, host: int, index: int) -> float:
        """Return when a page vanishes or moves, infinity if it never does."""
        return self._life(host, index)[1]

    def back(self, host: int, index: int) -> float:
        """Return when a page comes back, infinity if it never does."""
        return self._life(host, index)[2]

    def _life(self, host: int, index: int) -> tuple[str, float, float]:
        """Return how a page leaves its URL, when, and when it comes back. Roots stay."""
        parameters = self.parameters
        if not index or not (parameters.vanishing or parameters.moving):
            return "", inf, inf
        chance = draw(parameters.seed, "absence", host, index)
        if chance >= parameters.vanishing + parameters.moving:
            return "", inf, inf
        numbers = stream(parameters.seed, "life", host, index)
        left = parameters.life * _exponential(numbers)
        returns = numbers.random() < parameters.returning
        back = left + parameters.life * _exponential(numbers) if returns else inf
        return "vanished" if chance < parameters.vanishing else "moved", left, back

    def is_gone_for_good(self, host: int, index: int) -> bool:
        """Tell whether the server says 410 of a vanished page, as one in three does, rather than 404."""
        return whole(self.parameters.seed, "gone", host, index) % 3 == 0

    # --- what is said of it ---

    def date(self, at: float) -> float:
        """Return a time of the web in seconds since the epoch."""
        return (self.parameters.began or BEGINNING) + at / self.parameters.speed

    def validated(self, host: int, index: int, at: float) -> tuple[str, float] | None:
        """Return what the validators of a page follow: a version and its time; None if there are none.

        A host that lies says the same of all versions, or something new each time slot.
        """
        parameters = self.parameters
        if _one(parameters, "validators", host) >= parameters.validators:
            return None
        lie = _lie(parameters, "lying_validators", host)
        if lie == "never":
            return "0", 0.0
        if lie == "always":
            slot = at // parameters.slot
            return f"slot {slot}", slot * parameters.slot
        revision = self.revision(host, index, at)
        return str(revision), self.changed(host, index, revision)

    def lastmod(self, host: int, index: int, at: float) -> float | None:
        """Return when the sitemap says that a page changed, None if it does not say.

        A host that lies dates all pages to the beginning, or to this moment.
        """
        parameters = self.parameters
        if not parameters.lastmod or _one(parameters, "lastmod", host) >= parameters.lastmod:
            return None
        lie = _lie(parameters, "lying_lastmod", host)
        if lie:
            return 0.0 if lie == "never" else at
        return self.changed(host, index, self.revision(host, index, at))


def _one(parameters: Parameters, name: str, host: int) -> float:
    return draw(parameters.seed, name, host)


def _lie(parameters: Parameters, name: str, host: int) -> str:
    """Return how a host lies: `never` says that a page changed, `always` does, "" tells the truth."""
    share, chance = float(getattr(parameters, name)), _one(parameters, name, host)
    return "" if chance >= share else "never" if chance < share / 2 else "always"


def _exponential(numbers: Random) -> float:
    return -log(1 - numbers.random())


def _normal(*key: str | int) -> float:
    return NormalDist().inv_cdf(max(draw(*key), 1e-12))
