"""What a page may ask for, and the answers that pages share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from time import monotonic
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

# What may change the data of a page. A style sheet is answered by an empty one: scripts that wait for it go
# on. Images, fonts, media, frames and all else are not asked for.
WANTED = frozenset(("script", "xhr", "fetch"))
# What pages share.
_SHARED = "script"

# Hosts that only measure or advertise. Tag managers are not among them: they bring JSON-LD.
_TRACKERS = frozenset(
    (
        *("google-analytics.com", "doubleclick.net", "googlesyndication.com"),
        *("googleadservices.com", "adservice.google.com", "amazon-adsystem.com", "adnxs.com"),
        *("criteo.com", "criteo.net", "taboola.com", "outbrain.com", "rubiconproject.com"),
        *("pubmatic.com", "connect.facebook.net", "bat.bing.com", "clarity.ms", "hotjar.com"),
        *("scorecardresearch.com", "quantserve.com", "chartbeat.com", "mixpanel.com"),
        *("nr-data.net", "newrelic.com", "mouseflow.com", "fullstory.com", "mc.yandex.ru"),
    )
)

# Headers of an answer that matter to a script.
_HEADERS = frozenset(
    (
        *("content-type", "access-control-allow-origin", "access-control-allow-credentials"),
        *("access-control-allow-headers", "access-control-expose-headers"),
        *("cross-origin-resource-policy", "link", "etag", "last-modified"),
    )
)

_CACHE_BYTES = 32 << 20
# Seconds for which pages share an answer, and a failure.
_KEPT_S, _FAILED_S = 3600.0, 60.0


def is_tracker(url: str) -> bool:
    """Tell whether a URL is that of a host which only measures or advertises."""
    labels = (urlsplit(url).hostname or "").split(".")
    return any(".".join(labels[start:]) in _TRACKERS for start in range(len(labels) - 1))


class Wish(NamedTuple):
    """What a page asks for; `origin` is empty unless a script of another origin will read it."""

    url: str
    kind: str
    origin: str = ""


class Resource(NamedTuple):
    """The answer to a wish; `refused` says why there is none."""

    status: int = 0
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
    refused: str = ""


def headers_for(headers: Mapping[bytes, list[bytes]]) -> dict[str, str]:
    """Return what a script may see of the headers of an answer."""
    texts = ((name.decode("latin-1").lower(), values) for name, values in headers.items())
    return {
        name: b", ".join(values).decode("latin-1") for name, values in texts if name in _HEADERS
    }


class Cache:
    """Answers that pages share, up to a number of bytes; the one used longest ago goes first."""

    def __init__(self, most: int = _CACHE_BYTES) -> None:
        self._most = most
        self._size = 0
        self._known: OrderedDict[tuple[str, str], tuple[float, Resource]] = OrderedDict()

    def get(self, wish: Wish) -> Resource | None:
        key = wish.url, wish.origin
        if (known := self._known.get(key)) is None:
            return None
        if known[0] < monotonic():
            self._forget(key)
            return None
        self._known.move_to_end(key)
        return known[1]

    def keep(self, wish: Wish, resource: Resource) -> None:
        if wish.kind != _SHARED or len(resource.body) > self._most // 8:
            return
        key = wish.url, wish.origin
        self._forget(key)
        has_failed = resource.refused or resource.status >= 500
        until = monotonic() + (_FAILED_S if has_failed else _KEPT_S)
        self._known[key] = until, resource
        self._size += _size(key, resource)
        while self._size > self._most:
            self._forget(next(iter(self._known)))

    def _forget(self, key: tuple[str, str]) -> None:
        if (known := self._known.pop(key, None)) is not None:
            self._size -= _size(key, known[1])


def _size(key: tuple[str, str], resource: Resource) -> int:
    return len(resource.body) + sum(map(len, key)) + 1000
