"""What a crawler knows of one robots.txt, and for how long (RFC 9309 sections 2.3.1 and 2.4).

    answered   2xx: its rules. 4xx: everything is allowed. Both for a day.
    out of reach (5xx, 429, no answer; too many redirects are not among these)
               the rules of the last answer if there was one, else everything is forbidden; it is
               asked again soon, later each time. After thirty days everything is allowed.

429 is among the 4xx of the RFC, after which fetching is allowed but not required; a server that sends it
is not asked for more.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rdfaspider.robots import LIMIT, Robots

DAY = 86_400.0
_LONG = 30 * DAY
_FIRST_RETRY = 60.0

# expires, failures, since, reached; then the rules
_HEAD = struct.Struct(">dId?")


@dataclass(slots=True)
class RobotsRecord:
    """Rules, and until when they hold.

    `failures` counts the failed tries since the last answer, the first of them at `since`.
    `reached` tells whether the rules are those of an answer.
    """

    rules: Robots
    expires: float
    failures: int = 0
    since: float = 0.0
    reached: bool = True

    def to_bytes(self) -> bytes:
        head = _HEAD.pack(self.expires, self.failures, self.since, self.reached)
        return head + self.rules.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> RobotsRecord:
        """Read a record; ValueError if it is of another form."""
        if len(data) < _HEAD.size:
            raise ValueError("not a record of robots.txt")
        rules = Robots.from_bytes(data[_HEAD.size :])
        return cls(rules, *_HEAD.unpack(data[: _HEAD.size]))


def answered(
    status: int,
    body: bytes,
    agent: str,
    now: float,
    previous: RobotsRecord | None,
    *,
    wanted: float | None = None,
    limit: int = LIMIT,
) -> RobotsRecord:
    """Return the record that an answer makes of the previous one.

    `wanted` are the seconds after which the server asks to be asked again (Retry-After).
    """
    if not 200 <= status < 500 or status == 429:
        return unreachable(now, previous, wanted)
    if 200 <= status < 300:
        return RobotsRecord(Robots(body, agent, limit=limit), now + DAY)
    return RobotsRecord(Robots.allow_all(), now + DAY)


def unreachable(
    now: float, previous: RobotsRecord | None, wanted: float | None = None
) -> RobotsRecord:
    """Return the record that a failure makes of the previous one; asked again no sooner than wanted."""
    failures = previous.failures + 1 if previous else 1
    since = previous.since if previous and previous.failures else now
    retry = now + min(DAY, max(_FIRST_RETRY * 2 ** min(failures - 1, 20), wanted or 0.0))
    if previous and previous.reached:
        return RobotsRecord(previous.rules, retry, failures, since)
    if now - since > _LONG:
        return RobotsRecord(Robots.allow_all(), now + DAY, failures, since, reached=False)
    return RobotsRecord(Robots.deny_all(), retry, failures, since, reached=False)
