"""URL -> page: the links and facts of every page and the fate of every URL, without I/O."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from random import Random

from rdfaspider.site.draws import draw, stream, whole
from rdfaspider.site.history import History
from rdfaspider.site.pages import GeneratedPage, Location
from rdfaspider.site.pages.facts import HOME, KINDS, things
from rdfaspider.site.pages.scripts import scripted
from rdfaspider.site.pages.words import sentence, title
from rdfaspider.site.parameters import FATES, FORMATS, SEEN, Parameters
from rdfaspider.site.traps import SiteTraps
from rdfaspider.site.tree import SECTIONS, Tree

_URL = re.compile(
    r"http://([a-z0-9.\-]{1,255}|\[[0-9a-f:.]{1,45}\])(:[0-9]{1,5})?(/[^?#]*)(\?[^#]*)?"
)
_SESSION = re.compile(r"\?sid=([0-9a-f]{8})")
# What is added to the path of a page that has moved, and of the frame of a page.
_MOVED = "?moved"
_FRAME = "?frame"


class Web:
    """A web of `parameters.hosts` hosts that exists only as a function.

    The name `wN.domain` is host N, and any other name is host 0, so that a plain server at any
    address serves a whole site. All hosts have all ports, and links keep the port of their page.
    Times are seconds since the web began.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.traps = SiteTraps(parameters)
        self.tree = Tree(parameters.levels, parameters.pages)
        self.history = History(parameters, self.tree)
        self._name = re.compile(rf"w(0|[1-9][0-9]{{0,17}})\.{re.escape(parameters.domain)}")
        self._fates = _limits(parameters, FATES)
        self._formats = _limits(parameters, FORMATS)
        # The same hosts and paths come in runs; building them each time is a fifth of the cost of a page.
        self.path = lru_cache(maxsize=65536)(self.tree.path)
        self._host = lru_cache(maxsize=4096)(self._find_host)

    # where a URL points to

    def origin(self, host: int, port: str = "") -> str:
        return f"http://w{host}.{self.parameters.domain}{port}"

    def url(self, host: int, index: int, port: str = "") -> str:
        return self.origin(host, port) + self.path(index)

    def address(self, host: int) -> str:
        """Return the loopback address that serves a host."""
        return loopback(host % self.parameters.addresses)

    def place(self, url: str) -> Location:
        """Take a URL apart; ValueError if it is malformed or its host does not exist."""
        match = _URL.fullmatch(url)
        if not match or not url.isascii():
            raise ValueError(f"not an http URL in its normal form: {url[:200]!r}")
        name, port, path, query = match.groups("")
        return Location(f"http://{name}{port}", self._host(name), port, path, query)

    def _find_host(self, name: str) -> int:
        match = self._name.fullmatch(name)
        host = int(match[1]) if match else 0
        if host >= self.parameters.hosts:
            raise ValueError(f"this web has no host {name!r}")
        return host

    # what lasts

    def fate(self, host: int, index: int) -> str:
        """Return the lasting fault of a page: one of FATES, or "" for none. Roots have none."""
        if index == 0 or not self._fates:
            return ""
        chance = draw(self.parameters.seed, "fate", host, index)
        return next((fate for fate, limit in self._fates if chance < limit), "")

    def absence(self, place: Location, index: int, at: float) -> str:
        """Return why a page is not at one of its places at a time: "vanished" or "moved", or "" if it is."""
        absence = self.history.absence(place.host, index, at)
        if place.query == _MOVED:
            return "" if absence == "moved" else "vanished"
        return absence

    def redirect(self, place: Location, at: float = 0.0) -> str | None:
        """Return where a place redirects to, a path or a URL of another host; None if it does not.

        A redirected page leads to a sound one; a looping page leads to itself through `?again`; one that has
        moved leads to its new place.
        """
        if self.parameters.moving and (moved := self._moved(place, at)):
            return moved
        if not self._fates:
            return None
        again = place.query == "?again"
        try:
            index, _ = self.find(place._replace(query="") if again else place)
        except ValueError:
            return None
        fate = self.fate(place.host, index)
        if fate == "looping":
            return place.path if again else f"{place.path}?again"
        return self._target(place, index) if fate == "redirected" and not again else None

    def _moved(self, place: Location, at: float) -> str | None:
        try:
            index, _ = self.find(place)
        except ValueError:
            return None
        if self.fate(place.host, index) or self.absence(place, index, at) != "moved":
            return None
        return self.path(index) + _MOVED

    def place_of(self, host: int, index: int, at: float) -> str:
        """Return path and query of a page that can be seen at a time, "" for any other."""
        fate = self.fate(host, index)
        if fate not in SEEN:
            return ""
        absence = "" if fate else self.history.absence(host, index, at)
        if absence:
            return self.path(index) + _MOVED if absence == "moved" else ""
        return self.path(index)

    def _target(self, place: Location, index: int) -> str:
        numbers = stream(self.parameters.seed, "target", place.host, index)
        if self.parameters.hosts == 1 or numbers.random() >= 0.25:
            return self.path(self._sound(place.host, index, numbers))
        other = self._other_host(place.host, numbers)
        return self.url(other, self._sound(other, index, numbers), place.port)

    def original(self, host: int, index: int) -> int:
        """Return the page of the same host whose body a duplicated or similar page has."""
        return self._sound(host, index, stream(self.parameters.seed, "original", host, index))

    def _sound(self, host: int, index: int, numbers: Random) -> int:
        other = int(numbers.random() * self.tree.count)
        return 0 if other == index or self.fate(host, other) else other

    def _other_host(self, host: int, numbers: Random) -> int:
        count = self.parameters.hosts
        return (host + 1 + int(numbers.random() * (count - 1))) % count

    # the page at a URL

    def page(self, url: str, at: float = 0.0) -> GeneratedPage | None:
        """Return the page that a URL shows at a time, None if it shows no page.

        Redirects and lasting errors show none; temporary faults (429, 503) are ignored.
        """
        place = self.place(url)
        try:
            index, session = self.find(place)
        except ValueError:
            return self.traps.page(place)
        fate = self.fate(place.host, index)
        if fate not in SEEN or (not fate and self.absence(place, index, at)):
            return None
        shown = self.original(place.host, index) if fate else index
        page = self.show(place, shown, session, self.history.revision(place.host, shown, at))
        return with_word(page, index) if fate == "similar" else page

    def find(self, place: Location) -> tuple[int, str]:
        """Return number and session id of the page at a place, ValueError if there is none.

        The document in the frame of a page has a session of its own, "frame".
        """
        session = ""
        if place.query == _FRAME:
            index = self.tree.index(place.path)
            if self.script(place.host, index) == "framed":
                return index, "frame"
        if place.query == _MOVED and self.parameters.moving:
            index = self.tree.index(place.path)
            if not self.fate(place.host, index):
                return index, session
        if place.query:
            match = _SESSION.fullmatch(place.query)
            if not match or not self.traps.has("sessions", place.host):
                raise ValueError(f"no page has the query {place.query[:100]!r}")
            session = match[1]
        return self.tree.index(place.path), session

    def show(self, place: Location, index: int, session: str, revision: int) -> GeneratedPage:
        """Return a page of the tree as it is shown at a place, whatever its fate."""
        parameters, origin, host = self.parameters, place.origin, place.host
        section = self.tree.section(index)
        language = self._language(host, section)
        path, (inside, across) = self.path(index), self._links(place, index)
        links = inside + across + self.traps.links(place, index, path, session)
        numbers = stream(parameters.seed, "page", host, index, revision)
        kind = KINDS[SECTIONS[section % len(SECTIONS)]] if section >= 0 else HOME
        format_ = self.format(host, index)
        targets = [origin + target for target in inside or [path]]
        said = things(
            origin + path, kind, language, targets, parameters.triples if format_ else 0, numbers
        )
        name = said[0].facts[0].value if said and said[0].facts else title(language, numbers)
        text = [sentence(language, numbers) for _ in range(parameters.sentences)]
        feed = "/feed.xml" if parameters.feeds else ""
        if session == "frame":
            format_ = "jsonld" if format_ else ""
            return GeneratedPage(origin, path, language, name, format_, [], said, [])
        page = GeneratedPage(origin, path, language, name, format_, links, said, text, feed)
        script = self.script(host, index)
        return scripted(page, script, self._manager(place)) if script else page

    def script(self, host: int, index: int) -> str:
        """Return the kind of the scripts of a page, one for its section; "" for none, as roots have."""
        parameters, section = self.parameters, self.tree.section(index)
        key = (parameters.seed, "scripted", host, section)
        if not parameters.scripted or section < 0 or draw(*key) >= parameters.scripted:
            return ""
        return parameters.scripts[whole(*key, "kind") % len(parameters.scripts)]

    def _manager(self, place: Location) -> str:
        """Return the URL of the tag manager of a host: on the first host, and for that one on the second."""
        host = 0 if place.host else 1 % self.parameters.hosts
        return f"{self.origin(host, place.port)}/manager.js"

    def _language(self, host: int, section: int) -> str:
        """Choose the language of a section; roots are in the first one."""
        languages, seed = self.parameters.languages, self.parameters.seed
        choice = whole(seed, "language", host, section) if section >= 0 else 0
        return languages[choice % len(languages)]

    def format(self, host: int, index: int) -> str:
        """Choose the format of a page, "" for none.

        With skew s each host moves its share by s towards all or nothing, and so does each section with
        the share of its host; the mean over many hosts stays the same. The share s of a section's pages
        have the same format.
        """
        if not self._formats:
            return ""
        seed, skew, section = self.parameters.seed, self.parameters.skew, self.tree.section(index)
        share = total = self._formats[-1][1]
        for key in ((host,), (host, section)) if skew else ():
            share += skew * ((draw(seed, "rich", *key) < share) - share)
        if share < 1 and draw(seed, "carries", host, index) >= share:
            return ""
        alike = skew and draw(seed, "alike", host, index) < skew
        chance = total * draw(seed, "format", host, section if alike else f"page {index}")
        return next(name for name, limit in self._formats if chance < limit)

    # links

    def _links(self, place: Location, index: int) -> tuple[list[str], list[str]]:
        """Return the links of a page, each once: paths on its host, and URLs on others.

        Inside are home, parent, children and any other pages; across, every second is a root.
        """
        tree, parameters = self.tree, self.parameters
        numbers = stream(parameters.seed, "links", place.host, index)
        near = [0, tree.parent(index)] if index else []
        other = [int(numbers.random() * tree.count) for _ in range(parameters.links_inside)]
        paths = dict.fromkeys(map(self.path, [*near, *tree.children(index), *other]))
        paths.pop(self.path(index), None)
        urls: dict[str, None] = {}
        for _ in range(parameters.links_across if parameters.hosts > 1 else 0):
            host, chance = self._other_host(place.host, numbers), numbers.random() * 2 - 1
            page = int(chance * tree.count) if chance > 0 else 0
            urls[self.url(host, page, place.port)] = None
        return list(paths), list(urls)


def with_word(page: GeneratedPage, index: int) -> GeneratedPage:
    """Return a page with a word more than it has, which no other page says."""
    *sentences, last = page.sentences or [""]
    return replace(page, sentences=[*sentences, f"{last} Number-{index}".strip()])


def _limits(parameters: Parameters, names: tuple[str, ...]) -> list[tuple[str, float]]:
    """Return the names whose share is not 0, with the number that draws of each stay below."""
    shares = [(name, float(getattr(parameters, name))) for name in names]
    chosen = [(name, share) for name, share in shares if share]
    limits = accumulate(share for _, share in chosen)
    return [(name, limit) for (name, _), limit in zip(chosen, limits, strict=True)]


def loopback(number: int) -> str:
    """Return one of many loopback addresses: 127.0.0.1, 127.0.0.2, …"""
    return f"127.0.{number // 250}.{number % 250 + 1}"
