"""The addresses of the console, and what each answers.

/                 the pages: the crawl, /hosts, /search, /thing, /query
/static/…         their files
/api/…            what they show, as JSON; POST /api/control/NAME does something
/sparql           the SPARQL endpoint
/metrics          the counters for Prometheus
/healthz          says that the process answers, and nothing else
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from rdfaspider.console.crawls import metrics
from rdfaspider.console.hosts import host as hostview
from rdfaspider.console.server import as_json, file_routes, page

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from rdfaspider.console.crawls.directories import DirectoryCrawl
    from rdfaspider.console.crawls.outside import ServedCrawl, StoredCrawl
    from rdfaspider.console.crawls.running import RunningCrawl

    Crawl = RunningCrawl | ServedCrawl | StoredCrawl
    Query = Mapping[str, str]
    Answer = Callable[[Crawl, Query], Awaitable[Any]]


class Routes:
    """Answers for crawls by name; a request names one, unless there is only one."""

    def __init__(self, crawls: Mapping[str, Crawl | DirectoryCrawl]) -> None:
        self._crawls = crawls

    async def _crawl(self, request: web.Request) -> Crawl:
        name = request.query.get("crawl") or next(iter(self._crawls), "")
        if name not in self._crawls:
            raise ValueError(f"There is no crawl {name[:100]}.")
        return await self._crawls[name].current()

    async def crawls(self, request: web.Request) -> web.Response:
        names = [{"name": name, "directory": each.directory} for name, each in self._crawls.items()]
        return as_json(names)

    def api(self, answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Return a handler that answers with JSON of the crawl that a request names."""

        async def handler(request: web.Request) -> web.Response:
            return as_json(await answer(await self._crawl(request), request.query))

        return handler

    async def record(self, request: web.Request) -> web.Response:
        """Answer by an archived page as text: a browser must not take it for a page of the console."""
        query = request.query
        searches = (await self._crawl(request)).searches
        body = await searches.record(query.get("url", ""), query.get("date", ""))
        return web.Response(body=body, content_type="text/plain", charset="utf-8")

    async def control(self, request: web.Request) -> web.Response:
        crawl = await self._crawl(request)
        try:
            said = msgspec.json.decode(await request.read() or b"{}", type=dict[str, Any])
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise ValueError("This needs a JSON object.") from None
        sentence = await crawl.controls.use(request.match_info["name"], said)
        return as_json({"said": sentence})

    async def store(self, request: web.Request) -> web.Response:
        return as_json((await self._crawl(request)).endpoint.about())

    async def sparql(self, request: web.Request) -> web.StreamResponse:
        return await (await self._crawl(request)).endpoint.answer(request)

    async def metrics(self, request: web.Request) -> web.Response:
        text = metrics.exposition((await self._crawl(request)).counters)
        return web.Response(body=text.encode(), headers={"Content-Type": metrics.TYPE})

    async def health(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")


def _offset(query: Query, name: str = "offset") -> int:
    offset = query.get(name, "0")
    if not (offset.isascii() and offset.isdecimal()):
        raise ValueError(f"The {name} must be a number.")
    return int(offset[:12])


def _hosts(crawl: Crawl, query: Query) -> Awaitable[Any]:
    is_descending = query.get("descending", "1") == "1"
    sort = query.get("sort", "waiting")
    return crawl.hosts.page(query.get("search", ""), sort, is_descending, _offset(query))


def _urls(crawl: Crawl, query: Query) -> Awaitable[Any]:
    return crawl.urls(query.get("state", ""), query.get("reason", ""), _offset(query, "after"))


def _search(crawl: Crawl, query: Query) -> Awaitable[Any]:
    return crawl.searches.search(query.get("words", ""), query.get("type", ""), _offset(query))


# What is answered with JSON, by the last part of its address.
_API: dict[str, Answer] = {
    "crawl": lambda crawl, query: crawl.overview(),
    "curves": lambda crawl, query: crawl.curves(),
    "urls": _urls,
    "log": lambda crawl, query: crawl.log(query.get("level", "INFO")),
    "workers": lambda crawl, query: crawl.workers(),
    "hosts": _hosts,
    "host": lambda crawl, query: hostview.look(crawl.frontier, query.get("name", "")),
    "tree": lambda crawl, query: hostview.branches(crawl.frontier, query.get("under", "")),
    "search": _search,
    "browse": lambda crawl, query: crawl.searches.about(query.get("host", "")),
    "vocabulary": lambda crawl, query: crawl.searches.hosts(query.get("iri", "")),
    "thing": lambda crawl, query: crawl.searches.thing(query.get("iri", ""), query.get("page", "")),
}


def routes_of(crawls: Mapping[str, Crawl | DirectoryCrawl]) -> list[web.RouteDef]:
    """Return all routes."""
    answers = Routes(crawls)
    return [
        web.get("/", page("uplot")),
        web.get("/hosts", page()),
        web.get("/search", page()),
        web.get("/thing", page()),
        web.get("/query", page("yasgui")),
        *file_routes(),
        web.get("/api/crawls", answers.crawls),
        *(web.get(f"/api/{name}", answers.api(answer)) for name, answer in _API.items()),
        web.get("/api/record", answers.record),
        web.post("/api/control/{name}", answers.control),
        web.get("/api/store", answers.store),
        web.get("/sparql", answers.sparql),
        web.post("/sparql", answers.sparql),
        web.get("/metrics", answers.metrics),
        web.get("/healthz", answers.health),
    ]
