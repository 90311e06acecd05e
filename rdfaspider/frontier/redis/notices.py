"""Notices: what all workers of a crawl are told, and what they note for each other.

A note is a value under a name. One that is *watched* is a JSON array or an object of arrays to which all
workers add; its version is among the things that all are told, so that each knows when to read it again.
"""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rdfaspider.frontier.redis.batch import NOTES, VERSIONS, Batch, ignore
from rdfaspider.frontier.redis.link import RedisAway

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier.redis.crew import Crew
    from rdfaspider.frontier.redis.link import RedisLink
    from rdfaspider.frontier.redis.scripts import Scripts

logger = logging.getLogger(__name__)

# What all workers can be told of politeness while they run.
TOLD = ("delay", "latency_factor", "first_backoff", "longest_backoff", "large_delay")


def told_number(name: str, text: str) -> float:
    """Return what all workers are told; ValueError if it is no number of seconds, or none at all."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} must be a number from 0, not {text!r}.")
    return number


class Notices:
    """`pending` has the notes to be brought to Redis. `is_behind` says that a watched note has changed and
    could not be read yet."""

    def __init__(self, link: RedisLink, crew: Crew, scripts: Scripts) -> None:
        self._link = link
        self._crew = crew
        self._scripts = scripts
        self._own_politeness = scripts.politeness
        self._watched: dict[str, tuple[int, Callable[[bytes], None]]] = {}
        self._misheard: dict[str, str] = {}
        self.pending: dict[str, bytes] = {}
        self.is_behind = False

    def note(self, name: str) -> bytes | None:
        return self.pending[name] if name in self.pending else self._in_redis(name)

    def _in_redis(self, name: str) -> bytes | None:
        key = self._scripts.root_of(name.encode()) + ":notes"
        value: bytes | None = self._link.ask_command("hget", key, name)
        return value

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Have `recall` called with a note when another worker has changed it."""
        self._watched[name] = (self._version(name), recall)

    def _version(self, name: str) -> int:
        return int(self._crew.told.get(f"note {name}", 0))

    def add_pending(self, batch: Batch) -> None:
        """Add the notes that are to be brought to Redis."""
        for name, value in self.pending.items():
            is_watched = name in self._watched
            batch.add(NOTES, self._scripts.note(name, value, merge=is_watched), ignore)
            if is_watched:
                batch.add(VERSIONS, self._crew.version(name), partial(self._noted, name))
        self.pending = {}

    def _noted(self, name: str, version: int) -> None:
        """Know a change of a note for this worker's own, if nobody else has changed it."""
        known, recall = self._watched[name]
        if version == known + 1:
            self._watched[name] = (version, recall)

    def heed(self) -> None:
        """Take over what all workers are told, and what they have noted."""
        told = self._told()
        if told or self._scripts.politeness is not self._own_politeness:
            self._scripts.politeness = replace(self._own_politeness, **told)  # type: ignore[arg-type]
        try:
            self._recall()
            self.is_behind = False
        except RedisAway as error:
            logger.info("A note of the others could not be read yet: %s", error)
            self.is_behind = True

    def _told(self) -> dict[str, float]:
        """Return the settings that all workers are told; what makes no sense is named once."""
        told = {}
        for name, text in self._crew.told.items():
            if name not in TOLD:
                continue
            try:
                told[name] = told_number(name, text)
            except ValueError as error:
                if self._misheard.get(name) != text:
                    logger.error("All workers were told something they cannot do: %s", error)
                self._misheard[name] = text
        return told

    def _recall(self) -> None:
        for name, (version, recall) in self._watched.items():
            latest = self._version(name)
            if version != latest and (value := self._in_redis(name)) is not None:
                self._watched[name] = (latest, recall)
                recall(value)
