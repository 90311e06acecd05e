"""libcurl on the event loop: it says which sockets to watch and when to come back, and keeps connections."""

from __future__ import annotations

import asyncio
import resource
import ssl
from typing import TYPE_CHECKING, Any

import pycurl  # type: ignore[import-untyped]

from rdfaspider.compat import DownloadFailedError

if TYPE_CHECKING:
    from rdfaspider.downloader.transfer import Transfer

# Idle connections that are kept. A polite crawl comes back to a host after a second or more, so this is
# enough for hundreds of pages per second. They take at most a quarter of the files that may be open.
_MAX_IDLE = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
# Seconds after which an idle connection is not used again.
_MAX_IDLE_S = 15
# Handles that are kept for the next request.
_MAX_HANDLES = 256
# pycurl has no name for it.
_SUPPRESS_CONNECT_HEADERS = 265

_CALLBACKS = (
    pycurl.HEADERFUNCTION,
    pycurl.WRITEFUNCTION,
    pycurl.PREREQFUNCTION,
    pycurl.OPENSOCKETFUNCTION,
)

_VERSIONS = {
    "TLSv1.0": (pycurl.SSLVERSION_TLSv1_0, pycurl.SSLVERSION_MAX_TLSv1_0),
    "TLSv1.1": (pycurl.SSLVERSION_TLSv1_1, pycurl.SSLVERSION_MAX_TLSv1_1),
    "TLSv1.2": (pycurl.SSLVERSION_TLSv1_2, pycurl.SSLVERSION_MAX_TLSv1_2),
    "TLSv1.3": (pycurl.SSLVERSION_TLSv1_3, pycurl.SSLVERSION_MAX_TLSv1_3),
}


def tls_options(
    *, verify: bool, ciphers: str = "", minimum: str = "", maximum: str = ""
) -> dict[int, Any]:
    """Return the options of libcurl for TLS; raise ValueError for a version that there is not."""
    paths = ssl.get_default_verify_paths()
    options: dict[int, Any] = {
        pycurl.SSL_VERIFYPEER: int(verify),
        pycurl.SSL_VERIFYHOST: 2 * verify,
        pycurl.PROXY_SSL_VERIFYPEER: int(verify),
        pycurl.PROXY_SSL_VERIFYHOST: 2 * verify,
    }
    if paths.cafile:
        options |= {pycurl.CAINFO: paths.cafile, pycurl.PROXY_CAINFO: paths.cafile}
    if paths.capath:
        options |= {pycurl.CAPATH: paths.capath, pycurl.PROXY_CAPATH: paths.capath}
    if ciphers:
        options[pycurl.SSL_CIPHER_LIST] = ciphers
    for version in filter(None, (minimum, maximum)):
        if version not in _VERSIONS:
            raise ValueError(f"Unknown version of TLS: {version}.")
    least = _VERSIONS[minimum][0] if minimum else pycurl.SSLVERSION_DEFAULT
    most = _VERSIONS[maximum][1] if maximum else 0
    return options | {pycurl.SSLVERSION: least | most}


class Client:
    """Carries out transfers. Nothing that libcurl finds in files or the environment has a say in them.

    Layout: the transfers by their handles, and the handles that are idle and have no special options.
    """

    def __init__(self, options: dict[int, Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self._options = {
            pycurl.NOSIGNAL: 1,
            pycurl.PROXY: "",
            pycurl.NOPROXY: "",
            pycurl.USERAGENT: "",
            pycurl.PROXYHEADER: ["Proxy-Connection:"],
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_2TLS,
            pycurl.PATH_AS_IS: 1,
            pycurl.MAXAGE_CONN: _MAX_IDLE_S,
            # An answer is kept as it came, but for its chunks.
            pycurl.HTTP_CONTENT_DECODING: 0,
            _SUPPRESS_CONNECT_HEADERS: 1,
        } | options
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, _MAX_IDLE)
        self._transfers: dict[pycurl.Curl, Transfer] = {}
        self._idle: list[pycurl.Curl] = []
        self._watched: dict[int, int] = {}
        self._timer: asyncio.Handle | None = None
        self._is_closed = False

    async def carry_out(self, transfer: Transfer) -> None:
        """Send a request and wait for its answer; raise what prevents that."""
        if self._is_closed:
            raise DownloadFailedError("the downloader is closed")
        is_special = bool(transfer.wanted.options)
        curl = self._idle.pop() if self._idle and not is_special else self._new_handle()
        try:
            transfer.prepare(curl)
            self._multi.add_handle(curl)
            self._transfers[curl] = transfer
            await transfer.finished()
        finally:
            if self._transfers.pop(curl, None) is not None:
                self._multi.remove_handle(curl)  # and what has come of an answer is forgotten
            if is_special or len(self._idle) >= _MAX_HANDLES:
                curl.close()
            else:
                for option in _CALLBACKS:  # which hold the answer
                    curl.unsetopt(option)
                self._idle.append(curl)

    def close(self) -> None:
        """Close all connections."""
        self._is_closed = True
        for curl, transfer in self._transfers.items():
            self._multi.remove_handle(curl)
            transfer.fail(DownloadFailedError("the downloader is closed"))
        self._transfers.clear()
        self._multi.close()
        if self._timer is not None:
            self._timer.cancel()
        for fd in [*self._watched]:
            self._watch(pycurl.POLL_REMOVE, fd)

    def _new_handle(self) -> pycurl.Curl:
        curl = pycurl.Curl()
        for option, value in self._options.items():
            curl.setopt(option, value)
        return curl

    # --- for libcurl ---

    def _watch(self, events: int, fd: int, multi: object = None, data: object = None) -> None:
        """Watch a socket for other events than before."""
        before = self._watched.pop(fd, 0)
        if events == pycurl.POLL_REMOVE:
            events = 0
        else:
            self._watched[fd] = events
        changed = before ^ events
        if changed & pycurl.POLL_IN:
            if events & pycurl.POLL_IN:
                self._loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
            else:
                self._loop.remove_reader(fd)
        if changed & pycurl.POLL_OUT:
            if events & pycurl.POLL_OUT:
                self._loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
            else:
                self._loop.remove_writer(fd)

    def _set_timer(self, milliseconds: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if milliseconds == 0:
            self._timer = self._loop.call_soon(self._come_back)
        elif milliseconds > 0:
            self._timer = self._loop.call_later(milliseconds / 1000, self._come_back)

    # --- for the loop ---

    def _come_back(self) -> None:
        self._timer = None
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, fd: int, events: int) -> None:
        """Let libcurl do what there is to do, and finish the transfers that have ended."""
        self._multi.socket_action(fd, events)
        left = 1
        while left:
            left, done, failed = self._multi.info_read()
            for curl in done:
                self._finish(curl, 0, "")
            for curl, code, words in failed:
                self._finish(curl, code, words)

    def _finish(self, curl: pycurl.Curl, code: int, words: str) -> None:
        transfer = self._transfers.pop(curl, None)
        if transfer is not None:
            self._multi.remove_handle(curl)
            transfer.finish(code, words)
