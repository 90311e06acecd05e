"""The wire format: frames, a proof of the secret, and the addresses of services.

A frame is its length, four bytes, and that many bytes of MessagePack, one message (messages.py); the first
one of the service is in JSON. Decoding runs no code: a peer that sends anything else, or more than it may,
is disconnected.

The proof. Each side sends a random challenge, and the HMAC of both challenges by the secret: so each knows
that the other has it, the secret is never sent, and an eavesdropper cannot replay anything. The messages
that follow are as safe as the network: TLS protects them on a shared one.
"""

from __future__ import annotations

import hmac
import os
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import MsgspecError, json, msgpack, to_builtins

from rdfaspider.service import messages

if TYPE_CHECKING:
    from msgspec import Struct

# The largest frame of an unproven peer (a worker that comes back names all URLs it holds), and of a worker:
# a page has a few thousand links.
SMALL = 4 << 20
LARGE = 64 << 20

_HEAD = 4

Message = TypeVar("Message")


class WireError(ValueError):
    """Explains what is wrong with what the other side has sent."""


class Reader(Generic[Message]):
    """Reads messages of a type."""

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
    """Return a message as a frame; ValueError if something in it cannot be sent."""
    is_hello = isinstance(message, messages.Hello)
    body = json.encode(message) if is_hello else encode(message)
    return len(body).to_bytes(_HEAD, "big") + body


def encode(value: object) -> bytes:
    """Return a value as MessagePack; ValueError if something in it cannot be sent."""
    try:
        return _encode(value)
    except UnicodeEncodeError:  # a page or a log may have text that is not valid Unicode
        return _encode(_readable(to_builtins(value, builtin_types=(bytes,), enc_hook=_plain)))
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{error}.") from error


def _plain(value: object) -> object:
    """Return a value of a subclass of str, int or float as one of these; TypeError if it is none."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent to the frontier service")


_encode = msgpack.Encoder(enc_hook=_plain).encode


def _readable(value: Any) -> Any:
    """Return the parts of a message, with a question mark for each character that cannot be encoded."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_readable(name): _readable(each) for name, each in value.items()}
    return [_readable(each) for each in value] if isinstance(value, list | tuple) else value


class Frames:
    """Splits a stream of bytes into messages."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes; return the messages that are complete now."""
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
    """Return the proof that `who` knows the secret, for the challenges of both sides."""
    words = f"rdfaspider {who} {service} {worker}"
    return hmac.new(secret.encode(), words.encode(), "sha256").hexdigest()


def is_proof(said: object, *right: str) -> bool:
    return isinstance(said, str) and hmac.compare_digest(said.encode(), proof(*right).encode())
