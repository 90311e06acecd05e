"""Scrapy's exceptions for downloads that fail, which are Twisted's before Scrapy 2.15.

There ours derive from the ones that Scrapy's own handlers raise, so that its middlewares and other
people's code treat them alike, for example retry them.
"""

from __future__ import annotations

try:
    from scrapy.exceptions import (
        CannotResolveHostError,
        DownloadCancelledError,
        DownloadConnectionRefusedError,
        DownloadFailedError,
        DownloadTimeoutError,
        ResponseDataLossError,
    )
except ImportError:
    from twisted.internet import defer, error
    from twisted.web.client import ResponseFailed

    class _Failure(Exception):
        """An exception that takes any arguments and says them, as Scrapy's do."""

        __init__ = Exception.__init__
        __str__ = Exception.__str__

    class CannotResolveHostError(_Failure, error.DNSLookupError):  # type: ignore[no-redef]
        pass

    class DownloadCancelledError(_Failure, defer.CancelledError):  # type: ignore[no-redef]
        pass

    class DownloadConnectionRefusedError(  # type: ignore[no-redef]
        _Failure, error.ConnectionRefusedError
    ):
        pass

    class DownloadFailedError(_Failure, ResponseFailed):  # type: ignore[no-redef]
        reasons = ()

    class DownloadTimeoutError(_Failure, error.TimeoutError):  # type: ignore[no-redef]
        pass

    class ResponseDataLossError(_Failure, ResponseFailed):  # type: ignore[no-redef]
        reasons = ()


__all__ = [
    "CannotResolveHostError",
    "DownloadCancelledError",
    "DownloadConnectionRefusedError",
    "DownloadFailedError",
    "DownloadTimeoutError",
    "ResponseDataLossError",
]
