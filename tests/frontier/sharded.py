"""Frontiers of several shards for tests, whose services are in threads or processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.sharding import shard_of
from rdfaspider.service.address import Address
from rdfaspider.service.shards.frontier import ShardedFrontier
from rdfaspider.service.shards.opening import in_order, open_services
from rdfaspider.service.worker.client import ServedFrontier
from tests.frontier.served import ThreadedService


def host_on(number: int, total: int, salt: str = "") -> str:
    """Return the URL of a host that belongs to a shard."""
    names = (f"http://{salt}{count}.test/" for count in range(1000))
    return next(url for url in names if shard_of(url, total) == number)


class Services:
    """The services of all shards of a crawl, in threads of this process."""

    def __init__(
        self,
        directory: Path,
        total: int,
        clock: Callable[[], float] | None = None,
        now: float = 0.0,
        **options: Any,
    ) -> None:
        self.total, self._directory, self._clock = total, directory, clock
        self._options = options
        self.engines: list[LocalFrontier] = []
        self.threaded: list[ThreadedService] = []
        try:
            for number in range(total):
                self._open(number, now)
        except BaseException:
            self.close()
            raise

    def _address(self, number: int) -> Address:
        return Address(path=str(self._directory / f"{number}.sock"))

    def _open(self, number: int, now: float) -> None:
        path = str(self._directory / f"frontier{number}")
        engine = LocalFrontier(path, shard=(number, self.total), now=now, **self._options)
        self.engines.insert(number, engine)
        self.threaded.insert(
            number, ThreadedService(engine, self._address(number), None, self._clock)
        )

    @property
    def urls(self) -> list[str]:
        return [str(self._address(number)) for number in range(self.total)]

    def stop(self, number: int) -> None:
        """End one of them as a kill does: what is in flight is forgotten."""
        self.threaded[number].close()
        self.engines[number].abandon()

    def start(self, number: int, now: float = 0.0) -> None:
        """Start one again that was ended."""
        del self.threaded[number], self.engines[number]
        self._open(number, now)

    def worker(self, name: str = "", **options: Any) -> ShardedFrontier:
        return open_services(self.urls, worker=name, **{"read_ahead": 8, **options})

    def close(self) -> None:
        for threaded in self.threaded:
            threaded.close()
        for engine in self.engines:
            engine.close()


class ShardedAlone(ShardedFrontier):
    """A frontier of several shards whose services are there for it alone, and end with it."""

    def __init__(self, services: Services, now: float) -> None:
        self.services = services
        try:
            super().__init__(
                in_order(
                    [
                        ServedFrontier(
                            url, worker="only", read_ahead=0, now=now, is_one_of_many=True
                        )
                        for url in reversed(services.urls)
                    ]
                )
            )
        except BaseException:
            services.close()
            raise

    def engine_of(self, url: str) -> LocalFrontier:
        return self.services.engines[shard_of(url, self.total)]

    def close(self) -> None:
        if not self._is_closed:
            super().close()
            self.services.close()


def shard_alone(
    directory: Path,
    order: str,
    delay: float = 1.0,
    at_once: int = 1,
    server_delay: float | None = None,
    total: int = 2,
    now: float = 0.0,
    **options: Any,
) -> ShardedAlone:
    """Open the frontiers of a directory as the shards of one crawl."""
    manners = Politeness(delay=delay, at_once=at_once, server_delay=server_delay)
    services = Services(directory, total, None, now, order=order, politeness=manners, **options)
    return ShardedAlone(services, now)
