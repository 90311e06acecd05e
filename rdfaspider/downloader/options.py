"""What libcurl is told for all requests."""

from __future__ import annotations

import resource
import ssl
from typing import TYPE_CHECKING, Any

import pycurl  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# Connections, beyond which none is kept when its answer has ended. A polite crawl comes back to a host after
# a second or more, so this is enough for hundreds of pages per second. At most a quarter of the files that
# may be open.
MAX_IDLE = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
# Seconds after which an idle connection is not used again.
MAX_IDLE_S = 15
# pycurl has no name for it.
_SUPPRESS_CONNECT_HEADERS = 265

_VERSIONS = ("TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3")


def options_of(settings: BaseSettings) -> dict[int, Any]:
    """Return the options of a crawl; raise ValueError for a version of TLS that there is not.

    Nothing that libcurl finds in files or the environment has a say in them.
    """
    verifies = settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
    options: dict[int, Any] = {
        pycurl.NOSIGNAL: 1,
        pycurl.PROXY: "",
        pycurl.NOPROXY: "",
        pycurl.USERAGENT: "",
        pycurl.PROXYHEADER: ["Proxy-Connection:"],
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_2TLS,
        pycurl.PATH_AS_IS: 1,
        pycurl.MAXAGE_CONN: MAX_IDLE_S,
        pycurl.CONNECTTIMEOUT_MS: int(settings.getfloat("FETCH_CONNECT_TIMEOUT", 10.0) * 1000),
        # An answer is kept as it came, but for its chunks.
        pycurl.HTTP_CONTENT_DECODING: 0,
        _SUPPRESS_CONNECT_HEADERS: 1,
        pycurl.SSL_VERIFYPEER: int(verifies),
        pycurl.SSL_VERIFYHOST: 2 * verifies,
        pycurl.PROXY_SSL_VERIFYPEER: int(verifies),
        pycurl.PROXY_SSL_VERIFYHOST: 2 * verifies,
        pycurl.SSLVERSION: _version(settings.get("DOWNLOAD_TLS_MIN_VERSION"), "")
        | _version(settings.get("DOWNLOAD_TLS_MAX_VERSION"), "MAX_"),
    }
    paths = ssl.get_default_verify_paths()
    if paths.cafile:
        options |= {pycurl.CAINFO: paths.cafile, pycurl.PROXY_CAINFO: paths.cafile}
    if paths.capath:
        options |= {pycurl.CAPATH: paths.capath, pycurl.PROXY_CAPATH: paths.capath}
    if ciphers := settings.get("DOWNLOADER_CLIENT_TLS_CIPHERS"):
        options[pycurl.SSL_CIPHER_LIST] = ciphers
    if address := settings.get("DOWNLOAD_BIND_ADDRESS"):
        host, port = (address, 0) if isinstance(address, str) else address
        options |= {pycurl.INTERFACE: f"host!{host}", pycurl.LOCALPORT: port}
    return options


def _version(name: str | None, kind: str) -> int:
    """Return libcurl's number of the first version of TLS, or of the last one if the `kind` is "MAX_"."""
    if not name:
        return 0
    if name not in _VERSIONS:
        raise ValueError(f"Unknown version of TLS: {name}.")
    return int(getattr(pycurl, f"SSLVERSION_{kind}{name.replace('.', '_')}"))
