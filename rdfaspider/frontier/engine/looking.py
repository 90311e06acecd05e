"""What can be seen of a frontier: counts, hosts, URLs, ranks, and the notes of others."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from rdfaspider.frontier import Counts, FrontierUnavailable
from rdfaspider.frontier.engine.parts import Parts
from rdfaspider.frontier.tables.database import guarded
from rdfaspider.frontier.views.urls import UrlViews

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.frontier import HostView
    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.frontier.tables.ranks import Ranks


class Looking(Parts):
    """What people and other modules see. Only `rank_now` and `set_note` change anything."""

    @guarded
    def counts(self) -> Counts:
        self._sieve_to_look()
        revisiting = 0 if self._revisits is None else self._revisits.in_flight
        return self._urls.counters.counts(in_flight=len(self._leases), revisiting=revisiting)

    @property
    def ranks(self) -> Ranks:
        """Return the PageRank of URLs, as it was last computed."""
        return self._steering.ranks

    @guarded
    def rank_now(self) -> None:
        """Compute the PageRank of all URLs, and wait for it; ValueError with a sentence if that fails."""
        self._sieve.run()
        self._steering.rank_now()

    @property
    def is_broken(self) -> bool:
        """Return whether a write failed, after which nothing more is accepted."""
        return self._database.is_broken

    @property
    def in_flight(self) -> int:
        return len(self._leases)

    @property
    def politeness(self) -> Politeness:
        """Return the rules of politeness; they may be replaced at any time."""
        return self._hosts.politeness

    @politeness.setter
    def politeness(self, rules: Politeness) -> None:
        self._schedule.set_politeness(rules, self._now)

    @property
    def views(self) -> UrlViews:
        return UrlViews(self._database)

    def hosts(self, now: float) -> Iterator[HostView]:
        self._sieve_to_look()
        view, total = self._hosts.view, self._urls.counters.next_host
        yield from (view(host, now) for host in self._hosts.all(total))

    def _sieve_to_look(self) -> None:
        """Look up the inbox, because only that shows how many of its links are new."""
        if self._sieve.has_work and not self._database.is_broken:
            with suppress(
                FrontierUnavailable
            ):  # the next change raises it where the crawl can stop
                self._run_sieve()

    @guarded
    def _run_sieve(self) -> None:
        self._sieve.run()

    def host_key(self, number: int) -> str | None:
        """Return the key of a host with work; numbers differ between copies, keys do not."""
        host = self._hosts.by_id(number)
        return None if host is None else host.key.decode("ascii")

    def host_number(self, key: str) -> int | None:
        """Return the number of a host with work; links in the inbox are looked up first."""
        host = self._hosts.in_memory(key.encode("ascii"))
        if host is None:
            self._sieve_to_look()
            host = self._hosts.in_memory(key.encode("ascii"))
        return None if host is None else host.id

    @guarded
    def note(self, name: str) -> bytes | None:
        return self._database.notes.get(name.encode())

    @guarded
    def set_note(self, name: str, value: bytes) -> None:
        self._database.notes[name.encode()] = value
