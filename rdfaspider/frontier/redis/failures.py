"""Failed and denied URLs of a shared crawl, and what is known of one URL.

The seen-set has hashes of URLs only. Those that failed or were denied are kept with their text beside it,
the first 10,000 of each partition: of a crawl with more, the rest can neither be listed nor tried
again. Nobody knows on which pages they were found.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from rdfaspider.frontier import UrlView
from rdfaspider.frontier.keys import host_of, to_key, to_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.frontier import State
    from rdfaspider.frontier.shared import SharedFrontier

# By the numbers that the scripts use.
STATES = ("waiting", "in flight", "waiting to be tried again", "done", "failed", "denied")
# URLs that are requeued by one script.
_AT_ONCE = 500


def ended(frontier: SharedFrontier, state: State, pattern: str = "") -> Iterator[UrlView]:
    """Yield the URLs that failed or were denied in which a regular expression is found."""
    for _, _, url in _listed(frontier, state, pattern):
        if (view := url_view(frontier, url)) is not None:
            yield view


def _listed(
    frontier: SharedFrontier, state: State, pattern: str
) -> Iterator[tuple[int, bytes, str]]:
    """Yield partition, fingerprint and text of the same."""
    wanted = re.compile(pattern)
    for partition in range(frontier.partitions):
        key, cursor = f"{frontier.scripts.root(partition)}:{state}", 0
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
    for partition, group in groupby(list(_listed(frontier, "failed", pattern)), lambda row: row[0]):
        prints = [fingerprint for _, fingerprint, _ in group]
        for start in range(0, len(prints), _AT_ONCE):
            portion = prints[start : start + _AT_ONCE]
            count += frontier.link.one(frontier.scripts.requeue(partition, now, portion))
    return count


def url_view(frontier: SharedFrontier, url: str) -> UrlView | None:
    """Return what is known of a normalised URL, None if nothing is."""
    key = to_key(url)
    script = frontier.scripts.knows(frontier.partition(host_of(key)), 0.0, key)
    found = frontier.link.one(script)
    if found is None:
        return None
    view = UrlView(url, STATES[found[0]], found[1])
    if found[2]:
        time, attempts, status, reason = found[2].decode(errors="replace").split(" ", 3)
        view.time, view.attempts = float(time), int(attempts)
        view.status, view.reason = int(status) or None, reason or None
    return view
