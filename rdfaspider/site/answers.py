"""URL -> HTTP answer: pages, robots.txt, sitemaps, and the faults of a real server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import lru_cache
from math import log
from typing import NamedTuple

from rdfaspider.site import robots
from rdfaspider.site.draws import draw, whole
from rdfaspider.site.pages import Location
from rdfaspider.site.pages.scripts import JAVASCRIPT, SHARED, render, resource
from rdfaspider.site.parameters import COPIES
from rdfaspider.site.sitemaps import feed, sitemap
from rdfaspider.site.web import Web, with_word

HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"

_MOVED = (301, 302, 307, 308)


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """An HTTP answer, and how to deliver it.

    It begins after `delay` seconds, its body trickles over `trickle` seconds, and if `cut` the
    connection ends in mid-body.
    """

    status: int
    body: bytes
    content_type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0
    trickle: float = 0.0
    cut: bool = False


class Conditions(NamedTuple):
    """What a client says it has already."""

    etag: str = ""
    modified: str = ""


_NONE = Conditions()


def answer(web: Web, url: str, at: float = 0.0, conditions: Conditions = _NONE) -> SiteAnswer:
    """Return the answer to a request for a URL at a time."""
    try:
        place = web.place(url)
    except ValueError as error:
        return SiteAnswer(404, f"{error}\n".encode())
    result = _robots(web, place) or _passing(web, place, at) or _lasting(web, place, at, conditions)
    delay = latency(web, place.host)
    return replace(result, delay=delay) if delay else result


def latency(web: Web, host: int) -> float:
    """Return the seconds before each answer of a host: exponential over hosts."""
    mean = web.parameters.latency
    return -mean * log(1 - draw(web.parameters.seed, "latency", host)) if mean else 0.0


def _robots(web: Web, place: Location) -> SiteAnswer | None:
    if place.path != "/robots.txt" or place.query:
        return None
    status = robots.status(web, place.host)
    body = robots.text(web, place.host, place.origin) if status == 200 else f"{status}\n"
    return SiteAnswer(status, body.encode())


def _passing(web: Web, place: Location, at: float) -> SiteAnswer | None:
    """Return the fault of this time slot, if it has one, and how long it stays."""
    parameters = web.parameters
    if not parameters.throttled and not parameters.unavailable:
        return None
    slot = int(at // parameters.slot)
    wait = max(1, -int(-((slot + 1) * parameters.slot - at) // 1))
    retry = (("Retry-After", str(wait)),)
    if draw(parameters.seed, "throttled", place.host, slot) < parameters.throttled:
        return SiteAnswer(429, b"Too many requests\n", headers=retry)
    target = place.path + place.query
    if draw(parameters.seed, "unavailable", place.host, target, slot) < parameters.unavailable:
        return SiteAnswer(503, b"Service unavailable\n", headers=retry)
    return None


def _lasting(web: Web, place: Location, at: float, conditions: Conditions) -> SiteAnswer:
    location = web.redirect(place, at)
    if location is not None:
        # Servers redirect in several ways, and a crawler takes them alike.
        choice = whole(web.parameters.seed, "status", place.host, place.path) % len(_MOVED)
        return SiteAnswer(_MOVED[choice], b"Moved\n", headers=(("Location", location),))
    try:
        index, session = web.find(place)
    except ValueError:
        return _special(web, place, at)
    fate = web.fate(place.host, index)
    if fate == "missing":
        return SiteAnswer(404, b"Not found\n")
    if fate == "broken":
        return SiteAnswer(500, b"Internal error\n")
    if not fate and web.absence(place, index, at):
        if web.history.is_gone_for_good(place.host, index):
            return SiteAnswer(410, b"Gone\n")
        return SiteAnswer(404, b"Not found\n")
    return _page(web, place, index, session, fate, at, conditions)


def _special(web: Web, place: Location, at: float) -> SiteAnswer:
    """Answer for a place outside the tree: a sitemap, a feed, a trap, or nothing."""
    xml = sitemap(web, place, at)
    if xml is not None:
        kind = "application/gzip" if place.path.endswith(".gz") else "application/xml"
        return SiteAnswer(200, xml, kind)
    atom = feed(web, place, at)
    if atom is not None:
        return SiteAnswer(200, atom, "application/atom+xml")
    if web.parameters.scripted and (found := _resource(web, place, at)):
        return SiteAnswer(200, found[0].encode(), found[1])
    trap = web.traps.page(place)
    return SiteAnswer(200, render(trap), HTML) if trap else SiteAnswer(404, b"Not found\n")


def _resource(web: Web, place: Location, at: float) -> tuple[str, str] | None:
    """Return what pages with scripts ask for, as text and media type."""
    if place.path in SHARED and not place.query:
        return SHARED[place.path], JAVASCRIPT
    try:
        index = web.tree.index(place.path)
    except ValueError:
        return None
    page = web.show(place, index, "", web.history.revision(place.host, index, at))
    return resource(page, place.query)


@lru_cache
def _date(seconds: int) -> str:
    """Return a Unix time as an HTTP date."""
    return formatdate(seconds, usegmt=True)


def _validators(
    web: Web, place: Location, shown: int, body: int, session: str, at: float
) -> tuple[tuple[str, str], ...]:
    """Return the headers by which a client can ask whether a page has changed."""
    known = web.history.validated(place.host, shown, at)
    if known is None:
        return ()
    version, changed = known
    etag = whole(web.parameters.seed, "etag", place.origin, body, session, version)
    modified = _date(int(web.history.date(changed)))
    return ("ETag", f'"{etag:016x}"'), ("Last-Modified", modified)


def _page(
    web: Web,
    place: Location,
    index: int,
    session: str,
    fate: str,
    at: float,
    conditions: Conditions,
) -> SiteAnswer:
    parameters, host = web.parameters, place.host
    shown = web.original(host, index) if fate in COPIES else index
    body = index if fate == "similar" else shown
    headers = _validators(web, place, shown, body, session, at)
    is_known = bool(headers) and (
        headers[0][1] in conditions.etag
        if conditions.etag
        else headers[1][1] == conditions.modified
    )
    if parameters.max_age:
        headers = (*headers, ("Cache-Control", f"max-age={parameters.max_age:.0f}"))
    if is_known:
        return SiteAnswer(304, b"", HTML, headers)
    page = web.show(place, shown, session, web.history.revision(host, shown, at))
    if fate == "similar":
        page = with_word(page, index)
    slow = index and parameters.slow and draw(parameters.seed, "slow", host, index)
    return SiteAnswer(
        200,
        render(page),
        HTML,
        headers,
        trickle=parameters.slow_seconds if slow and slow < parameters.slow else 0.0,
        cut=fate == "dropped",
    )
