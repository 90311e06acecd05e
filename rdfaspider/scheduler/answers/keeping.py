"""What a visit says for the next one: the `Keep` of a page, and signals of change for others."""

from __future__ import annotations

from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING

from rdfaspider.frontier import Keep

if TYPE_CHECKING:
    from rdfaspider.frontier import Visit
    from rdfaspider.items import Page

# Seconds that a date may lie ahead of our clock.
_AHEAD = 3600.0
# Signals of one sitemap: each takes some 40 µs, and all hosts wait meanwhile.
_SIGNALS = 5_000
# The longest time until a page that is away is looked for again.
_LONGEST_AWAY = 60 * 86_400.0


def keep_of(page: Page, visit: Visit | None) -> Keep | None:
    """Return what to keep of a page for its next visit, None if it is not to be visited again.

    Pages, sitemaps and feeds are visited again, and whatever was one of these at a visit before.
    """
    if page.is_read:
        changed = page.changed if visit else None
        weight = float(page.quad_count)
        return Keep(changed, weight, page.etag, page.last_modified, page.fresh)
    if page.outcome == "done" and page.reason in ("sitemap", "feed"):
        newer = bool(signals_of(page, visit.time)) if visit and page.dates else None
        weight = float(max(1, len(page.dates)))
        return Keep(newer, weight, page.etag, page.last_modified, page.fresh)
    if visit is None:
        return None
    if page.reason == "unchanged":
        etag, modified = page.etag or visit.etag, page.last_modified or visit.last_modified
        return Keep(False, None, etag, modified, page.fresh)
    if page.missed:
        return Keep(None, soonest=_patience(page, visit), missed=True)
    if page.cleared:  # without validators: 304 would leave its graph empty
        return Keep(page.changed is not False, 0.0)
    return Keep()


def _patience(page: Page, visit: Visit) -> float:
    """Return how long to wait for a page to come back: after the second miss as long as it has been away."""
    if not visit.misses:
        return 0.0
    return min(max(0.0, page.fetched - visit.missed_since), _LONGEST_AWAY)


def signals_of(page: Page, since: float) -> list[tuple[str, float]]:
    """Return the pages that a sitemap or feed says have changed since a time, and when: the latest, if there
    are very many."""
    latest = page.fetched + _AHEAD
    changed = [(url, date) for url, date in page.dates if since < date <= latest]
    return changed if len(changed) <= _SIGNALS else nlargest(_SIGNALS, changed, key=itemgetter(1))
