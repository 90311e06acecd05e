"""Failed URLs of a shared crawl, and what is known of one URL.

The seen-set has hashes of URLs only. Those that failed are kept with their text beside it, the first 10,000
of each partition: of a crawl with more, the rest can neither be listed nor tried again.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from rdfaspider.frontier.keys import host_of, to_key, to_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.frontier.shared import SharedFrontier

# By the numbers that the scripts use.
STATES = ("waiting", "in flight", "waiting to be tried again", "done", "failed", "denied")
# URLs that are requeued by one script.
_AT_ONCE = 500


def failed(frontier: SharedFrontier, pattern: str) -> Iterator[tuple[int, bytes, str]]:
    """Yield partition, fingerprint and URL of the failed URLs in which a regular expression is found."""
    wanted = re.compile(pattern)
    for partition in range(frontier.partitions):
        key, cursor = frontier.scripts.root(partition) + ":failed", 0
        while True:
            cursor, found = frontier.link.command("hscan", key, cursor, None, _AT_ONCE)
            for fingerprint, entry in found.items():
                host, _, tail = entry.partition(b" ")
                if wanted.search(url := to_url(host + tail)):
                    yield partition, fingerprint, url
            if not cursor:
                break


def requeue(frontier: SharedFrontier, pattern: str) -> int:
    """Let failed URLs wait again in which a regular expression is found; return how many."""
    count, now = 0, frontier.redis_time()
    for partition, group in groupby(list(failed(frontier, pattern)), lambda row: row[0]):
        prints = [fingerprint for _, fingerprint, _ in group]
        for start in range(0, len(prints), _AT_ONCE):
            portion = prints[start : start + _AT_ONCE]
            count += frontier.link.one(frontier.scripts.requeue(partition, now, portion))
    return count


def record(frontier: SharedFrontier, url: str) -> tuple[str, int] | None:
    """Return the state and the depth of a normalised URL, None if it is not known."""
    key = to_key(url)
    script = frontier.scripts.knows(frontier.partition(host_of(key)), 0.0, key)
    found = frontier.link.one(script)
    return None if found is None else (STATES[found[0]], found[1])
