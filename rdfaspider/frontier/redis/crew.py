"""The crew: the workers of one crawl, what they are told, and the clock they keep.

Keys, {NAME} being the crawl: {NAME}:crawl how it was begun, {NAME}:beats when each worker was heard of last,
{NAME}:workers what it said of itself, {NAME}:told what all are told: `state` (run, pause, stop) and
settings. All share a hash tag.

The clock is that of Redis. A worker knows it within a bracket: the time that Redis told lies between the
sending of the question and the coming of the answer. What may start is asked of the lower end, what
has ended is told by the upper end, so that delays are kept however wrong the clocks of the machines are.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.redis.link import Script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdfaspider.frontier.redis.link import RedisLink

# A worker beats so often, and is taken for dead when it was not heard of for so long (row R13: 10 and 20).
BEAT = 1.0
DEAD_AFTER = 20.0
# Before that others look after its partitions already, when it has missed a few beats: that does no harm.
ABSENT_AFTER = 3.0
# A worker that has not reached Redis for so long does not start anything: others may take it for dead soon.
SILENT_AFTER = 10.0


@dataclass(slots=True)
class Clock:
    """What is to be added to the caller's time to get that of Redis: between `low` and `high`."""

    low: float = 0.0
    high: float = 0.0

    def learn(self, time: float, sent: float, received: float) -> None:
        low, high = time - received, time - sent
        if max(low, self.low) <= min(high, self.high):
            self.low, self.high = max(low, self.low), min(high, self.high)
        else:  # a clock was set, or drifts
            self.low, self.high = low, high


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as the others see it: when it was heard of last, and what it said of itself."""

    name: str
    beat: float
    about: dict[str, Any] = field(default_factory=dict)


class Crew:
    """One worker's view of the crew. `told` is what all are told; `alive` are the workers."""

    def __init__(self, link: RedisLink, crawl: str, name: str) -> None:
        self.link = link
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"
        self.crawl = crawl
        self.told: dict[str, str] = {}
        self.beats: dict[str, float] = {}
        self._since: float | None = None

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""
        return self.told.get("state", "run")

    def key(self, name: str) -> str:
        return f"{{{self.crawl}}}:{name}"

    def begin(self, terms: Mapping[str, str]) -> dict[str, str]:
        """Note how the crawl is begun, or return how it was begun."""
        for name, value in terms.items():
            self.link.command("hsetnx", self.key("crawl"), name, value)
        return _text(self.link.command("hgetall", self.key("crawl")))

    def mark(self, name: str, value: str) -> None:
        """Note something about the crawl as a whole."""
        self.link.command("hset", self.key("crawl"), name, value)

    def beat(self, about: Mapping[str, Any], now: float | None, *, silent: bool = False) -> Script:
        """Return the script that says that this worker is alive; a silent one only listens."""
        keys = (self.key("beats"), self.key("workers"), self.key("told"))
        name = "" if silent else self.name
        said = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), **about})
        return Script("beat", keys, (name, said, "" if now is None else repr(now)))

    def heard(self, reply: list[Any], *, gap: bool = False) -> float:
        """Take in the reply to a beat; return the time that Redis told."""
        time = float(reply[0])
        self.beats = {
            name.decode(): float(beat)
            for name, beat in zip(reply[1][::2], reply[1][1::2], strict=True)
        }
        self.told = _text(dict(zip(reply[2][::2], reply[2][1::2], strict=True)))
        if gap or self._since is None:
            self._since = time
        return time

    def alive(self, time: float) -> list[str]:
        return sorted(name for name, beat in self.beats.items() if time - beat <= DEAD_AFTER)

    def present(self, time: float) -> list[str]:
        """Return the workers who look after partitions now; at least this one."""
        beats = {**self.beats, self.name: time}
        return sorted(name for name, beat in beats.items() if time - beat <= ABSENT_AFTER)

    def dead(self, time: float) -> list[str]:
        """Return the workers to be given up.

        After a gap of one's own nobody is: the others may have had the same, and speak up soon.
        """
        if self._since is None or time - self._since < DEAD_AFTER:
            return []
        return [name for name, beat in self.beats.items() if time - beat > DEAD_AFTER]

    def claim(self, time: float) -> None:
        """Refuse a name that another worker has."""
        beat = self.beats.get(self.name)
        if beat is not None and time - beat <= DEAD_AFTER:
            raise FrontierUnavailable(
                f"The name {self.name} is in use by another worker of this crawl: give each worker"
                " its own FRONTIER_WORKER and JOBDIR, or leave the name empty."
            )

    def farewell(self, name: str) -> Script:
        """Return the script that takes a worker off the list."""
        return Script("farewell", (self.key("beats"), self.key("workers")), (name,))

    def version(self, name: str) -> Script:
        """Return the script that tells all workers that a note has changed."""
        return Script("version", (self.key("told"),), (name,))

    def workers(self) -> list[Worker]:
        about = _text(self.link.command("hgetall", self.key("workers")))
        return [
            Worker(name, beat, json.loads(about.get(name, "{}")))
            for name, beat in sorted(self.beats.items())
        ]

    def tell(self, **values: str) -> None:
        """Tell all workers something; it reaches them within a beat."""
        for name, value in values.items():
            self.link.command("hset", self.key("told"), name, value)


def _text(mapping: Mapping[bytes, bytes]) -> dict[str, str]:
    return {
        name.decode(errors="replace"): value.decode(errors="replace")
        for name, value in mapping.items()
    }
