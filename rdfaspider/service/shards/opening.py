"""Opens the shards of a crawl as one frontier, if they are the shards of one crawl."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable, services_of
from rdfaspider.service.shards.frontier import ShardedFrontier
from rdfaspider.service.worker.client import ServedFrontier, made_up_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def open_served(url: str, **options: Any) -> ServedFrontier | ShardedFrontier:
    """Open the crawl of one service, or of several, each with a shard of it."""
    urls = services_of(url)
    return open_services(urls, **options) if len(urls) > 1 else ServedFrontier(url, **options)


def open_services(urls: Sequence[str], **options: Any) -> ShardedFrontier:
    """Open the crawl whose shards have services at these addresses, in any order."""
    return open_shards([partial(ServedFrontier, url) for url in urls], **options)


def open_shards(
    openers: Sequence[Callable[..., ServedFrontier]], worker: str = "", **options: Any
) -> ShardedFrontier:
    """Open all shards of a crawl at the same time, as one worker."""
    options |= {"worker": worker or made_up_name(), "is_one_of_many": True}
    with ThreadPoolExecutor(len(openers)) as pool:
        opening = [pool.submit(opener, **options) for opener in openers]
    opened = [each.result() for each in opening if each.exception() is None]
    try:
        for each in opening:
            each.result()
        return ShardedFrontier(in_order(opened))
    except BaseException:
        for frontier in opened:
            frontier.close()
        raise


def in_order(frontiers: Sequence[ServedFrontier]) -> list[ServedFrontier]:
    """Return the shards of a crawl in order; FrontierUnavailable if they do not form one crawl."""
    total, found = len(frontiers), {each.shard.number: each for each in frontiers}
    if any(each.shard.total != total for each in frontiers) or len(found) != total:
        named = ", ".join(str(each.shard) for each in frontiers)
        raise FrontierUnavailable(
            f"The services in FRONTIER_URL have the shards {named}: name each shard of one crawl once."
        )
    orders = {each.order for each in frontiers}
    if len(orders) > 1:
        raise FrontierUnavailable(
            f"The shards hand out URLs in different orders ({', '.join(sorted(orders))}): start all of them"
            " with the same FRONTIER_ORDER."
        )
    return [found[number] for number in range(total)]
