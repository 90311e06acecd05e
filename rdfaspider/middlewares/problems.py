"""Why a download failed, in words for a user."""

from __future__ import annotations

import errno
import os
import ssl
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from rdfaspider.compat import CannotResolveHostError, DownloadCancelledError, DownloadTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterator


# This machine is short of files, or of memory for connections.
_SHORTAGES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


def is_shortage(error: BaseException) -> bool:
    """Tell whether a download failed because this machine is short of something."""
    return any(getattr(cause, "errno", None) in _SHORTAGES for cause in _causes(error))


def problem_of(error: BaseException) -> str:
    """Return one phrase that says what went wrong."""
    if isinstance(error, CannotResolveHostError):
        return "its name has no address"
    if isinstance(error, DownloadTimeoutError):
        return f"no answer in time ({getattr(error, 'setting', 'DOWNLOAD_TIMEOUT')})"
    if problem := getattr(error, "problem", ""):
        return str(problem)
    if isinstance(error, IgnoreRequest | DownloadCancelledError):
        return "it is larger than DOWNLOAD_MAXSIZE"
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError):
            return f"TLS fails: {cause.reason}"
        if isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED:
            return "the connection is refused"
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno).lower()
    words = str(error)
    return words.splitlines()[0][:200].removesuffix(".") if words else type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
