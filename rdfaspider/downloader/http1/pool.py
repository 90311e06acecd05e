"""Connects to addresses that the guard admits, and keeps idle connections for a while."""

from __future__ import annotations

import asyncio
import resource
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from rdfaspider.downloader.http1.connection import Connection
from rdfaspider.downloader.http1.request import tunnel_to
from rdfaspider.resolver import installed_resolver

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    from rdfaspider.downloader.http1.request import Place
    from rdfaspider.resolver.addresses import Address

# Idle connections that are kept. A polite crawl comes back to a host after a second or more, so this is
# enough for hundreds of pages per second. They take at most a quarter of the files that may be open.
_MOST = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
# Seconds that an idle connection is kept, and between two looks at their ages.
_IDLE = 15.0
_LOOK = 5.0
# Seconds after which the next address of a host is tried too (RFC 8305).
_NEXT_ADDRESS = 0.25
# Seconds that a server may take to end TLS.
_LAST_WORDS = 1.0
_LONG = 3_600.0


class Unreachable(Exception):
    """No address of a host accepts a connection; the cause says why."""


class NoAddress(Exception):
    """A host has no address."""


class Pool:
    """The idle connections of a crawl, and how new ones are made.

    Layout: the idle connections by place, the one used last at the end of its list; the place used last is at
    the end of the dictionary.
    Invariant: at most `_MOST` are idle. An idle connection that gets any input is closed, and is here no
    longer. To one place there are no more than were in use at once, which politeness bounds.
    """

    def __init__(
        self,
        tls: ssl.SSLContext,
        *,
        local_address: tuple[str, int] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._tls = tls
        self._local_address = local_address
        self._idle: dict[Place, list[Connection]] = {}
        self._count = 0
        self._looking: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return self._count

    def take(self, place: Place) -> Connection | None:
        """Return an idle connection to a place, if there is one."""
        while kept := self._idle.get(place):
            connection = kept[-1]
            self._remove(connection)
            if connection.is_usable:
                return connection
            connection.abort()
        return None

    def keep(self, connection: Connection) -> None:
        """Keep an open connection for later, and close those that were unused longest."""
        place = connection.place
        kept = self._idle.pop(place, [])
        self._idle[place] = kept
        kept.append(connection)
        self._count += 1
        connection.kept_at = self._loop.time()
        if self._count > _MOST:
            self._close(next(iter(self._idle.values()))[0])
        if self._looking is None:
            self._looking = self._loop.call_later(_LOOK, self._close_old)

    def close(self) -> None:
        """Close all idle connections."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        for connection in [*chain.from_iterable(self._idle.values())]:
            self._close(connection)

    async def connect(self, place: Place) -> Connection:
        """Connect to the first address of a host that answers.

        Only addresses that the guard admits are tried, and none is looked up again after that. If a proxy
        makes a tunnel to the host, these are the proxy's. The guard admits all addresses of a proxy: the
        user's environment or code has chosen it, and no page.
        """
        reached = place.proxy or place
        try:
            addresses = await installed_resolver().resolve(
                reached.host, reached.port, is_trusted=reached.is_proxy
            )
        except OSError as error:
            raise NoAddress(str(error)) from error
        try:
            if len(addresses) == 1:
                connection = await self._connect(place, addresses[0])
            else:
                connection = await self._connect_to_any(place, _by_turns(addresses))
            if place.proxy is not None:
                await self._open_tunnel(connection)
            return connection
        except (OSError, ValueError) as error:  # ValueError: TLS does not take such a name
            # A server that hangs up amid the TLS handshake makes an error without words.
            words = str(error) or "The connection was cut while it was being made."
            raise Unreachable(words) from error

    async def _connect(self, place: Place, address: Address) -> Connection:
        connection = Connection(self._loop, place, address, self._forget)
        reached = place.proxy or place
        tls = self._tls if reached.is_tls else None
        await self._loop.create_connection(
            lambda: connection,
            str(address),
            reached.port,
            ssl=tls,
            server_hostname=_name(reached) if tls else None,
            ssl_shutdown_timeout=_LAST_WORDS if tls else None,
            local_addr=self._local_address,
        )
        return connection

    async def _open_tunnel(self, connection: Connection) -> None:
        """Let a proxy connect to the place of a connection, and begin TLS with that."""
        try:
            # The caller limits the time for all of it.
            connection.ask(tunnel_to(connection.place), _LONG, self._loop.time() + _LONG)
            answer = await connection.receive_head()
            assert answer.head is not None
            if not 200 <= answer.head.status < 300:
                raise ConnectionRefusedError(f"The proxy answers {answer.head.status} to CONNECT.")
            await connection.secure(self._tls, _name(connection.place), _LAST_WORDS)
        except BaseException:
            connection.abort()
            raise

    async def _connect_to_any(self, place: Place, addresses: list[Address]) -> Connection:
        """Try the addresses one after the other; the next one at once if the last has failed, else soon."""
        trying: set[asyncio.Task[Connection]] = set()
        error: BaseException = OSError()
        waiting = iter(addresses)
        try:
            while (address := next(waiting, None)) is not None or trying:
                if address is not None:
                    trying.add(self._loop.create_task(self._connect(place, address)))
                done, _ = await asyncio.wait(
                    trying,
                    timeout=_NEXT_ADDRESS if address is not None else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in done:
                    trying.discard(task)
                    failure = task.exception()
                    if failure is None:
                        return task.result()
                    error = failure
            raise error
        finally:
            for task in trying:
                task.cancel()
                task.add_done_callback(_drop)

    def _forget(self, connection: Connection) -> None:
        """Remove a connection that has ended, if it was kept."""
        if connection in self._idle.get(connection.place, ()):
            self._remove(connection)

    def _remove(self, connection: Connection) -> None:
        kept = self._idle[connection.place]
        kept.remove(connection)
        self._count -= 1
        if not kept:
            del self._idle[connection.place]

    def _close(self, connection: Connection) -> None:
        self._remove(connection)
        connection.abort()

    def _close_old(self) -> None:
        oldest = self._loop.time() - _IDLE
        for connection in [*chain.from_iterable(self._idle.values())]:
            if connection.kept_at <= oldest:
                self._close(connection)
        self._looking = self._loop.call_later(_LOOK, self._close_old) if self._idle else None


def _name(place: Place) -> str:
    """Return the name that the certificate of a place must have."""
    return place.host.rstrip(".")


def _by_turns(addresses: Sequence[Address]) -> list[Address]:
    """Return addresses with the families by turns, the first one first."""
    first = [each for each in addresses if each.version == addresses[0].version]
    other = [each for each in addresses if each.version != addresses[0].version]
    pairs = chain.from_iterable(zip_longest(first, other))
    return [each for each in pairs if each is not None]


def _drop(task: asyncio.Task[Connection]) -> None:
    """Close a connection that was made too late."""
    if not task.cancelled() and task.exception() is None:
        task.result().abort()
