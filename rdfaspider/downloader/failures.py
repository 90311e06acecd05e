"""Downloads that fail because they are late, or without a valid certificate."""

from __future__ import annotations

import ssl

from scrapy.exceptions import DownloadFailedError, DownloadTimeoutError


class ConnectTimeoutError(DownloadTimeoutError):
    """A host was not found, or did not accept a connection, in time."""

    setting = "FETCH_CONNECT_TIMEOUT"


class FirstByteTimeoutError(DownloadTimeoutError):
    """A host accepted a connection, and did not send the head of an answer in time."""

    setting = "FETCH_FIRST_BYTE_TIMEOUT"


class CertificateError(DownloadFailedError):
    """The certificate of a server is not valid, and DOWNLOAD_VERIFY_CERTIFICATES demands that it is.

    `problem` says so in words. Nothing else on that server can be fetched either, robots.txt included.
    """

    concerns_server = True

    def __init__(self, fault: str) -> None:
        self.problem = f"its certificate is not valid: {fault} (DOWNLOAD_VERIFY_CERTIFICATES)"
        super().__init__(self.problem)


def certificate_fault(error: BaseException) -> str:
    """Return what is wrong with the certificate if a download failed because of it, else ""."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__
    return getattr(cause, "verify_message", "") or str(cause or "")
