"""Which of the links in the inbox are admitted: new URLs within the limits of depth and host."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rdfaspider.frontier.limits import MAX_DEPTH
from rdfaspider.frontier.schedule.hosts import Host
from rdfaspider.frontier.tables.links.inbox import Inbox
from rdfaspider.frontier.tables.trie import DEPTH, NO_DEPTH
from rdfaspider.urls.keys import folders_of, host_of, is_dynamic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.links.inbox import Entry

    Reject = Callable[[str, int], None]


# What else than a name the host of a key may have: a port, a user.
_COLON = ord(":")
_AT = ord("@")


def smallest_depths(entries: Iterable[Entry]) -> dict[bytes, int]:
    """Return all keys of the inbox, each with the smallest depth at which it was found."""
    found: dict[bytes, int] = {}
    for entry in entries:
        depth = entry.depth
        for key in entry.keys:
            if found.get(key, NO_DEPTH) > depth:
                found[key] = depth
    return found


def redirected(entries: Iterable[Entry]) -> dict[bytes, int]:
    """Return the keys that only redirects led to, each with the smallest number of hops."""
    found: dict[bytes, int] = {}
    for entry in entries:
        if entry.hops:
            for key in entry.keys:
                found[key] = min(found.get(key, entry.hops), entry.hops)
    if found:
        for entry in entries:
            if not entry.hops:
                for key in filter(found.__contains__, entry.keys):
                    found.pop(key, None)
    return found


def by_host(keys: list[bytes]) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield runs of sorted keys that have the same host.

    A host with several services has more than one run if keys of its subdomains come between them.
    """
    service, host, start = b" ", b"", 0
    for index, key in enumerate(keys):
        if not key.startswith(service):
            service = key[: key.index(b")") + 1]
            is_plain = _COLON not in service and _AT not in service
            if (found := service[:-1] if is_plain else host_of(service)) != host:
                if index > start:
                    yield host, keys[start:index]
                host, start = found, index
    if keys:
        yield host, keys[start:]


def within_depth(
    limits: FrontierLimits,
    keys: list[bytes],
    findings: dict[bytes, int],
    deepest: int,
    reject: Reject,
) -> list[bytes]:
    """Return the keys that are not too deep; `deepest` is the greatest depth in the inbox."""
    if deepest <= min(limits.depth, limits.dynamic_depth):
        return keys
    chosen: list[bytes] = []
    too_deep, most, most_dynamic = 0, limits.depth, limits.dynamic_depth
    for key in keys:
        depth = findings[key] & DEPTH
        if depth <= (most_dynamic if is_dynamic(key) else most):
            chosen.append(key)
        elif depth > most:
            too_deep += 1
    reject("depth", too_deep)
    reject("dynamic_depth", len(keys) - len(chosen) - too_deep)
    return chosen


def within_folders(
    limits: FrontierLimits, keys: list[bytes], findings: dict[bytes, int], reject: Reject
) -> list[bytes]:
    """Return the keys that are not too many folders below the name of their host; seeds always fit."""
    most = limits.host_depth
    if most >= MAX_DEPTH:
        return keys
    chosen = [key for key in keys if not findings[key] & DEPTH or folders_of(key) <= most]
    reject("host_depth", len(keys) - len(chosen))
    return chosen


def within_host(
    limits: FrontierLimits,
    host: Host,
    keys: list[bytes],
    findings: dict[bytes, int],
    reject: Reject,
) -> list[bytes]:
    """Return the keys that a host has room for, in order; seeds always fit."""
    of_all, of_waiting = limits.host_urls - host.taken_in, limits.host_waiting - host.waiting
    if of_all >= len(keys) <= of_waiting:
        return keys
    seeds = sum(not findings[key] & DEPTH for key in keys)
    room = max(min(of_all, of_waiting) - seeds, 0)
    chosen = []
    for key in keys:
        if not findings[key] & DEPTH:
            chosen.append(key)
        elif room:
            chosen.append(key)
            room -= 1
    rejected = len(keys) - len(chosen)
    too_many = max(len(keys) - max(of_all, seeds), 0)
    reject("host_urls", too_many)
    reject("host_waiting", rejected - too_many)
    return chosen


def count_admitted(database: Database, limits: FrontierLimits) -> Counter[bytes]:
    """Return how many URLs the sieve would now take in from the inbox, by the key of their host.

    Nothing is written. A shorter way to a done page may admit more URLs; those are not counted.
    """
    found = smallest_depths(Inbox(database).entries)
    deepest = max(found.values(), default=0)
    keys = sorted(found)
    records = database.urls.get_all(keys) if keys else []
    new = [key for key, record in zip(keys, records, strict=True) if record is None]
    hosts: dict[bytes, Host] = {}
    counts: Counter[bytes] = Counter()
    new = within_depth(limits, new, found, deepest, _ignore)
    for host_key, group in by_host(within_folders(limits, new, found, _ignore)):
        host = hosts.get(host_key)
        if host is None:
            data = database.hosts.get(host_key)
            host = Host(host_key, 0) if data is None else Host.read(host_key, data)
            hosts[host_key] = host
        admitted = len(within_host(limits, host, group, found, _ignore))
        host.taken_in += admitted
        host.waiting += admitted
        counts[host_key] += admitted
    return counts


def _ignore(reason: str, count: int) -> None:
    """Discard the count."""
