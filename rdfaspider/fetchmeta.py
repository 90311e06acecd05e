"""What the plugs tell each other of a fetch, in `request.meta`: each key has one writer.

number, host, depth, hops   the scheduler: the request is for a URL of the frontier, under this grant
visit                       the scheduler: what is known of the page from the visits before
verbatim_url                the scheduler: the URL is in normal form and is sent as it is
sitemap                     the sitemap middleware: the request is for a sitemap; the pages that it lists
sitemap_dates               the sitemap middleware: when these changed, as it says
robots                      the robots and reservations middlewares: it is for robots.txt or tdmrep.json,
                            in the turn of a page
no_training                 the robots middleware: robots.txt asks that no models are trained with the page
tdm                         the reservations middleware: the service reserves the page: "1", and its policy
exchange                    the download handler, for the archive: request and answer as they were sent
download_latency, proxy     Scrapy

Requests of a spider's own have none of ours. They are not the frontier's, and nobody ends them there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, cast

if TYPE_CHECKING:
    from collections.abc import Mapping


# The most links that a page may be away from a seed.
MAX_DEPTH = 250


class FetchMeta(TypedDict, total=False):
    """The keys of `request.meta` that our plugs read."""

    number: int
    host: int
    depth: int
    hops: int
    visit: Any
    verbatim_url: bool
    sitemap: list[str]
    sitemap_dates: list[tuple[str, float]]
    robots: bool
    no_training: bool
    tdm: tuple[str, str]
    exchange: Any
    download_latency: float
    proxy: str


def meta_of(request: Any) -> FetchMeta:
    """Return the meta of a Scrapy request, with the types of its keys."""
    return cast("FetchMeta", request.meta)


def is_for_page(meta: Mapping[str, Any]) -> bool:
    """Tell by its meta whether a request is for a page, rather than robots.txt or a sitemap."""
    # Only what is in the frontier has a depth.
    return "depth" in meta and "sitemap" not in meta
