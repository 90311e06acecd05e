"""Finds the addresses of hosts, and tells which of them may be connected to."""

from __future__ import annotations

import errno
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any

from rdfaspider.resolver.addresses import addresses, canonical, literal
from rdfaspider.resolver.lookups import Lookups

if TYPE_CHECKING:
    from rdfaspider.resolver.addresses import Address
    from rdfaspider.resolver.cache import Cache
    from rdfaspider.resolver.guard import Guard
    from rdfaspider.resolver.lookups import Waiter

# Tries of a look-up while no more files can be opened, and the seconds between them.
_PATIENCE = 40
_PAUSE = 0.25

LookUp = Callable[[str], Iterable[str]]


def look_up(name: str) -> list[str]:
    """Ask the system for the addresses of a name, best first; block until it answers."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


class Directory:
    """The addresses of hosts, from a literal, the cache or a look-up, checked by the guard.

    All methods run in the thread of the event loop and never block. Look-ups run in other threads and
    return through `call_from_thread`. Those threads are daemons: a name server that never answers
    cannot keep the process from ending.
    """

    def __init__(
        self,
        guard: Guard,
        cache: Cache,
        *,
        threads: int,
        look_up: LookUp,
        clock: Callable[[], float],
        call_from_thread: Callable[..., Any],
    ) -> None:
        self.guard = guard
        self.cache = cache
        self.counts: Counter[str] = Counter()
        self._lookups = Lookups(self._start, threads, clock)
        self._look_up = look_up
        self._clock = clock
        self._call_from_thread = call_from_thread

    def find(self, host: str, waiter: Waiter) -> None:
        """Call `waiter` with all addresses of a host, now or later; with none if it has none."""
        known = self._known(host)
        if known is None:
            self.counts["miss"] += 1
            self._lookups.want(name_of(host), waiter)
        else:
            self.counts["hit"] += 1
            self._refresh(name_of(host))
            waiter(known)

    def _refresh(self, name: str) -> None:
        """Look up stale addresses again, while they are used."""
        if self.cache.is_stale(name, self._clock()):
            self.counts["stale"] += 1
            self._lookups.refresh(name)

    def look_again(self) -> None:
        """Start look-ups that wait behind slow ones; called several times a second."""
        self._lookups.start_more()
        for name in ("slow", "turned_away"):
            if count := getattr(self._lookups, name):
                self.counts[name] = count

    def _known(self, host: str) -> tuple[Address, ...] | None:
        """Return the addresses of a host, or None if they must be looked up."""
        if found := literal(host):
            return found
        name = name_of(host)
        return self.cache.get(name, self._clock()) if name else ()

    def admit(self, host: str, port: int, found: tuple[Address, ...]) -> list[Address]:
        """Return the addresses of a host that may be connected to; count a host with none."""
        name = name_of(host)
        admitted = [address for address in found if not self.guard.refuses(address, port, name)]
        if found and not admitted:
            self.counts[f"refused/{self.refusal(host, port, found)}"] += 1
        return admitted

    def refusal(self, host: str, port: int, found: tuple[Address, ...]) -> str:
        """Return why none of a host's addresses may be connected to, or "" if one may."""
        name = name_of(host)
        reasons = [self.guard.refuses(address, port, name) for address in found]
        return reasons[0] if reasons and all(reasons) else ""

    def _start(self, name: str) -> None:
        Thread(target=self._work, args=(name,), name=f"look-up of {name}", daemon=True).start()

    def _work(self, name: str) -> None:
        try:
            found = addresses(self._look_up_patiently(name))
        except (OSError, ValueError):  # ValueError: the name cannot be encoded
            found = ()
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            self._call_from_thread(self._answered, name, found)

    def _look_up_patiently(self, name: str) -> Iterable[str]:
        """Look a name up; try again for a while if no more files can be opened."""
        for _ in range(_PATIENCE):
            try:
                return self._look_up(name)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE):
                    raise
                sleep(_PAUSE)
        return self._look_up(name)

    def _answered(self, name: str, found: tuple[Address, ...]) -> None:
        if not found:
            self.counts["failed"] += 1
        self.cache.put(name, found, self._clock())
        self._lookups.answered(name, found)


@lru_cache(maxsize=10_000)
def name_of(host: str) -> str:
    """Return the canonical form of a host, or "" if it has none."""
    try:
        return canonical(host)
    except ValueError:
        return ""
