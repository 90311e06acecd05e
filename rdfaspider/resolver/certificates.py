"""Servers that do not prove who they are, where that is demanded (DOWNLOAD_VERIFY_CERTIFICATES)."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from scrapy.exceptions import DownloadFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator


class CertificateError(DownloadFailedError):
    """The certificate of a server is not valid.

    `problem` says so in words. Nothing else that it serves can be fetched either, robots.txt included.
    """

    concerns_server = True

    def __init__(self, fault: str) -> None:
        self.problem = f"its certificate is not valid: {fault} (DOWNLOAD_VERIFY_CERTIFICATES)"
        super().__init__(self.problem)


def certificate_fault(error: BaseException) -> str:
    """Return what is wrong with a certificate if a download failed for that, else ""."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            # aiohttp's own error has no message, but the one that it wraps.
            cause = getattr(cause, "certificate_error", cause)
            return getattr(cause, "verify_message", "") or str(cause)
        # What Twisted's libraries raise.
        if type(cause).__name__ == "VerificationError":
            return "it is for another host"
        if "certificate verify failed" in str(cause):
            return "nobody vouches for it, or it has expired"
    return ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what led to it, also where Twisted lists several failures."""
    while error is not None:
        yield error
        for failure in getattr(error, "reasons", ()):
            yield from _causes(failure.value)
        error = error.__cause__
