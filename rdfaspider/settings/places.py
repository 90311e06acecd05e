"""The places that the settings name: the directory of the crawl, its frontier, its store, its seeds.

Nothing is created here. `find_missing` is for commands that crawl; the others only read.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rdfaspider.focus.topics import read_topics
from rdfaspider.frontier import is_replicated, is_shared
from rdfaspider.frontier.orders import order_class
from rdfaspider.stores.kinds import directory_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from rdfaspider.seedlist import SeedList

# Settings of scrapy-redis; each of them says that seeds are in Redis.
SCRAPY_REDIS = ("REDIS_URL", "REDIS_HOST", "REDIS_PARAMS", "REDIS_START_URLS_KEY")
_SHARD = re.compile(r"frontier-[0-9]+")


def jobdir_of(settings: BaseSettings) -> Path:
    """Return the directory of the crawl."""
    return Path(settings["JOBDIR"] or ".")


def frontier_url(settings: BaseSettings) -> str:
    """Return the URL of the crawl's frontier."""
    return _in_jobdir(settings, "FRONTIER_URL")


def frontiers_of(settings: BaseSettings) -> list[str]:
    """Return the directories of the crawl's frontier, one for each shard; ValueError if it is elsewhere."""
    url = frontier_url(settings)
    if not is_shared(url):
        return [url]
    copy = jobdir_of(settings) / "frontier"
    shards = shards_in(copy.parent)
    if is_replicated(url) and (copy.is_dir() or shards):
        return [str(copy)] if copy.is_dir() else shards
    raise ValueError(
        "This is read from the directories of a frontier, where its services run: name them with"
        " --frontier DIR, once for each shard."
    )


def shards_in(jobdir: Path) -> list[str]:
    """Return the directories of the shards in a directory, in order: frontier-1, frontier-2, ….

    What a node keeps beside them while it makes a new copy (frontier-1.new) is none.
    """
    found = [path for path in jobdir.glob("frontier-*") if _SHARD.fullmatch(path.name)]
    return [str(path) for path in sorted(found, key=lambda path: int(path.name[9:]))]


def store_url(settings: BaseSettings) -> str:
    """Return the URL of the crawl's store."""
    return _in_jobdir(settings, "STORE_URL")


def _in_jobdir(settings: BaseSettings, name: str) -> str:
    return str(settings[name] or "").replace("{jobdir}", str(settings["JOBDIR"] or "."))


def find_missing(settings: BaseSettings) -> Iterator[str]:
    """Yield a sentence for each file or directory that the crawl needs and cannot use."""
    jobdir = settings["JOBDIR"] or "."
    if fault := _unwritable(jobdir):
        yield f"JOBDIR={jobdir} is wrong: {fault}."
    else:
        for name in ("FRONTIER_URL", "STORE_URL"):
            place = _in_jobdir(settings, name)
            path = "" if is_shared(place) else directory_of(place)
            if path and (fault := _unwritable(path)):
                yield f"{name}={place} is wrong: {fault}."
    yield from _topics(settings["FRONTIER_ORDER"], settings["FRONTIER_TOPICS"])


def has_pushed_seeds(settings: BaseSettings) -> bool:
    """Return whether seeds are pushed to Redis."""
    return _is_as_scrapy_redis(settings) or bool(seeds_url(settings))


def _is_as_scrapy_redis(settings: BaseSettings) -> bool:
    """Return whether seeds are where settings of scrapy-redis say."""
    return not settings["SEEDS_URL"] and any(settings.get(name) for name in SCRAPY_REDIS)


def seeds_url(settings: BaseSettings) -> str:
    """Return where seeds are pushed, "" if nowhere; a crawl shared through Redis has them there too."""
    if url := settings["SEEDS_URL"]:
        return str(url)
    if not is_replicated(url := str(settings["FRONTIER_URL"])):
        return ""
    from rdfaspider.redislink import split_query
    from rdfaspider.service.replica.registry import DEFAULT_NAME

    place, crawl = split_query(url, "crawl", DEFAULT_NAME)
    return f"{place}{'&' if '?' in place else '?'}key={quote(crawl)}:start_urls"


def open_seeds(settings: BaseSettings, reader: str = "", spider: str = "rdfa") -> SeedList:
    """Return the seeds that settings name, those of scrapy-redis as it reads them."""
    from rdfaspider.seedlist import SeedList

    if not _is_as_scrapy_redis(settings):
        return SeedList(seeds_url(settings), reader)
    url, key = settings.get("REDIS_URL"), settings.get("REDIS_START_URLS_KEY")
    is_set, is_zset = (settings.getbool(f"REDIS_START_URLS_AS_{kind}") for kind in ("SET", "ZSET"))
    return SeedList(
        url or "redis://localhost",
        reader,
        key=(key or "%(name)s:start_urls").replace("%(name)s", spider),
        kind="set" if is_set else "zset" if is_zset else "list",
        connect=lambda: _connect_as_scrapy_redis(settings),
    )


def _connect_as_scrapy_redis(settings: BaseSettings) -> Any:
    """Return the client that scrapy-redis makes or, where it is not installed, one with the same options."""
    import redis

    try:
        connection: Any = import_module("scrapy_redis.connection")
    except ImportError:
        options = settings.getdict("REDIS_PARAMS")
        for name in ("url", "host", "port", "db"):
            if value := settings.get(f"REDIS_{name.upper()}"):
                options[name] = value
        url = options.pop("url", None)
        client = redis.Redis.from_url(url, **options) if url else redis.Redis(**options)
    else:
        client = connection.from_settings(settings)
    client.connection_pool.connection_kwargs["decode_responses"] = False  # seeds are read as bytes
    return client


def _unwritable(name: str) -> str:
    """Return why a directory can neither be written nor created, "" if it can."""
    path = Path(name).absolute()
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass  # it will be created
    except OSError as error:  # a name that is too long, for example
        return f"it cannot be used ({error.strerror})"
    place = next(each for each in (path, *path.parents) if os.path.lexists(each))
    what = "it" if place == path else str(place)
    if not place.is_dir():
        return f"{what} is not a directory"
    try:
        # The only sure test, also for root; the file never has a name.
        TemporaryFile(dir=place).close()
    except OSError as error:
        return f"{what} cannot be written ({error.strerror})"
    return ""


def _topics(order: str, name: str) -> Iterator[str]:
    if name:
        try:
            read_topics(Path(name))
        except ValueError as error:
            yield f"FRONTIER_TOPICS is wrong: {error}".rstrip(".") + "."
    elif order_class(order).advice == "topics":
        yield f"FRONTIER_ORDER={order} needs a topics file: -s FRONTIER_TOPICS=FILE."
