"""Which hosts are asked through a proxy, which looks up their names itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class Proxies:
    """The proxies of the environment, as Scrapy reads it: http_proxy, https_proxy, no_proxy.

    Which scheme a host will be asked by is not known beforehand, so one proxy is enough. Hosts that are then
    asked without it are placed by the address that answers.
    """

    def __init__(self, *, are_there: bool) -> None:
        self.are_there = are_there

    @classmethod
    def of(cls, settings: BaseSettings) -> Self:
        is_enabled = settings.getbool("HTTPPROXY_ENABLED")
        return cls(are_there=is_enabled and not {"http", "https"}.isdisjoint(getproxies()))

    def serve(self, host: str) -> bool:
        return self.are_there and not proxy_bypass(host)
