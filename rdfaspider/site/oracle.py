"""What a crawl of the generated web must find, computed without fetching."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.site import robots
from rdfaspider.site.pages import GeneratedPage
from rdfaspider.site.pages.facts import Fact, full
from rdfaspider.site.parameters import COPIES, FORMATS, SEEN
from rdfaspider.site.web import Web

_XSD = "http://www.w3.org/2001/XMLSchema#"
_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


@dataclass(frozen=True, slots=True)
class Reachable:
    """What a crawl asks for and gets; the values are depths, seeds having depth 0.

    `fetched` are all URLs it asks for: pages, redirects, errors and broken-off bodies.
    `pages` are those of them that answer with a whole page, 200.
    `denied` are the URLs it meets but may not ask for under robots.txt.
    """

    fetched: dict[str, int] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)
    denied: dict[str, int] = field(default_factory=dict)


class Oracle:
    """Knows a web's URLs, links and triples. It ignores temporary faults (429, 503).

    Pages are as their server sends them or, if `rendered`, as a browser has made them when their scripts add
    nothing more and no one has pressed a button. A page whose script never ends is as it was sent.
    """

    def __init__(self, web: Web) -> None:
        self.web = web

    def exists(self, url: str, at: float = 0.0) -> bool:
        """Tell whether a URL answers with a whole page: no redirect, no error, not cut off."""
        return self.page(url, at) is not None

    def page(self, url: str, at: float = 0.0) -> GeneratedPage | None:
        """Return the page at a URL, None if it shows none (also for URLs that are malformed)."""
        try:
            return self.web.page(url, at)
        except ValueError:
            return None

    def urls(self, host: int = 0, origin: str = "", at: float = 0.0) -> Iterator[str]:
        """Yield every page of a host that exists at a time, breadth first, without traps and sessions.

        `origin` is that of a server at a given address, such as `http://127.0.0.1:8000`.
        """
        origin = origin or self.web.origin(host)
        for index in range(self.web.tree.count):
            if path := self.web.place_of(host, index, at):
                yield origin + path

    def left(self, url: str, at: float) -> float | None:
        """Return since when a page is not at its URL, None if it is there, or never was."""
        place = self.web.place(url)
        try:
            index, _ = self.web.find(place)
        except ValueError:
            return None
        if self.web.fate(place.host, index) or not self.web.absence(place, index, at):
            return None
        if place.query:  # it came back to its old URL
            return self.web.history.back(place.host, index)
        return self.web.history.left(place.host, index)

    def counts(self, *, rendered: bool = False) -> tuple[int, int]:
        """Count the pages of all hosts that exist, and their triples. It looks at every page."""
        pages = triples = 0
        if self.web.parameters.scripted:
            for host in range(self.web.parameters.hosts):
                for url in self.urls(host):
                    pages += 1
                    triples += len(self.triples(url, rendered=rendered))
            return pages, triples
        for host in range(self.web.parameters.hosts):
            for index in range(self.web.tree.count):
                fate = self.web.fate(host, index)
                if fate in SEEN:
                    shown = self.web.original(host, index) if fate else index
                    pages += 1
                    triples += self.web.parameters.triples * bool(self.web.format(host, shown))
        return pages, triples

    def original(self, url: str) -> tuple[str, str] | None:
        """Return the fate of a page, duplicated or similar, and the page whose body it has; else None."""
        place = self.web.place(url)
        index, _ = self.web.find(place)
        fate = self.web.fate(place.host, index)
        if fate not in COPIES:
            return None
        return fate, place.origin + self.web.path(self.web.original(place.host, index))

    def links(self, url: str, *, rendered: bool = False) -> list[str]:
        """Return the absolute URLs that a page links to, each once, in document order."""
        page = self.page(url)
        if page is None:
            return []
        links = page.links + (page.script.links if rendered and page.script else [])
        return [page.origin + link if link[0] == "/" else link for link in links]

    def script(self, url: str) -> str:
        """Return the kind of the script of a page, "" if it has none."""
        page = self.page(url)
        return page.script.kind if page and page.script else ""

    def redirect(self, url: str, at: float = 0.0) -> str | None:
        """Return the absolute URL that a URL redirects to at a time, None if it does not."""
        try:
            place = self.web.place(url)
        except ValueError:
            return None
        location = self.web.redirect(place, at)
        return place.origin + location if location and location[0] == "/" else location

    def reachable(
        self,
        seeds: Iterable[str],
        depth: int,
        *,
        agent: str = "*",
        obey_robots: bool = True,
        accept: Callable[[str], bool] | None = None,
        max_links: int = 100,
        rendered: bool = False,
    ) -> Reachable:
        """Crawl breadth first, `depth` links deep, following the first `max_links` of each page.

        A redirect leads on at the same depth. `accept` tells which links and redirects to follow
        (scope, traps); seeds are always asked for. `agent` is the name robots.txt is read for.
        """
        reach = Reachable()
        waiting = deque((url, 0) for url in seeds)
        while waiting:
            url, level = waiting.popleft()
            if url in reach.fetched or url in reach.denied:
                continue
            if obey_robots and not self._allowed(url, agent):
                reach.denied[url] = level
                continue
            reach.fetched[url] = level
            target = self.redirect(url)
            if target is not None:
                if accept is None or accept(target):
                    waiting.appendleft((target, level))  # before anything that is deeper
            elif self.exists(url):
                reach.pages[url] = level
                if level < depth:
                    links = filter(accept, self.links(url, rendered=rendered)[:max_links])
                    waiting.extend((link, level + 1) for link in links)
        return reach

    def _allowed(self, url: str, agent: str) -> bool:
        try:
            return robots.allows(self.web, url, agent)
        except ValueError:
            return True

    def triples(
        self,
        url: str,
        formats: Collection[str] = FORMATS,
        at: float = 0.0,
        *,
        rendered: bool = False,
    ) -> frozenset[Quad]:
        """Return the triples of a page at a time, in a graph named by its URL, of the formats asked for."""
        page = self.page(url, at)
        if page is None:
            return frozenset()
        said = [*page.things] if page.format in formats else []
        script = page.script
        if rendered and script and script.format in formats and script.kind != "consent":
            said += script.things
        graph = NamedNode(url)
        quads = []
        for thing in said:
            subject = NamedNode(thing.subject)
            quads.append(Quad(subject, _TYPE, NamedNode(full(thing.type)), graph))
            quads += (
                Quad(subject, NamedNode(full(fact.predicate)), _term(fact, page.language), graph)
                for fact in thing.facts
            )
        return frozenset(quads)


def _term(fact: Fact, language: str) -> NamedNode | Literal:
    if fact.shape == "iri":
        return NamedNode(fact.value)
    if fact.shape == "text":
        return Literal(fact.value, language=language)
    return Literal(fact.value, datatype=NamedNode(_XSD + fact.shape))
