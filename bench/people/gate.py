"""What stands before everything that the server answers, pages and WebSocket included.

A request under a name that is not served, or from a page of another site, is refused with a
sentence; each answer carries the security headers; who signs in comes back to the link that they
had opened; and a browser that opens a vote link gets a token, so that it votes once.
"""

from __future__ import annotations

import logging
import secrets
import socket
import time
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench.errors import BenchError
from bench.people import access
from bench.text import preferred, words

log = logging.getLogger("bench.people.gate")

POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "media-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'self'",
}
"""Nothing is fetched from or sent to another site, whatever a model wrote. Streamlit needs
``unsafe-inline`` (a script in its page) and ``unsafe-eval`` (Vega's expressions)."""
HEADERS = {
    "content-security-policy": "; ".join(f"{name} {value}" for name, value in POLICY.items()),
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
}
HERE = ("localhost", "127.0.0.1", "::1")
"""Names of this machine to itself, under which the app is always served."""
HEALTH = "/_stcore/health"
"""Asked by services and containers under whatever name they know."""
RETURN = "spark_compare_return"
"""Cookie with the page that somebody had opened before they signed in."""
VOTER = "spark_compare_voter"
"""Cookie with a random token that tells browsers apart that vote; nothing else is in it."""
YEAR = 31_536_000


class Gate:
    """ASGI middleware. ``served`` are the names that were set, ``base`` is the sub-path."""

    def __init__(self, app: ASGIApp, served: Iterable[str] = (), base: str = "") -> None:
        self.app = app
        self.served = tuple(served)
        self.own = own_names()
        self.base = base.rstrip("/")
        self.logged = float("-inf")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._problem(scope["path"], headers)
        if problem is None:
            sending = self._answering(scope, headers, send) if scope["type"] == "http" else send
            await self.app(scope, receive, sending)
            return
        self._log(problem)
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        t = words(preferred(headers.get("accept-language")))
        answer = PlainTextResponse(t.fault(problem.fault) + "\n", 403, headers=HEADERS)
        await answer(scope, receive, send)

    def _log(self, problem: BenchError) -> None:
        """At most one line a minute: whoever is refused must not fill the disk."""
        if time.monotonic() - self.logged > 60:
            self.logged = time.monotonic()
            log.warning("%s", problem)

    def _problem(self, path: str, headers: Mapping[str, str]) -> BenchError | None:
        host, origin = headers.get("host"), headers.get("origin")
        name = access.hostname(host)
        health = path == f"{self.base}{HEALTH}"
        if not health and not access.host_served(name, self.served, self.own):
            return BenchError("gate.host", host=(host or "")[:100])
        if not access.same_origin(origin, host):
            return BenchError("gate.origin", origin=(origin or "")[:100])
        return None

    def _answering(self, scope: Scope, asked: Headers, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                self._return(scope, asked, message)
            await send(message)

        return sending

    def _return(self, scope: Scope, asked: Headers, message: MutableMapping[str, Any]) -> None:
        """On the way to the provider keep which page was open; on the way back go there. Who opens
        a vote link for the first time gets a voter's token."""
        path, headers = scope["path"], MutableHeaders(scope=message)
        cookie = f"Path={self.base or '/'}; HttpOnly; SameSite=Lax"
        if path == f"{self.base}/vote" and VOTER not in cookie_parser(asked.get("cookie", "")):
            token = f"{VOTER}={secrets.token_urlsafe(16)}"
            headers.append("set-cookie", f"{token}; Max-Age={YEAR}; {cookie}")
        if path == f"{self.base}/auth/login":
            if page := page_of(asked.get("referer"), asked.get("host"), self.base):
                value = quote(page, safe="/")
                headers.append("set-cookie", f"{RETURN}={value}; Max-Age=900; {cookie}")
        elif path == f"{self.base}/oauth2callback" and message["status"] == 302:
            kept = cookie_parser(asked.get("cookie", "")).get(RETURN)
            if kept and (page := safe_path(unquote(kept), self.base)):
                headers["location"] = page
            headers.append("set-cookie", f"{RETURN}=; Max-Age=0; {cookie}")


def page_of(referer: str | None, host: str | None, base: str = "") -> str | None:
    """Path and query of one of our own pages, as a browser named it when it left."""
    parts = urlsplit(referer or "")
    if not access.same_origin(f"{parts.scheme}://{parts.netloc}", host):
        return None
    return safe_path(parts.path + (f"?{parts.query}" if parts.query else ""), base)


def safe_path(path: str, base: str = "") -> str | None:
    """The path when it leads to a page of ours and nowhere else."""
    plain = path.isascii() and path.isprintable() and len(path) <= 1000
    if not plain or not path.startswith(f"{base}/") or "\\" in path or path.startswith("//"):
        return None
    return path


def own_names() -> tuple[str, ...]:
    """What this machine is called on its own network."""
    name = socket.gethostname().casefold().rstrip(".")
    return (name, f"{name}.local") if name else ()
