"""What the server answers beside the pages: runs as JSON, for scripts."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench import config, store
from bench.store import Run

HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"SAMEORIGIN",
    b"referrer-policy": b"same-origin",
}
SHOWN = ("engine_version", "image", "image_digest", "load_seconds", "slots", "context")
"""Facts that tell nothing of this machine's paths or people."""


def runs(_: Request) -> Response:
    """``GET /api/runs``: every run, newest first."""
    with store.opened(config.read().database) as db:
        return _json([_brief(run) for run in store.runs(db)])


def run(request: Request) -> Response:
    """``GET /api/runs/{id}``: one run with the summary of each level; 404 when unknown."""
    with store.opened(config.read().database) as db:
        found = store.load(db, [request.path_params["id"]])
        if not found:
            return _json({"error": "unknown run"}, status=404)
        facts = {name: found[0].facts[name] for name in SHOWN if name in found[0].facts}
        levels = store.levels(db, found[0].id)
    return _json(_brief(found[0]) | {"facts": facts, "levels": levels})


routes = [Route("/api/runs", runs), Route("/api/runs/{id}", run)]


class SecurityHeaders:
    """ASGI middleware that adds ``HEADERS`` to each answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(message)
            await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" else send)


def _add_headers(message: MutableMapping[str, Any]) -> None:
    present = {name.lower() for name, _ in message.get("headers", [])}
    missing = [(name, value) for name, value in HEADERS.items() if name not in present]
    message["headers"] = [*message.get("headers", []), *missing]


def _brief(run: Run) -> dict[str, Any]:
    names = ("id", "state", "source", "created", "started", "finished", "title", "model")
    more = ("model_name", "artifact", "engine", "host", "workload", "fault")
    return {name: getattr(run, name) for name in (*names, *more)}


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
