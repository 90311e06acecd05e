"""Makes sure that nothing is fetched past the address guard, keeps addresses, and reports counters."""

from __future__ import annotations

from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.request import getproxies, proxy_bypass

from scrapy import signals
from scrapy.exceptions import UsageError
from scrapy.utils.misc import load_object

from rdfaspider import clock
from rdfaspider.compat import create_looping_call
from rdfaspider.resolver import repository
from rdfaspider.resolver.resolver import Resolver, installed_resolver
from rdfaspider.signals import hosts_unplaced
from rdfaspider.urls.own import server_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from rdfaspider.resolver.addresses import Address

logger = getLogger(__name__)

# Seconds between two checks for names that wait behind slow ones.
_LOOK_AGAIN = 0.2
# Seconds after which addresses are written again: a kill loses as many.
_SAVE = 60.0

# What to use instead of a handler that is not behind the guard.
_GUARDED = "rdfaspider.downloader.handler.GuardedHttpDownloadHandler"

# They name no host.
_HARMLESS = frozenset(("data",))


class ResolverExtension:
    """Refuses to start a crawl that is not guarded; tells at which servers hosts are; reports counters.

    `has_proxy` tells whether the environment names a proxy, for http or https: which of the two a host
    will need is not known in advance. A host that is then fetched without one is placed by the address
    that answers. `path` is the file of addresses, None if the crawl has no directory.
    """

    def __init__(self, stats: StatsCollector, path: Path | None, *, has_proxy: bool) -> None:
        self.stats = stats
        self.has_proxy = has_proxy
        self.path = path
        self._reporting = create_looping_call(self._report)
        self._looking = create_looping_call(self._look_again)
        self._saving = create_looping_call(self._save)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        check_wiring(crawler.settings)
        is_enabled = crawler.settings.getbool("HTTPPROXY_ENABLED")
        has_proxy = is_enabled and not {"http", "https"}.isdisjoint(getproxies())
        jobdir = crawler.settings["JOBDIR"]
        path = Path(jobdir) / repository.NAME if jobdir else None
        extension = cls(crawler.stats, path, has_proxy=has_proxy)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        crawler.signals.connect(extension.hosts_unplaced, hosts_unplaced)
        return extension

    def spider_opened(self) -> None:
        self._reporting.start(1.0)
        self._looking.start(_LOOK_AGAIN, now=False)
        if self.path is not None:
            directory = installed_resolver().directory
            if count := repository.read(self.path, directory.cache, clock.now()):
                directory.counts["kept"] += count
            self._saving.start(_SAVE, now=False)

    def spider_closed(self) -> None:
        if self._looking.running:
            self._looking.stop()
        if self._reporting.running:
            self._reporting.stop()
            self._report()
        if self._saving.running:
            self._saving.stop()
            self._save()

    def hosts_unplaced(
        self, hosts: Iterable[tuple[int, str]], place: Callable[[int, str], None]
    ) -> None:
        """Look hosts up before they are needed; the first address is the one to connect to.

        Behind a proxy there is none: each host counts as a separate server.
        """
        for host, name in hosts:
            if self._is_proxied(name):
                place(host, "")
            else:
                self._look_up(host, name, place)

    def _is_proxied(self, name: str) -> bool:
        if self.has_proxy:
            return not proxy_bypass(name)
        # A middleware may choose proxies that are not in the environment.
        return installed_resolver().uses_proxy

    def _look_up(self, host: int, name: str, place: Callable[[int, str], None]) -> None:
        def deliver(found: tuple[Address, ...]) -> None:
            place(host, server_of(found[0]) if found else "")

        installed_resolver().directory.find(name, deliver)

    def _look_again(self) -> None:
        installed_resolver().directory.look_again()

    def _save(self) -> None:
        if self.path is not None and self.path.parent.is_dir():  # scrapy shell makes none
            repository.write(self.path, installed_resolver().directory.cache)

    def _report(self) -> None:
        for name, count in installed_resolver().counts().items():
            self.stats.set_value(f"resolver/{name}", count)


def check_wiring(settings: BaseSettings) -> None:
    """Raise UsageError if a download would bypass the guard; warn if the user wants it so."""
    if not issubclass(load_object(settings["TWISTED_DNS_RESOLVER"]), Resolver):
        raise UsageError("TWISTED_DNS_RESOLVER is not rdfaspider.resolver.Resolver.")
    unguarded: dict[str, list[str]] = {}
    for scheme, path in settings.getwithbase("DOWNLOAD_HANDLERS").items():
        if path is None or scheme in _HARMLESS:
            continue
        try:
            handler = load_object(path)
        except (ImportError, NameError, ValueError) as error:
            raise UsageError(
                f"DOWNLOAD_HANDLERS has {path} for {scheme}, which is not there ({error}): leave it"
                f" out, or use {_GUARDED}."
            ) from error
        if not getattr(handler, "is_guarded", False):
            unguarded.setdefault(handler.__name__, []).append(scheme)
    for name, schemes in unguarded.items():
        finding = (
            f"DOWNLOAD_HANDLERS has {name} for {' and '.join(schemes)}, which bypasses the"
            " address guard"
        )
        if not settings.getbool("RESOLVER_ALLOW_UNGUARDED"):
            raise UsageError(
                f"{finding}: leave it out, or use {_GUARDED}, or a handler with is_guarded"
                " (docs/resolver.md), or set RESOLVER_ALLOW_UNGUARDED."
            )
        if not settings["CREW_JOBDIR"]:  # else the crawl that started this worker has said so
            logger.warning(
                "%s: a page can send it to private addresses, and only its own limits of size and time"
                " apply.",
                finding,
            )
