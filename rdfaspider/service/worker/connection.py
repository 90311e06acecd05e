"""A worker's connection to its service, with a thread of its own so that the crawl never waits for it.

One message at a time is under way. The thread connects, greets, sends and reads; the caller that submitted
a message collects the answer. If the connection breaks, the answer says so, and the message is submitted
again with a new greeting, because what the worker holds may have changed since.
"""

from __future__ import annotations

import socket
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.service import wire
from rdfaspider.service.address import Address, Security
from rdfaspider.service.messages import VERSION, Refusal, Welcome
from rdfaspider.service.wire import LARGE, Frames, WireError, challenge, is_proof, pack, proof

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.service.messages import Answer, Exchange, Greeting, Question, Reply, Told

# Seconds between two attempts to connect, at first and in the end.
_SOON, _LATER = 0.05, 1.0

Seek: TypeAlias = "Callable[[], tuple[Address, Security]]"


@dataclass(frozen=True, slots=True)
class Carried:
    """What the service sent: to the greeting, if there was one, and to the message; None if the connection
    broke."""

    welcome: Welcome | None
    reply: Reply | Answer | None


class Connection:
    """Carries messages to a service. `notify` is called, in another thread, when an answer has arrived.

    `seek` returns before each attempt where the service is and how to trust it; OSError if that is unknown.
    `name` describes the place to people. A service that does not answer for `timeout` seconds counts as
    gone.
    """

    def __init__(
        self,
        address: Address,
        security: Security,
        seek: Seek | None = None,
        name: str = "",
        timeout: float = 30.0,
    ) -> None:
        self.address = address
        self.name = name or str(address)
        self.notify: Callable[[], None] = lambda: None
        self._security = security
        self._timeout = timeout
        self._tls = None if address.path else security.of_worker()
        self._seek = seek
        self._socket: socket.socket | None = None
        self._frames = Frames(LARGE)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frontier")
        self._under_way: Future[Carried] | None = None
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        return self._under_way is not None

    def submit(
        self, message: Exchange | Question, greeting: Greeting | None, patience: float
    ) -> None:
        """Send a message; with a greeting, connect first, and look for the service for `patience` seconds."""
        assert self._under_way is None
        self._under_way = self._thread.submit(self._carry, message, greeting, patience)
        self._under_way.add_done_callback(lambda _: self.notify())

    def collect(self, timeout: float = 0.0) -> Carried | None:
        """Return the answer, None if it does not arrive in time; FrontierUnavailable if there cannot be
        one."""
        if self._under_way is None or not (timeout or self._under_way.done()):
            return None
        try:
            answer = self._under_way.result(timeout)
        except FutureTimeoutError:
            return None
        except BaseException:
            self._under_way = None
            raise
        self._under_way = None
        return answer

    def close(self) -> None:
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._hang_up()

    # --- in the thread ---

    def _carry(
        self, message: Exchange | Question, greeting: Greeting | None, patience: float
    ) -> Carried:
        welcome = None if greeting is None else self._connect(greeting, patience)
        try:
            return Carried(welcome, self._ask(message))
        except FrontierUnavailable:  # an OSError that another try cannot mend
            raise
        except (OSError, WireError):
            self._hang_up()
            return Carried(welcome, None)

    def _connect(self, greeting: Greeting, patience: float) -> Welcome:
        """Connect and greet; try again for `patience` seconds."""
        end, pause = time.monotonic() + patience, _SOON
        while True:
            try:
                return self._greet(greeting)
            except FrontierUnavailable:
                self._hang_up()
                raise
            except (OSError, WireError) as error:
                self._hang_up()
                if time.monotonic() + pause > end or self._is_closed:
                    raise FrontierUnavailable(
                        f"There is no frontier service at {self.name} ({_words(error)}): start it with"
                        " scrapy frontier serve, or name another with -s FRONTIER_URL=…"
                    ) from error
            time.sleep(pause)
            pause = min(2 * pause, _LATER)

    def _greet(self, greeting: Greeting) -> Welcome:
        self._hang_up()
        self._frames = Frames(LARGE)
        if self._seek is not None:
            self.address, self._security = self._seek()
        self._socket = self._open()
        hello = wire.hello.read(self._read())
        if hello.version != VERSION:
            raise FrontierUnavailable(
                f"The service at {self.address} runs another version of rdfaspider: workers and service"
                " need the same one."
            )
        secret, theirs, ours = self._security.secret, hello.challenge, challenge()
        greeting.challenge, greeting.proof = ours, proof(secret, "worker", theirs, ours)
        welcome = self._exchange(greeting)
        if not isinstance(welcome, Welcome):
            raise WireError("no welcome")
        if not is_proof(welcome.proof, secret, "service", theirs, ours):
            raise FrontierUnavailable(
                f"The service at {self.address} does not know the secret: FRONTIER_SECRET must be the"
                " same on both sides."
            )
        return welcome

    def _open(self) -> socket.socket:
        if self.address.path:
            plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            plain.settimeout(self._timeout)
            try:
                plain.connect(self.address.path)
            except OSError:
                plain.close()
                raise
            return plain
        plain = socket.create_connection((self.address.host, self.address.port), self._timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            return plain
        return self._tls.wrap_socket(plain, server_hostname=self.address.host)

    def _ask(self, message: Exchange | Question) -> Reply | Answer:
        reply = self._exchange(message)
        if isinstance(reply, Welcome):
            raise WireError("a welcome, and no reply")
        return reply

    def _exchange(self, message: Exchange | Question | Greeting) -> Welcome | Reply | Answer:
        if self._socket is None:
            raise ConnectionError("hung up")
        try:
            frame = pack(message)
        except ValueError as error:  # it would be so each time: the pages are fetched again
            raise FrontierUnavailable(f"What this worker did cannot be sent: {error}") from error
        self._socket.sendall(frame)
        told: Told = wire.told.read(self._read())
        if isinstance(told, Refusal):
            raise FrontierUnavailable(told.sentence)
        return told

    def _read(self) -> bytes:
        assert self._socket is not None
        while not (bodies := self._frames.feed(data := self._socket.recv(1 << 18))):
            if not data:
                raise ConnectionError("the service has hung up")
        return bodies[0]

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
