"""Places where a careless crawler never comes to an end."""

from __future__ import annotations

import re

from rdfaspider.site.draws import draw, whole
from rdfaspider.site.pages import GeneratedPage, Location
from rdfaspider.site.parameters import Parameters

_CALENDAR = re.compile(r"/calendar/([0-9]{4})/(0[1-9]|1[0-2])")
_REPEATING = re.compile(r"/archive(?:/more)+")
_LAST_YEAR = 9998


class SiteTraps:
    """The traps of a web; a share of its hosts has each of them.

    `calendar`: from /calendar/2026/01 every month links to the one before and the one after.
    `repeating`: /archive/more links to /archive/more/more, and so on.
    `sessions`: every page links to itself with a session id, and that one with another id.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def has(self, trap: str, host: int) -> bool:
        """Tell whether a host has a trap."""
        share: float = getattr(self._parameters, trap)
        return share > 0 and draw(self._parameters.seed, trap, host) < share

    def links(self, place: Location, index: int, path: str, session: str) -> list[str]:
        """Return the links of a page that lead into traps; the root leads into the endless ones."""
        links = []
        if index == 0 and self.has("calendar", place.host):
            links.append("/calendar/2026/01")
        if index == 0 and self.has("repeating", place.host):
            links.append("/archive/more")
        if self.has("sessions", place.host):
            fresh = whole(self._parameters.seed, "session", place.host, index, session)
            links.append(f"{path}?sid={fresh >> 32:08x}")
        return links

    def page(self, place: Location) -> GeneratedPage | None:
        """Return the page at a place inside an endless trap; it carries no triples."""
        if place.query:
            return None
        if (date := _CALENDAR.fullmatch(place.path)) and self.has("calendar", place.host):
            month = int(date[1]) * 12 + int(date[2]) - 1
            near = range(max(month - 1, 0), min(month + 2, _LAST_YEAR * 12), 2)
            links = ["/", *(f"/calendar/{m // 12:04}/{m % 12 + 1:02}" for m in near)]
            return GeneratedPage(
                place.origin, place.path, "en", f"{date[1]}-{date[2]}", "", links, [], []
            )
        if _REPEATING.fullmatch(place.path) and self.has("repeating", place.host):
            links = ["/", f"{place.path}/more"]
            return GeneratedPage(place.origin, place.path, "en", "Archive", "", links, [], [])
        return None
