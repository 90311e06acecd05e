"""One host as people see it: its folders, its robots.txt as understood, its errors."""

from __future__ import annotations

import heapq
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rdfaspider.console.crawls.running import shown_url
from rdfaspider.console.hosts.frontiers import HOST_ENDS
from rdfaspider.frontier import BranchView
from rdfaspider.middlewares.robotsrecords import service_of
from rdfaspider.robots.record import RobotsRecord
from rdfaspider.urls import normalise, without_userinfo
from rdfaspider.urls.keys import prefix_of, to_url

if TYPE_CHECKING:
    from rdfaspider.console.hosts.frontiers import FrontierSource

# Folders and errors that are shown, services of a host whose robots.txt is, and rules of each.
_BRANCHES, _ERRORS, _SERVICES, _RULES = 200, 50, 8, 500
_SUMS = ("waiting", "done", "failed", "denied", "kept", "weighed", "triples")


async def look(frontier: FrontierSource, name: str) -> dict[str, Any]:
    """Return what is known of a host; ValueError if that is none."""
    host = _prefix(name)
    tree = await _services(frontier, host)
    services = sorted({service_of(row["name"]) for row in tree["rows"]})[:_SERVICES]
    scan = frontier.failed_at(host)
    errors = await scan.first(_ERRORS)
    return {
        "name": name,
        "tree": tree,
        "robots": [await _robots(frontier, service) for service in services],
        "errors": [shown_url(view) for view in errors],
        "errors_are_whole": scan.is_whole,
    }


async def _services(frontier: FrontierSource, host: bytes) -> dict[str, Any]:
    """Return the services of a host, without those of hosts whose names begin like its."""
    found: list[BranchView] = []
    is_whole = True
    for end in HOST_ENDS:
        scan = frontier.branches(host + end)
        below = await scan.all()
        is_whole = is_whole and scan.is_whole
        if end == b")" and below:  # these are the folders of one service
            service = BranchView(to_url(host + b")/"))
            for branch in below:
                for name in _SUMS:
                    setattr(service, name, getattr(service, name) + getattr(branch, name))
            below = [service]
        found += below
    return _shown(found, is_whole=is_whole)


async def branches(frontier: FrontierSource, under: str) -> dict[str, Any]:
    """Return the branches one step below a folder, those with the most URLs first."""
    scan = frontier.branches(_prefix(under))
    return _shown(await scan.all(), is_whole=scan.is_whole)


def _shown(found: list[BranchView], *, is_whole: bool) -> dict[str, Any]:
    rows = heapq.nlargest(_BRANCHES, found, key=lambda branch: branch.urls)
    return {
        "rows": [_row(row) for row in rows],
        "more": len(found) - len(rows),
        "is_whole": is_whole,
    }


def _row(branch: BranchView) -> dict[str, Any]:
    """Return a branch as it is shown; what a page of it yields is None if nobody knows."""
    triples = branch.triples / branch.weighed if branch.weighed else None
    shown = {"name": without_userinfo(branch.name), "urls": branch.urls, "triples_a_page": triples}
    return asdict(branch) | shown


async def _robots(frontier: FrontierSource, service: str) -> dict[str, Any]:
    data = await frontier.note(f"robots {service}")
    known: dict[str, Any] = {"service": without_userinfo(service)}
    if data is None:
        return known
    try:
        record = RobotsRecord.from_bytes(data)
    except ValueError:
        return known
    rules = [line.decode("utf-8", "replace") for line in record.rules.to_bytes().split(b"\n")[1:]]
    lists = {"+": "allow", "-": "disallow", "@": "sitemaps"}
    for sign, label in lists.items():
        known[label] = [rule[1:] for rule in rules if rule[:1] == sign][:_RULES]
    return known | {
        "reached": record.reached,
        "expires": record.expires,
        "failures": record.failures,
        "crawl_delay": record.rules.crawl_delay,
    }


def _prefix(text: str) -> bytes:
    """Return the prefix of the keys of a host or of a folder; ValueError if it is neither."""
    if not text or len(text) > 4_000:
        raise ValueError("Give a host, or the URL of a folder.")
    if "://" in text:
        return prefix_of(normalise(text))
    if not text.isascii() or not text.isprintable() or set(text) & set(" /()?#@"):
        raise ValueError("This is not the name of a host, as the table of hosts has it.")
    return prefix_of(text)
