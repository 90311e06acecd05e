"""Where a shared crawl is, and how its Redis is reached: one server, or a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.secrets import without_secrets


@dataclass(frozen=True, slots=True)
class Address:
    """Where a crawl is: the URL of Redis and the name of the crawl (`?crawl=NAME`)."""

    url: str
    crawl: str

    @classmethod
    def parse(cls, text: str) -> Address:
        try:
            parts = urlsplit(text)
            _ = parts.port
        except ValueError:  # which might show a password
            raise FrontierUnavailable(
                f"{without_secrets(text)} is no URL of Redis: write redis://HOST:PORT/0, and / ? # @ in a"
                " password as %2F %3F %23 %40."
            ) from None
        query = parse_qs(parts.query)
        crawl = query.pop("crawl", ["rdfa"])[-1]
        if not crawl or set(crawl) & set("{}* "):
            raise FrontierUnavailable(f"{crawl!r} is no name for a crawl: use letters and digits.")
        # Put together by hand: of unix:///PATH, as Redis has it, urllib would drop two slashes.
        options = f"?{urlencode(query, doseq=True)}" if query else ""
        return cls(text.partition("?")[0].removeprefix("redis+") + options, crawl)


def connect(url: str, timeout: float) -> tuple[Any, Any]:
    """Return the client for single commands, and the same as a cluster if it is one."""
    options: dict[str, Any] = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
    }
    client = redis.Redis.from_url(url, **options)
    if not client.info("cluster").get("cluster_enabled"):
        return client, None
    client.close()
    cluster = RedisCluster.from_url(url, **options)
    return cluster, cluster


def name_of(server: Any) -> str:
    """Return where a server is."""
    where = server.connection_pool.connection_kwargs
    return str(where.get("path") or f"{where.get('host')}:{where.get('port')}")
