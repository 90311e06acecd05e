"""Replicas: what is told to a server that has some counts when one of them has it too.

Replication is asynchronous, so a fail-over may lose the last writes. On a cluster that would be worse than
a second's work: links are on one node and the end of their page is on another, and if only the links
are lost, nobody looks for them again. A URL that was handed out by a server that forgets it would be
fetched by two workers at once. So every pipeline to a server with replicas ends with WAIT, and what
follows from its replies is done only when that says yes.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from redis.exceptions import NoPermissionError

from rdfaspider.frontier import FrontierUnavailable

if TYPE_CHECKING:
    from collections.abc import Hashable

logger = logging.getLogger(__name__)

# Milliseconds that a replica has to say that it is up to date.
_TIMEOUT = 1000


class Replicas:
    """Remembers which servers have replicas; they are asked with every pipeline, at no further trip."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}

    def add_questions(self, server: Hashable, pipeline: Any) -> None:
        """Have a pipeline wait for a replica, if its server had any, and say how many there are."""
        if self._counts.get(server):
            pipeline.execute_command("WAIT", 1, _TIMEOUT)
        pipeline.execute_command("ROLE")

    def take_answers(self, server: Hashable, answers: list[Any]) -> bool:
        """Take the answers off those of a pipeline; tell whether what it did is safe.

        A server that has lost all its replicas is taken at its word, for it must go on.
        """
        role, before = answers.pop(), self._counts.get(server)
        reached = answers.pop() if before else None
        is_primary = isinstance(role, list) and role[0] == b"master"
        count = self._counts[server] = len(role[2]) if is_primary else 0
        if isinstance(reached, NoPermissionError) or "unknown command" in str(reached).lower():
            raise FrontierUnavailable(
                f"Redis at {server} has replicas, but does not allow WAIT: {reached}"
            )
        if before and is_primary and not count:
            logger.warning(
                "Redis at %s has no replica any more: a fail-over may lose URLs.", server
            )
        if before and not is_primary:
            return False  # it has become a replica, and will forget what it took in as a primary
        # One that has just got replicas is believed once more: they are not to take over yet.
        return not (before and count) or (isinstance(reached, int) and reached > 0)
