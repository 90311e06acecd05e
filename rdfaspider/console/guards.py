"""Who may talk to the console.

It listens on the loopback interface only, but a browser on this machine runs scripts of any site, and other
users may have accounts here. So each request passes four gates:

name     Host must be a name of the loopback interface. A site whose name resolves to 127.0.0.1 (DNS
         rebinding) is answered 421.
token    The printed address has a random token. Opened once, it becomes a cookie that no script can read and
         that no other site can use. Programs send it as `Authorization: Bearer TOKEN`. Otherwise: 401.
origin   What changes something must come from a page of the console itself: cookies do not know ports, so
         a page of another server on this machine would have the cookie too. Otherwise: 403.
content  Pages load nothing from elsewhere, and run no script but the console's files
         (Content-Security-Policy).
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


_LOOPBACK = re.compile(
    r"(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?", re.IGNORECASE
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self' data:;"
    " font-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none';"
    " frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# The query editor writes its own style elements.
_WITH_STYLES = frozenset(("/query",))
_LASTS = 30 * 86_400  # seconds of the cookie; the token of the next crawl is another one


@dataclass(frozen=True)
class Guards:
    """Lets requests pass, or says why not.

    `name` is that of the cookie. Cookies do not know ports, so each console on this machine has another.
    """

    token: str
    open_metrics: bool = False
    name: str = field(default_factory=lambda: f"console-{secrets.token_hex(4)}")

    @web.middleware
    async def check(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Answer a request that passes all gates, and refuse any other."""
        refusal = self._refusal(request)
        if refusal is not None:
            return self.dressed(request, refusal)
        if request.path == "/" and "token" in request.query:
            return self.dressed(request, self._welcome())
        request["guards"] = self  # for an answer that is sent piece by piece
        return self.dressed(request, await handler(request))

    def _refusal(self, request: web.Request) -> web.Response | None:
        if not _LOOPBACK.fullmatch(request.headers.get("Host", "")):
            return _sentence(421, "The console answers to localhost and 127.0.0.1 only.")
        if request.path == "/healthz" or (request.path == "/metrics" and self.open_metrics):
            return None
        site = request.headers.get("Sec-Fetch-Site", "none")
        is_visit = request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"
        if site not in ("same-origin", "none") and not is_visit:
            return _sentence(403, "This request comes from a page of another server.")
        if self._has_bearer(request):
            return None
        if not self._is_known(request):
            return _sentence(
                401,
                "This needs the token: open the address that the crawl has printed, or that is in the"
                " file `console` of its directory.",
            )
        if request.method not in ("GET", "HEAD") and not _is_own(request):
            return _sentence(403, "This request does not come from a page of the console.")
        return None

    def _has_bearer(self, request: web.Request) -> bool:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(token.strip())

    def _is_known(self, request: web.Request) -> bool:
        if request.path == "/" and "token" in request.query:
            return self._is_token(request.query["token"])
        return self._is_token(request.cookies.get(self.name, ""))

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(errors="replace"), self.token.encode())

    def _welcome(self) -> web.Response:
        """Turn the token of the address into a cookie, and the address into one without it."""
        response = web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(
            self.name, self.token, max_age=_LASTS, httponly=True, samesite="Strict", path="/"
        )
        return response

    def dressed(self, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        """Return a response with the headers that every one has."""
        if not response.prepared:
            styles = " 'unsafe-inline'" if request.path in _WITH_STYLES else ""
            response.headers["Content-Security-Policy"] = _POLICY.format(styles=styles)
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
        return response


def _is_own(request: web.Request) -> bool:
    """Tell whether a request was sent by a page of the console itself."""
    origin = request.headers.get("Origin", "")
    return origin == f"http://{request.headers['Host']}"


def _sentence(status: int, words: str) -> web.Response:
    return web.Response(status=status, text=words + "\n")
