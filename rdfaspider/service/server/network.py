"""The network side of the service: sockets, who may connect, and the end of the service.

One thread does everything, a message at a time, so the frontier needs no locks. A peer that has proved
nothing may send one small frame and must do so soon; all others may be slow without holding up anyone.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import stat
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Raw

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.service import BEAT, messages, wire
from rdfaspider.service.address import Address, Security
from rdfaspider.service.messages import VERSION, Exchange, Greeting, Hello, Refusal
from rdfaspider.service.server import questions
from rdfaspider.service.wire import (
    LARGE,
    SMALL,
    Frames,
    WireError,
    challenge,
    is_proof,
    pack,
    proof,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from msgspec import Struct

    from rdfaspider.service.messages import Said
    from rdfaspider.service.server.handler import Handler
    from rdfaspider.service.server.workers import Worker

logger = logging.getLogger(__name__)

# Seconds in which a peer must greet, and how many may be about to.
_SOON = 10.0
_STRANGERS = 16
# The longest path of a unix socket.
_LONGEST_PATH = 107


class Service:
    """Listens at an address and serves every peer that knows the secret, until it is closed or the frontier
    fails."""

    def __init__(self, handler: Handler, address: Address, security: Security) -> None:
        _check(address, security)
        self._handler = handler
        self.address = address
        self._security = security
        self._server: asyncio.Server | None = None
        self._peers: set[Peer] = set()
        # Handlers for questions that are not about the frontier, by type.
        self.others: dict[type[Struct], Callable[[Any], Awaitable[Any]]] = {}
        # Receives a function that sends a reply, and calls it when the reply may be sent.
        self.commit: Callable[[Callable[[], None]], None] = lambda send: send()
        # Returns whether replies are held back now: then no worker counts as dead.
        self.is_cut_off: Callable[[], bool] = lambda: False
        # Called when the frontier has failed.
        self.failed: Callable[[FrontierUnavailable], None] = self._fail
        self._failure: FrontierUnavailable | None = None
        self._ended = asyncio.Event()

    async def start(self) -> None:
        """Start listening; if `address` had no port, it has one afterwards."""
        loop = asyncio.get_running_loop()
        try:
            tls = None if self.address.path else self._security.of_service()
        except OSError as error:  # ssl.SSLError is one
            raise FrontierUnavailable(
                f"The certificate {self._security.certificate} cannot be used"
                f" ({error.strerror or error}): give FRONTIER_CERTIFICATE and FRONTIER_KEY as PEM files."
            ) from error
        try:
            self._server = await self._listen(loop, tls)
        except OSError as error:
            raise FrontierUnavailable(
                f"The service cannot listen at {self.address} ({error.strerror or error}): choose another"
                " address with --listen."
            ) from error
        if not self.address.path:
            port = self._server.sockets[0].getsockname()[1]
            self.address = Address(host=self.address.host, port=port)
        self._housekeeping = loop.create_task(self._remove_silent_workers())

    async def _listen(self, loop: asyncio.AbstractEventLoop, tls: Any) -> asyncio.Server:
        if not self.address.path:
            host, port = self.address.host, self.address.port
            return await loop.create_server(lambda: Peer(self), host, port, ssl=tls)
        path = Path(self.address.path)
        _remove_socket(path)
        # Only its owner may use the socket, from the first moment on.
        before = os.umask(0o177)
        try:
            return await loop.create_unix_server(lambda: Peer(self), path)
        finally:
            os.umask(before)

    async def _remove_silent_workers(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(BEAT)
            if time.monotonic() - began > 3 * BEAT:
                # The service itself stood still: read first what the workers have sent meanwhile.
                self._handler.hear_all()
                continue
            try:
                if self.is_cut_off():
                    self._handler.hear_all()
                else:
                    self._handler.remove_silent_workers()
            except FrontierUnavailable as error:
                self.failed(error)
                return
            except Exception:
                logger.exception("The service could not look after its workers.")

    async def close(self) -> None:
        """Disconnect all peers; the frontier stays open."""
        if self._server is None:
            return
        self._housekeeping.cancel()
        with suppress(asyncio.CancelledError):
            await self._housekeeping
        self._server.close()
        for peer in list(self._peers):
            peer.hang_up()
        if self.address.path:
            _remove_socket(Path(self.address.path))

    def _fail(self, error: FrontierUnavailable) -> None:
        self._failure = error
        self._ended.set()

    async def until(self, stopped: asyncio.Event) -> None:
        """Serve until `stopped` is set; FrontierUnavailable if the frontier fails before."""
        waits = [asyncio.ensure_future(event.wait()) for event in (stopped, self._ended)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self._failure is not None:
            raise self._failure

    # --- peers ---

    def connected(self, peer: Peer) -> bool:
        """Add a new peer; False if too many have not greeted yet."""
        strangers = sum(each.worker is None for each in self._peers)
        self._peers.add(peer)
        return strangers < _STRANGERS

    def disconnected(self, peer: Peer) -> None:
        self._peers.discard(peer)
        if peer.worker is not None and peer.worker.peer is peer:
            peer.worker.peer = None

    def answer(self, peer: Peer, said: Said | Greeting) -> Struct:
        """Return the reply to a message; WireError if it is invalid."""
        try:
            if isinstance(said, Greeting):
                return self._greet(peer, said)
            assert peer.worker is not None
            if isinstance(said, Exchange):
                return self._handler.exchange(peer.worker, said)
            return answer_with(questions.answer(self._handler, peer.worker, said))
        except FrontierUnavailable as error:
            if self._handler.frontier.is_broken:
                self.failed(error)
            return Refusal(str(error))
        except ConnectionResetError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise WireError(
                f"a message makes no sense ({type(error).__name__}: {error})"
            ) from error
        except Exception as error:  # RocksDB raises nothing more special
            logger.exception("The service could not answer.")
            return Refusal(f"The service could not answer: {error}")

    def _greet(self, peer: Peer, greeting: Greeting) -> Struct:
        secret, ours, theirs = self._security.secret, peer.challenge, greeting.challenge
        if not is_proof(greeting.proof, secret, "worker", ours, theirs):
            return Refusal(_WRONG_SECRET)
        worker, welcome = self._handler.greet(greeting)
        peer.worker, worker.peer = worker, peer
        peer.frames.most = LARGE
        welcome.proof = proof(secret, "service", ours, theirs)
        return welcome


def answer_with(value: Any) -> messages.Answer:
    return messages.Answer(Raw(wire.encode(value)))


_WRONG_SECRET = "The service refuses this worker: FRONTIER_SECRET must be the same on both sides."


class Peer(asyncio.Protocol):
    """One connection. `worker` is None until it has greeted."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.worker: Worker | None = None
        self.challenge = challenge()
        self.frames = Frames(SMALL)
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop has a class of its own
        if not self._service.connected(self):
            self.hang_up()
            return
        plain = transport.get_extra_info("socket")
        if plain is not None and plain.family != socket.AF_UNIX:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._deadline = asyncio.get_running_loop().call_later(_SOON, self._is_due)
        self._transport.write(pack(Hello(VERSION, self.challenge)))

    def _is_due(self) -> None:
        if self.worker is None:
            self.hang_up()

    def data_received(self, data: bytes) -> None:
        try:
            for body in self.frames.feed(data):
                said = (wire.greeting if self.worker is None else wire.said).read(body)
                if (other := self._service.others.get(type(said))) is not None:
                    self._task = asyncio.ensure_future(self._answer_later(other(said)))
                    continue
                reply = self._service.answer(self, said)
                self._service.commit(partial(self._reply, reply))
        except ConnectionResetError:
            self.hang_up()
        except WireError as error:
            self._refuse(error)

    def _reply(self, reply: Struct) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            self._transport.write(pack(reply))
        if isinstance(reply, Refusal) and self.worker is None:
            self.hang_up()

    def _refuse(self, error: Exception) -> None:
        """Disconnect a peer that sent nonsense; a worker is told, or it would send the same again."""
        assert self._transport is not None
        name = "a stranger" if self.worker is None else f"the worker {self.worker.name}"
        logger.warning("The service disconnects %s: %s.", name, error)
        if self.worker is not None:
            self._reply(Refusal(f"The service cannot read this worker: {error}."))
        self.hang_up()

    async def _answer_later(self, value: Awaitable[Any]) -> None:
        try:
            self._reply(answer_with(await value))
        except OSError as error:
            self._reply(Refusal(str(error)))
        except ValueError as error:
            self._refuse(error)
        except Exception as error:
            logger.exception("The service could not answer.")
            self._reply(Refusal(f"The service could not answer: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._service.disconnected(self)

    def hang_up(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _check(address: Address, security: Security) -> None:
    """Raise FrontierUnavailable if the service would be open to strangers, or the path is too long."""
    if len(os.fsencode(address.path)) > _LONGEST_PATH:
        raise FrontierUnavailable(
            f"The path {address.path} is too long for a socket: choose a shorter one with"
            " --listen unix:PATH."
        )
    if address.host and not security.secret and not _is_loopback(address.host):
        raise FrontierUnavailable(
            f"The service at {address} would admit everyone: set FRONTIER_SECRET or"
            " FRONTIER_SECRET_FILE for it and for its workers."
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _remove_socket(path: Path) -> None:
    """Remove a socket that is no longer in use; leave anything else alone."""
    with suppress(OSError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
