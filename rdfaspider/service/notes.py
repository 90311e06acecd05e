"""Shared notes: instructions to all workers, and what workers note for each other.

A note that workers *watch* is a JSON array or an object of arrays to which all of them add. The
instructions are a note too, an object of strings: `state` (run, pause, stop) and settings. Each note has a
version, which increases with each change, so that a worker gets changes with its next reply, before any URL
that was taken in after the change. Versions restart with the service, and then all workers see everything
again.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from rdfaspider.urls.keys import prefix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rdfaspider.frontier.engine.local import LocalFrontier

TOLD = "told"
# Numbers of politeness that can be changed while workers run.
NUMBERS = ("delay", "latency_factor", "first_backoff", "longest_backoff", "large_delay")
# Followed by the name of a host: the delay of that host.
DELAY_OF = "delay@"
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
_DELAYS = 1_000  # hosts with a delay of their own
STATES = ("run", "pause", "stop")
# Settings that workers adopt while they run; the caller has checked the values.
SETTINGS = ("CONCURRENT_REQUESTS", "FRONTIER_RETRIES", "FRONTIER_RETRY_DELAY", "LOG_LEVEL")


class SharedNotes:
    """The notes of a frontier that many watch."""

    def __init__(self, frontier: LocalFrontier) -> None:
        self._frontier = frontier
        self._versions: dict[str, int] = {}
        self._values: dict[str, bytes] = {}
        self._listeners: dict[str, Callable[[bytes], None]] = {}
        self.told: dict[str, str] = json.loads(frontier.note(TOLD) or b"{}")

    @property
    def state(self) -> str:
        """Return the instruction to all workers: run, pause or stop."""
        return self.told.get("state", "run")

    @property
    def numbers(self) -> dict[str, Any]:
        """Return the instructed numbers of politeness."""
        return numbers_of(self.told)

    def tell(self, name: str, value: str) -> None:
        """Give all workers an instruction; ValueError if it is invalid."""
        check_instruction(name, value, self.told)
        self.told[name] = value
        self._keep(TOLD, json.dumps(self.told).encode())

    def end_stop(self) -> None:
        """Let workers run that have come after the instruction to stop."""
        if self.state == "stop":
            self.tell("state", "run")

    def note(self, name: str) -> bytes | None:
        return self._frontier.note(name)

    def set_note(self, name: str, value: bytes) -> None:
        """Add to a note, on behalf of the service itself."""
        self.add(name, value, {}, is_own=True)

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Call `recall` with a note when a worker has changed it."""
        self._listeners[name] = recall

    def add(self, name: str, value: bytes, seen: dict[str, int], *, is_own: bool = False) -> None:
        """Add to a note. The writer has seen what it adds, but not what others added before."""
        there = self._frontier.note(name)
        merged = value if there is None else merge(there, value)
        is_behind = seen.get(name) != self._versions.get(name, 0)
        if merged != there:
            self._keep(name, merged)
            if name in self._listeners and not is_own:
                self._listeners[name](merged)
        if not is_behind:
            seen[name] = self._versions.get(name, 0)

    def _keep(self, name: str, value: bytes) -> None:
        self._frontier.set_note(name, value)
        self._versions[name] = self._versions.get(name, 0) + 1
        self._values[name] = value

    def versions(self, names: Iterable[str]) -> dict[str, int]:
        """Return the versions that a newcomer has seen: none."""
        for name in names:
            if name not in self._versions and (value := self._frontier.note(name)) is not None:
                self._versions[name], self._values[name] = 1, value
        return dict.fromkeys(names, 0)

    def news(self, seen: dict[str, int]) -> dict[str, bytes]:
        """Return the watched notes that a worker has not seen yet, and mark them as seen."""
        news = {}
        for name, version in seen.items():
            latest = self._versions.get(name, 0)
            if version != latest:
                seen[name] = latest
                news[name] = self._values[name]
        return news


def merge(there: bytes, value: bytes) -> bytes:
    """Return the union of two arrays, or of two objects of arrays.

    A note of another kind is replaced.
    """
    if there[:1] != value[:1] or there[:1] not in (b"{", b"["):
        return value
    one, other = json.loads(there), json.loads(value)
    if isinstance(one, list):
        return json.dumps(_union(one, other)).encode()
    names = sorted({*one, *other})
    both = {name: _union(one.get(name, []), other.get(name, [])) for name in names}
    return json.dumps(both).encode()


def _union(one: list[str], other: list[str]) -> list[str]:
    return sorted({*one, *other})


def numbers_of(told: Mapping[str, str]) -> dict[str, Any]:
    """Return what instructions change in the rules of politeness (frontier/politeness.py)."""
    numbers: dict[str, Any] = {name: float(told[name]) for name in NUMBERS if name in told}
    numbers["delays"] = {
        prefix_of(name.removeprefix(DELAY_OF)): float(value)
        for name, value in told.items()
        if name.startswith(DELAY_OF)
    }
    return numbers


def check_instruction(name: str, value: str, told: Mapping[str, str]) -> None:
    """Raise ValueError if an instruction is invalid, after those that were given before."""
    if name == "state":
        if value not in STATES:
            raise ValueError(f"The state must be one of {', '.join(STATES)}, not {value!r}.")
    elif name in NUMBERS:
        told_number(name, value)
    elif name.startswith(DELAY_OF):
        _check_delay(name, value, told)
    elif name not in SETTINGS:
        choices = ", ".join((*NUMBERS, *SETTINGS))
        raise ValueError(f"{name} cannot be changed while workers run: choose {choices}.")


def _check_delay(name: str, value: str, told: Mapping[str, str]) -> None:
    host = name.removeprefix(DELAY_OF)
    told_number(f"The delay of {host[:100]}", value)
    check_host(host)
    if name not in told and sum(each.startswith(DELAY_OF) for each in told) >= _DELAYS:
        raise ValueError(f"At most {_DELAYS:,} hosts have a delay of their own.")


def check_host(name: str) -> None:
    """Raise ValueError if a text is not the name of a host."""
    if len(name) > 253 or not _HOST.fullmatch(name):
        raise ValueError(f"{name[:100]!r} is not the name of a host.")


def told_number(name: str, text: str) -> float:
    """Return an instructed number; ValueError if it is no number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} must be a number from 0, not {text!r}.")
    return number
