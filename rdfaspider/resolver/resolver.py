"""The resolver that Twisted and the download handler ask before they connect."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import IgnoreRequest, UsageError
from twisted.internet import address as twisted
from twisted.internet.interfaces import IHostnameResolver, IHostResolution
from zope.interface import implementer  # type: ignore[import-untyped]

from rdfaspider import clock
from rdfaspider.compat import CannotResolveHostError
from rdfaspider.resolver.addresses import literal
from rdfaspider.resolver.cache import Cache
from rdfaspider.resolver.directory import Directory, look_up
from rdfaspider.resolver.guard import Guard, named_servers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy.crawler import Crawler
    from twisted.internet.base import ReactorBase

    from rdfaspider.resolver.addresses import Address


class ForbiddenAddressError(IgnoreRequest):
    """A host is, or resolves to, an address that must not be connected to."""

    problem = "its address is not public, see RESOLVER_ALLOW"

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(
            f"{host} has a {reason} address. If it is a server of yours, add it to RESOLVER_ALLOW."
        )
        self.reason = reason


@implementer(IHostResolution)
class _Resolution:
    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None:
        raise NotImplementedError  # as in Twisted: a look-up cannot be cancelled


@implementer(IHostnameResolver)
class Resolver:
    """Resolves hosts, and withholds the addresses that the guard refuses.

    The addresses that it returns are connected to without another look-up, so a name whose address
    changes cannot get past it. Addresses in URLs come here like names.
    """

    # A subclass may replace it.
    look_up = staticmethod(look_up)

    def __init__(self, reactor: ReactorBase | None, directory: Directory) -> None:
        """`reactor` is None for a resolver that is asked directly and never installed."""
        self.reactor = reactor
        self.directory = directory
        # Whether the last request went through a proxy.
        self.uses_proxy = False

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: ReactorBase) -> Self:
        settings = crawler.settings
        try:
            directory = Directory(
                Guard(settings.getlist("RESOLVER_ALLOW")),
                Cache(
                    settings.getint("RESOLVER_CACHE_NAMES"),
                    settings.getfloat("RESOLVER_HIT_SECONDS"),
                    settings.getfloat("RESOLVER_MISS_SECONDS"),
                    settings.getfloat("RESOLVER_STALE_SECONDS"),
                ),
                threads=settings.getint("RESOLVER_THREADS"),
                look_up=cls.look_up,
                clock=clock.now,
                call_from_thread=reactor.callFromThread,
            )
        except ValueError as error:
            raise UsageError(f"A RESOLVER_ setting is wrong: {error}") from error
        return cls(reactor, directory)

    def install_on_reactor(self) -> None:
        assert self.reactor is not None
        self.reactor.installNameResolver(self)  # type: ignore[arg-type]

    # --- for the crawl ---

    def allow_seeds(self, urls: Iterable[str]) -> None:
        """Allow the servers on this machine or network that the user named as seeds."""
        for entry in named_servers(urls):
            self.directory.guard.allow(entry)

    def counts(self) -> dict[str, int]:
        """Return the counters, by the name of their stat without `resolver/`."""
        return dict(self.directory.counts)

    # --- for the download handler ---

    def check_target(self, host: str, port: int) -> None:
        """Raise ForbiddenAddressError for a host that names a refused address without a look-up.

        This is all that can be checked if a proxy resolves the host.
        """
        if reason := self.directory.refusal(host, port, literal(host)):
            self.directory.counts[f"refused/{reason}"] += 1
            raise ForbiddenAddressError(host, reason)

    async def resolve(
        self, host: str, port: int, seconds: float | None = None, *, is_trusted: bool = False
    ) -> list[Address]:
        """Return the addresses to connect to; all of them if the host `is_trusted`.

        Raise ForbiddenAddressError when all are refused, CannotResolveHostError when there are none,
        TimeoutError when they are not known within `seconds`.
        """
        future: asyncio.Future[tuple[Address, ...]] = asyncio.get_running_loop().create_future()

        def deliver(found: tuple[Address, ...]) -> None:
            if not future.done():  # else the download was given up
                future.set_result(found)

        self.directory.find(host, deliver)
        if not future.done():
            async with asyncio.timeout(seconds):
                await future
        found = future.result()
        admitted = list(found) if is_trusted else self.directory.admit(host, port, found)
        if found and not admitted:
            raise ForbiddenAddressError(host, self.directory.refusal(host, port, found))
        if not found:
            raise CannotResolveHostError(f"{host} has no address.")
        return admitted

    def resolveHostName(
        self,
        resolutionReceiver: Any,
        hostName: str,
        portNumber: int = 0,
        addressTypes: Sequence[type] | None = None,
        transportSemantics: str = "TCP",
    ) -> _Resolution:
        """Do what IHostnameResolver asks; a host whose addresses are all refused has none."""
        resolution = _Resolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)

        def deliver(found: tuple[Address, ...]) -> None:
            for address in self.directory.admit(hostName, portNumber, found):
                answer = _twisted(address, portNumber)
                if addressTypes is None or type(answer) in addressTypes:
                    resolutionReceiver.addressResolved(answer)
            resolutionReceiver.resolutionComplete()

        self.directory.find(hostName, deliver)
        return resolution


def installed_resolver() -> Resolver:
    """Return the reactor's resolver; raise RuntimeError if it is not ours."""
    from twisted.internet import reactor

    resolver = getattr(reactor, "nameResolver", None)
    if not isinstance(resolver, Resolver):
        raise RuntimeError(
            "Nothing is fetched without the address guard: set TWISTED_DNS_RESOLVER to"
            " rdfaspider.resolver.Resolver and crawl with scrapy crawl or a CrawlerProcess."
        )
    return resolver


def _twisted(address: Address, port: int) -> twisted.IPv4Address | twisted.IPv6Address:
    if isinstance(address, IPv4Address):
        return twisted.IPv4Address("TCP", str(address), port)
    return twisted.IPv6Address("TCP", str(address), port)
