"""What a link says of itself where it is pasted: the title in a page's HTML (https://ogp.me).

Streamlit answers every page with the same HTML and draws it later, so a chat that looks at a link
would show a name that says nothing. Names of results are told to whoever may look, and to nobody
else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from html import escape
from urllib.parse import parse_qs

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench import catalogue, config, store
from bench.errors import BenchError
from bench.export import post
from bench.kept import comparisons
from bench.people import access
from bench.people.access import Actor
from bench.text import Words, preferred, words
from bench.web import links

log = logging.getLogger("bench.web.opengraph")
OF_RESULTS = ("run", "compare", "chinese")
"""Pages whose links name results. A link to a vote tells nothing of whose answers it shows."""
OTHERS = ("_stcore", "api", "media", "component", "static", "auth", "oauth2callback")
"""What is no page."""
ASKED = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
"""Headers with which a browser would get something else than the whole, plain HTML."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    about: str


class OpenGraph:
    """ASGI middleware. ``asker`` says who sends a request, ``base`` is the sub-path."""

    def __init__(self, app: ASGIApp, asker: Callable[[Request], Actor], base: str = "") -> None:
        self.app = app
        self.asker = asker
        self.base = base.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = self._page(scope)
        if page is None:
            await self.app(scope, receive, send)
            return
        headers = [pair for pair in scope["headers"] if pair[0].lower() not in ASKED]
        await self.app({**scope, "headers": headers}, receive, _Titled(self, scope, page, send))

    def _page(self, scope: Scope) -> str | None:
        """The page that is asked for: ``compare``, or empty for the first one."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        name: str = scope["path"].removeprefix(self.base).strip("/")
        first, last = name.split("/")[0], name.split("/")[-1]
        return None if "." in last or first in OTHERS else name

    async def card(self, scope: Scope, page: str) -> Card:
        request = Request(scope)
        t = words(preferred(request.headers.get("accept-language")))
        query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=50)
        if page not in OF_RESULTS:
            return _plain(t)
        try:
            return await run_in_threadpool(self._card, request, query, t)
        except BenchError as error:  # the page itself says it to its reader
            log.warning("%s", error)
            return _plain(t)

    def _card(self, request: Request, query: Mapping[str, Sequence[str]], t: Words) -> Card:
        if not query or not access.may(self.asker(request), "view"):
            return _plain(t)
        with store.opened(config.read().database) as db:
            kept = comparisons.load(db, query["c"][-1]) if "c" in query else None
            ids = query.get("run", ()) or (kept.results if kept else ())
            results = links.load(db, ids[: comparisons.MOST], catalogue.load(), t)
        if not results:
            return _plain(t)
        about = post.said(results, t)
        title = kept.title if kept else post.title(results, t)
        return Card(
            title=t("opengraph.title", title=title), about=about[0] if about else t("app.about")
        )


class _Titled:
    """Sends an answer on; of HTML, with its title."""

    def __init__(self, graph: OpenGraph, scope: Scope, page: str, send: Send) -> None:
        self.graph, self.scope, self.page, self.send = graph, scope, page, send
        self.start: Message | None = None
        self.body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_html(message):
            self.start = message
        elif self.start is None:
            await self.send(message)
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")
            if not message.get("more_body"):
                await self._finish(self.start)

    async def _finish(self, start: Message) -> None:
        body = titled(self.body, await self.graph.card(self.scope, self.page))
        headers = MutableHeaders(scope=start)
        headers["content-length"] = str(len(body))
        for name in ("etag", "last-modified"):
            del headers[name]
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})


def titled(html: bytes, card: Card) -> bytes:
    """A page's HTML with its title; whatever the title holds is text."""
    title, about = escape(card.title), escape(card.about)
    tags = (
        f"<title>{title}</title>"
        f'<meta property="og:title" content="{title}">'
        f'<meta property="og:description" content="{about}">'
        f'<meta name="description" content="{about}">'
        '<meta property="og:type" content="website">'
        '<meta property="og:site_name" content="Spark Compare">'
    ).encode()
    before, found, after = html.partition(b"<title>")
    if not found:
        return html.replace(b"</head>", tags + b"</head>", 1)
    return before + tags + after.partition(b"</title>")[2]


def _plain(t: Words) -> Card:
    return Card(title=t("app.title"), about=t("app.about"))


def _is_html(start: Message) -> bool:
    kind = MutableHeaders(scope=start).get("content-type", "")
    return start["status"] == 200 and kind.startswith("text/html")
