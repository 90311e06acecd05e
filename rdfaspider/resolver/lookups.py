"""Which name is looked up next."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from rdfaspider.urls.hosts import domain_of

if TYPE_CHECKING:
    from rdfaspider.resolver.addresses import Address

logger = logging.getLogger(__name__)

Waiter = Callable[["tuple[Address, ...]"], None]

# Stale names that wait to be looked up again; others are looked up when they have expired.
MAX_REFRESHED = 10_000
# Names that wait for others of their domain; any more have no address for now.
MAX_HELD = 10_000

# Seconds after which a look-up is slow: it only waits for a name server that may never answer, and cannot be
# cancelled.
SLOW = 0.5
# Slow look-ups allowed for each normal one. A waiting thread takes some 30 kB.
_SLOW_PER_THREAD = 16
# Slow domains to remember.
_MOST_SLOW_DOMAINS = 10_000


class Lookups:
    """Starts look-ups: each name once, however many wait for it, and a limited number at a time.

    Layout: a dictionary of open names -> those who wait for them, two queues of names to start
    (wanted and refreshed), those that run with their start, and the names held back by domain. A refreshed
    name that is wanted before its turn stands in both queues.
    Invariant: every open name runs, stands in a queue or is held back; at most `at_once` run that are not
    slow. While `at_once` or more run, slow ones included, a domain has at most a quarter of them, or one if
    its last look-up was slow; its other names are held back until there is room.
    Refreshing takes up at most half of those, so that a wanted name seldom waits behind it.
    """

    def __init__(
        self, start: Callable[[str], None], at_once: int, clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        """`start(name)` begins a look-up; its end is told by `answered`."""
        if at_once < 1:
            raise ValueError(f"With {at_once} look-ups at a time nothing is ever found.")
        self.at_once = at_once
        self.slow = 0  # how many were
        self.turned_away = 0
        self._most_slow = _SLOW_PER_THREAD * at_once
        self._in_domain = max(1, at_once // 4)
        self._start = start
        self._clock = clock
        self._waiters: dict[str, list[Waiter]] = {}
        self._wanted: deque[str] = deque()
        self._refreshed: deque[str] = deque()
        self._young: OrderedDict[str, float] = OrderedDict()
        self._slow: set[str] = set()
        self._domains: Counter[str] = Counter()  # of all that run
        self._held: dict[str, deque[str]] = {}
        self._count_held = 0
        self._slow_domains: OrderedDict[str, None] = OrderedDict()

    def want(self, name: str, waiter: Waiter) -> None:
        """Call `waiter` with the addresses of a name when they are known; with none if it has none."""
        waiters = self._waiters.setdefault(name, [])
        if not waiters and not self._runs(name):
            self._wanted.append(name)
        waiters.append(waiter)
        self.start_more()

    def refresh(self, name: str) -> None:
        """Look a name up again for which nobody waits, unless too many wait for that."""
        if name not in self._waiters and len(self._refreshed) < MAX_REFRESHED:
            self._waiters[name] = []
            self._refreshed.append(name)
            self.start_more()

    def answered(self, name: str, addresses: tuple[Address, ...]) -> None:
        domain = domain_of(name)
        if name in self._slow:
            self._slow.remove(name)
        else:
            del self._young[name]
            self._slow_domains.pop(domain, None)
        self._domains[domain] -= 1
        if not self._domains[domain]:
            del self._domains[domain]
        self._tell(name, addresses)
        self._release(domain)
        self.start_more()

    def start_more(self) -> None:
        """Start as many as allowed; must also be called now and then, as running look-ups become slow."""
        self._age()
        while (name := self._next()) is not None:
            self._young[name] = self._clock()
            self._domains[domain_of(name)] += 1
            self._start(name)

    def _runs(self, name: str) -> bool:
        return name in self._young or name in self._slow

    def _tell(self, name: str, addresses: tuple[Address, ...]) -> None:
        for waiter in self._waiters.pop(name):
            try:
                waiter(addresses)
            except Exception:  # the others must still be told
                logger.exception("Nobody took the addresses of %s.", name)

    def _age(self) -> None:
        now = self._clock()
        while self._young and len(self._slow) < self._most_slow:
            name = next(iter(self._young))
            if now - self._young[name] < SLOW:
                break
            del self._young[name]
            self._slow.add(name)
            self.slow += 1
            self._slow_domains[domain_of(name)] = None
            if len(self._slow_domains) > _MOST_SLOW_DOMAINS:
                self._slow_domains.popitem(last=False)

    def _next(self) -> str | None:
        for queue, limit in (
            (self._wanted, self.at_once),
            (self._refreshed, (self.at_once + 1) // 2),
        ):
            while queue and len(self._young) < limit:
                name = queue.popleft()
                if name not in self._waiters or self._runs(name):
                    continue
                domain = domain_of(name)
                if self._domains[domain] < self._limit(domain):
                    return name
                self._hold(name, domain)
        if self._held and len(self._young) + len(self._slow) < self.at_once:
            return self._next_held()
        return None

    def _next_held(self) -> str:
        """Return a name of the domain that has waited longest, and move that domain to the end."""
        domain = next(iter(self._held))
        held = self._held.pop(domain)
        name = held.popleft()
        self._count_held -= 1
        if held:
            self._held[domain] = held
        return name

    def _limit(self, domain: str) -> int:
        return 1 if domain in self._slow_domains else self._in_domain

    def _hold(self, name: str, domain: str) -> None:
        """Keep a name until another of its domain is answered."""
        if self._count_held >= MAX_HELD:
            self.turned_away += 1
            self._tell(name, ())
            return
        self._held.setdefault(domain, deque()).append(name)
        self._count_held += 1

    def _release(self, domain: str) -> None:
        """Queue the names of a domain that may be started now."""
        held = self._held.get(domain)
        room = self._limit(domain) - self._domains[domain]
        while held and room > 0:
            self._wanted.appendleft(held.popleft())
            self._count_held -= 1
            room -= 1
        if held is not None and not held:
            del self._held[domain]
