"""Downloads that fail: what libcurl says, and what a user is told of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pycurl  # type: ignore[import-untyped]

from rdfaspider.compat import (
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)

if TYPE_CHECKING:
    from rdfaspider.downloader.transfer import Transfer


_TOO_LARGE = 100  # pycurl has no name for it
_BROKEN = frozenset((pycurl.E_FTP_WEIRD_SERVER_REPLY, pycurl.E_RECV_ERROR))
_TLS = frozenset((pycurl.E_SSL_CONNECT_ERROR, pycurl.E_SSL_CIPHER, pycurl.E_SSL_CERTPROBLEM))


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


class TlsError(DownloadConnectionRefusedError):
    """A server does not speak TLS as we do."""

    def __init__(self, fault: str) -> None:
        self.problem = f"TLS fails: {fault}"
        super().__init__(self.problem)


_HUNG_UP = "it hangs up without an answer"
# What is said where libcurl's own words are none, or those of a programmer.
_WORDS = {
    pycurl.E_UNSUPPORTED_PROTOCOL: "it does not answer in HTTP",
    pycurl.E_GOT_NOTHING: _HUNG_UP,
    pycurl.E_OK: "it hangs up in the middle of a head",
    _TOO_LARGE: "its head is too large",
}


def failure_of(transfer: Transfer, curl: pycurl.Curl, code: int, words: str) -> Exception:
    """Return the exception for what libcurl says of a transfer that has failed.

    more bytes than DOWNLOAD_MAXSIZE      DownloadCancelledError
    in the body                           ResponseDataLossError
    after the request was sent            DownloadFailedError; also if a proxy does not answer in HTTP
    before, by the server's certificate   CertificateError
    before, in the handshake of TLS       TlsError
    before, in any other way              DownloadConnectionRefusedError
    """
    words = _WORDS.get(code) or words.rstrip(".") or _HUNG_UP
    fault = words.rpartition(":")[2].strip()
    number = curl.getinfo(pycurl.OS_ERRNO)
    cause = OSError(number, os.strerror(number)) if number else None
    error: Exception
    if code == pycurl.E_FILESIZE_EXCEEDED:
        error = DownloadCancelledError(words)
    elif transfer.head is not None:
        error = ResponseDataLossError(words)
    elif transfer.is_sent or (code in _BROKEN and not number):
        error = DownloadFailedError(words)
    elif code == pycurl.E_PEER_FAILED_VERIFICATION:
        error = CertificateError(fault)
    elif code in _TLS and "unexpected eof" in words:
        error = DownloadConnectionRefusedError("The connection was cut while it was being made.")
    elif code in _TLS and not number:
        error = TlsError(fault)
    elif (status := curl.getinfo(pycurl.HTTP_CONNECTCODE)) >= 300:
        error = DownloadConnectionRefusedError(f"The proxy answers {status} to CONNECT.")
    else:
        error = DownloadConnectionRefusedError(words)
    error.__cause__ = cause
    return error
