"""What goes over the wire: frames, a proof of the secret, and the addresses of services.

A frame is its length, four bytes, and that many bytes of MessagePack, one message (messages.py); the first of
the service is in JSON. Either can do nothing but be wrong: a peer that sends anything else, or more than it
may, is hung up on.

The proof. Each side sends a random challenge, and the HMAC of both challenges by the secret: so each knows
that the other has it, the secret is never sent, and what somebody has overheard cannot be used again.
What follows is as safe as the way it goes: TLS keeps it so on a network that others use.
"""

from __future__ import annotations

import hmac
import os
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import unquote, urlsplit

from msgspec import MsgspecError, json, msgpack, to_builtins

from rdfaspider.service import messages

if TYPE_CHECKING:
    from msgspec import Struct

# The largest frame of somebody who has proved nothing yet, which for a worker that comes back has all URLs
# that it holds, and of a worker: a page has a few thousand links.
SMALL = 4 << 20
LARGE = 64 << 20

_HEAD = 4

DEFAULT_PORT = 7325

Message = TypeVar("Message")


class WireError(ValueError):
    """Says what is wrong with what the other side has sent."""


class Reader(Generic[Message]):
    """Reads messages of a kind."""

    def __init__(self, decoder: msgpack.Decoder[Message] | json.Decoder[Message]) -> None:
        self._decode = decoder.decode

    def read(self, body: bytes) -> Message:
        try:
            return self._decode(body)
        except (MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise WireError(f"a message makes no sense ({error})") from error


hello = Reader(json.Decoder(messages.Hello))
greeting = Reader(msgpack.Decoder(messages.Greeting))
said: Reader[messages.Said] = Reader(msgpack.Decoder(messages.Said))
told: Reader[messages.Told] = Reader(msgpack.Decoder(messages.Told))


def pack(message: Struct) -> bytes:
    """Return a message as a frame."""
    try:
        is_hello = isinstance(message, messages.Hello)
        body = json.encode(message) if is_hello else msgpack.encode(message)
    except UnicodeEncodeError:  # bytes of somebody's page or log, which are in no encoding
        body = msgpack.encode(_readable(to_builtins(message, builtin_types=(bytes,))))
    return len(body).to_bytes(_HEAD, "big") + body


def _readable(value: Any) -> Any:
    """Return what a message is made of, with a question mark for each character that nobody can read."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_readable(name): _readable(each) for name, each in value.items()}
    return [_readable(each) for each in value] if isinstance(value, list | tuple) else value


class Frames:
    """Finds the messages in bytes as they come."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Take in bytes; return the messages that are complete now."""
        buffer = self._buffer
        buffer += data
        found = []
        while len(buffer) >= _HEAD:
            size = int.from_bytes(buffer[:_HEAD], "big")
            if size > self.most:
                raise WireError(f"a message of {size:,} bytes is announced")
            if len(buffer) < _HEAD + size:
                break
            found.append(bytes(buffer[_HEAD : _HEAD + size]))
            del buffer[: _HEAD + size]
        return found


def challenge() -> str:
    return os.urandom(16).hex()


def proof(secret: str, who: str, service: str, worker: str) -> str:
    """Return the proof of who knows the secret, for the challenges of both sides."""
    words = f"rdfaspider {who} {service} {worker}"
    return hmac.new(secret.encode(), words.encode(), "sha256").hexdigest()


def is_proof(said: object, *right: str) -> bool:
    return isinstance(said, str) and hmac.compare_digest(said.encode(), proof(*right).encode())


# --- addresses ---


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service is: the path of a unix socket, or a host and a port."""

    path: str = ""
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read unix:PATH or frontier://HOST:PORT; ValueError if it is neither."""
        if url.startswith("unix:"):
            path = unquote(url.removeprefix("unix:").removeprefix("//"))
            if not path:
                raise ValueError("it must have the path of a socket, as unix:crawl/frontier.sock")
            return cls(path=path)
        parts = urlsplit(url)
        if parts.scheme != "frontier" or not parts.hostname:
            raise ValueError("it must be unix:PATH or frontier://HOST:PORT")
        if parts.username is not None:
            raise ValueError("a secret does not belong in it: give it with FRONTIER_SECRET")
        return cls(host=parts.hostname, port=parts.port or DEFAULT_PORT)

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"frontier://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Security:
    """How a worker and a service trust each other.

    secret       what both know; "" if whoever can connect may
    certificate  a file with the certificate of the service, or of who has signed it; "" is no TLS
    key          a file with the key of the certificate, which only the service needs
    """

    secret: str = ""
    certificate: str = ""
    key: str = ""

    def of_service(self) -> ssl.SSLContext | None:
        if not self.certificate:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate, self.key or None)
        return context

    def of_worker(self) -> ssl.SSLContext | None:
        if not self.certificate:
            return None
        return ssl.create_default_context(cafile=self.certificate)
