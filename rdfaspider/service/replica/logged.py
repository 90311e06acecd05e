"""The frontier of a node: a leader records what is done to it, a standby repeats it.

Layout of operations. URLs and hosts (`org,example`) are named in full, times are those of the leader.

    lead     number, whether its copy was what the log says
    put      URLs, depth, contexts, hops
    end      URL, depth, state, time, links, Ending (its row in base64)
    expect   URLs, each with the time since which its page is another
    retry    URL, time, seconds after, reason, status
    report   host, time, Experience
    demand   host, time, Demand
    place    host, address
    note     name, value
    requeue  regular expression, reason if one is given
    retire   URL
    forwarded  page, depth of its links, which other shards have
    floor    smallest unfinished depth of the other shards
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import Keep
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Demand, Experience
from rdfaspider.frontier.tables.database import Database
from rdfaspider.frontier.tables.trie import KEPT
from rdfaspider.urls.keys import to_key, to_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rdfaspider.frontier import State, Taken
    from rdfaspider.frontier.tables.trie import Record


_STANDING = "replica"

# The method that repeats each operation.
_OPERATIONS = {
    **{name: f"_do_{name}" for name in ("end", "retry", "retire", "report", "demand", "note")},
    **{name: name for name in ("put", "expect", "requeue", "forwarded")},
    "place": "set_address",
    "floor": "set_floor_elsewhere",
}
# The operations on a host, which the log has by its name.
_ON_HOSTS = frozenset(("report", "demand", "place"))


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a copy is.

    crawl     the identity of its crawl
    number    the number of the leader whose entries it has
    position  the position of the last entry that it certainly has
    has_led   whether it may have more than the log, because its node was killed while leading
    """

    crawl: str
    number: int
    position: str
    has_led: bool = False


def _nothing(*operation: Any) -> None:
    """Record nothing, as a standby does."""


class LoggedFrontier(LocalFrontier):
    """A local frontier that calls `record` with each change that the copies need."""

    record: Callable[..., None] = staticmethod(_nothing)

    # --- as leader ---

    def put(
        self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = (), hops: int = 0
    ) -> None:
        urls = list(urls)
        super().put(urls, depth, contexts, hops)
        self.record("put", urls, depth, contexts, hops)

    def finish(
        self, taken: Taken, state: State, now: float, links: Iterable[str] = (), **said: Any
    ) -> None:
        if self._leases.holds(taken):
            links, depth = list(links), taken.depth
            super().finish(taken, state, now, links, **said)
            if "row" in said:  # the log is JSON
                said["row"] = b64encode(said["row"]).decode()
            self.record("end", taken.url, depth, state, now, links, said)

    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        if self._leases.holds(taken):
            super().retry(taken, now, after, reason=reason, status=status)
            self.record("retry", taken.url, now, after, reason, status)

    def expect(self, changes: Iterable[tuple[str, float]]) -> None:
        changes = list(changes)
        super().expect(changes)
        self.record("expect", changes)

    def report(self, host: int, now: float, fetch: Experience) -> None:
        super().report(host, now, fetch)
        self._record_of_host("report", host, now, fetch._asdict())

    def slow_down(self, host: int, now: float, demand: Demand) -> None:
        super().slow_down(host, now, demand)
        self._record_of_host("demand", host, now, demand._asdict())

    def set_address(self, host: int, address: str) -> None:
        super().set_address(host, address)
        self._record_of_host("place", host, address)

    def _record_of_host(self, name: str, host: int, *words: Any) -> None:
        if (key := self.host_key(host)) is not None:
            self.record(name, key, *words)

    def set_note(self, name: str, value: bytes) -> None:
        super().set_note(name, value)
        self.record("note", name, value.decode("latin-1"))

    def requeuing(self, pattern: str, reason: str = "") -> Iterator[bool]:
        words = (pattern, reason) if reason else (pattern,)
        self.record("requeue", *words)
        yield from super().requeuing(pattern, reason)
        self.record("requeue", *words)  # for what has failed meanwhile

    def _retire(self, key: bytes, record: Record) -> None:
        super()._retire(key, record)
        self.record("retire", to_url(key))

    def forwarded(self, page: str, depth: int) -> None:
        super().forwarded(page, depth)
        self.record("forwarded", page, depth)

    def set_floor_elsewhere(self, depth: int) -> None:
        super().set_floor_elsewhere(depth)
        self.record("floor", depth)

    # --- as standby ---

    def do(self, name: str, *words: Any) -> None:
        """Repeat an operation that a leader has recorded; ValueError if it is unknown."""
        if name not in _OPERATIONS:
            raise ValueError(f"The log has an operation {name!r}, unknown to this version.")
        if name in _ON_HOSTS:
            if (number := self.host_number(words[0])) is None:
                return
            words = (number, *words[1:])
        getattr(self, _OPERATIONS[name])(*words)

    def _do_end(
        self, url: str, depth: int, state: State, now: float, links: list[str], said: dict[str, Any]
    ) -> None:
        if "row" in said:
            said["row"] = b64decode(said["row"])
        if "keep" in said:  # an array in JSON
            said["keep"] = Keep(*said["keep"])
        if (taken := self._take_up(url, now)) is not None:
            self.finish(taken, state, now, links, **said)
        elif state == "done" and (links or said.get("abroad")):
            # It has ended already, or a limit has turned it away here: its links are taken in all the same.
            deep = depth + int(said.get("depth_step", 1))
            if deep <= max(self.limits.depth, self.limits.dynamic_depth):
                contexts = list(said.get("contexts", ()))
                told, hops = said.get("told"), int(said.get("hops", 0))
                self.put(links, deep, contexts[: len(links)], hops)
                if said.get("abroad") and (told is None or told > depth):
                    self.owe(url, deep, said["abroad"], contexts[len(links) :], hops)

    def _do_retire(self, url: str) -> None:
        record = self.trie.record(url)
        if record is not None and record.state == KEPT:
            self._retire(to_key(url), record)

    def _do_retry(self, url: str, now: float, after: float, reason: str, status: int) -> None:
        if (taken := self._take_up(url, now)) is not None:
            self.retry(taken, now, after, reason=reason, status=status)

    def _take_up(self, url: str, now: float) -> Taken | None:
        """Take a URL that a leader had in flight; None if it has ended, or is unknown."""
        self.advance(now)
        return self.adopt(url, now)

    def _do_report(self, host: int, now: float, said: dict[str, Any]) -> None:
        self.report(host, now, Experience(**said))

    def _do_demand(self, host: int, now: float, said: dict[str, Any]) -> None:
        self.slow_down(host, now, Demand(**said))

    def _do_note(self, name: str, value: str) -> None:
        self.set_note(name, value.encode("latin-1"))

    # --- where it stands ---

    @property
    def standing(self) -> Standing | None:
        """Return how far this copy is, None if it is no copy of a replicated frontier."""
        return _read(self.note(_STANDING))

    def stand(self, standing: Standing) -> None:
        """Note how far this copy is; this is not recorded."""
        LocalFrontier.set_note(self, _STANDING, json.dumps(asdict(standing)).encode())


def standing_of(path: Path) -> Standing | None:
    """Return how far the copy in a directory is, None if there is none."""
    database = Database(path, read_only=True)
    try:
        return _read(database.notes.get(_STANDING.encode()))
    finally:
        database.close()


def _read(noted: bytes | None) -> Standing | None:
    return None if noted is None else Standing(**json.loads(noted))
