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
    from collections.abc import Mapping

    from rdfaspider.console.crawls.directories import DirectoryCrawl
    from rdfaspider.console.crawls.outside import ServedCrawl, StoredCrawl
    from rdfaspider.console.crawls.running import RunningCrawl

    Crawl = RunningCrawl | ServedCrawl | StoredCrawl


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

    async def overview(self, request: web.Request) -> web.Response:
        return as_json(await (await self._crawl(request)).overview())

    async def curves(self, request: web.Request) -> web.Response:
        return as_json(await (await self._crawl(request)).curves())

    async def urls(self, request: web.Request) -> web.Response:
        query = request.query
        crawl = await self._crawl(request)
        state, reason = query.get("state", ""), query.get("reason", "")
        return as_json(await crawl.urls(state, reason, _offset(query, "after")))

    async def log(self, request: web.Request) -> web.Response:
        return as_json(await (await self._crawl(request)).log(request.query.get("level", "INFO")))

    async def workers(self, request: web.Request) -> web.Response:
        return as_json(await (await self._crawl(request)).workers())

    async def hosts(self, request: web.Request) -> web.Response:
        query = request.query
        found = await (await self._crawl(request)).hosts.page(
            query.get("search", ""),
            query.get("sort", "waiting"),
            query.get("descending", "1") == "1",
            _offset(query),
        )
        return as_json(found)

    async def host(self, request: web.Request) -> web.Response:
        frontier = (await self._crawl(request)).frontier
        return as_json(await hostview.look(frontier, request.query.get("name", "")))

    async def tree(self, request: web.Request) -> web.Response:
        frontier = (await self._crawl(request)).frontier
        return as_json(await hostview.branches(frontier, request.query.get("under", "")))

    async def search(self, request: web.Request) -> web.Response:
        query = request.query
        words, type_ = query.get("words", ""), query.get("type", "")
        searches = (await self._crawl(request)).searches
        return as_json(await searches.search(words, type_, _offset(query)))

    async def browse(self, request: web.Request) -> web.Response:
        return as_json(
            await (await self._crawl(request)).searches.about(request.query.get("host", ""))
        )

    async def vocabulary(self, request: web.Request) -> web.Response:
        return as_json(
            await (await self._crawl(request)).searches.hosts(request.query.get("iri", ""))
        )

    async def thing(self, request: web.Request) -> web.Response:
        query = request.query
        searches = (await self._crawl(request)).searches
        return as_json(await searches.thing(query.get("iri", ""), query.get("page", "")))

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


def _offset(query: Mapping[str, str], name: str = "offset") -> int:
    offset = query.get(name, "0")
    if not (offset.isascii() and offset.isdecimal()):
        raise ValueError(f"The {name} must be a number.")
    return int(offset[:12])


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
        web.get("/api/crawl", answers.overview),
        web.get("/api/curves", answers.curves),
        web.get("/api/urls", answers.urls),
        web.get("/api/log", answers.log),
        web.get("/api/workers", answers.workers),
        web.get("/api/hosts", answers.hosts),
        web.get("/api/host", answers.host),
        web.get("/api/tree", answers.tree),
        web.get("/api/search", answers.search),
        web.get("/api/browse", answers.browse),
        web.get("/api/vocabulary", answers.vocabulary),
        web.get("/api/thing", answers.thing),
        web.get("/api/record", answers.record),
        web.post("/api/control/{name}", answers.control),
        web.get("/api/store", answers.store),
        web.get("/sparql", answers.sparql),
        web.post("/sparql", answers.sparql),
        web.get("/metrics", answers.metrics),
        web.get("/healthz", answers.health),
    ]
