"""The frontier of a node: it records what is done to it, or does what another one has recorded.

Layout of operations. URLs and hosts (`org,example`) are named by themselves, times are those of the leader.

    lead     number, whether its copy was what the log says
    put      URLs, depth, contexts, hops
    end      URL, depth, state, time, links, what else was said
    retry    URL, time, seconds after, reason, status
    report   host, time, what was said
    slow     host, crawl delay, time until which it is left alone
    place    host, address
    note     name, value
    requeue  regular expression
    forwarded  page, depth of its links, which other shards know
    floor    smallest depth at which other shards have something unfinished
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Experience
from rdfaspider.frontier.tables.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rdfaspider.frontier import State, Taken


_STANDING = "replica"


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a copy is.

    crawl     the identity of its crawl
    number    that of the leader whose entries it has
    position  that of the last entry which it has for sure
    has_led   whether it may have more than the log, because its node has led and was killed
    """

    crawl: str
    number: int
    position: str
    has_led: bool = False


def _nothing(*operation: Any) -> None:
    """Record nothing: that is what a standby does."""


class LoggedFrontier(LocalFrontier):
    """A local frontier that calls `record` with each change that a copy must know of."""

    record: Callable[..., None] = staticmethod(_nothing)

    # --- as leader ---

    def put(
        self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = (), hops: int = 0
    ) -> None:
        urls = list(urls)
        super().put(urls, depth, contexts, hops)
        self.record("put", urls, depth, contexts, hops)

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        **said: Any,
    ) -> None:
        if self._leases.holds(taken):
            links, depth = list(links), taken.depth
            super().finish(taken, state, now, links, **said)
            self.record("end", taken.url, depth, state, now, links, said)

    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        if self._leases.holds(taken):
            super().retry(taken, now, after, reason=reason, status=status)
            self.record("retry", taken.url, now, after, reason, status)

    def report(self, host: int, now: float, fetch: Experience) -> None:
        super().report(host, now, fetch)
        self._record_of_host("report", host, now, fetch._asdict())

    def slow_down(
        self, host: int, *, crawl_delay: float | None = None, until: float | None = None
    ) -> None:
        super().slow_down(host, crawl_delay=crawl_delay, until=until)
        self._record_of_host("slow", host, crawl_delay, until)

    def set_address(self, host: int, address: str) -> None:
        super().set_address(host, address)
        self._record_of_host("place", host, address)

    def _record_of_host(self, name: str, host: int, *words: Any) -> None:
        if (key := self.host_key(host)) is not None:
            self.record(name, key, *words)

    def set_note(self, name: str, value: bytes) -> None:
        super().set_note(name, value)
        self.record("note", name, value.decode("latin-1"))

    def requeuing(self, pattern: str) -> Iterator[bool]:
        self.record("requeue", pattern)
        yield from super().requeuing(pattern)
        self.record("requeue", pattern)  # what has failed meanwhile

    def forwarded(self, page: str, depth: int) -> None:
        super().forwarded(page, depth)
        self.record("forwarded", page, depth)

    def set_floor_elsewhere(self, depth: int) -> None:
        super().set_floor_elsewhere(depth)
        self.record("floor", depth)

    # --- as standby ---

    def do(self, name: str, *words: Any) -> None:
        """Do what a leader has recorded; ValueError if nobody knows what it is."""
        operation = getattr(self, f"_do_{name}", None)
        if operation is None:
            raise ValueError(
                f"The log has an operation {name!r}, which this version does not know."
            )
        operation(*words)

    def _do_put(self, urls: list[str], depth: int, contexts: list[int], hops: int = 0) -> None:
        self.put(urls, depth, contexts, hops)

    def _do_end(
        self,
        url: str,
        depth: int,
        state: State,
        now: float,
        links: list[str],
        said: dict[str, Any],
    ) -> None:
        if "deeper" in said:  # as earlier versions have it
            said["depth_step"] = said.pop("deeper")
        if (taken := self._take_up(url, now)) is not None:
            self.finish(taken, state, now, links, **said)
        elif state == "done" and (links or said.get("abroad")):
            # It has ended already, or a limit has turned it away here: what it led to is taken in still.
            deep = depth + int(said.get("depth_step", 1))
            if deep <= max(self.limits.depth, self.limits.dynamic_depth):
                contexts = list(said.get("contexts", ()))
                told, hops = said.get("told"), int(said.get("hops", 0))
                self.put(links, deep, contexts[: len(links)], hops)
                if said.get("abroad") and (told is None or told > depth):
                    self.owe(url, deep, said["abroad"], contexts[len(links) :], hops)

    def _do_retry(self, url: str, now: float, after: float, reason: str, status: int) -> None:
        if (taken := self._take_up(url, now)) is not None:
            self.retry(taken, now, after, reason=reason, status=status)

    def _take_up(self, url: str, now: float) -> Taken | None:
        """Take a URL that a leader had in flight; None if it has ended, or is not known."""
        self.advance(now)
        taken = self.adopt(url, now)
        if taken is None:
            self.counts()  # it may be among the links that were not looked up yet, or be opened again by them
            taken = self.adopt(url, now)
        return taken

    def _do_report(self, host: str, now: float, said: dict[str, Any]) -> None:
        if (number := self.host_number(host)) is not None:
            self.report(number, now, Experience(**said))

    def _do_slow(self, host: str, crawl_delay: float | None, until: float | None) -> None:
        if (number := self.host_number(host)) is not None:
            self.slow_down(number, crawl_delay=crawl_delay, until=until)

    def _do_place(self, host: str, address: str) -> None:
        if (number := self.host_number(host)) is not None:
            self.set_address(number, address)

    def _do_note(self, name: str, value: str) -> None:
        self.set_note(name, value.encode("latin-1"))

    def _do_forwarded(self, page: str, depth: int) -> None:
        self.forwarded(page, depth)

    def _do_floor(self, depth: int) -> None:
        self.set_floor_elsewhere(depth)

    def _do_requeue(self, pattern: str) -> None:
        self.requeue(pattern)

    # --- where it stands ---

    @property
    def standing(self) -> Standing | None:
        """Return how far this copy is, None if it is no copy of a replicated frontier."""
        return _read(self.note(_STANDING))

    def stand(self, standing: Standing) -> None:
        """Note how far this copy is; that is its own business."""
        LocalFrontier.set_note(self, _STANDING, json.dumps(asdict(standing)).encode())


def standing_of(path: Path) -> Standing | None:
    """Return how far the copy in a directory is, None if what is there is no copy."""
    database = Database(path, read_only=True)
    try:
        return _read(database.notes.get(_STANDING.encode()))
    finally:
        database.close()


def _read(noted: bytes | None) -> Standing | None:
    return None if noted is None else Standing(**json.loads(noted))
