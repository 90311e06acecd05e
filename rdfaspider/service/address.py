"""Where a service is, and how a worker and a service trust each other.

The settings are checked by this, so it imports nothing of the service.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

DEFAULT_PORT = 7325


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

    secret       known to both; "" admits everyone who can connect
    certificate  a file with the certificate of the service, or of its issuer; "" is no TLS
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
