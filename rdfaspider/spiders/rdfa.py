"""The spider: seeds in, one Page out for every URL that was taken."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from time import time
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, Spider, signals
from scrapy.exceptions import IgnoreRequest, UsageError

from rdfaspider.compat import DownloadCancelledError, scheduler_of
from rdfaspider.fetchmeta import meta_of
from rdfaspider.focus.parameters import IdleParameters
from rdfaspider.frontier import is_begun, is_shared, services_of
from rdfaspider.frontier.limits import MAX_REDIRECTS
from rdfaspider.items import Page
from rdfaspider.middlewares.cacheheaders import fresh_seconds, is_conditional, validators_of
from rdfaspider.middlewares.contenttype import header_text, tdm_of, unwanted
from rdfaspider.middlewares.problems import problem_of
from rdfaspider.middlewares.robots import Denied
from rdfaspider.resolver import ForbiddenAddressError, installed_resolver
from rdfaspider.resolver.guard import named_servers
from rdfaspider.robots.feeds import is_feed, mail_date, read_feed
from rdfaspider.scheduler import uses_frontier
from rdfaspider.settings.identity import introduce
from rdfaspider.settings.places import frontier_url, has_pushed_seeds
from rdfaspider.signals import seed_failed
from rdfaspider.spiders.arguments import check_arguments, read_depth
from rdfaspider.spiders.scope import DomainHosts, Scope, read_filters
from rdfaspider.spiders.seeds import Seeds, read_hubs, read_seeds
from rdfaspider.urls import Filters, host, redirect_target, to_iri, unfit_authority
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from rdfaspider.frontier import Beside

# Hosts out of the crawl that are recorded of a page: more than real pages link to.
_MOST_OUTSIDE = 500


class RdfaSpider(Spider):
    """Crawls from `seeds` to `depth` links away, within `scope`.

    seeds  URL[,URL…], a file with one URL per line, - for standard input, or crawl:DIRECTORY for the
           pages of an earlier crawl; may be left out to resume. Seeds in the file of FRONTIER_TOPICS are
           added
    depth  how many links away from a seed a page may be; FRONTIER_DEPTH when left out
    scope  host: the hosts of the seeds (default); domain: their registered domains; all: the web

    A crawl that is resumed keeps its scope, and its depth unless a smaller one is given.
    """

    name = "rdfa"

    def __init__(
        self,
        seeds: str | None = None,
        depth: str | None = None,
        scope: str | None = None,
        **kwargs: Any,
    ) -> None:
        hubs = kwargs.pop("hubs", {})
        may_come_later = kwargs.pop("seeds_may_come_later", False) or bool(hubs)
        super().__init__(**kwargs)
        given = Seeds((), 0) if seeds is None and may_come_later else read_seeds(seeds)
        self.seeds = given.with_hubs(hubs)
        self.depth = read_depth(depth)
        self._wanted_scope = scope
        self.scope = Scope(scope or "host", self.seeds.urls)
        self.filters = Filters()
        self.max_links = 0
        self.keeps_graph = False
        self.reads_feeds = False
        self.domain_hosts: DomainHosts | None = None
        self._excludes: Callable[[str], bool] = lambda url: False
        # The pages of a site share most of their links.
        self._judged = lru_cache(16_384)(self._judge)
        self._admitted = lru_cache(4_096)(self._admit)
        # Servers on this machine or network that the user named, as URLs.
        self._servers = set(_named(self.seeds.urls))
        self._trusts_memory = True
        self._parameters = IdleParameters()
        self._drops_sessions = True
        # Whether something was learnt that other workers and later runs should know.
        self.has_learnt = False
        # Statuses that `parse` gets besides 200 to 299.
        self._statuses: Container[int] = ()
        # Statuses that may be different at the next try, as may a failure without any.
        self._transient: Container[int] = ()
        # The arguments of the spider.
        self.given: dict[str, str] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        check_arguments(cls, kwargs)
        given = dict(kwargs)
        has_begun = not uses_frontier(crawler.settings) or is_begun(frontier_url(crawler.settings))
        if has_begun or has_pushed_seeds(crawler.settings):
            kwargs["seeds_may_come_later"] = True
        if not crawler.settings["CREW_JOBDIR"]:  # else the crawl that started this worker adds them
            kwargs["hubs"] = read_hubs(crawler.settings["FRONTIER_TOPICS"])
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.given = given
        spider.filters = read_filters(crawler.settings)
        spider.max_links = crawler.settings.getint("EXTRACT_MAX_LINKS")
        spider.keeps_graph = crawler.settings.getbool("LINKGRAPH")
        spider.reads_feeds = crawler.settings.getbool("FRONTIER_REVISIT")
        spider._drops_sessions = crawler.settings.getbool("URLS_DROP_SESSIONS")
        spider._statuses = _statuses_for(cls, crawler.settings)
        spider._transient = frozenset(map(int, crawler.settings.getlist("RETRY_HTTP_CODES")))
        if most := crawler.settings.getint("FRONTIER_DOMAIN_HOSTS"):
            spider.domain_hosts = DomainHosts(most)
        introduce(crawler.settings, spider.seeds.urls)
        # Anybody who can reach the service of a shared crawl can change its notes.
        url = frontier_url(crawler.settings)
        spider._trusts_memory = not is_shared(url) or all(
            service.startswith("unix:") for service in services_of(url)
        )
        crawler.signals.connect(spider.allow_seeds, signals.spider_opened)
        return spider

    def allow_seeds(self) -> None:
        """Allow connections to the user's own servers that are named as seeds."""
        installed_resolver().allow_seeds(self._servers)

    def _allow(self, servers: Iterable[str]) -> None:
        if new := set(servers) - self._servers:
            installed_resolver().allow_seeds(new)
            self._servers |= new

    def welcome(self, url: str) -> bool:
        """Accept a seed that came after the start; tell whether it may be crawled."""
        if not self.settings["POLITENESS_CONTACT"]:
            try:
                introduce(self.settings, [url])
            except UsageError as error:
                self.logger.error("Skipped the seed %s: %s", url, error)
                return False
        try:
            # Anybody who can reach Redis can push seeds, so they do not allow the user's own servers.
            installed_resolver().check_target(*host_and_port(url))
        except ForbiddenAddressError as error:
            self.logger.error("The seed %s will be denied: %s", url, error)
        if self.scope.grow(url):
            self._judge_anew()
        return True

    @property
    def memory(self) -> bytes:
        """Return what is needed to resume: the scope, which moved seeds may have widened, parameters that
        choose no page, and the user's own servers, unless others could change them."""
        known = {  # lists, because a shared frontier merges the memories of its workers
            "kind": [self.scope.kind],
            "scope": sorted(self.scope.members),
            "parameters": self.filters.idle,
        }
        if self._trusts_memory:
            known["servers"] = sorted(self._servers)
        return json.dumps(known).encode()

    def recall(self, memory: bytes) -> None:
        """Resume with the scope of the crawl or of another worker; UsageError if another was asked for."""
        known = json.loads(memory)
        kind, *_ = known.get("kind", [self.scope.kind])
        if self._wanted_scope not in (None, kind):
            raise UsageError(
                f"This crawl was started with scope={kind}, and links outside of it were not kept: to"
                f" crawl with scope={self._wanted_scope}, start a new one with -s JOBDIR=DIRECTORY."
            )
        if kind != self.scope.kind:
            self.scope = Scope(kind, self.seeds.urls)
        self.scope.members.update(known["scope"])
        for idle in known.get("parameters", ()) if self._drops_sessions else ():
            self.filters.drop(idle)
        if self._trusts_memory:
            self._allow(known.get("servers", ()))
        self._judge_anew()

    async def start(self) -> AsyncIterator[Any]:
        """Add the seeds to the frontier; subclasses may yield requests, to log in for example."""
        await scheduler_of(self.crawler).add_seeds(self.seeds.urls)
        return
        yield  # makes it a generator

    def visited(self, response: Response, **kwargs: Any) -> Any:
        """Pass to `parse` the answers that it would get in any Scrapy project; make a Page of each other."""
        if 200 <= response.status < 300 or response.status in self._statuses:
            return self.parse(response, **kwargs)
        return RdfaSpider.parse(self, response, **kwargs)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Page]:
        assert response.request is not None
        page = self._page(response.request)
        page.status = status = response.status
        page.etag, page.last_modified = validators_of(response.headers)
        page.fresh = fresh_seconds(response.headers)
        if status == 304 and page.visit is not None and is_conditional(response.request.headers):
            page.reason = "unchanged"
        elif status < 400 and "sitemap" in response.request.meta:
            # Its pages are links; a redirect leads to another sitemap.
            meta = meta_of(response.request)
            page.reason, page.links = "sitemap", meta["sitemap"]
            page.dates = meta.get("sitemap_dates", [])
        elif 300 <= status < 400 and "Location" in response.headers:
            self._redirect(page, header_text(response.headers, "Location"))
        elif response.url != page.url and not self._is_same(response.url, page.url):
            # A download handler has followed redirects; where they end has a turn of its own.
            self._redirect(page, response.url)
        elif not 200 <= status < 300:
            # A server may send any number, but the number of counters is limited.
            page.outcome, page.reason = "failed", str(status) if 100 <= status < 600 else "status"
            page.transient = status in self._transient
            self._warn(page, f"the server answers {status}")
        elif self.reads_feeds and is_feed(
            header_text(response.headers, "Content-Type"), response.body
        ):
            found = read_feed(response.body, page.url)
            page.reason, page.links = "feed", [url for url, _ in found]
            page.dates = [(url, date) for url, date in found if date is not None]
        elif unwanted(response.headers):
            page.reason = "type"
        else:
            page.content_type = header_text(response.headers, "Content-Type")
            tags = response.headers.getlist("X-Robots-Tag")
            page.robots_header = [tag.decode("latin-1") for tag in tags]
            page.tdm_header = tdm_of(response.headers)
            page.tdm_file = meta_of(response.request).get("tdm", ("", ""))
            page.no_training = meta_of(response.request).get("no_training", False)
            page.body = response.body
            page.modified = int(mail_date(response.headers.get("Last-Modified")) or 0)
        yield page

    def failed(self, failure: Failure) -> Iterator[Page]:
        page = self._page(failure.request)  # type: ignore[attr-defined]
        error = failure.value
        assert error is not None
        if getattr(error, "postpones", False):
            page.outcome, page.reason = "postponed", type(error).__name__.lower()
        elif isinstance(error, Denied):
            page.outcome, page.reason = "denied", str(error)
            self._warn(
                page, "robots.txt disallows it" if page.reason == "robots" else "no robots.txt"
            )
        elif isinstance(error, ForbiddenAddressError):
            page.outcome, page.reason = "denied", "address"
            self._warn(page, error.problem)
        else:
            # Too many bytes, packed or unpacked: the next try would not help.
            too_large = isinstance(error, IgnoreRequest | DownloadCancelledError)
            page.outcome = "failed"
            page.reason = "size" if too_large else type(error).__name__
            page.transient = not too_large
            self._warn(page, problem_of(error))
        yield page

    def follow(self, page: Page) -> tuple[list[str], list[int]]:
        """Return the links of a page that the crawl may follow, in the form to fetch, and their places
        among the page's links.

        A seed may have moved anywhere. If its redirects end at a page, the scope grows by that page. For the
        link graph, the others are left with the page (`beside`).
        """
        is_seed = page.depth == 0
        if is_seed and page.hops and page.is_read and self.scope.grow(page.url):
            self._judge_anew()
        if page.is_read and self._drops_sessions:
            self._learn(page)
        may_leave = is_seed and page.reason == "redirect"
        # Sitemaps have another limit.
        most = self.max_links if page.is_read and self.max_links else len(page.links)
        rejected: Counter[str] = Counter()
        outside: Counter[str] = Counter()
        links: list[str] = []
        places: list[int] = []
        # A server that redirects to the page itself wants what cleaning drops, such as a session id.
        itself = self._admitted(page.url)[0] if page.reason == "redirect" else None
        # One by one, because after the most that may be followed no other is looked at.
        for place, (url, reason) in enumerate(map(self._judged, page.links)):
            if url == itself:
                url = page.links[place]
            if reason and not (
                (may_leave and reason == "scope")
                # The crawl already visits the host of this page.
                or (reason == "domain_hosts" and host(url) == host(page.url))
            ):
                rejected[reason] += 1
                if self.keeps_graph:
                    outside[host(url)] += 1
            else:
                links.append(url)
                places.append(place)
                if len(links) == most:
                    if left := len(page.links) - place - 1:
                        rejected["links"] += left
                    break
        for reason, count in rejected.items():
            self.crawler.stats.inc_value(f"urls/rejected/{reason}", count)
        if self.keeps_graph:
            page.beside = self._beside(page, outside)
        return links, places

    def _learn(self, page: Page) -> None:
        """Drop the parameters of which this page shows that they choose none on its host."""
        for name in self._parameters.learn(page.url, page.links, page.body):
            if self.filters.drop(f"{host(page.url)} {name}"):
                self.has_learnt = True
                self._judge_anew()
                words = "The parameter %s of %s chooses no page: it is dropped from now on."
                self.logger.info(words, name, host(page.url))

    def _beside(self, page: Page, outside: Counter[str]) -> Beside:
        """Return what a page has beside the links to follow; `outside` counts those that are rejected.

        These are not fetched, so their hosts do not count among those of a domain.
        """
        beside: Beside = {}
        if page.reason in ("sitemap", "feed"):
            beside["unlinked"] = len(page.links)
            return beside
        nofollow = []
        most = self.max_links or len(page.nofollow)
        for url, reason in map(self._admitted, page.nofollow[:most]):
            if reason:
                outside[host(url)] += 1
            else:
                nofollow.append(url)
        if nofollow:
            beside["nofollow"] = nofollow
        if page.canonical:
            url, reason = self._admitted(page.canonical)
            if not reason and url != page.url:
                beside["canonical"] = url
        if outside:
            beside["outside"] = _bounded(outside)
        if page.media:
            beside["media"] = page.media
        return beside

    def may_follow(self, url: str) -> bool:
        """Tell whether a URL that nobody linked to is within the crawl."""
        admitted, reason = self._judged(url)
        return not reason and admitted == url

    def _judge(self, link: str) -> tuple[str, str]:
        """Return a link in the form to fetch, and an empty reason or why it is rejected."""
        url, reason = self._admit(link)
        if not reason and self.domain_hosts is not None and self.scope.kind != "host":
            reason = "" if self.domain_hosts.admits(host(url)) else "domain_hosts"
        return url, reason

    def _admit(self, link: str) -> tuple[str, str]:
        """Return the same, whatever hosts the crawl visits already."""
        url, reason = self.filters.admit(link)
        if not reason and self._excludes(url):
            return url, "excluded"
        return url, reason or unfit_authority(url) or ("" if url in self.scope else "scope")

    @property
    def excludes(self) -> Callable[[str], bool]:
        """Tell of a URL whether the user has excluded it while the crawl runs."""
        return self._excludes

    @excludes.setter
    def excludes(self, excludes: Callable[[str], bool]) -> None:
        self._excludes = excludes
        self._judge_anew()

    def _judge_anew(self) -> None:
        """Forget judgements, because the scope or the exclusions have grown."""
        self._judged.cache_clear()
        self._admitted.cache_clear()

    def _page(self, request: Request) -> Page:
        meta = meta_of(request)
        # A request of `scrapy parse` has neither.
        return Page(
            request.url,
            meta.get("depth", 0),
            meta.get("number", -1),
            hops=meta.get("hops", 0),
            visit=meta.get("visit"),
            fetched=time(),
            latency=meta.get("download_latency", 0.0),
            exchange=meta.pop("exchange", None),
        )

    def _warn(self, page: Page, problem: str) -> None:
        """Report at once if the page that cannot be fetched is a seed."""
        if page.depth == 0:
            self.crawler.signals.send_catch_log(seed_failed, url=page.url, problem=problem)

    def _is_same(self, url: str, other: str) -> bool:
        """Tell whether two URLs differ only in what cleaning drops, in escapes, or in the user."""
        try:
            url = redirect_target(url, other)
        except ValueError:
            return False
        return to_iri(self._admitted(url)[0]) == to_iri(self._admitted(other)[0])

    def _redirect(self, page: Page, location: str) -> None:
        """Make the page a redirect to `location`, or a failure if that leads nowhere or too far."""
        page.reason = "redirect"
        if page.hops >= MAX_REDIRECTS:
            page.outcome, page.reason = "failed", "redirects"
            self._warn(page, f"more than {MAX_REDIRECTS} redirects follow")
            return
        try:
            target = redirect_target(location, page.url)
        except ValueError:
            page.outcome = "failed"
            self._warn(page, "it redirects to nowhere")
            return
        if target == page.url:  # as where it wants a cookie
            page.outcome, page.reason = "failed", "redirects"
            self._warn(page, "it redirects to itself")
        else:
            page.links = [target]


def _statuses_for(spider: type[Spider], settings: BaseSettings) -> Container[int]:
    """Return the statuses that a spider wants besides 200 to 299, as Scrapy reads them."""
    if settings.getbool("HTTPERROR_ALLOW_ALL"):
        return range(1000)
    allowed = getattr(spider, "handle_httpstatus_list", settings.getlist("HTTPERROR_ALLOWED_CODES"))
    return frozenset(map(int, allowed))


def _bounded(outside: Counter[str]) -> dict[str, int]:
    """Return the hosts with the most links, and the sum of all others under a name that no host has."""
    if len(outside) <= _MOST_OUTSIDE:
        return dict(outside)
    bounded = dict(outside.most_common(_MOST_OUTSIDE))
    bounded["others.invalid"] = outside.total() - sum(bounded.values())
    return bounded


def _named(urls: Iterable[str]) -> list[str]:
    """Return the servers on this machine or network among those of seeds, as URLs."""
    return [f"http://{server}/" for server in named_servers(urls)]
