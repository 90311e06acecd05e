"""How long each part of a fetch may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from scrapy.exceptions import DownloadTimeoutError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class ConnectTimeoutError(DownloadTimeoutError):
    """A host was not found, or did not let itself be connected to, in time."""

    setting = "FETCH_CONNECT_TIMEOUT"


class FirstByteTimeoutError(DownloadTimeoutError):
    """A host was connected to, and did not send the head of an answer in time."""

    setting = "FETCH_FIRST_BYTE_TIMEOUT"


class Timeouts(NamedTuple):
    """Seconds until there must be a connection, and from then on until there must be a head."""

    connect: float
    first_byte: float

    @classmethod
    def of(cls, settings: BaseSettings) -> Self:
        return cls(
            settings.getfloat("FETCH_CONNECT_TIMEOUT", 10.0),
            settings.getfloat("FETCH_FIRST_BYTE_TIMEOUT", 60.0),
        )
